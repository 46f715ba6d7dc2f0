from datetime import UTC, datetime
from typing import Any

import pytest

from nodewise.api.objects import LabelSelector, ObjectMeta, Pod, Volume, replace
from nodewise.api.storage import (
    AWSElasticBlockStore,
    AzureDisk,
    CSIStorageCapacity,
    EphemeralVolumeSource,
    StorageObject,
    TopologySelectorLabelRequirement,
    TopologySelectorTerm,
)
from nodewise.config.arguments import UtilizationShapePoint, VolumeBindingArgs
from nodewise.framework.cycle_state import CycleState
from nodewise.framework.status import SUCCESS, Status
from nodewise.plugins.volume_binding import VolumeBinding
from nodewise.state.columns import ALL_ROWS
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot
from nodewise.testing.builders import FakeHandle, make_node, make_pod, make_snapshot
from nodewise.testing.check_plugin import check_plugin
from nodewise.testing.storage_builders import (
    claim_volumes,
    make_bound,
    make_claim,
    make_class,
    make_csi_driver,
    make_csi_node,
    make_volume,
)
from tests.plugins.storage_world import ZONE, failures, owned_by, sample_clusters, sample_pods, with_storage

AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
NONE_LEFT = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
NODES = [make_node(f"n{index}", labels={ZONE: zone}) for index, zone in enumerate("aab")]
LOCAL = make_class("local", "kubernetes.io/no-provisioner")
WAIT = make_class("wait")


def using(*claims: str) -> Pod:
    return make_pod("p", volumes=claim_volumes(claims))


def rejected(storage: list[StorageObject], *claims: str) -> dict[str, tuple[str, ...]]:
    found = failures(VolumeBinding, using(*claims), NODES, storage)
    assert isinstance(found, dict)
    assert all(status == Status.unresolvable(*status.reasons) for status in found.values())
    return {name: status.reasons for name, status in found.items()}


def test_it_keeps_to_the_contract_of_plugins() -> None:
    check_plugin(with_storage(VolumeBinding), sample_clusters(), sample_pods())


# --- before any node --------------------------------------------------------------------------------------------------


def deleted(claim: Any) -> Any:
    return replace(claim, metadata=replace(claim.metadata, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC)))


