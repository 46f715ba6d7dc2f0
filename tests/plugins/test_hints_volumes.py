"""Hints of the volume plugins."""

from __future__ import annotations

from typing import Any

import pytest

from nodewise.api.meta import ObjectMeta
from nodewise.api.objects import Pod, PodStatus, Volume, replace
from nodewise.api.storage import (
    RBD,
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    EphemeralVolumeSource,
    GCEPersistentDisk,
    InlineCSIVolume,
    OtherSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PortworxVolume,
    StorageClass,
    TopologySelectorLabelRequirement,
    TopologySelectorTerm,
    VolumeAttachment,
    VolumeAttachmentSpec,
)
from nodewise.framework.events import (
    ASSIGNED_POD_DELETE,
    QUEUE,
    SKIP,
    ActionType,
    ClusterEvent,
    EventResource,
    QueueingHint,
)
from nodewise.testing.builders import make_pod
from nodewise.testing.storage_builders import (
    claim_volumes,
    make_claim,
    make_class,
    make_csi_driver,
    make_csi_node,
    make_volume,
)
from nodewise.volumes.csi_migration import TranslationError
from tests.plugins.hints import ask, make_plugin


def added(resource: EventResource) -> ClusterEvent:
    return ClusterEvent(resource, ActionType.ADD)


def updated(resource: EventResource) -> ClusterEvent:
    return ClusterEvent(resource, ActionType.UPDATE)


CLAIM, VOLUME, CLASS = (
    EventResource.PERSISTENT_VOLUME_CLAIM,
    EventResource.PERSISTENT_VOLUME,
    EventResource.STORAGE_CLASS,
)
CSI_NODE, CAPACITY = EventResource.CSI_NODE, EventResource.CSI_STORAGE_CAPACITY
DETACHED = ClusterEvent(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE)
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
EPHEMERAL = Volume(name="scratch", ephemeral=EphemeralVolumeSource())
GCE = Volume(name="g", gce_persistent_disk=GCEPersistentDisk("pd"))


def using(*volumes: Volume | str, **more: Any) -> Pod:
    """Make a pod with volumes; a text is a claim's name."""
    made = [claim_volumes([v])[0] if isinstance(v, str) else v for v in volumes]
    return make_pod(**{"name": "pod", "volumes": tuple(made), **more})


# --- claims -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plugin", ["VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"])
def test_a_claim_brings_back_the_pods_that_name_it(plugin: str) -> None:
    made = make_plugin(plugin)
    claim = make_claim("data")
    assert ask(made, added(CLAIM), using("logs", "data"), None, claim) is QUEUE
    assert ask(made, added(CLAIM), using("logs"), None, claim) is SKIP
    assert ask(made, added(CLAIM), using("data"), None, make_claim("data", namespace="elsewhere")) is SKIP
    assert ask(made, added(CLAIM), make_pod("without"), None, claim) is SKIP


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        ("VolumeRestrictions", SKIP),
        ("NodeVolumeLimits", QUEUE),
        ("VolumeBinding", QUEUE),
        ("VolumeZone", SKIP),
    ],
)
def test_some_plugins_do_not_see_claims_that_are_made_for_the_pod(plugin: str, expected: QueueingHint) -> None:
    assert ask(make_plugin(plugin), added(CLAIM), using(EPHEMERAL), None, make_claim("pod-scratch")) is expected


@pytest.mark.parametrize("plugin", ["VolumeBinding", "VolumeZone"])
def test_any_update_of_its_claim_brings_a_pod_back(plugin: str) -> None:
    claim = make_claim("data")
    assert ask(make_plugin(plugin), updated(CLAIM), using("data"), claim, claim) is QUEUE
    assert ask(make_plugin(plugin), updated(CLAIM), using("logs"), claim, claim) is SKIP


# --- VolumeRestrictions -----------------------------------------------------------------------------------------------


def disk(*, read_only: bool = False, name: str = "pd") -> Volume:
    return Volume(name="d", gce_persistent_disk=GCEPersistentDisk(name, read_only=read_only))


@pytest.mark.parametrize(
    ("pod", "deleted", "expected"),
    [
        (using(disk()), using(disk()), QUEUE),
        (using(disk()), using(disk(read_only=True)), QUEUE),
        (using(disk(read_only=True)), using(disk(read_only=True)), SKIP),
        (using(disk()), using(disk(name="other")), SKIP),
        (using(disk()), using(disk(), namespace="elsewhere"), SKIP),
        (using("data"), using("data", node="n1"), QUEUE),
        (using("data"), using("logs"), SKIP),
        (using("data"), using("data", namespace="elsewhere"), SKIP),
        (using(EPHEMERAL), using(EPHEMERAL), SKIP),
        (
            using(Volume(name="r", rbd=RBD(("m1", "m2"), "pool", "image"))),
            using(Volume(name="r", rbd=RBD(("m2",), "pool", "image"))),
            QUEUE,
        ),
    ],
)
def test_a_deleted_pod_brings_back_those_that_want_its_disks_or_claims(
    pod: Pod, deleted: Pod, expected: QueueingHint
) -> None:
    assert ask(make_plugin("VolumeRestrictions"), ASSIGNED_POD_DELETE, pod, deleted, None) is expected


