"""Short ways to make nodes, pods and snapshots for tests.

>>> node = make_node("n1", labels={"zone": "a"}, taints=["dedicated=db:NoSchedule"])
>>> pod = make_pod("web", cpu="500m", tolerations=["dedicated=db:NoSchedule"])
>>> snapshot = make_snapshot([node], [make_pod("old", node="n1", cpu="1")])
>>> int(snapshot.columns.requested[0, 0])
1000
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from nodewise.api.objects import (
    Affinity,
    Container,
    ContainerPort,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Taint,
    Toleration,
)
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.framework.status import SUCCESS, Status
from nodewise.queue.nominator import Nominations
from nodewise.state.cache import SchedulerCache
from nodewise.state.listers import Listers
from nodewise.state.pod_groups import PodGroupStates
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot

TEST_TIME = datetime(2026, 6, 1, tzinfo=UTC)


def make_node(
    name: str,
    cpu: str = "4",
    memory: str = "8Gi",
    *,
    pods: int | str = 110,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Iterable[str | Taint] = (),
    unschedulable: bool = False,
    resources: Mapping[str, str] | None = None,
    **status: Any,
) -> Node:
    """Make a node.

    Parameters
    ----------
    taints : Iterable[str | Taint]
        As kubectl writes them: `key=value:Effect` or `key:Effect`.
    resources : Mapping[str, str] | None
        Further allocatable amounts, such as {"example.com/gpu": "8"}.
    **status
        Further fields of NodeStatus: `images`, `declared_features`, `capacity`.
    """
    allocatable = {"cpu": cpu, "memory": memory, "pods": str(pods), **(resources or {})}
    return Node(
        metadata=ObjectMeta(
            name=name, labels={"kubernetes.io/hostname": name, **(labels or {})}, annotations=dict(annotations or {})
        ),
        spec=NodeSpec(
            unschedulable=unschedulable, taints=tuple(t if isinstance(t, Taint) else make_taint(t) for t in taints)
        ),
        status=NodeStatus(**{"allocatable": allocatable, "capacity": allocatable, **status}),
    )


def make_pod(
    name: str,
    cpu: str | None = None,
    memory: str | None = None,
    *,
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    node: str = "",
    image: str = "",
    resources: Mapping[str, str] | None = None,
    host_ports: Iterable[int] = (),
    tolerations: Iterable[str | Toleration] = (),
    affinity: Affinity | None = None,
    status: PodStatus | None = None,
    **spec: Any,
) -> Pod:
    """Make a pod with one container.

    Parameters
    ----------
    node : str
        Where it runs; empty: it is pending.
    resources : Mapping[str, str] | None
        Further requests, such as {"example.com/gpu": "1"}.
    host_ports : Iterable[int]
        TCP ports it takes of its node.
    tolerations : Iterable[str | Toleration]
        `key=value:Effect`, `key:Effect` (Exists), `key` (any effect) or `*` (everything).
    **spec
        Further fields of PodSpec: `priority`, `node_selector`, `topology_spread_constraints`, `containers` ...
    """
    requests = {
        key: amount
        for key, amount in (("cpu", cpu), ("memory", memory), *(resources or {}).items())
        if amount is not None
    }
    container = Container(
        name="c",
        image=image,
        resources=ResourceRequirements(requests=requests),
        ports=tuple(ContainerPort(container_port=port, host_port=port, protocol="TCP") for port in host_ports),
    )
    fields: dict[str, Any] = {
        "containers": (container,),
        "node_name": node,
        "affinity": affinity,
        "tolerations": tuple(t if isinstance(t, Toleration) else make_toleration(t) for t in tolerations),
        **spec,
    }
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"{namespace}/{name}",
            labels=dict(labels or {}),
            annotations=dict(annotations or {}),
        ),
        spec=PodSpec(**fields),
        status=status or PodStatus(),
    )


def make_taint(text: str) -> Taint:
    """Read `key=value:Effect` or `key:Effect`.

    >>> make_taint("dedicated=db:NoSchedule")
    Taint(key='dedicated', value='db', effect='NoSchedule')
    """
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return Taint(key, value, effect)


def make_toleration(text: str) -> Toleration:
    """Read `key=value:Effect`, `key=value`, `key:Effect`, `key` or `*`."""
    if text == "*":
        return Toleration(operator="Exists")
    pair, _, effect = text.partition(":")
    key, equal, value = pair.partition("=")
    return Toleration(key=key, operator="Equal" if equal else "Exists", value=value, effect=effect)


def make_cache(nodes: Iterable[Node], pods: Iterable[Pod] = ()) -> SchedulerCache:
    """Make a scheduler cache; pods must name their node."""
    cache = SchedulerCache()
    for node in nodes:
        cache.add_node(node)
    for pod in pods:
        cache.add_pod(PodInfo(pod))
    return cache


def make_snapshot(nodes: Iterable[Node], pods: Iterable[Pod] = (), listers: Listers | None = None) -> Snapshot:
    """Make a snapshot of nodes and of the pods on them.

    >>> make_snapshot([make_node("n1"), make_node("n2")]).n_nodes
    2
    """
    snapshot = Snapshot(listers)
    snapshot.update(make_cache(nodes, pods))
    return snapshot


class FakeHandle:
    """A handle for plugins made in tests; its clock stands still, and it takes note of bindings.

    >>> FakeHandle(make_snapshot([make_node("n1")])).snapshot.n_nodes
    1
    """

    def __init__(
        self, snapshot: Snapshot | None = None, time: datetime = TEST_TIME, feature_gates: FeatureGates = DEFAULT_GATES
    ) -> None:
        self.snapshot = snapshot or make_snapshot([])
        self.time = time
        self.nominator = Nominations()
        self.bound: list[tuple[str, str]] = []
        self.feature_gates = feature_gates
        self.pod_groups: PodGroupStates | None = None

    @property
    def listers(self) -> Listers:
        return self.snapshot.listers

    def now(self) -> datetime:
        return self.time

    async def bind(self, pod: PodInfo, node_name: str) -> Status:
        self.bound.append((pod.key, node_name))
        return SUCCESS
