"""Policies, providers, sets of names and older configurations, translated into a v1 profile."""

import json
import re
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from nodewise.config.errors import ConfigError
from nodewise.config.legacy_names import MANDATORY_PREDICATES, PREDICATES, PRIORITIES, SHOWN_NAMES
from nodewise.config.load import load_configuration
from nodewise.config.model import KubeSchedulerConfiguration
from nodewise.config.plugins import expand_profiles
from nodewise.config.translation import Translation, is_old, translate, translate_keys, translate_provider
from tests.config.mutation import mutated
from tests.config.upstream import upstream_verdicts
from tests.oracle import PROJECT_ROOT

LATER = "plugins that came later are not in the profile: DynamicResources, NodeDeclaredFeatures"
OWN_NAMES = ("NodeLabel", "ServiceAffinity", "RequestedToCapacityRatio")


def nothing_to_read(name: str) -> bytes:
    raise ConfigError(f"{name}: not expected to be read")


def policy(**fields: Any) -> Translation:
    return translate(json.dumps({"kind": "Policy", "apiVersion": "v1", **fields}).encode(), nothing_to_read)


def refusal(**fields: Any) -> str:
    with pytest.raises(ConfigError) as raised:
        policy(**fields)
    return str(raised.value)


def loaded(translation: Translation) -> KubeSchedulerConfiguration:
    return load_configuration(json.dumps(translation.document).encode())


def points(translation: Translation) -> dict[str, dict[str, int]]:
    """Give weights by plugin and extension point, as they are in force."""
    (expanded,) = expand_profiles(loaded(translation)).values()
    return {point: {ref.name: ref.weight for ref in refs} for point, refs in expanded.items() if refs}


def args(translation: Translation, plugin: str) -> Any:
    configs = translation.document["profiles"][0].get("pluginConfig", [])
    return next((config["args"] for config in configs if config["name"] == plugin), None)


# --- predicates -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in PREDICATES if PREDICATES[name].plugins])
def test_a_predicate_becomes_its_plugins_at_filter(name: str) -> None:
    found = points(policy(predicates=[{"name": name}], priorities=[]))

    assert set(PREDICATES[name].plugins) <= found["filter"].keys()
    assert set(found["filter"]) == {
        plugin for known in (name, *MANDATORY_PREDICATES) for plugin in PREDICATES[known].plugins
    }
    assert found["preFilter"] == found["filter"]


def test_an_empty_list_leaves_only_the_mandatory_predicates() -> None:
    assert list(points(policy(predicates=[], priorities=[]))["filter"]) == ["NodeUnschedulable", "TaintToleration"]


@pytest.mark.parametrize("fields", [{}, {"predicates": None}, {"priorities": [], "predicates": None}])
def test_no_list_means_the_predicates_of_the_default_provider(fields: dict[str, Any]) -> None:
    assert list(points(policy(**fields))["filter"]) == [
        "NodeUnschedulable",
        "NodeResourcesFit",
        "NodeName",
        "NodePorts",
        "NodeAffinity",
        "VolumeRestrictions",
        "TaintToleration",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
    ]


def test_volume_binding_also_reserves_and_binds() -> None:
    found = points(policy(predicates=[{"name": "CheckVolumeBinding"}], priorities=[]))

    assert found["reserve"] == found["preBind"] == {"VolumeBinding": 0}
    assert "score" not in found


def test_predicates_run_in_the_order_of_old_whatever_the_order_of_the_file() -> None:
    found = points(policy(predicates=[{"name": "MatchInterPodAffinity"}, {"name": "HostName"}], priorities=[]))

    assert list(found["filter"]) == ["NodeUnschedulable", "NodeName", "TaintToleration", "InterPodAffinity"]


def test_a_name_of_1_0_is_still_known() -> None:
    found = policy(
        predicates=[{"name": "PodFitsPorts"}], priorities=[{"name": "ServiceSpreadingPriority", "weight": 2}]
    )

    assert "NodePorts" in points(found)["filter"]
    assert points(found)["score"] == {"PodTopologySpread": 2}