# --- NodeVolumeLimits -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"d": 1}, {"d": 2}, QUEUE),
        ({"d": 2}, {"d": 1}, SKIP),
        ({}, {"d": 1}, QUEUE),
        ({"d": 1}, {}, SKIP),
        ({"d": None}, {"d": 1}, QUEUE),  # though any number could be attached before
        ({"d": 1}, {"d": None}, SKIP),  # though any number can be attached now
        ({"d": 1, "e": 1}, {"d": 1, "e": 2}, QUEUE),
    ],
)
def test_a_csi_node_brings_pods_back_when_some_driver_can_attach_more(
    old: dict[str, int | None], new: dict[str, int | None], expected: QueueingHint
) -> None:
    nodes = make_csi_node("n", old), make_csi_node("n", new)
    assert ask(make_plugin("NodeVolumeLimits"), updated(CSI_NODE), using("data"), *nodes) is expected


def test_every_new_csi_node_counts_for_limits() -> None:
    assert ask(make_plugin("NodeVolumeLimits"), added(CSI_NODE), make_pod("p"), None, make_csi_node("n", {})) is QUEUE


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        (using("data", node="n1"), QUEUE),
        (using("data", status=PodStatus(nominated_node_name="n1")), QUEUE),
        (using("data"), SKIP),
        (using(EPHEMERAL, node="n1"), QUEUE),
        (using(GCE, node="n1"), QUEUE),
        (using(Volume(name="v", vsphere_volume=OtherSource()), node="n1"), QUEUE),
        (using(Volume(name="c", csi=InlineCSIVolume("d")), node="n1"), SKIP),
        (make_pod("without", node="n1"), SKIP),
    ],
)
def test_a_deleted_pod_counts_for_limits_when_it_may_have_had_volumes_attached(
    deleted: Pod, expected: QueueingHint
) -> None:
    assert ask(make_plugin("NodeVolumeLimits"), ASSIGNED_POD_DELETE, using("data"), deleted, None) is expected


@pytest.mark.parametrize(
    ("pod", "attacher", "expected"),
    [
        (using("data"), "any", QUEUE),
        (using(EPHEMERAL), "any", SKIP),
        (using(GCE), "pd.csi.storage.gke.io", QUEUE),
        (using(GCE), "ebs.csi.aws.com", SKIP),
        (using(Volume(name="c", cinder=Cinder("id"))), "cinder.csi.openstack.org", QUEUE),
        (using(Volume(name="f", azure_file=OtherSource())), "file.csi.azure.com", QUEUE),
        (using(Volume(name="v", vsphere_volume=OtherSource())), "csi.vsphere.vmware.com", QUEUE),
        (using(Volume(name="p", portworx_volume=PortworxVolume("id"))), "pxd.portworx.com", QUEUE),
        (using(Volume(name="e", aws_elastic_block_store=AWSElasticBlockStore("vol-1"))), "ebs.csi.aws.com", QUEUE),
        (using(Volume(name="c", csi=InlineCSIVolume("d"))), "d", SKIP),
    ],
)
def test_a_detached_volume_brings_back_pods_with_claims_or_volumes_of_its_driver(
    pod: Pod, attacher: str, expected: QueueingHint
) -> None:
    attachment = VolumeAttachment(spec=VolumeAttachmentSpec(attacher=attacher))
    assert ask(make_plugin("NodeVolumeLimits"), DETACHED, pod, attachment, None) is expected


def test_a_volume_without_a_csi_form_is_an_error_unless_a_claim_comes_first() -> None:
    unusable = Volume(name="a", azure_disk=AzureDisk("uri", kind="Shared"))
    attachment = VolumeAttachment(spec=VolumeAttachmentSpec(attacher="any"))
    plugin = make_plugin("NodeVolumeLimits")
    assert ask(plugin, DETACHED, using("data", unusable), attachment, None) is QUEUE
    with pytest.raises(TranslationError):
        ask(plugin, DETACHED, using(unusable, "data"), attachment, None)


# --- VolumeZone -------------------------------------------------------------------------------------------------------

ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("storage_class", "expected"),
    [
        (make_class("c"), QUEUE),
        (make_class("c", mode="Immediate"), SKIP),
        (replace(make_class("c"), volume_binding_mode=None), SKIP),
    ],
)
def test_a_new_class_counts_for_zones_when_it_waits_for_pods(
    storage_class: StorageClass, expected: QueueingHint
) -> None:
    assert ask(make_plugin("VolumeZone"), added(CLASS), using("data"), None, storage_class) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, {}, QUEUE),
        ({ZONE: "a"}, {ZONE: "b"}, QUEUE),
        ({ZONE: "a"}, {}, QUEUE),
        ({ZONE: "a__b"}, {ZONE: "b__a"}, SKIP),
        ({}, {ZONE: "a____b"}, SKIP),  # an empty value makes the label unreadable
        ({}, {"other": "label"}, SKIP),
    ],
)
def test_a_volume_counts_for_zones_when_it_says_something_else_about_them(
    old: dict[str, str] | None, new: dict[str, str], expected: QueueingHint
) -> None:
    before = None if old is None else make_volume("v", labels=old)
    event = added(VOLUME) if old is None else updated(VOLUME)
    assert ask(make_plugin("VolumeZone"), event, using("data"), before, make_volume("v", labels=new)) is expected


