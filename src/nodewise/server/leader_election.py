"""Decides which of several schedulers is the active one, by a Lease (client-go's LeaderElector)."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from nodewise.clock import Clock
from nodewise.cluster.live.errors import ApiError, RequestError
from nodewise.config.model import LeaderElectionConfiguration
from nodewise.errors import NodewiseError
from nodewise.server.lease import LeaseClient, LeaseLock, LeaseRecord, micro_time
from nodewise.state.log_message import LogMessage

LOGGER = logging.getLogger("nodewise.leader_election")

JITTER_FACTOR = 1.2
HEALTH_TOLERANCE_S = 20.0
"""How long after the lease a leader may be without renewal before the process counts as sick."""
_NS = 1e9


class LeaderElectionError(NodewiseError):
    """The timings do not fit together."""


class LeaseLostError(NodewiseError):
    """The lease could not be renewed in time: somebody else may be the leader by now."""


class ElectionMetrics(Protocol):
    """Hears of what becomes of the lease."""

    def leading(self, name: str, *, is_leader: bool) -> None:
        """The process is the leader now, or is not (leader_election_master_status)."""
        ...

    def slow_path(self, name: str) -> None:
        """A renewal had to read the lease first (leader_election_slowpath_total)."""
        ...


class _NoMetrics:
    def leading(self, name: str, *, is_leader: bool) -> None:
        pass

    def slow_path(self, name: str) -> None:
        pass


NO_METRICS: ElectionMetrics = _NoMetrics()


@dataclass(frozen=True, slots=True)
class Timings:
    """How long everything takes, in seconds.

    Attributes
    ----------
    lease_s : float
        How long others wait after they saw the lease change.
    renew_deadline_s : float
        How long a leader tries to renew before it gives up.
    retry_s : float
        Between two attempts.

    Raises
    ------
    LeaderElectionError
        They do not fit together.
    """

    lease_s: float = 15.0
    renew_deadline_s: float = 10.0
    retry_s: float = 2.0

    def __post_init__(self) -> None:
        if self.lease_s <= self.renew_deadline_s:
            raise LeaderElectionError("leaseDuration must be greater than renewDeadline")
        if self.renew_deadline_s <= JITTER_FACTOR * self.retry_s:
            raise LeaderElectionError("renewDeadline must be greater than retryPeriod*JitterFactor")
        if self.lease_s < 1 or self.renew_deadline_s <= 0 or self.retry_s <= 0:
            raise LeaderElectionError("leaseDuration must be one second or more, and the others greater than zero")

    @classmethod
    def of(cls, configuration: LeaderElectionConfiguration) -> Timings:
        """Return those of a configuration."""
        return cls(
            configuration.lease_duration_ns / _NS,
            configuration.renew_deadline_ns / _NS,
            configuration.retry_period_ns / _NS,
        )

    @property
    def request_timeout_s(self) -> float:
        """How long the client of the lease is to wait for an answer."""
        return max(1.0, self.renew_deadline_s / 2)

    @property
    def longest_trust_s(self) -> float:
        """How long after it sent its last successful renewal a leader may still act.

        Others wait for the whole lease; half of what is left after the renew deadline is kept clear of them.
        """
        return self.lease_s - (self.lease_s - self.renew_deadline_s) / 2


def new_identity(generator: random.Random, hostname: str = "") -> str:
    """Return `<hostname>_<uuid>`: two processes of one machine are two candidates."""
    unique = uuid.UUID(int=generator.getrandbits(128), version=4)
    return f"{hostname or socket.gethostname()}_{unique}"


class LeaderElector:
    """A candidate for leadership.

    It takes a lease that nobody holds, or that did not change for as long as it lasts by this process's own clock. As
    leader it renews the lease; it steps down when it could not for too long, counted from when the last successful
    renewal was sent. kube-scheduler counts from when the answer came, which lets two lead for a moment when answers
    are slow.

    Parameters
    ----------
    client : LeaseClient
        Waits for an answer no longer than `timings.request_timeout_s`.
    identity : str
        See `new_identity`.
    namespace, name : str
        Of the lease.
    timings : Timings
    clock : Clock
        Says when the lease was seen; only differences count.
    now : Callable[[], datetime]
        The time of day for the fields of the lease.
    generator : random.Random
        Spreads the attempts of several candidates.
    component : str
        Whom events name as their source: the first profile's scheduler name.
    event_client : LeaseClient | None
        Writes events; None: nobody does.
    """

    def __init__(
        self,
        client: LeaseClient,
        identity: str,
        *,
        namespace: str = "kube-system",
        name: str = "kube-scheduler",
        timings: Timings | None = None,
        clock: Clock,
        now: Callable[[], datetime],
        generator: random.Random,
        metrics: ElectionMetrics = NO_METRICS,
        component: str = "default-scheduler",
        event_client: LeaseClient | None = None,
    ) -> None:
        self.identity = identity
        self.timings = timings or Timings()
        self._lock = LeaseLock(client, namespace, name)
        self._clock = clock
        self._now = now
        self._generator = generator
        self._metrics = metrics
        self._component = component
        self._event_client = event_client
        self._events: set[asyncio.Task[None]] = set()
        self._observed = LeaseRecord()
        self._observed_s = 0.0
        self._renewed_s = 0.0
        self._is_leader = False

    # --- what others may know -----------------------------------------------------------------------------------------

    @property
    def is_leader(self) -> bool:
        """Whether this process leads now; false from the moment on that it cannot be sure any more."""
        return self._is_leader and self._clock.now() < self._trusted_until_s

    @property
    def leader(self) -> str:
        """The holder as last seen; "" when none was."""
        return self._observed.holder_identity

    def problem(self) -> str:
        """Return what is wrong with this process as a leader, "" when nothing is (LeaderElector.Check)."""
        age_s = self._clock.now() - self._observed_s
        if self._is_leader and age_s > self.timings.lease_s + HEALTH_TOLERANCE_S:
            return f"failed election to renew leadership on lease {self._lock.name}"
        return ""

    # --- the way of a candidate ---------------------------------------------------------------------------------------

    async def run(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Wait for the lease, and keep it as long as `lead` runs.

        When this call is cancelled, `lead` is too; the lease is released once it has ended. When the lease is lost,
        `lead` is cancelled, and can tell by `is_leader`.

        Raises
        ------
        LeaseLostError
        """
        self._metrics.leading(self._lock.name, is_leader=False)
        await self._acquire()
        self._is_leader = True
        self._metrics.leading(self._lock.name, is_leader=True)
        self._tell("became leader")
        leading = asyncio.create_task(lead(), name="lead")
        renewing = asyncio.create_task(self._renew(), name="renew the lease")
        try:
            await asyncio.wait({leading, renewing}, return_when=asyncio.FIRST_COMPLETED)
            if not leading.done():
                self._step_down()
                cause = renewing.exception()
                await _end(leading)
                raise LeaseLostError("leader election lost") from cause
            leading.result()
        finally:
            await self._end(leading, renewing)

    async def _end(self, leading: asyncio.Task[None], renewing: asyncio.Task[None]) -> None:
        """Stop what is under way, leading first, and let others have the lease at once."""
        await _end(leading)
        await _end(renewing)
        has_lease = self.is_leader
        self._step_down()
        if has_lease:
            await self._release()
        if self._events:
            await asyncio.wait(self._events, timeout=1.0)

    def _step_down(self) -> None:
        if self._is_leader:
            self._is_leader = False
            self._metrics.leading(self._lock.name, is_leader=False)
            self._tell("stopped leading")

    async def _acquire(self) -> None:
        LOGGER.info(LogMessage("Attempting to acquire leader lease...", lock=str(self._lock)))
        while not await self._try():
            LOGGER.debug(LogMessage("Failed to acquire lease", lock=str(self._lock), holder=self.leader))
            await asyncio.sleep(self.timings.retry_s * (1 + JITTER_FACTOR * self._generator.random()))
        LOGGER.info(LogMessage("Successfully acquired lease", lock=str(self._lock)))

    async def _renew(self) -> None:
        """Renew until that fails for too long."""
        while True:
            started_s = self._clock.now()
            deadline_s = min(started_s + self.timings.renew_deadline_s, self._trusted_until_s)
            try:
                async with asyncio.timeout(max(deadline_s - started_s, 0)):
                    await self._try_until_done()
            except TimeoutError:
                LOGGER.info(LogMessage("Failed to renew lease", lock=str(self._lock), err="timed out"))
                return
            await asyncio.sleep(self.timings.retry_s)

    async def _try_until_done(self) -> None:
        while True:
            started_s = self._clock.now()
            if await self._try():
                return
            await asyncio.sleep(max(self.timings.retry_s - (self._clock.now() - started_s), 0))

    # --- one attempt --------------------------------------------------------------------------------------------------

    async def _try(self) -> bool:
        """Take or renew the lease, if it is ours to take (tryAcquireOrRenew)."""
        started_s = self._clock.now()
        try:
            if not await self._take_lease():
                return False
        except RequestError as error:
            LOGGER.warning(LogMessage("Failed to update lease", lock=str(self._lock), err=str(error)))
            return False
        # An answer that comes after others may have stopped waiting proves nothing.
        if self._clock.now() - started_s >= self.timings.longest_trust_s:
            return False
        self._renewed_s = started_s
        return True

    async def _take_lease(self) -> bool:
        if self._holds and self._is_valid:
            try:
                await self._write(self._record(self._observed, is_ours=True))
                return True
            except RequestError as error:
                text = "Failed to update lease optimistically, falling back to slow path"
                LOGGER.info(LogMessage(text, lock=str(self._lock), err=str(error)))
        try:
            found = await self._lock.get()
        except ApiError as error:
            if not error.is_not_found:
                raise
            await self._create(self._record(LeaseRecord(), is_ours=True))
            return True
        if found != self._observed:
            self._observe(found, self._clock.now())
        if found.holder_identity and self._is_valid and not self._holds:
            return False
        if self._holds:
            self._metrics.slow_path(self._lock.name)
        await self._write(self._record(found, is_ours=self._holds))
        return True

    @property
    def _trusted_until_s(self) -> float:
        return self._renewed_s + self.timings.longest_trust_s

    @property
    def _holds(self) -> bool:
        return self._observed.holder_identity == self.identity

    @property
    def _is_valid(self) -> bool:
        return self._observed_s + self._observed.lease_duration_seconds > self._clock.now()

    def _record(self, old: LeaseRecord, *, is_ours: bool) -> LeaseRecord:
        now = micro_time(self._now())
        return LeaseRecord(
            self.identity,
            int(self.timings.lease_s),
            old.acquire_time if is_ours and old.acquire_time else now,
            now,
            old.lease_transitions if is_ours else old.lease_transitions + 1,
        )

    async def _create(self, record: LeaseRecord) -> None:
        sent_s = self._clock.now()
        await self._lock.create(record)
        self._observe(record, sent_s)

    async def _write(self, record: LeaseRecord) -> None:
        sent_s = self._clock.now()
        await self._lock.update(record)
        self._observe(record, sent_s)

    def _observe(self, record: LeaseRecord, moment_s: float) -> None:
        if record.holder_identity != self._observed.holder_identity and record.holder_identity:
            LOGGER.info(LogMessage("New leader elected", lock=str(self._lock), leader=record.holder_identity))
        self._observed = record
        self._observed_s = moment_s

    # --- the end ------------------------------------------------------------------------------------------------------

    async def _release(self) -> None:
        """Give the lease back, so that nobody has to wait until it runs out."""
        try:
            async with asyncio.timeout(self.timings.renew_deadline_s):
                while not await self._try_release():
                    LOGGER.debug(LogMessage("Conflict when releasing lease, retrying", lock=str(self._lock)))
        except (RequestError, TimeoutError) as error:
            LOGGER.error(LogMessage("Failed to release lease", lock=str(self._lock), err=str(error) or "timed out"))

    async def _try_release(self) -> bool:
        found = await self._lock.get()
        if found.holder_identity != self.identity:
            return True
        now = micro_time(self._now())
        try:
            await self._write(LeaseRecord("", 1, now, now, found.lease_transitions))
        except ApiError as error:
            if not error.is_conflict:
                raise
            return False
        return True

    def _tell(self, text: str) -> None:
        """Write an event about the lease, beside everything else."""
        if self._event_client is not None:
            event = self._lock.event(self.identity, text, self._component, self._now())
            task = asyncio.create_task(_post(self._event_client, event), name=f"event: {text}")
            self._events.add(task)
            task.add_done_callback(self._events.discard)


async def _post(client: LeaseClient, event: dict[str, Any]) -> None:
    path = f"/api/v1/namespaces/{event['metadata']['namespace']}/events"
    try:
        await client.post(path, event)
    except RequestError as error:
        LOGGER.info(LogMessage("Cannot write an event", reason=event["reason"], err=str(error)))


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end, whatever that is."""
    was_running = task.cancel()
    await asyncio.wait({task})
    if was_running and not task.cancelled() and (error := task.exception()) is not None:
        LOGGER.error(LogMessage("Failed to stop", task=task.get_name(), err=str(error)), exc_info=error)