def test_labels_that_nodes_must_have_become_added_affinity() -> None:
    found = policy(
        predicates=[
            {"name": "HasRack", "argument": {"labelsPresence": {"labels": ["rack", "row"], "presence": True}}},
            {"name": "NotRetiring", "argument": {"labelsPresence": {"labels": ["retiring"]}}},
        ],
        priorities=[],
    )

    (term,) = args(found, "NodeAffinity")["addedAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"] == [
        {"key": "rack", "operator": "Exists"},
        {"key": "row", "operator": "Exists"},
        {"key": "retiring", "operator": "DoesNotExist"},
    ]
    assert "NodeAffinity" in points(found)["filter"]


def test_what_has_no_successor_gets_one_note_each() -> None:
    found = policy(
        predicates=[
            {"name": "Region", "argument": {"serviceAffinity": {"labels": ["region"]}}},
            {"name": "CheckNodeMemoryPressure"},
        ],
        priorities=[{"name": "NodePreferAvoidPodsPriority", "weight": 1}, {"name": "EqualPriority", "weight": 1}],
        alwaysCheckAllPredicates=True,
    )

    without = [note.split(" has no successor")[0] for note in found.notes if "has no successor" in note]
    assert sorted(without) == [
        "CheckNodeMemoryPressure",
        "EqualPriority",
        "NodePreferAvoidPodsPriority",
        "alwaysCheckAllPredicates",
        "serviceAffinity",
    ]


# --- priorities -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in PRIORITIES if PRIORITIES[name].plugins and name not in OWN_NAMES])
def test_a_priority_becomes_its_plugin_at_score_with_its_weight(name: str) -> None:
    found = points(policy(predicates=[], priorities=[{"name": name, "weight": 5}]))

    assert found["score"] == dict.fromkeys(PRIORITIES[name].plugins, 5)


def test_no_list_means_the_priorities_of_the_default_provider() -> None:
    assert points(policy(predicates=[]))["score"] == {
        "NodeResourcesBalancedAllocation": 1,
        "PodTopologySpread": 2,
        "ImageLocality": 1,
        "InterPodAffinity": 1,
        "NodeResourcesFit": 1,
        "NodeAffinity": 1,
        "TaintToleration": 1,
    }


def test_an_empty_list_of_priorities_scores_nothing() -> None:
    assert "score" not in points(policy(priorities=[]))


def test_the_autoscaler_provider_prefers_full_nodes() -> None:
    found = translate_provider("ClusterAutoscalerProvider")

    assert args(found, "NodeResourcesFit") == {"scoringStrategy": {"type": "MostAllocated"}}
    assert points(found) == points(translate_provider("DefaultProvider"))


def test_a_provider_that_there_never_was_is_refused() -> None:
    with pytest.raises(ConfigError, match=r'^algorithm provider "Mine" is not registered$'):
        translate_provider("Mine")


def test_a_ratio_becomes_a_scoring_strategy() -> None:
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    ratio = {"shape": shape, "resources": [{"name": "example.com/foo", "weight": 3}, {"name": "cpu"}]}
    found = policy(
        predicates=[],
        priorities=[{"name": "Packed", "weight": 2, "argument": {"requestedToCapacityRatioArguments": ratio}}],
    )

    assert points(found)["score"] == {"NodeResourcesFit": 2}
    assert args(found, "NodeResourcesFit")["scoringStrategy"] == {
        "type": "RequestedToCapacityRatio",
        "resources": [{"name": "example.com/foo", "weight": 3}, {"name": "cpu", "weight": 1}],
        "requestedToCapacityRatio": {"shape": shape},
    }


def test_of_several_resource_priorities_the_heaviest_is_kept() -> None:
    found = policy(
        predicates=[],
        priorities=[{"name": "LeastRequestedPriority", "weight": 1}, {"name": "MostRequestedPriority", "weight": 3}],
    )

    assert points(found)["score"] == {"NodeResourcesFit": 3}
    assert args(found, "NodeResourcesFit")["scoringStrategy"]["type"] == "MostAllocated"
    assert any(note.startswith("LeastRequestedPriority has no successor: ") for note in found.notes)


