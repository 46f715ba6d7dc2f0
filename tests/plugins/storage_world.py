"""Clusters with storage for tests of volume plugins."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

from nodewise.api.objects import Node, OwnerReference, Pod, Volume, replace
from nodewise.api.storage import (
    RBD,
    AWSElasticBlockStore,
    GCEPersistentDisk,
    PersistentVolumeClaim,
    StorageObject,
)
from nodewise.framework.status import Status
from nodewise.state.columns import ALL_ROWS
from nodewise.testing.builders import FakeHandle, make_node, make_pod, make_snapshot
from nodewise.testing.samples import Cluster
from nodewise.testing.storage_builders import (
    claim_volumes,
    make_bound,
    make_claim,
    make_class,
    make_csi_driver,
    make_csi_node,
    make_volume,
)

ZONE = "topology.kubernetes.io/zone"
DRIVER = "csi.test"
N_NODES = 6
CLAIM_NAMES = tuple(f"bound-{index}" for index in range(8))
INLINE = (
    Volume(name="gce", gce_persistent_disk=GCEPersistentDisk("pd")),
    Volume(name="gce", gce_persistent_disk=GCEPersistentDisk("pd", read_only=True)),
    Volume(name="ebs", aws_elastic_block_store=AWSElasticBlockStore("vol-1")),
    Volume(name="rbd", rbd=RBD(("m1", "m2"), "rbd", "img")),
)


def failures(
    plugin_class: Any,
    pod: Pod,
    nodes: Iterable[Node],
    storage: Iterable[StorageObject],
    pods: Iterable[Pod] = (),
) -> dict[str, Status] | Status:
    """Return the rejections by node name, or the rejection before any node."""
    snapshot = make_snapshot(nodes, pods)
    snapshot.listers.fill(storage)
    plugin = plugin_class(None, FakeHandle(snapshot))
    plugin.class_key(pod)
    state = plugin.compile(pod, snapshot)
    if state is None:
        return {}
    status: Status | None = plugin.pre_filter(state).status if hasattr(plugin, "pre_filter") else None
    if status is not None:
        return status
    codes = plugin.filter(state, snapshot.columns, ALL_ROWS).tolist()
    names = snapshot.columns.names
    return {name: plugin.rejection(state, code) for name, code in zip(names, codes, strict=True) if code}


def with_storage(plugin_class: Any) -> Any:
    """Return a plugin class that finds the sample storage wherever it is made."""

    class WithStorage(plugin_class):  # type: ignore[misc]
        def __init__(self, args: object, handle: Any) -> None:
            if not handle.listers.storage.claims:
                handle.listers.fill(sample_storage())
            super().__init__(args, handle)

    return WithStorage


def sample_storage() -> list[StorageObject]:
    """Return bound and unbound claims, local volumes, drivers with limits on some nodes."""
    found: list[StorageObject] = [
        make_class("wait", DRIVER),
        make_class("local", "kubernetes.io/no-provisioner"),
        make_class("now", DRIVER, "Immediate"),
        make_csi_driver("wanted.test", prevent_pod_scheduling_if_missing=True),
        make_class("wanted", "wanted.test"),
    ]
    for index, name in enumerate(CLAIM_NAMES):
        nodes = {ZONE: "ab"[index % 2]} if index % 3 else None
        labels = {ZONE: "a__b"} if index % 4 == 1 else {}
        modes = ("ReadWriteOncePod",) if index == 5 else ("ReadWriteOnce",)
        found += make_bound(name, driver=DRIVER, nodes=nodes, labels=labels, access_modes=modes)
    for index in range(N_NODES):
        if index % 3 != 2:
            found.append(
                make_csi_node(f"node-{index}", {DRIVER: index, "wanted.test": None} if index % 2 else {DRIVER: 1})
            )
        found.append(
            make_volume(f"disk-{index}", f"{index + 1}Gi", storage_class="local", nodes={"rank": str(index % 5)})
        )
    found += [make_claim(f"local-{index}", f"{index + 1}Gi", storage_class="local") for index in range(3)]
    found += [make_claim(f"wait-{index}", storage_class="wait") for index in range(3)]
    found += [make_claim("wanted", storage_class="wanted"), make_claim("now", storage_class="now")]
    return found


def sample_clusters() -> list[Cluster]:
    """Return an empty cluster, and one whose pods use the claims of the sample storage."""
    rng = Random(0)
    nodes = tuple(
        make_node(f"node-{index}", labels={ZONE: "abc"[index % 3], "rank": str(index % 5)}) for index in range(N_NODES)
    )
    pods = tuple(
        make_pod(
            f"running-{index}",
            node=rng.choice(nodes).name,
            volumes=(*claim_volumes(rng.sample(CLAIM_NAMES, 2)), rng.choice(INLINE)),
        )
        for index in range(8)
    )
    return [Cluster(()), Cluster(nodes, pods)]


def sample_pods() -> list[Pod]:
    """Return pending pods that use one claim, several, or disks of their own."""
    groups = [
        *([name] for name in CLAIM_NAMES),
        ["bound-1", "bound-2", "bound-4"],
        ["local-0"],
        ["local-1", "local-2"],
        ["wait-0"],
        ["wait-1", "wait-2"],
        ["wait-0", "local-0", "bound-1"],
        ["wanted"],
        ["now"],
        ["nowhere"],
    ]
    pods = [make_pod(f"claims-{index}", volumes=claim_volumes(names)) for index, names in enumerate(groups)]
    pods += [make_pod(f"inline-{index}", volumes=(volume,)) for index, volume in enumerate(INLINE)]
    return [make_pod("plain"), *pods]


def owned_by(claim: PersistentVolumeClaim, pod: Pod) -> PersistentVolumeClaim:
    """Return the claim as the ephemeral controller would have made it for the pod."""
    owner = OwnerReference("v1", "Pod", pod.metadata.name, pod.metadata.uid, controller=True)
    return replace(claim, metadata=replace(claim.metadata, owner_references=(owner,)))
