"""Pod groups in the input, with their feature gates on and off."""

import io

import pytest

from nodewise.api.pod_groups import CompositePodGroup, PodGroup
from nodewise.cluster.load import LoadedCluster, load_cluster
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates

GENERIC = FeatureGates.of(GenericWorkload=True)
TOPOLOGY = FeatureGates.of(GenericWorkload=True, TopologyAwareWorkloadScheduling=True)
COMPOSITE = FeatureGates.of(GenericWorkload=True, TopologyAwareWorkloadScheduling=True, CompositePodGroup=True)
GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: g}
spec:
  schedulingPolicy: {gang: {minCount: 2}}
  schedulingConstraints: {topology: [{key: zone}]}
  disruptionMode: {all: {}}
  priorityClassName: high
  parentCompositePodGroupName: t
  workloadRef: {workloadName: w, templateName: workers}
"""
TREE = """\
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: t, namespace: team}
spec: {schedulingPolicy: {basic: {}}, workloadRef: {workloadName: w, templateName: t}, priority: 3}
"""
CLASS = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: i}], schedulingGroup: {podGroupName: g}}
"""


def load(*texts: str, gates: FeatureGates) -> LoadedCluster:
    return load_cluster(["-"], stdin=io.BytesIO("\n---\n".join(texts).encode()), gates=gates)


def group_of(loaded: LoadedCluster) -> PodGroup:
    [group] = loaded.objects.pod_groups
    assert isinstance(group, PodGroup)
    return group


def test_a_group_is_read_with_its_defaults() -> None:
    group = group_of(load(CLASS, GROUP, gates=COMPOSITE))
    assert (group.metadata.namespace, group.min_count, group.spec.priority) == ("default", 2, 1000)
    assert group.spec.scheduling_constraints is not None
    assert group.spec.disruption_mode is not None
    assert group.spec.disruption_mode.all is not None
    assert group.spec.parent_composite_pod_group_name == "t"


def test_the_alpha_version_of_a_group_is_read_too() -> None:
    assert group_of(load(CLASS, GROUP.replace("v1beta1", "v1alpha3"), gates=GENERIC)).min_count == 2


def test_what_belongs_to_other_gates_is_dropped() -> None:
    spec = group_of(load(CLASS, GROUP, gates=GENERIC)).spec
    assert (spec.scheduling_constraints, spec.parent_composite_pod_group_name) == (None, None)
    assert group_of(load(CLASS, GROUP, gates=TOPOLOGY)).spec.scheduling_constraints is not None


def test_a_stored_group_is_taken_as_it_is() -> None:
    stored = GROUP.replace("{name: g}", "{name: g, uid: some}").replace("priorityClassName: high", "priority: 5")
    spec = group_of(load(stored, gates=GENERIC)).spec
    assert (spec.priority, spec.parent_composite_pod_group_name) == (5, "t")


def test_a_group_of_groups_needs_its_gate() -> None:
    [tree] = load(TREE, gates=COMPOSITE).objects.pod_groups
    assert isinstance(tree, CompositePodGroup)
    assert (tree.metadata.namespace, tree.spec.priority) == ("team", 3)
    loaded = load(TREE, gates=TOPOLOGY)
    assert loaded.objects.pod_groups == []
    assert loaded.notes == ["1 CompositePodGroup without effect: feature gate CompositePodGroup is off"]


def test_without_the_gate_groups_have_no_effect_and_new_pods_lose_theirs() -> None:
    loaded = load(CLASS, GROUP, POD, gates=DEFAULT_GATES)
    assert loaded.objects.pod_groups == []
    assert loaded.notes == ["1 PodGroup without effect: feature gate GenericWorkload is off"]
    assert [pod.spec.pod_group_name for pod in loaded.objects.pods] == [None]
    assert loaded.errors == []


def test_with_the_gate_pods_keep_their_group() -> None:
    loaded = load(POD, gates=GENERIC)
    assert [pod.spec.pod_group_name for pod in loaded.objects.pods] == ["g"]


@pytest.mark.parametrize(
    ("text", "field", "says"),
    [
        (GROUP, "spec.priorityClassName", 'no PriorityClass with name "high" was found'),
        (GROUP.replace("  priorityClassName: high\n", "").replace("minCount: 2", "minCount: -2"), "minCount", "-2"),
        (GROUP.replace("minCount: 2", "minCount: two"), "minCount", "int"),
    ],
)
def test_a_group_that_an_api_server_would_refuse_is_refused(text: str, field: str, says: str) -> None:
    loaded = load(text, gates=GENERIC)
    assert loaded.objects.pod_groups == []
    [error] = loaded.errors
    assert error.object == "PodGroup default/g"
    assert field in error.field
    assert says in error.message


def test_a_pod_that_names_no_group_is_refused() -> None:
    loaded = load(POD.replace("{podGroupName: g}", "{}"), gates=GENERIC)
    [error] = loaded.errors
    assert error.field == "spec.schedulingGroup.podGroupName"
    assert load(POD.replace("{podGroupName: g}", "{}"), gates=DEFAULT_GATES).errors == []