def test_several_label_preferences_weigh_together() -> None:
    preferences = [
        {"name": f"p{i}", "weight": 2, "argument": {"labelPreference": {"label": f"l{i}", "presence": i == 0}}}
        for i in range(2)
    ]
    found = policy(predicates=[], priorities=preferences)

    assert points(found)["score"] == {"NodeAffinity": 4}
    preferred = args(found, "NodeAffinity")["addedAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [term["preference"]["matchExpressions"][0]["operator"] for term in preferred] == ["Exists", "DoesNotExist"]


def test_spreading_over_a_label_becomes_a_default_constraint() -> None:
    anti_affinity = {"name": "z", "weight": 2, "argument": {"serviceAntiAffinity": {"label": "zone"}}}
    alone = policy(predicates=[], priorities=[anti_affinity])
    beside = policy(predicates=[], priorities=[anti_affinity, {"name": "SelectorSpreadPriority", "weight": 2}])

    assert [c["topologyKey"] for c in args(alone, "PodTopologySpread")["defaultConstraints"]] == ["zone"]
    assert [c["topologyKey"] for c in args(beside, "PodTopologySpread")["defaultConstraints"]] == [
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "zone",
    ]


def test_constraints_of_pods_alone_need_no_default_ones() -> None:
    found = policy(predicates=[], priorities=[{"name": "EvenPodsSpreadPriority", "weight": 2}])

    assert args(found, "PodTopologySpread") == {"defaultingType": "List"}


# --- the rest of a policy ---------------------------------------------------------------------------------------------


def test_the_symmetric_weight_becomes_an_argument() -> None:
    assert args(policy(hardPodAffinitySymmetricWeight=10), "InterPodAffinity") == {"hardPodAffinityWeight": 10}
    assert args(policy(hardPodAffinitySymmetricWeight=0), "InterPodAffinity") is None


def test_extenders_keep_everything_but_the_notation_of_their_timeout() -> None:
    extender = {
        "urlPrefix": "https://127.0.0.1:1/x",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "bindVerb": "bind",
        "weight": 3,
        "enableHttps": True,
        "httpTimeout": 1_500_000_000,
        "tlsConfig": {"insecure": True},
        "nodeCacheCapable": True,
        "managedResources": [{"name": "example.com/a", "ignoredByScheduler": True}],
        "ignorable": True,
    }

    (found,) = loaded(policy(extenders=[extender])).extenders

    assert found.http_timeout_ns == 1_500_000_000
    assert found.enable_https
    assert found.ignorable
    assert found.tls_config is not None
    assert found.tls_config.insecure
    assert found.managed_resources[0].ignored_by_scheduler


def test_what_a_policy_never_had_is_overlooked_and_noted() -> None:
    found = policy(predicates=[{"name": "HostName", "order": 2}], priorities=[])

    assert 'overlooked: unknown field "predicates[0].order"' in found.notes


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"predicates": [{"name": "Mine"}]}, 'predicate type not found for "Mine"'),
    ({"priorities": [{"name": "Mine", "weight": 1}]}, 'priority type not found for "Mine"'),
    (
        {"priorities": [{"name": "EqualPriority"}]},
        "priority EqualPriority should have a positive weight applied to it or it has overflown",
    ),
    (
        {"hardPodAffinitySymmetricWeight": 101},
        "hardPodAffinitySymmetricWeight: Invalid value: 101: not in valid range [0-100]",
    ),
    (
        {"priorities": [{"name": "a", "weight": 1, "argument": {}}]},
        "no priority arguments set for priority a",
    ),
    (
        {
            "priorities": [
                {"name": name, "weight": weight, "argument": {"labelPreference": {"label": "x"}}}
                for name, weight in (("a", 1), ("b", 2))
            ]
        },
        'LabelPreference  priority "b" has a different weight with "a"',
    ),
    (
        {
            "priorities": [
                {"name": name, "weight": 1, "argument": {"requestedToCapacityRatioArguments": {}}} for name in "ab"
            ]
        },
        'priority "b" redeclares custom priority "RequestedToCapacityRatio", from: "a"',
    ),
    (
        {"predicates": [{"name": "a", "argument": {"serviceAffinity": {}, "labelsPresence": {}}}]},
        "exactly 1 predicate argument is required, numArgs: 2, predicate a",
    ),
    (
        {"priorities": [{"name": "a", "weight": "1"}]},
        "json: cannot unmarshal string into Go struct field PriorityPolicy.priorities.weight of type int64",
    ),
]


@pytest.mark.parametrize(("fields", "text"), REFUSED)
def test_a_policy_that_older_versions_refused_is_refused(fields: dict[str, Any], text: str) -> None:
    assert refusal(**fields) == text


