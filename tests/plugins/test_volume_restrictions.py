import pytest

from nodewise.api.objects import Pod, Volume
from nodewise.api.storage import ISCSI, RBD, AWSElasticBlockStore, GCEPersistentDisk
from nodewise.framework.plugin import PodsChange
from nodewise.framework.status import Status
from nodewise.plugins.volume_restrictions import CLAIM_TAKEN, DISK_TAKEN, VolumeRestrictions
from nodewise.state.columns import ALL_ROWS
from nodewise.state.pod_info import PodInfo
from nodewise.state.what_if import WhatIfColumns
from nodewise.testing.builders import FakeHandle, make_node, make_pod, make_snapshot
from nodewise.testing.check_plugin import check_plugin
from nodewise.testing.storage_builders import claim_volumes, make_bound
from tests.plugins.storage_world import failures, sample_clusters, sample_pods, with_storage

DISK = Status.unschedulable("node(s) had no available disk")
IN_USE = Status.unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
NODES = [make_node("n1"), make_node("n2")]
ALONE = make_bound("alone", access_modes=("ReadWriteOncePod",))


def gce(name: str, *, read_only: bool = False) -> Volume:
    return Volume(gce_persistent_disk=GCEPersistentDisk(name, read_only))


def rbd(*monitors: str, image: str = "img", pool: str = "rbd", read_only: bool = False) -> Volume:
    return Volume(rbd=RBD(monitors, pool, image, read_only))


def ebs(volume_id: str) -> Volume:
    return Volume(aws_elastic_block_store=AWSElasticBlockStore(volume_id))


def test_it_keeps_to_the_contract_of_plugins() -> None:
    check_plugin(with_storage(VolumeRestrictions), sample_clusters(), sample_pods())


@pytest.mark.parametrize(
    ("mine", "other", "clashes"),
    [
        (gce("d"), gce("d"), True),
        (gce("d", read_only=True), gce("d"), True),
        (gce("d"), gce("d", read_only=True), True),
        (gce("d", read_only=True), gce("d", read_only=True), False),
        (gce("d"), gce("e"), False),
        (gce("d"), ebs("d"), False),
        (ebs("d"), ebs("d"), True),
        (Volume(iscsi=ISCSI("iqn")), Volume(iscsi=ISCSI("iqn", read_only=True)), True),
        (Volume(iscsi=ISCSI("iqn", read_only=True)), Volume(iscsi=ISCSI("iqn", read_only=True)), False),
        (rbd("m1", "m2"), rbd("m2", "m3"), True),
        (rbd("m1", "m2"), rbd("m3"), False),
        (rbd("m1"), rbd("m1", pool="other"), False),
        (rbd("m1"), rbd("m1", image="other"), False),
        (rbd("m1", read_only=True), rbd("m1", read_only=True), False),
        (rbd(), rbd(), False),
    ],
)
def test_a_disk_may_not_be_used_twice_on_a_node_unless_both_only_read(
    mine: Volume, other: Volume, *, clashes: bool
) -> None:
    running = [make_pod("old", node="n1", volumes=(other,))]
    found = failures(VolumeRestrictions, make_pod("p", volumes=(mine,)), NODES, (), running)
    assert found == ({"n1": DISK} if clashes else {})


def using_alone(name: str, node: str = "", namespace: str = "default") -> Pod:
    return make_pod(name, node=node, namespace=namespace, volumes=claim_volumes(["alone"]))


def test_a_claim_for_a_single_pod_that_is_in_use_rejects_every_node() -> None:
    found = failures(VolumeRestrictions, using_alone("p"), NODES, ALONE, [using_alone("old", "n1")])
    assert found == {"n1": IN_USE, "n2": IN_USE}


def test_a_claim_that_nobody_uses_or_many_may_use_is_no_matter() -> None:
    assert failures(VolumeRestrictions, using_alone("p"), NODES, ALONE) == {}
    shared = make_bound("alone")
    assert failures(VolumeRestrictions, using_alone("p"), NODES, shared, [using_alone("old", "n1")]) == {}


def test_a_missing_claim_rejects_the_pod() -> None:
    found = failures(VolumeRestrictions, using_alone("p"), NODES, ())
    assert found == Status.unresolvable('persistentvolumeclaim "alone" not found')


def test_the_claim_is_free_once_its_pod_is_gone_and_a_namesake_elsewhere_counts_too() -> None:
    snapshot = make_snapshot(NODES, [using_alone("old", "n1")])
    snapshot.listers.fill(ALONE)
    plugin = VolumeRestrictions(None, FakeHandle(snapshot))
    state = plugin.compile(using_alone("p"), snapshot)
    assert state is not None
    row = snapshot.columns.rows["n1"]
    (old,) = snapshot.pods_on(row).values()
    columns = WhatIfColumns(snapshot.columns, row)
    free = plugin.with_pods(state, snapshot.columns, PodsChange(row, removed=(old,)))
    assert plugin.filter(free, columns, ALL_ROWS).tolist() == [0]
    # the namespace of the other pod is not compared, as in kube-scheduler
    other = PodInfo(using_alone("other", "n1", namespace="elsewhere"))
    taken = plugin.with_pods(free, snapshot.columns, PodsChange(row, added=(other,)))
    assert plugin.filter(taken, columns, ALL_ROWS).tolist() == [CLAIM_TAKEN]


def test_the_claim_is_free_when_its_pod_goes_from_another_node() -> None:
    snapshot = make_snapshot(NODES, [using_alone("old", "n1")])
    snapshot.listers.fill(ALONE)
    plugin = VolumeRestrictions(None, FakeHandle(snapshot))
    state = plugin.compile(using_alone("p"), snapshot)
    assert state is not None
    row, other_row = snapshot.columns.rows["n2"], snapshot.columns.rows["n1"]
    (old,) = snapshot.pods_on(other_row).values()
    free = plugin.with_pods(state, snapshot.columns, PodsChange(row, elsewhere=((other_row, old),)))
    assert plugin.filter(free, WhatIfColumns(snapshot.columns, row), ALL_ROWS).tolist() == [0]


def test_a_disk_comes_and_goes_with_the_pods_of_a_what_if() -> None:
    snapshot = make_snapshot(NODES, [make_pod("old", node="n1", volumes=(ebs("d"),))])
    plugin = VolumeRestrictions(None, FakeHandle(snapshot))
    state = plugin.compile(make_pod("p", volumes=(ebs("d"),)), snapshot)
    assert state is not None
    row = snapshot.columns.rows["n1"]
    (old,) = snapshot.pods_on(row).values()
    for change, code in ((PodsChange(row), DISK_TAKEN), (PodsChange(row, removed=(old,)), 0)):
        columns = WhatIfColumns(snapshot.columns, row)
        assert plugin.filter(plugin.with_pods(state, snapshot.columns, change), columns, ALL_ROWS).tolist() == [code]
    added = PodInfo(make_pod("new", node="n2", volumes=(ebs("d"),)))
    row = snapshot.columns.rows["n2"]
    changed = plugin.with_pods(state, snapshot.columns, PodsChange(row, added=(added,)))
    assert plugin.filter(changed, WhatIfColumns(snapshot.columns, row), ALL_ROWS).tolist() == [DISK_TAKEN]
