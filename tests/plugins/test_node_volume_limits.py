from nodewise.api.objects import ObjectMeta, Pod, Volume
from nodewise.api.storage import (
    AWSElasticBlockStore,
    AzureDisk,
    EphemeralVolumeSource,
    StorageObject,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
)
from nodewise.framework.plugin import PodsChange
from nodewise.framework.status import Status
from nodewise.plugins.node_volume_limits import TOO_MANY, NodeVolumeLimits
from nodewise.state.columns import ALL_ROWS
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot
from nodewise.state.what_if import WhatIfColumns
from nodewise.testing.builders import FakeHandle, make_cache, make_node, make_pod, make_snapshot
from nodewise.testing.check_plugin import check_plugin
from nodewise.testing.storage_builders import (
    claim_volumes,
    make_bound,
    make_claim,
    make_class,
    make_csi_driver,
    make_csi_node,
)
from tests.plugins.storage_world import DRIVER, failures, owned_by, sample_clusters, sample_pods, with_storage

EXCEEDED = Status.unschedulable("node(s) exceed max volume count")
NODES = [make_node(f"n{index}") for index in (1, 2, 3)]
CSI_NODES = [make_csi_node("n1", {DRIVER: 1}), make_csi_node("n2", {DRIVER: 2})]
STORAGE = [*CSI_NODES, *(obj for name in "abcd" for obj in make_bound(name, driver=DRIVER))]


def using(name: str, *claims: str, node: str = "") -> Pod:
    return make_pod(name, node=node, volumes=claim_volumes(claims))


def attachment(volume: str, node: str, attacher: str = DRIVER) -> VolumeAttachment:
    spec = VolumeAttachmentSpec(attacher, node, VolumeAttachmentSource(volume))
    return VolumeAttachment(ObjectMeta(name=f"{volume} at {node}"), spec)


def test_it_keeps_to_the_contract_of_plugins() -> None:
    check_plugin(with_storage(NodeVolumeLimits), sample_clusters(), sample_pods())


def test_volumes_of_pods_and_of_the_pod_itself_count_up_to_the_limit() -> None:
    running = [using("x", "a", node="n1"), using("y", "a", node="n2")]
    assert failures(NodeVolumeLimits, using("p", "b"), NODES, STORAGE, running) == {"n1": EXCEEDED}
    assert failures(NodeVolumeLimits, using("p", "b", "c"), NODES, STORAGE, running) == {"n1": EXCEEDED, "n2": EXCEEDED}


def test_a_volume_that_is_there_already_takes_no_room() -> None:
    running = [using("x", "a", node="n1")]
    assert failures(NodeVolumeLimits, using("p", "a"), NODES, STORAGE, running) == {}


def test_a_volume_used_by_two_pods_counts_once() -> None:
    running = [using("x", "a", node="n2"), using("y", "a", node="n2")]
    assert failures(NodeVolumeLimits, using("p", "b"), NODES, STORAGE, running) == {}


def test_attachments_that_no_pod_accounts_for_count_too() -> None:
    storage: list[StorageObject] = [
        *STORAGE,
        attachment("vol-a", "n1"),
        attachment("vol-b", "n2"),
        attachment("vol-gone", "n2"),
    ]
    assert failures(NodeVolumeLimits, using("p", "c"), NODES, storage) == {"n1": EXCEEDED}
    # the pod's own volume counts twice, as in kube-scheduler
    assert failures(NodeVolumeLimits, using("p", "a"), NODES, storage) == {"n1": EXCEEDED}
    running = [using("x", "a", node="n1")]
    assert failures(NodeVolumeLimits, using("p", "a"), NODES, storage, running) == {}


def test_a_volume_still_to_be_made_counts_under_the_driver_of_its_class() -> None:
    storage: list[StorageObject] = [
        *CSI_NODES,
        make_claim("a", storage_class="c"),
        make_claim("b", storage_class="c"),
        make_class("c", DRIVER),
    ]
    assert failures(NodeVolumeLimits, using("p", "a", "b"), NODES, storage) == {"n1": EXCEEDED}


def test_a_driver_that_must_be_there_rejects_nodes_without_it() -> None:
    storage: list[StorageObject] = [
        *STORAGE,
        make_csi_driver(DRIVER, prevent_pod_scheduling_if_missing=True),
        make_csi_node("n2", {"x": 1}),
    ]
    missing = Status.unschedulable(f"{DRIVER} CSI driver is not installed on the node")
    assert failures(NodeVolumeLimits, using("p", "a"), NODES, storage) == {"n2": missing, "n3": missing}


def test_a_missing_claim_rejects_every_node() -> None:
    found = failures(NodeVolumeLimits, using("p", "nowhere"), NODES[:1], STORAGE)
    text = 'looking up PVC default/nowhere: persistentvolumeclaim "nowhere" not found'
    assert found == {"n1": Status.unresolvable(text)}