@pytest.mark.parametrize(
    ("storage", "reason"),
    [
        ([], 'persistentvolumeclaim "data" not found'),
        (
            [make_claim("data", volume="vol", phase="Lost")],
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "vol"',
        ),
        ([deleted(make_claim("data", volume="vol"))], 'persistentvolumeclaim "data" is being deleted'),
        ([make_claim("data")], "pod has unbound immediate PersistentVolumeClaims"),
        ([make_claim("data", storage_class="gone")], "pod has unbound immediate PersistentVolumeClaims"),
        (
            [make_claim("data", storage_class="now"), make_class("now", mode="Immediate")],
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        (
            [replace(make_claim("data", storage_class="wait"), spec=make_claim("data", volume="v").spec), WAIT],
            "pod has unbound immediate PersistentVolumeClaims",
        ),
    ],
)
def test_a_claim_that_cannot_be_used_rejects_the_pod(storage: list[StorageObject], reason: str) -> None:
    assert failures(VolumeBinding, using("data"), NODES, storage) == Status.unresolvable(reason)


def test_the_claim_of_an_ephemeral_volume_must_be_there_and_be_the_pods() -> None:
    pod = make_pod("p", volumes=(Volume(name="e", ephemeral=EphemeralVolumeSource()),))
    claim = make_claim("p-e", volume="vol")
    waiting = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-e"'
    foreign = "PVC default/p-e was not created for pod default/p (pod is not owner)"
    assert failures(VolumeBinding, pod, NODES, []) == Status.unresolvable(waiting)
    assert failures(VolumeBinding, pod, NODES, [claim]) == Status.unresolvable(foreign)
    storage: list[StorageObject] = [owned_by(claim, pod), make_volume("vol", claim=claim)]
    assert failures(VolumeBinding, pod, NODES, storage) == {}


# --- bound claims -----------------------------------------------------------------------------------------------------


def test_a_bound_volume_keeps_the_pod_to_its_nodes() -> None:
    assert rejected([*make_bound("data", nodes={ZONE: "a"})], "data") == {"n2": (AFFINITY,)}


def test_the_first_wrong_claim_ends_the_check_of_bound_ones() -> None:
    storage: list[StorageObject] = [*make_bound("near", nodes={ZONE: "a"}), make_claim("lost", volume="gone")]
    assert rejected(storage, "near", "lost") == {"n0": (MISSING,), "n1": (MISSING,), "n2": (AFFINITY,)}
    assert rejected(storage, "lost", "near") == dict.fromkeys(("n0", "n1", "n2"), (MISSING,))


def test_an_in_tree_volume_is_asked_in_its_drivers_words_where_the_node_has_moved_to_csi() -> None:
    source = AWSElasticBlockStore("vol-1")
    key = "storage.alpha.kubernetes.io/migrated-plugins"
    storage: list[StorageObject] = [
        *make_bound("data", nodes={ZONE: "a"}, aws_elastic_block_store=source),
        make_csi_node("n0", {}, **{key: "kubernetes.io/aws-ebs"}),
        make_csi_node("n1", {}),
    ]
    assert rejected(storage, "data") == {"n0": (AFFINITY,), "n2": (AFFINITY,)}


def test_an_in_tree_volume_without_csi_form_is_an_error_on_nodes_that_have_moved_to_csi() -> None:
    key = "storage.alpha.kubernetes.io/migrated-plugins"
    storage: list[StorageObject] = [
        *make_bound("data", azure_disk=AzureDisk("/d", "Shared")),
        make_csi_node("n0", {}, **{key: "kubernetes.io/azure-disk"}),
    ]
    text = "could not translate pv: kind(Shared) is not supported in csi migration"
    assert failures(VolumeBinding, using("data"), NODES, storage) == {"n0": Status.error(text)}


# --- claims that wait for the pod -------------------------------------------------------------------------------------


def test_local_volumes_must_be_large_enough_and_there() -> None:
    storage: list[StorageObject] = [
        LOCAL,
        make_claim("data", "2Gi", storage_class="local"),
        make_volume("small", "1Gi", storage_class="local", nodes={"kubernetes.io/hostname": "n0"}),
        make_volume("large", "3Gi", storage_class="local", nodes={"kubernetes.io/hostname": "n1"}),
    ]
    assert rejected(storage, "data") == {"n0": (NONE_LEFT,), "n2": (NONE_LEFT,)}


def test_two_claims_need_two_volumes() -> None:
    storage: list[StorageObject] = [
        LOCAL,
        *(make_claim(name, storage_class="local") for name in ("one", "two")),
        *(make_volume(f"v{i}", storage_class="local", nodes={"kubernetes.io/hostname": f"n{i % 2}"}) for i in range(3)),
    ]
    assert rejected(storage, "one", "two") == {"n1": (NONE_LEFT,), "n2": (NONE_LEFT,)}


def test_a_class_limits_where_volumes_are_made() -> None:
    term = TopologySelectorTerm((TopologySelectorLabelRequirement(ZONE, ("b", "c")),))
    storage: list[StorageObject] = [
        make_class("zoned", allowed_topologies=(term,)),
        make_claim("data", storage_class="zoned"),
    ]
    assert rejected(storage, "data") == {"n0": (NONE_LEFT,), "n1": (NONE_LEFT,)}


def test_a_claim_with_a_selected_node_goes_there_only() -> None:
    storage: list[StorageObject] = [WAIT, make_claim("data", storage_class="wait", annotations={SELECTED_NODE: "n1"})]
    assert rejected(storage, "data") == {"n0": (NONE_LEFT,), "n2": (NONE_LEFT,)}


def test_reasons_of_bound_and_of_unbound_claims_come_together() -> None:
    storage: list[StorageObject] = [
        LOCAL,
        *make_bound("near", nodes={ZONE: "b"}),
        make_claim("data", storage_class="local"),
    ]
    assert rejected(storage, "near", "data") == {
        "n0": (AFFINITY, NONE_LEFT),
        "n1": (AFFINITY, NONE_LEFT),
        "n2": (NONE_LEFT,),
    }


def capacity(name: str, zone: str, size: str, maximum: str | None = None) -> CSIStorageCapacity:
    topology = LabelSelector(match_labels={ZONE: zone})
    return CSIStorageCapacity(ObjectMeta(name=name, namespace="x"), "wait", topology, size, maximum)


def test_free_capacity_counts_for_drivers_that_tell_it() -> None:
    storage: list[StorageObject] = [WAIT, make_claim("data", "5Gi", storage_class="wait")]
    storage += [capacity("c1", "a", "10Gi", "4Gi"), capacity("c2", "b", "6Gi")]
    assert rejected(storage, "data") == {}
    storage.append(make_csi_driver("csi.test", storage_capacity=True))
    assert rejected(storage, "data") == {"n0": (NO_SPACE,), "n1": (NO_SPACE,)}
    storage[1] = make_claim("data", None, storage_class="wait")
    assert rejected(storage, "data") == {}


# --- scores -----------------------------------------------------------------------------------------------------------


def raw_scores(storage: list[StorageObject], *claims: str, args: VolumeBindingArgs | None = None) -> list[int]:
    snapshot = make_snapshot(NODES)
    snapshot.listers.fill(storage)
    plugin = VolumeBinding(args, FakeHandle(snapshot))
    scores = plugin.score(plugin.compile(using(*claims), snapshot), snapshot.columns, ALL_ROWS)
    assert scores is not None
    found: list[int] = scores.tolist()
    return found


def test_a_pod_with_nothing_to_bind_scores_zero() -> None:
    assert raw_scores([]) == [0, 0, 0]
    assert raw_scores([*make_bound("data")], "data") == [0, 0, 0]


def test_nodes_with_more_room_are_better() -> None:
    storage: list[StorageObject] = [
        WAIT,
        make_claim("data", "5Gi", storage_class="wait"),
        make_csi_driver("csi.test", storage_capacity=True),
    ]
    storage += [capacity("c1", "a", "10Gi"), capacity("c2", "b", "20Gi")]
    assert raw_scores(storage, "data") == [50, 50, 75]
    shape = (UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10))
    assert raw_scores(storage, "data", args=VolumeBindingArgs(shape=shape)) == [50, 50, 25]


