"""What a configuration says after decoding and defaulting."""

from pathlib import Path

import pytest

from nodewise.api.objects import NodeSelectorRequirement, NodeSelectorTerm
from nodewise.config.arguments import (
    ARGS_OF,
    DEFAULT_RESOURCES,
    DEFAULT_SCORING_STRATEGY,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    NodeAffinityArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    default_args,
)
from nodewise.config.load import default_configuration, load_configuration
from nodewise.config.model import KubeSchedulerConfiguration
from tests.config.test_validation_texts import HEADER


def load(text: str) -> KubeSchedulerConfiguration:
    return load_configuration((HEADER + text).encode())


def args(plugin: str, text: str) -> object:
    configuration = load(f"profiles: [{{pluginConfig: [{{name: {plugin}, args: {text}}}]}}]")
    return configuration.profiles[0].args_of(plugin)


def test_a_file_that_says_nothing_is_the_default_configuration(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(HEADER)

    assert load_configuration(path) == load_configuration(str(path)) == default_configuration()


def test_the_default_configuration_has_the_defaults_of_kube_scheduler() -> None:
    configuration = default_configuration()

    assert configuration.parallelism == 16
    assert configuration.percentage_of_nodes_to_score == 0
    assert (configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds) == (1, 10)
    assert configuration.enable_profiling
    assert configuration.enable_contention_profiling
    assert configuration.leader_election.lease_duration_ns == 15 * 10**9
    assert configuration.client_connection.qps == 50.0
    assert [profile.scheduler_name for profile in configuration.profiles] == ["default-scheduler"]


def test_every_enabled_plugin_with_arguments_gets_its_defaults_in_name_order() -> None:
    (profile,) = default_configuration().profiles

    assert [config.name for config in profile.plugin_config] == sorted(ARGS_OF)
    assert all(config.args == default_args(config.name) for config in profile.plugin_config)


def test_given_arguments_come_first_and_a_disabled_plugin_gets_none() -> None:
    configuration = load("""
profiles:
- plugins: {multiPoint: {disabled: [{name: VolumeBinding}]}}
  pluginConfig: [{name: Other, args: {a: [1, 2.5, x, true, null]}}, {name: NodeAffinity}]
""")
    (profile,) = configuration.profiles

    assert [config.name for config in profile.plugin_config][:3] == ["Other", "NodeAffinity", "DefaultPreemption"]
    assert profile.args_of("Other") == {"a": [1, 2.5, "x", True, None]}
    assert profile.args_of("VolumeBinding") is None


def test_zero_is_a_value_where_upstream_has_pointers() -> None:
    assert args("DefaultPreemption", "{minCandidateNodesPercentage: 0}") == DefaultPreemptionArgs(0, 100)
    assert args("DefaultPreemption", "{minCandidateNodesPercentage: null}") == DefaultPreemptionArgs(10, 100)


@pytest.mark.parametrize("text", ["null", "{}", "{scoringStrategy: null}", "{ignoredResources: null}"])
def test_a_missing_scoring_strategy_is_least_allocated_over_cpu_and_memory(text: str) -> None:
    assert args("NodeResourcesFit", text) == NodeResourcesFitArgs(scoring_strategy=DEFAULT_SCORING_STRATEGY)


def test_a_scoring_strategy_that_is_written_gets_resources_but_no_type() -> None:
    fit = args("NodeResourcesFit", "{scoringStrategy: {}}")

    assert fit == NodeResourcesFitArgs(scoring_strategy=ScoringStrategy("", DEFAULT_RESOURCES))


def test_a_weight_of_zero_or_none_is_one() -> None:
    fit = args(
        "NodeResourcesFit",
        "{scoringStrategy: {type: MostAllocated, "
        "resources: [{name: cpu}, {name: gpu, weight: 0}, {name: x, weight: 3}]}}",
    )

    assert isinstance(fit, NodeResourcesFitArgs)
    assert fit.scoring_strategy is not None
    assert fit.scoring_strategy.resources == (ResourceSpec("cpu", 1), ResourceSpec("gpu", 1), ResourceSpec("x", 3))


def test_an_empty_shape_or_type_counts_as_missing() -> None:
    assert args("VolumeBinding", "{shape: []}") == default_args("VolumeBinding")
    assert args("PodTopologySpread", '{defaultingType: ""}') == PodTopologySpreadArgs()


def test_durations_are_read_as_go_writes_them() -> None:
    assert args("DynamicResources", "{filterTimeout: 1m0.5s}") == DynamicResourcesArgs(60_500_000_000, 600 * 10**9)


def test_core_types_in_arguments_are_typed() -> None:
    affinity = args(
        "NodeAffinity",
        "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
        "[{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}",
    )

    assert isinstance(affinity, NodeAffinityArgs)
    assert affinity.added_affinity is not None
    assert affinity.added_affinity.required is not None
    requirement = NodeSelectorRequirement("zone", "In", ("a",))
    assert affinity.added_affinity.required.node_selector_terms == (NodeSelectorTerm((requirement,)),)


def test_an_alias_stands_for_its_anchor() -> None:
    configuration = load("""
profiles:
- {schedulerName: a, plugins: &plugins {score: {disabled: [{name: ImageLocality}]}}}
- {schedulerName: b, plugins: *plugins}
""")

    first, second = configuration.profiles
    assert first.plugins == second.plugins


def test_contention_profiling_follows_profiling_unless_it_is_set() -> None:
    assert load("enableProfiling: false").enable_contention_profiling is False
    assert load("enableContentionProfiling: false").enable_contention_profiling is False