def test_a_policy_without_a_kind_is_known_by_its_fields() -> None:
    assert is_old(b'{"predicates": [], "priorities": []}')
    assert not is_old(b"kind: KubeSchedulerConfiguration\napiVersion: kubescheduler.config.k8s.io/v1\n")
    assert not is_old(b"[1")


# --- names and versions -----------------------------------------------------------------------------------------------


def test_plain_names_make_a_scheduler() -> None:
    found = translate_keys(["PodFitsResources", "HostName"], {"LeastRequestedPriority": 2})

    assert points(found)["score"] == {"NodeResourcesFit": 2}
    assert list(points(found)["filter"]) == ["NodeUnschedulable", "NodeName", "NodeResourcesFit", "TaintToleration"]
    assert found.notes == [LATER]


@pytest.mark.parametrize(("predicates", "priorities"), [(["Mine"], {}), ([], {"Mine": 1}), ([], {"NodeLabel": 1})])
def test_plain_names_that_there_never_were_are_refused(predicates: list[str], priorities: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="type not found for"):
        translate_keys(predicates, priorities)


def alpha(text: str, files: dict[str, bytes] | None = None) -> Translation:
    header = "apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration\n"
    return translate((header + text).encode(), (files or {}).__getitem__)


def test_an_algorithm_source_is_followed() -> None:
    files = {"policy.cfg": b'{"kind": "Policy", "predicates": [], "priorities": []}'}
    found = alpha("schedulerName: mine\nalgorithmSource: {policy: {file: {path: policy.cfg}}}\n", files)

    (profile,) = found.document["profiles"]
    assert profile["schedulerName"] == "mine"
    assert list(points(found)["filter"]) == ["NodeUnschedulable", "TaintToleration"]


def test_fields_of_v1alpha1_find_their_places() -> None:
    found = alpha("""
algorithmSource: {provider: ClusterAutoscalerProvider}
hardPodAffinitySymmetricWeight: 7
disablePreemption: true
bindTimeoutSeconds: 30
healthzBindAddress: 0.0.0.0:10251
percentageOfNodesToScore: 40
leaderElection: {leaderElect: false, lockObjectName: me, lockObjectNamespace: here, resourceLock: endpoints}
""")
    configuration = loaded(found)

    assert args(found, "InterPodAffinity") == {"hardPodAffinityWeight": 7}
    assert args(found, "VolumeBinding") == {"bindTimeoutSeconds": 30}
    assert "postFilter" not in points(found)
    assert configuration.percentage_of_nodes_to_score == 40
    assert configuration.leader_election.resource_name == "me"
    assert configuration.leader_election.resource_namespace == "here"
    assert "healthzBindAddress has no successor" in found.notes


def test_a_policy_in_a_config_map_cannot_be_read() -> None:
    with pytest.raises(ConfigError, match=r"a policy is read from files only"):
        alpha("algorithmSource: {policy: {configMap: {name: a, namespace: b}}}")


def beta(text: str, version: str = "v1beta1") -> Translation:
    header = f"apiVersion: kubescheduler.config.k8s.io/{version}\nkind: KubeSchedulerConfiguration\n"
    return translate((header + text).encode(), nothing_to_read)


def test_plugins_that_became_a_strategy_are_translated() -> None:
    found = beta("""
profiles:
- schedulerName: packed
  plugins:
    score:
      disabled: [{name: NodeResourcesLeastAllocated}]
      enabled: [{name: NodeResourcesMostAllocated, weight: 4}]
  pluginConfig:
  - name: NodeResourcesMostAllocated
    args: {resources: [{name: cpu, weight: 2}]}
""")

    assert points(found)["score"]["NodeResourcesFit"] == 4
    assert args(found, "NodeResourcesFit")["scoringStrategy"] == {
        "type": "MostAllocated",
        "resources": [{"name": "cpu", "weight": 2}],
    }


def test_taking_away_the_resource_score_takes_it_away() -> None:
    found = beta("profiles: [{plugins: {score: {disabled: [{name: NodeResourcesLeastAllocated}]}}}]", "v1beta2")

    assert "NodeResourcesFit" not in points(found)["score"]
    assert "NodeResourcesFit" in points(found)["filter"]


def test_weights_are_those_of_the_version() -> None:
    assert points(beta("", "v1beta2"))["score"]["NodeAffinity"] == 1
    assert points(beta("", "v1beta3"))["score"]["NodeAffinity"] == 2