def test_two_claims_of_one_class_share_its_room() -> None:
    storage: list[StorageObject] = [
        WAIT,
        make_csi_driver("csi.test", storage_capacity=True),
        capacity("c1", "a", "10Gi"),
    ]
    storage += [make_claim(name, "3Gi", storage_class="wait") for name in ("one", "two")]
    assert raw_scores(storage, "one", "two") == [40, 40, 0]


def test_volumes_that_are_there_count_alone_and_class_by_class() -> None:
    storage: list[StorageObject] = [LOCAL, WAIT, make_class("disk", "kubernetes.io/no-provisioner")]
    storage += [make_claim("a", "1Gi", storage_class="local"), make_claim("b", "1Gi", storage_class="disk")]
    storage += [make_volume("v1", "4Gi", storage_class="local"), make_volume("v2", "2Gi", storage_class="disk")]
    assert raw_scores(storage, "a") == [75, 75, 75]
    assert raw_scores(storage, "a", "b") == [63, 63, 63]  # 62.5, rounded up


# --- deciding ---------------------------------------------------------------------------------------------------------


def codes(plugin: VolumeBinding, pod: Pod, snapshot: Snapshot) -> list[int]:
    plugin.class_key(pod)
    found: list[int] = plugin.filter(plugin.compile(pod, snapshot), snapshot.columns, ALL_ROWS).tolist()
    return found


def test_a_decision_takes_the_volume_from_later_pods_until_it_is_undone() -> None:
    snapshot = make_snapshot(NODES)
    first, second = (make_claim(name, storage_class="local") for name in ("one", "two"))
    free = make_volume("v", storage_class="local")
    snapshot.listers.fill([LOCAL, first, second, free])
    plugin = VolumeBinding(None, FakeHandle(snapshot))
    state, pod, other = CycleState(), PodInfo(using("one")), using("two")
    key = plugin.class_key(other)
    assert plugin.reserve(state, pod, "n1") == SUCCESS
    assert plugin.class_key(other) != key
    assert codes(plugin, other, snapshot) == [2, 2, 2]
    assert codes(plugin, pod.pod, snapshot) == [0, 0, 0]
    assert snapshot.listers.storage.volumes["v"] is free
    plugin.unreserve(state, pod, "n1")
    assert codes(plugin, other, snapshot) == [0, 0, 0]


def test_a_decision_names_the_node_where_a_volume_is_to_be_made() -> None:
    snapshot = make_snapshot(NODES)
    snapshot.listers.fill([WAIT, make_claim("data", storage_class="wait")])
    plugin, state, pod = VolumeBinding(None, FakeHandle(snapshot)), CycleState(), PodInfo(using("data"))
    assert plugin.reserve(state, pod, "n1") == SUCCESS
    rows = snapshot.columns.rows
    found = codes(plugin, pod.pod, snapshot)
    assert [found[rows[name]] for name in ("n0", "n1", "n2")] == [2, 0, 2]
    plugin.unreserve(state, pod, "n1")
    assert codes(plugin, pod.pod, snapshot) == [0, 0, 0]


def test_without_its_filter_the_plugin_finds_no_volumes_to_rate_or_to_reserve() -> None:
    snapshot = make_snapshot(NODES)
    snapshot.listers.fill([LOCAL, make_claim("data", storage_class="local"), make_volume("v", storage_class="local")])
    plugin, pod = VolumeBinding(None, FakeHandle(snapshot)), PodInfo(using("data"))
    plugin.placed(frozenset({"preFilter", "score", "reserve"}))
    key = plugin.class_key(pod.pod)
    scores = plugin.score(plugin.compile(pod.pod, snapshot), snapshot.columns, ALL_ROWS)
    assert scores is not None
    assert scores.tolist() == [0, 0, 0]
    assert plugin.reserve(CycleState(), pod, "n1") == SUCCESS
    assert plugin.class_key(pod.pod) == key


def test_like_claims_are_of_one_class() -> None:
    snapshot = make_snapshot(NODES)
    claims = [make_claim(name, storage_class="wait") for name in "ab"]
    large = make_claim("c", "9Gi", storage_class="wait")
    snapshot.listers.fill([WAIT, *claims, large, *make_bound("d"), *make_bound("e", nodes={ZONE: "a"})])
    plugin = VolumeBinding(None, FakeHandle(snapshot))
    keys = {name: plugin.class_key(using(name)) for name in "abcde"}
    assert keys["a"] == keys["b"] != keys["c"]
    assert keys["d"] == plugin.class_key(make_pod("plain")) != keys["e"]