# --- VolumeBinding ----------------------------------------------------------------------------------------------------


def in_zone(zone: str) -> dict[str, Any]:
    return {"allowed_topologies": (TopologySelectorTerm((TopologySelectorLabelRequirement(ZONE, (zone,)),)),)}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, make_class("c"), QUEUE),
        (make_class("c", **in_zone("a")), make_class("c", **in_zone("b")), QUEUE),
        (make_class("c", **in_zone("a")), make_class("c", **in_zone("a")), SKIP),
        (make_class("c"), make_class("c", "other"), SKIP),
    ],
)
def test_a_class_counts_for_binding_when_it_is_new_or_allows_other_topologies(
    old: StorageClass | None, new: StorageClass, expected: QueueingHint
) -> None:
    event = added(CLASS) if old is None else updated(CLASS)
    assert ask(make_plugin("VolumeBinding"), event, using("data"), old, new) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, make_csi_node("n", {}), QUEUE),
        (make_csi_node("n", {}), make_csi_node("n", {}, **{MIGRATED: "kubernetes.io/gce-pd"}), QUEUE),
        (make_csi_node("n", {}, **{MIGRATED: "a"}), make_csi_node("n", {}, **{MIGRATED: "a"}), SKIP),
        (make_csi_node("n", {}), make_csi_node("n", {}, **{MIGRATED: ""}), SKIP),
        (make_csi_node("n", {"d": 1}), make_csi_node("n", {"d": 2}), SKIP),
    ],
)
def test_a_csi_node_counts_for_binding_when_it_is_new_or_has_other_plugins_migrated(
    old: CSINode | None, new: CSINode, expected: QueueingHint
) -> None:
    event = added(CSI_NODE) if old is None else updated(CSI_NODE)
    assert ask(make_plugin("VolumeBinding"), event, using("data"), old, new) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [(True, False, QUEUE), (True, None, QUEUE), (False, True, SKIP), (True, True, SKIP), (None, False, SKIP)],
)
def test_a_driver_counts_when_it_stops_to_tell_its_capacity_to_a_pod_with_its_inline_volume(
    old: bool | None, new: bool | None, expected: QueueingHint
) -> None:
    def driver(storage_capacity: bool | None) -> CSIDriver:
        return make_csi_driver("d", storage_capacity=storage_capacity)

    plugin, event = make_plugin("VolumeBinding"), updated(EventResource.CSI_DRIVER)
    pod = using("data", Volume(name="c", csi=InlineCSIVolume("d")))
    assert ask(plugin, event, pod, driver(old), driver(new)) is expected
    assert ask(plugin, event, using("data"), driver(old), driver(new)) is SKIP
    other = using(Volume(name="c", csi=InlineCSIVolume("e")))
    assert ask(plugin, event, other, driver(old), driver(new)) is SKIP


def capacity(amount: str | None, largest: str | None = None) -> CSIStorageCapacity:
    return CSIStorageCapacity(ObjectMeta(name="c"), capacity=amount, maximum_volume_size=largest)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, capacity("1Gi"), QUEUE),
        (capacity("1Gi"), capacity("2Gi"), QUEUE),
        (capacity("2Gi"), capacity("1Gi"), SKIP),
        (capacity("1Gi"), capacity("1024Mi"), SKIP),
        (capacity(None), capacity("1Gi"), QUEUE),
        (capacity("1Gi"), capacity(None), SKIP),
        (capacity("1Gi", "1Mi"), capacity("2Gi", "1Mi"), SKIP),  # volumes do not get larger
        (capacity("1Gi", "1Mi"), capacity("1Gi", "2Mi"), QUEUE),
        (capacity("1Gi", "1Mi"), capacity("1Gi"), QUEUE),
        (capacity("0"), capacity("100m"), QUEUE),  # whole bytes count, rounded up
        (capacity("100m"), capacity("900m"), SKIP),
    ],
)
def test_a_capacity_counts_when_it_is_new_or_allows_for_larger_volumes(
    old: CSIStorageCapacity | None, new: CSIStorageCapacity, expected: QueueingHint
) -> None:
    event = added(CAPACITY) if old is None else updated(CAPACITY)
    assert ask(make_plugin("VolumeBinding"), event, using("data"), old, new) is expected


@pytest.mark.parametrize("old", [None, make_volume("v")])
def test_any_change_of_a_volume_counts_for_binding(old: PersistentVolume | None) -> None:
    event = added(VOLUME) if old is None else updated(VOLUME)
    assert ask(make_plugin("VolumeBinding"), event, using("data"), old, make_volume("v")) is QUEUE


def test_claims_of_another_name_are_not_those_of_ephemeral_volumes() -> None:
    claim: PersistentVolumeClaim = make_claim("scratch")
    assert ask(make_plugin("VolumeBinding"), added(CLAIM), using(EPHEMERAL), None, claim) is SKIP
