"""Small nodes and pods for tests of the scheduler cache, and everything that a snapshot says of them."""

from __future__ import annotations

from typing import Any

from nodewise.api.objects import (
    Affinity,
    Container,
    ContainerImage,
    ContainerPort,
    LabelSelector,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    PersistentVolumeClaimVolumeSource,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Taint,
    Volume,
)
from nodewise.api.selectors import Selector
from nodewise.state.pod_info import PodInfo
from nodewise.state.pod_match import PodsWithLabels
from nodewise.state.snapshot import Snapshot

NODE_NAMES = [f"n{i}" for i in range(6)]
ZONE = "topology.kubernetes.io/zone"
APPS = ["web", "db"]
CLAIMS = ["", "", "data", "logs"]
RESOURCES = ("cpu", "memory", "pods", "example.com/gpu")
IMAGES = ("img", "img-a", "img-b")
ANTI_AFFINITY = Affinity(
    pod_anti_affinity=PodAffinity(
        required=(PodAffinityTerm(label_selector=LabelSelector(match_labels={"app": "web"}), topology_key=ZONE),)
    )
)


def small_node(name: str, zone: str = "a", cpu: int = 4, *, tainted: bool = False) -> Node:
    """Make a node whose images depend on its zone and whose sizes of them depend on its cpu."""
    return Node(
        metadata=ObjectMeta(name=name, labels={ZONE: zone, "kubernetes.io/hostname": name}),
        spec=NodeSpec(taints=(Taint("k", "v", "NoSchedule"),) if tainted else (), unschedulable=tainted),
        status=NodeStatus(
            allocatable={"cpu": cpu, "memory": "8Gi", "pods": 10, "example.com/gpu": cpu // 2},
            images=(ContainerImage((f"img-{zone}",), 100), ContainerImage(("img",), 50 + cpu)),
        ),
    )


def small_pod(
    uid: str,
    node_name: str = "n0",
    *,
    app: str = "web",
    cpu: int = 1,
    port: int = 0,
    repels: bool = False,
    claim: str = "",
    priority: int = 0,
    phase: str = "",
) -> PodInfo:
    """Make a pod whose name is its uid."""
    container = Container(
        name="c",
        ports=(ContainerPort(container_port=port, host_port=port),) if port else (),
        resources=ResourceRequirements(requests={"cpu": f"{cpu}m", "example.com/gpu": cpu % 2}),
    )
    spec = PodSpec(
        containers=(container,),
        node_name=node_name,
        affinity=ANTI_AFFINITY if repels else None,
        priority=priority,
        volumes=(Volume("v", PersistentVolumeClaimVolumeSource(claim)),) if claim else (),
    )
    metadata = ObjectMeta(name=uid, namespace="ns", uid=uid, labels={"app": app})
    return PodInfo(Pod(metadata, spec, PodStatus(phase=phase)))


def facts(snapshot: Snapshot) -> dict[str, Any]:
    """Return everything that a plugin could read of every row, by node name.

    Of images only whether they are there: their sizes and counts are as of the row's last change, as in kube-scheduler.
    """
    columns = snapshot.columns
    labels = {key: columns.label(key) for key in (ZONE, "kubernetes.io/hostname", "absent")}
    images = {name: columns.image(name) for name in IMAGES}
    web = snapshot.pods.label_counts(PodsWithLabels("ns", Selector.from_map({"app": "web"}), True))
    resource_rows = {name: columns.resource_row(name) for name in RESOURCES}
    return {
        name: {
            "alive": bool(columns.alive[row]),
            **{
                column: {name: int(getattr(columns, column)[index, row]) for name, index in resource_rows.items()}
                for column in ("allocatable", "requested", "free")
            },
            "non_zero": columns.non_zero[:, row].tolist(),
            "taints": columns.taint_sets.values[columns.taint_set[row]],
            "features": columns.feature_sets.values[columns.feature_set[row]],
            "unschedulable": bool(columns.unschedulable[row]),
            "labels": {
                key: columns.label_values(key)[ids[row]] if ids[row] >= 0 else None for key, ids in labels.items()
            },
            "images": {image: bool(c.size_bytes[row] and c.n_nodes[row]) for image, c in images.items()},
            "ports": sorted(columns.row_ports.get(row, ())),
            "port 80 taken": bool(columns.has_port_conflict([("TCP", "0.0.0.0", 80)])[row]),
            "pods": list(snapshot.pods_on(row).values()),
            "web": int(web.by_row(columns.n_rows)[row]),
            "min_priority": int(columns.min_priority[row]),
            "rank": int(columns.name_rank[row]),
        }
        for name, row in columns.rows.items()
    }