def test_in_tree_disks_count_under_their_csi_driver_where_there_is_a_csi_node() -> None:
    disks = tuple(Volume(aws_elastic_block_store=AWSElasticBlockStore(f"vol-{index}")) for index in (1, 2))
    storage: list[StorageObject] = [make_csi_node("n1", {"ebs.csi.aws.com": 1})]
    assert failures(NodeVolumeLimits, make_pod("p", volumes=disks), NODES, storage) == {"n1": EXCEEDED}


def test_a_disk_without_csi_form_is_an_error_where_there_is_a_csi_node() -> None:
    pod = make_pod("p", volumes=(Volume(name="d", azure_disk=AzureDisk("/d", "Shared")),))
    text = "converting volume(d) from inline to csi: kind(Shared) is not supported in csi migration"
    assert failures(NodeVolumeLimits, pod, NODES, CSI_NODES[:1]) == {"n1": Status.error(text)}


def test_a_running_pod_with_a_claim_of_another_pod_is_an_error_on_its_node() -> None:
    ephemeral = (Volume(name="e", ephemeral=EphemeralVolumeSource()),)
    running = make_pod("x", node="n1", volumes=ephemeral)
    claim = make_claim("x-e", storage_class="c")
    storage: list[StorageObject] = [*STORAGE, claim, make_class("c", DRIVER)]
    text = "PVC default/x-e was not created for pod default/x (pod is not owner)"
    assert failures(NodeVolumeLimits, using("p", "a"), NODES, storage, [running]) == {"n1": Status.error(text)}
    storage[-2] = owned_by(claim, running)
    assert failures(NodeVolumeLimits, using("p", "a"), NODES, storage, [running]) == {"n1": EXCEEDED}


def test_pods_of_a_what_if_make_and_take_room() -> None:
    snapshot = make_snapshot(NODES, [using("x", "a", node="n1")])
    snapshot.listers.fill(STORAGE)
    plugin = NodeVolumeLimits(None, FakeHandle(snapshot))
    state = plugin.compile(using("p", "b"), snapshot)
    assert state is not None
    row = snapshot.columns.rows["n1"]
    (old,) = snapshot.pods_on(row).values()
    for change, code in ((PodsChange(row), TOO_MANY), (PodsChange(row, removed=(old,)), 0)):
        columns = WhatIfColumns(snapshot.columns, row)
        assert plugin.filter(plugin.with_pods(state, snapshot.columns, change), columns, ALL_ROWS).tolist() == [code]
    more = tuple(PodInfo(using(name, name, node="n2")) for name in "cd")
    row = snapshot.columns.rows["n2"]
    changed = plugin.with_pods(state, snapshot.columns, PodsChange(row, added=more))
    assert plugin.filter(changed, WhatIfColumns(snapshot.columns, row), ALL_ROWS).tolist() == [TOO_MANY]


def test_pods_whose_volumes_nobody_else_has_are_of_one_class() -> None:
    snapshot = make_snapshot(NODES, [using("x", "a", node="n1")])
    snapshot.listers.fill(STORAGE)
    plugin = NodeVolumeLimits(None, FakeHandle(snapshot))
    assert plugin.class_key(using("p", "b")) == plugin.class_key(using("q", "c"))
    assert plugin.class_key(using("p", "a")) != plugin.class_key(using("q", "c"))


def test_a_nominated_pod_with_volumes_makes_each_volume_count_by_name() -> None:
    snapshot = make_snapshot(NODES)
    snapshot.listers.fill(STORAGE)
    handle = FakeHandle(snapshot)
    plugin = NodeVolumeLimits(None, handle)
    handle.nominator.add(PodInfo(using("n", "b")), "n1")
    assert plugin.class_key(using("p", "b")) != plugin.class_key(using("q", "c"))
    state = plugin.compile(using("p", "b"), snapshot)
    assert state is not None
    (nominated,) = handle.nominator.nominated_to("n1")
    row = snapshot.columns.rows["n1"]
    changed = plugin.with_pods(state, snapshot.columns, PodsChange(row, added=(nominated,)))
    assert plugin.filter(changed, WhatIfColumns(snapshot.columns, row), ALL_ROWS).tolist() == [0]


def test_answers_follow_new_nodes_and_new_limits() -> None:
    cache, snapshot = make_cache(NODES[:1]), Snapshot()
    snapshot.update(cache)
    snapshot.listers.fill(STORAGE)
    plugin = NodeVolumeLimits(None, FakeHandle(snapshot))
    pod = using("p", "a", "b")

    def rejected() -> list[str]:
        state = plugin.compile(pod, snapshot)
        codes = plugin.filter(state, snapshot.columns, ALL_ROWS).tolist() if state is not None else []
        return [name for name, code in zip(snapshot.columns.names, codes, strict=False) if code]

    assert rejected() == ["n1"]
    for index in range(2, 40):
        cache.add_node(make_node(f"n{index}"))
    snapshot.update(cache)
    assert rejected() == ["n1"]
    snapshot.listers.storage.put(make_csi_node("n30", {DRIVER: 1}))
    assert rejected() == ["n1", "n30"]
