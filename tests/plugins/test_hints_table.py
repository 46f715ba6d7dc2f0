"""What the default profile registers is what kube-scheduler's does, event by event and plugin by plugin."""

from __future__ import annotations

import re

import pytest

from nodewise.config.feature_gates import FeatureGates
from nodewise.framework.events import ActionType, EventResource
from nodewise.plugins import IN_TREE
from nodewise.testing.builders import make_pod
from nodewise.testing.check_events import check_events
from nodewise.testing.samples import sample_pods
from tests.oracle import PROJECT_ROOT
from tests.plugins.hints import Row, make_plugin, rows_of

GROUP_PLUGINS = frozenset(
    {"GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount", "DeferredPodScheduling"}
)
DEFAULT_PROFILE = [name for name in IN_TREE if name not in GROUP_PLUGINS]
WITHOUT_EVENTS = {"PrioritySort", "NodeResourcesBalancedAllocation", "ImageLocality", "DefaultBinder"}
TABLE = """
Node/Add: NodeName -, NodeUnschedulable h, TaintToleration h, NodeAffinity h, NodePorts -, NodeResourcesFit h, \
VolumeRestrictions -, VolumeBinding -, VolumeZone -, PodTopologySpread h, InterPodAffinity h, DynamicResources -, \
NodeDeclaredFeatures h
Node/Delete: PodTopologySpread h
Node/UpdateNodeLabel: NodeAffinity h, VolumeBinding -, VolumeZone -, PodTopologySpread h, InterPodAffinity h, \
DynamicResources -
Node/UpdateNodeTaint: NodeUnschedulable h, TaintToleration h, PodTopologySpread h
Node/UpdateNodeAllocatable: NodeResourcesFit h, DynamicResources -
Node/UpdateNodeDeclaredFeature: NodeDeclaredFeatures h
AssignedPod/Add: PodTopologySpread h, InterPodAffinity h
AssignedPod/UpdatePodLabel: PodTopologySpread h, InterPodAffinity h
AssignedPod/Delete: NodePorts h, NodeResourcesFit h, VolumeRestrictions h, NodeVolumeLimits h, PodTopologySpread h, \
InterPodAffinity h, DefaultPreemption h
AssignedPod/UpdatePodScaleDown: NodeResourcesFit h
TargetPod/UpdatePodToleration: NodeUnschedulable h, TaintToleration h, PodTopologySpread h
TargetPod/UpdatePodLabel: PodTopologySpread h, InterPodAffinity h
TargetPod/UpdatePodScaleDown: NodeResourcesFit h
TargetPod/UpdatePodSchedulingGatesEliminated: SchedulingGates h
TargetPod/UpdatePodGeneratedResourceClaim: DynamicResources h
TargetPod/Update: NodeDeclaredFeatures h
PersistentVolumeClaim/Add: VolumeRestrictions h, NodeVolumeLimits h, VolumeBinding h, VolumeZone h
PersistentVolumeClaim/Update: VolumeBinding h, VolumeZone h
PersistentVolume/Add: VolumeBinding -, VolumeZone h
PersistentVolume/Update: VolumeBinding -, VolumeZone h
storage.k8s.io/StorageClass/Add: VolumeBinding h, VolumeZone h
storage.k8s.io/StorageClass/Update: VolumeBinding h
storage.k8s.io/CSINode/Add: NodeVolumeLimits -, VolumeBinding h
storage.k8s.io/CSINode/Update: NodeVolumeLimits h, VolumeBinding h
storage.k8s.io/CSIDriver/Update: VolumeBinding h
storage.k8s.io/CSIStorageCapacity/Add: VolumeBinding h
storage.k8s.io/CSIStorageCapacity/Update: VolumeBinding h
storage.k8s.io/VolumeAttachment/Delete: NodeVolumeLimits h
resource.k8s.io/ResourceClaim/Add: DynamicResources h
resource.k8s.io/ResourceClaim/Update: DynamicResources h
resource.k8s.io/ResourceClaim/Delete: DynamicResources h
resource.k8s.io/DeviceClass/Add: NodeResourcesFit h, DynamicResources -
resource.k8s.io/DeviceClass/Update: NodeResourcesFit h, DynamicResources -
resource.k8s.io/ResourceSlice/Add: DynamicResources -
resource.k8s.io/ResourceSlice/Update: DynamicResources -
"""
ACTIONS = {action.text: action for action in (*ActionType, ActionType.UPDATE)}


def rows_in(table: str) -> set[Row]:
    """Read a table of lines `resource/action: plugin h, plugin -`."""
    found: set[Row] = set()
    for line in table.strip().splitlines():
        event, _, plugins = line.partition(": ")
        resource, _, action = event.rpartition("/")
        for plugin in plugins.split(", "):
            name, mark = plugin.split(" ")
            found.add((EventResource(resource), ACTIONS[action], name, mark == "h"))
    return found


def rows_in_docs() -> set[Row]:
    """Read the table of the page about plugins."""
    page = (PROJECT_ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| `([\w./]+)` \| ([\w, `]+) \| ([\w ,()]+) \|$", page, re.MULTILINE)
    found: set[Row] = set()
    for resource, actions, plugins in lines:
        for action in re.findall(r"`(\w+)`", actions):
            for name, has_hint in re.findall(r"(\w+)( \(any\))?", plugins):
                found.add((EventResource(resource), ACTIONS[action], name, not has_hint))
    return found


def test_the_default_profile_registers_what_kube_scheduler_does() -> None:
    assert rows_of(make_plugin(name) for name in DEFAULT_PROFILE) == rows_in(TABLE)


def test_the_page_about_plugins_shows_what_is_registered() -> None:
    assert rows_in_docs() == rows_in(TABLE)


def test_plugins_that_reject_no_pods_register_nothing() -> None:
    silent = {name for name in DEFAULT_PROFILE if not hasattr(make_plugin(name), "events_to_register")}
    assert silent == WITHOUT_EVENTS


@pytest.mark.parametrize("name", [name for name in DEFAULT_PROFILE if name not in WITHOUT_EVENTS])
def test_hints_answer_for_every_kind_of_object(name: str) -> None:
    check_events(make_plugin(name), [*sample_pods(), make_pod("with-node", node="n1")])


def test_deferred_resizes_are_only_heard_of_with_their_feature_gate() -> None:
    gates = FeatureGates.of(InPlacePodVerticalScalingSchedulerPreemption=True)
    added = rows_of([make_plugin("NodeResourcesFit", gates=gates)]) - rows_of([make_plugin("NodeResourcesFit")])
    scale_up = ActionType.UPDATE_POD_SCALE_UP
    assert added == {
        (EventResource.ASSIGNED_POD, scale_up, "NodeResourcesFit", True),
        (EventResource.TARGET_POD, scale_up, "NodeResourcesFit", True),
    }


def test_without_asynchronous_preemption_its_plugin_hears_of_nothing() -> None:
    gates = FeatureGates.of(SchedulerAsyncPreemption=False)
    assert rows_of([make_plugin("DefaultPreemption", gates=gates)]) == set()