def test_plugins_that_are_gone_are_noted_and_left_out() -> None:
    found = beta("""
profiles:
- plugins:
    filter: {enabled: [{name: NodeLabel}, {name: EBSLimits}]}
    score: {disabled: [{name: NodePreferAvoidPods}], enabled: [{name: SelectorSpread, weight: 2}]}
    unreserve: {enabled: [{name: VolumeBinding}]}
  pluginConfig: [{name: NodeLabel, args: {presentLabels: [a]}}]
""")

    assert "NodeLabel at filter has no successor" in found.notes
    assert "arguments of NodeLabel have no successor" in found.notes
    assert "EBSLimits at filter: NodeVolumeLimits takes its place" in found.notes
    assert points(found)["score"]["PodTopologySpread"] == 2


def test_something_else_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^found kind 'Pod' of 'v1', expected a Policy of v1 or an old"):
        translate(b"apiVersion: v1\nkind: Pod", nothing_to_read)


def test_kube_scheduler_takes_every_translation(oracle: Path, tmp_path: Path) -> None:
    translations = [
        policy(),
        policy(predicates=[], priorities=[]),
        *(policy(predicates=[{"name": name}]) for name in PREDICATES),
        *(policy(priorities=[{"name": name, "weight": 2}]) for name in PRIORITIES if name not in OWN_NAMES),
        translate_provider("DefaultProvider"),
        translate_provider("ClusterAutoscalerProvider"),
        alpha("disablePreemption: true"),
        beta("profiles: [{plugins: {score: {enabled: [{name: NodeResourcesMostAllocated}]}}}]"),
        beta("", "v1beta3"),
    ]
    files = []
    for number, translation in enumerate(translations):
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(json.dumps(translation.document))

    assert [verdict.get("error") for verdict in upstream_verdicts(oracle, files)] == [None] * len(files)


def test_the_documentation_has_every_name_and_its_successor() -> None:
    page = (PROJECT_ROOT / "docs" / "configuration.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|$", page, re.MULTILINE))

    for name, successor in {**PREDICATES, **PRIORITIES}.items():
        if name in SHOWN_NAMES:
            continue
        shown = ", ".join(successor.plugins) or "none"
        shown += f" ({successor.strategy})" if successor.strategy else ""
        assert rows[name] == (f"{shown}: {successor.note}" if successor.note else shown)


OLD = {
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": True, "lockObjectName": "x"},
    "schedulerName": "mine",
    "hardPodAffinitySymmetricWeight": 3,
    "disablePreemption": False,
    "bindTimeoutSeconds": 5,
    "algorithmSource": {"policy": {"file": {"path": "policy"}}},
    "profiles": [
        {
            "schedulerName": "a",
            "plugins": {
                "score": {
                    "enabled": [{"name": "NodeResourcesMostAllocated", "weight": 2}, {"name": "SelectorSpread"}],
                    "disabled": [{"name": "NodeResourcesLeastAllocated"}],
                }
            },
            "pluginConfig": [{"name": "NodeResourcesMostAllocated", "args": {"resources": [{"name": "cpu"}]}}],
        }
    ],
}
POLICY = {
    "kind": "Policy",
    "predicates": [{"name": "HostName"}, {"name": "a", "argument": {"labelsPresence": {"labels": ["x"]}}}],
    "priorities": [
        {"name": "ImageLocalityPriority", "weight": 2},
        {"name": "b", "weight": 1, "argument": {"serviceAntiAffinity": {"label": "x"}}},
    ],
    "extenders": [{"urlPrefix": "http://x", "httpTimeout": 5, "managedResources": [{"name": "example.com/a"}]}],
    "hardPodAffinitySymmetricWeight": 1,
}


@pytest.mark.parametrize("version", ["v1", "v1alpha1", "v1beta1", "v1beta3"])
@given(seed=st.integers(0, 2**32))
def test_whatever_is_wrong_with_an_old_file_is_a_config_error(version: str, seed: int) -> None:
    random = Random(seed)
    text = json.dumps(mutated(random, POLICY))
    if version != "v1":
        old = mutated(random, {"apiVersion": f"kubescheduler.config.k8s.io/{version}", **OLD})
        data = json.dumps(old).encode()
    else:
        data = text.encode()
    with suppress(ConfigError):
        loaded(translate(data, lambda name: text.encode()))
