"""The Lease by which replicas agree on who schedules (client-go's LeaseLock)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from nodewise.cluster.live.errors import RequestError

LEASES = "/apis/coordination.k8s.io/v1"
_MICRO_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


class LeaseClient(Protocol):
    """What is asked of an API client here; `ApiClient` is one.

    Every method returns the answer's body and raises `RequestError`: `ApiError` for a refusal.
    """

    async def get(self, path: str) -> bytes: ...

    async def post(self, path: str, body: Any) -> bytes: ...

    async def put(self, path: str, body: Any) -> bytes: ...


class LeaseRecord(msgspec.Struct, frozen=True, rename="camel"):
    """The spec of a Lease (LeaderElectionRecord).

    Attributes
    ----------
    holder_identity : str
        Empty: nobody holds it.
    lease_duration_seconds : int
        How long others leave it alone after they saw it change.
    acquire_time, renew_time : str
        MicroTimes, for people: no decision rests on them.
    lease_transitions : int
        How often it went from one holder to another.
    """

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    lease_transitions: int = 0


class _Lease(msgspec.Struct):
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    spec: dict[str, Any] = msgspec.field(default_factory=dict)


_DECODER = msgspec.json.Decoder(_Lease)


class LeaseLock:
    """One Lease, and the version of it that was read or written last.

    Parameters
    ----------
    client : LeaseClient
    namespace, name : str
    """

    def __init__(self, client: LeaseClient, namespace: str, name: str) -> None:
        self._client = client
        self.namespace = namespace
        self.name = name
        self._known: _Lease | None = None

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    async def get(self) -> LeaseRecord:
        """Read it.

        Raises
        ------
        RequestError
            `ApiError.is_not_found` when there is none.
        """
        return self._take(await self._client.get(f"{self._folder}/{self.name}"))

    async def create(self, record: LeaseRecord) -> None:
        """Make it; somebody else may have been first.

        Raises
        ------
        RequestError
        """
        metadata = {"namespace": self.namespace, "name": self.name}
        self._take(await self._client.post(self._folder, _document(metadata, _spec(record))))

    async def update(self, record: LeaseRecord) -> None:
        """Replace the version that is known here; a conflict when it is not the newest any more.

        Raises
        ------
        RequestError
        """
        known = self._known
        assert known is not None, "an update comes after a get or a create"
        spec = {**known.spec, **_spec(record)}
        self._take(await self._client.put(f"{self._folder}/{self.name}", _document(known.metadata, spec)))

    def event(self, identity: str, text: str, component: str, now: datetime) -> dict[str, Any]:
        """Return the event (core/v1) that tells people of a change of leadership."""
        metadata = self._known.metadata if self._known is not None else {}
        stamp = now.astimezone(UTC)
        seconds = stamp.strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": self.namespace, "name": f"{self.name}.{int(stamp.timestamp() * 1e9):x}"},
            "involvedObject": {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "namespace": self.namespace,
                "name": self.name,
                "uid": metadata.get("uid", ""),
                "resourceVersion": metadata.get("resourceVersion", ""),
            },
            "type": "Normal",
            "reason": "LeaderElection",
            "message": f"{identity} {text}",
            "source": {"component": component},
            "reportingComponent": component,
            "firstTimestamp": seconds,
            "lastTimestamp": seconds,
            "count": 1,
        }

    @property
    def _folder(self) -> str:
        return f"{LEASES}/namespaces/{self.namespace}/leases"

    def _take(self, body: bytes) -> LeaseRecord:
        try:
            known = _DECODER.decode(body)
            spec = {name: value for name, value in known.spec.items() if value is not None}
            record = msgspec.convert(spec, LeaseRecord)
        except msgspec.MsgspecError as error:
            raise RequestError(str(self), f"lease {self}: the answer is not a Lease: {error}") from error
        self._known = known
        return record


def micro_time(now: datetime) -> str:
    """Return a moment as the API writes a MicroTime."""
    return now.astimezone(UTC).strftime(_MICRO_TIME)


def _document(metadata: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def _spec(record: LeaseRecord) -> dict[str, Any]:
    spec: dict[str, Any] = msgspec.to_builtins(record)
    return spec
