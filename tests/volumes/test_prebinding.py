"""What is written for a pod's volumes, and what makes the wait for them end."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from nodewise.api.meta import ObjectMeta
from nodewise.api.objects import replace
from nodewise.api.storage import PersistentVolume, PersistentVolumeClaim
from nodewise.framework.object_writer import ConflictError
from nodewise.framework.status import Status
from nodewise.state.pod_info import PodInfo
from nodewise.state.storage_listers import StorageListers
from nodewise.testing.builders import make_node, make_pod, make_snapshot
from nodewise.testing.storage_builders import BIND_COMPLETED, make_claim, make_volume
from nodewise.volumes.pod_claims import SELECTED_NODE
from nodewise.volumes.prebinding import Prebinding, VolumesToBind

POD = PodInfo(make_pod("web"))
ON_N1 = {SELECTED_NODE: "n1"}


def version(obj: Any, number: int, **metadata: Any) -> Any:
    changed: ObjectMeta = replace(obj.metadata, resource_version=str(number), **metadata)
    return replace(obj, metadata=changed)


class Cluster:
    """A writer whose objects get new versions, and a second hand that lets things happen."""

    def __init__(self, *happenings: Callable[["Cluster"], None]) -> None:
        self.api = StorageListers()
        self.pods = {POD.key: POD}
        self.written: list[str] = []
        self.seconds = 0.0
        self.refusal: Exception | None = None
        self._happenings = list(happenings)

    @property
    def writer(self) -> Any:
        return self

    async def bind_volume(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
        return self._write(volume, f"{volume.metadata.name} for {claim.key}")  # type: ignore[no-any-return]

    async def annotate_volume_claim(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        return self._write(claim, f"{claim.key} on {claim.metadata.annotations[SELECTED_NODE]}")  # type: ignore[no-any-return]

    def _write(self, obj: Any, what: str) -> Any:
        if self.refusal is not None:
            raise self.refusal
        self.written.append(what)
        return version(obj, 20)

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        if self._happenings:
            self._happenings.pop(0)(self)

    def spawn(self, coroutine: Coroutine[Any, Any, None], *, name: str) -> object:
        raise AssertionError("nothing goes on by itself here")


def run(cluster: Cluster, wanted: VolumesToBind, *, node: str = "n1", timeout_s: float = 10.0) -> Status:
    snapshot = make_snapshot([make_node("n1", labels={"zone": "a"}), make_node("n2", labels={"zone": "b"})])
    return asyncio.run(Prebinding(cluster, cluster.api, snapshot, timeout_s).run(wanted, POD, node))


CLAIM = version(make_claim("data"), 10)
VOLUME = version(make_volume("v1"), 10)
RESERVED = version(make_volume("v1", claim=CLAIM), 10)
BOUND_CLAIM = version(make_claim("data", volume="v1", annotations=BIND_COMPLETED), 30)
STATIC = VolumesToBind([(RESERVED, CLAIM)], [])
CHOSEN_CLAIM = version(make_claim("data", annotations=ON_N1), 10)
DYNAMIC = VolumesToBind([], [CHOSEN_CLAIM])


def know(*objects: Any) -> Callable[[Cluster], None]:
    def happen(cluster: Cluster) -> None:
        cluster.api.fill(objects)

    return happen


def nothing(cluster: Cluster) -> None:
    """Let a second pass."""


def test_a_volume_is_written_and_waited_for_until_its_claim_is_bound() -> None:
    cluster = Cluster(nothing, know(version(RESERVED, 20)), know(BOUND_CLAIM))
    cluster.api.fill([VOLUME, CLAIM])
    assert run(cluster, STATIC).is_success
    assert (cluster.written, cluster.seconds) == (["v1 for default/data"], 3.0)


def test_a_claim_is_written_and_waited_for_until_a_volume_was_made() -> None:
    made = version(make_claim("data", volume="v9", annotations={**BIND_COMPLETED, **ON_N1}), 30)
    cluster = Cluster(know(version(CHOSEN_CLAIM, 20)), know(made), know(version(make_volume("v9"), 31)))
    cluster.api.fill([CLAIM])
    assert run(cluster, DYNAMIC).is_success
    assert (cluster.written, cluster.seconds) == (["default/data on n1"], 3.0)


def test_a_refused_write_ends_it_at_once() -> None:
    cluster = Cluster()
    cluster.refusal = ConflictError("the object has been modified")
    status = run(cluster, STATIC)
    assert (status.message, cluster.seconds) == ("the object has been modified", 0.0)


def test_it_takes_no_longer_than_the_timeout() -> None:
    cluster = Cluster()
    cluster.api.fill([VOLUME, CLAIM])
    status = run(cluster, STATIC, timeout_s=4)
    assert (status.message, cluster.seconds) == ("binding volumes: context deadline exceeded", 4.0)


def gone(cluster: Cluster) -> None:
    cluster.pods.clear()


@pytest.mark.parametrize(
    ("wanted", "happening", "expected"),
    [
        (STATIC, gone, 'pod does not exist any more: pod "web" not found'),
        (STATIC, know(version(VOLUME, 25)), 'ClaimRef got reset for pv "v1"'),
        (
            STATIC,
            know(version(make_volume("v1", claim=CLAIM, nodes={"zone": "b"}), 25)),
            'pv "v1" node affinity doesn\'t match node "n1": no matching NodeSelectorTerms',
        ),
        (DYNAMIC, know(version(make_claim("data"), 25)), 'selectedNode annotation reset for PVC "data"'),
        (
            DYNAMIC,
            know(version(make_claim("data", annotations={"other": "x"}), 25)),
            'provisioning failed for PVC "data"',
        ),
    ],
)
def test_what_others_do_may_end_it(wanted: VolumesToBind, happening: Callable[[Cluster], None], expected: str) -> None:
    cluster = Cluster(nothing, happening)
    cluster.api.fill([VOLUME, CLAIM])
    status = run(cluster, wanted)
    assert (status.message, cluster.seconds) == (f"binding volumes: {expected}", 2.0)


def test_a_node_that_is_gone_ends_it() -> None:
    cluster = Cluster()
    cluster.api.fill([VOLUME, CLAIM])
    status = run(cluster, STATIC, node="n3")
    assert status.message == 'binding volumes: failed to get node "n3": node "n3" not found'
