"""Every configuration is accepted or refused as kube-scheduler does it, word for word."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from nodewise.config.errors import ConfigError
from nodewise.config.load import load_configuration
from nodewise.config.plugins import expand_profiles
from nodewise.config.validation import check_no_extenders

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
RECORDED: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("upstream_texts.yaml").read_text("utf-8"))


def whole_text(case: dict[str, Any]) -> str:
    return str(case["whole"]) if "whole" in case else HEADER + str(case["config"])


def verdict(text: str) -> str:
    """Give the text of the refusal, nothing when the configuration is accepted."""
    try:
        expand_profiles(load_configuration(text.encode()))
    except ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: str(case.get("config", case.get("whole")))[:60])
def test_a_configuration_is_judged_as_kube_scheduler_judges_it(case: dict[str, Any]) -> None:
    assert verdict(whole_text(case)) == case["error"]


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


def test_extenders_are_read_but_refused_where_nothing_calls_them() -> None:
    configuration = load_configuration(
        f"{HEADER}extenders: [{{urlPrefix: http://x, filterVerb: f, httpTimeout: 2s}}]".encode()
    )

    assert configuration.extenders[0].http_timeout_ns == 2 * 10**9
    with pytest.raises(ConfigError, match=r"^extenders are not supported yet$"):
        check_no_extenders(configuration)


def test_text_that_is_not_yaml_at_all_is_a_config_error() -> None:
    for data in (b"\xff\xfe\x00", b"\x00", b"a: [" * 200, b'{"a":' * 100_000, b"&a [*a]"):
        with pytest.raises(ConfigError):
            load_configuration(data)
