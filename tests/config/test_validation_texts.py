"""Every configuration is accepted or refused as kube-scheduler does it, word for word."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from nodewise.config.errors import ConfigError
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.config.load import load_configuration
from nodewise.config.model import KubeSchedulerConfiguration, LeaderElectionConfiguration
from nodewise.config.validation import validate_configuration
from tests.config.upstream import own_verdict

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
RECORDED: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("upstream_texts.yaml").read_text("utf-8"))


def whole_text(case: dict[str, Any]) -> str:
    return str(case["whole"]) if "whole" in case else HEADER + str(case["config"])


def verdict(text: str, gates: FeatureGates = DEFAULT_GATES) -> str:
    """Give the text of the refusal, nothing when the configuration is accepted."""
    return str(own_verdict(text.encode(), gates).get("error", ""))


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: str(case.get("config", case.get("whole")))[:60])
def test_a_configuration_is_judged_as_kube_scheduler_judges_it(case: dict[str, Any]) -> None:
    assert verdict(whole_text(case)) == case["error"]


GATED = {
    ("StorageCapacityScoring", "VolumeBinding", "shape: [{utilization: 0, score: 5}]"): (
        "profiles[0].pluginConfig[0].args.shape: Invalid value: "
        '[{"Utilization":0,"Score":5}]: unexpected field `shape`, remove it or turn on the feature gate '
        "StorageCapacityScoring"
    ),
    ("StorageCapacityScoring", "VolumeBinding", "shape: []"): (
        "profiles[0].pluginConfig[0].args.shape: Invalid value: []: unexpected field `shape`, remove it or turn on the "
        "feature gate StorageCapacityScoring"
    ),
    ("DRASchedulerFilterTimeout", "DynamicResources", "filterTimeout: 1s"): (
        "profiles[0].pluginConfig[0].args.filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled"
    ),
    ("DRADeviceBindingConditions", "DynamicResources", "bindingTimeout: 1s"): (
        "profiles[0].pluginConfig[0].args.bindingTimeout: Forbidden: DRADeviceBindingConditions or "
        "DRAResourceClaimDeviceStatus feature gate is disabled"
    ),
}


@pytest.mark.parametrize(("gate", "plugin", "args"), GATED)
def test_arguments_of_features_that_are_off_are_refused(gate: str, plugin: str, args: str) -> None:
    text = f"{HEADER}profiles: [{{pluginConfig: [{{name: {plugin}, args: {{{args}}}}}]}}]"

    assert verdict(text) == ""
    assert verdict(text, FeatureGates.of(**{gate: False})) == GATED[gate, plugin, args]


def test_names_that_flags_leave_empty_are_required() -> None:
    election = LeaderElectionConfiguration(
        leader_elect=True, lease_duration_ns=3, renew_deadline_ns=2, retry_period_ns=1
    )
    errors = validate_configuration(KubeSchedulerConfiguration(leader_election=election))

    assert errors[:4] == [
        "leaderElection.resourceLock: Required value",
        "leaderElection.resourceNamespace: Required value",
        "leaderElection.resourceName: Required value",
        'leaderElection.resourceLock: Invalid value: "": resourceLock value must be "leases"',
    ]


def test_several_findings_are_also_given_one_by_one() -> None:
    with pytest.raises(ConfigError) as raised:
        load_configuration(f"{HEADER}parallelism: -1\npercentageOfNodesToScore: 200\n".encode())

    assert raised.value.messages == (
        "parallelism: Invalid value: -1: should be an integer value greater than zero",
        "percentageOfNodesToScore: Invalid value: 200: not in valid range [0-100]",
    )


def test_removed_plugins_are_refused_at_every_point_but_multi_point() -> None:
    text = (
        HEADER
        + "profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}, score: {enabled: [{name: GCEPDLimits}]}}}]"
    )

    refusal = verdict(text)

    assert 'profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in version "v1"' in refusal
    assert 'profiles[0].plugins.score.enabled[0]: Invalid value: "GCEPDLimits": was invalid in version "v1"' in refusal


def test_extenders_are_read() -> None:
    configuration = load_configuration(
        f"{HEADER}extenders: [{{urlPrefix: http://x, filterVerb: f, httpTimeout: 2s}}]".encode()
    )

    assert configuration.extenders[0].http_timeout_ns == 2 * 10**9


def test_text_that_is_not_yaml_at_all_is_a_config_error() -> None:
    for data in (b"\xff\xfe\x00", b"\x00", b"a: [" * 200, b'{"a":' * 100_000, b"&a [*a]"):
        with pytest.raises(ConfigError):
            load_configuration(data)
