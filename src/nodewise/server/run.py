"""`nodewise run`: one process from its options to its exit code."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry

from nodewise.clock import SystemClock
from nodewise.cluster.client import ClusterClient
from nodewise.cluster.live.api_client import ApiClient, user_agent
from nodewise.cluster.live.connection import Connection
from nodewise.cluster.live.event_recorder import EventRecorder
from nodewise.cluster.live.kubeconfig import load_connection
from nodewise.cluster.live.live_cluster import LiveCluster
from nodewise.config.errors import ConfigError
from nodewise.plugins import in_tree_registry
from nodewise.runtime.selection import TieBreak
from nodewise.scheduler.assembly import SchedulerOptions
from nodewise.server.access import open_access
from nodewise.server.dry_run import DryRunCluster
from nodewise.server.endpoints import Endpoints
from nodewise.server.health import Check
from nodewise.server.http_server import HttpServer
from nodewise.server.leader_election import LeaderElector, LeaseLostError, Timings, new_identity
from nodewise.server.live_scheduler import LiveScheduler
from nodewise.server.logging import set_up_logging
from nodewise.server.options import RunOptions
from nodewise.server.resource_metrics import ResourceMetrics
from nodewise.server.scheduler_metrics import PrometheusMetrics
from nodewise.server.serving_certs import load_cert, server_context
from nodewise.server.signals import debugger_of, handled_signals
from nodewise.server.state_metrics import StateMetrics, build_registry

LOGGER = logging.getLogger("nodewise")
EXIT_OK, EXIT_FAILED = 0, 1


def run_scheduler(options: RunOptions) -> int:
    """Schedule a cluster until a signal ends it or the lease is lost; return the exit code.

    Raises
    ------
    NodewiseError
        In one line, when the process cannot start.
    """
    if options.gates.enabled("GenericWorkload"):
        raise ConfigError("feature gate GenericWorkload: pod groups are not scheduled by `run` yet, only by `simulate`")
    set_up_logging(options.logging_format, options.verbosity)
    for note in options.notes:
        LOGGER.warning("%s", note)
    return asyncio.run(_Process(options).run())


@dataclass(slots=True)
class _Process:
    """The parts of one process, in the order in which they come to life."""

    options: RunOptions
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    rng: random.Random = field(default_factory=random.SystemRandom)
    metrics: PrometheusMetrics = field(default_factory=PrometheusMetrics)
    is_stopping: bool = False

    async def run(self) -> int:
        """Run until it ends; first come the parts that can fail at once."""
        configuration = self.options.configuration
        connection = await load_connection(configuration.client_connection.kubeconfig, self.options.context or None)
        if self.options.master:
            connection = replace(connection, base_url=self.options.master.rstrip("/"))
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(self._client(connection))
            events = await stack.enter_async_context(self._client(connection))
            recorder = EventRecorder(events, now=_now, rng=self.rng)
            live = self._live_scheduler(client, recorder)
            elector = (
                await self._elector(connection, events, stack) if configuration.leader_election.leader_elect else None
            )
            return await self._serve(live, recorder, elector, stack)

    def _client(self, connection: Connection) -> ApiClient:
        settings = self.options.configuration.client_connection
        return ApiClient(connection, qps=settings.qps, burst=settings.burst, agent=user_agent("scheduler"))

    def _live_scheduler(self, client: ApiClient, recorder: EventRecorder) -> LiveScheduler:
        options = self.options
        registry = in_tree_registry()
        registry.load_entry_points()
        added = tuple(registry.load_plugin(source) for source in options.plugins)
        cluster: ClusterClient = DryRunCluster()
        if not options.is_dry_run:
            cluster = LiveCluster(client, recorder, now=_now, rng=self.rng)
        return LiveScheduler(
            client,
            cluster,
            options.configuration,
            registry,
            SchedulerOptions(TieBreak(options.tie_break), options.seed, None, added, options.gates),
            rng=self.rng,
            metrics=self.metrics,
            max_unschedulable_s=options.max_unschedulable_s,
        )

    async def _elector(self, connection: Connection, events: ApiClient, stack: AsyncExitStack) -> LeaderElector:
        settings = self.options.configuration.leader_election
        timings = Timings.of(settings)
        leases = ApiClient(connection, agent=user_agent("leader-election"), timeout_s=timings.request_timeout_s)
        return LeaderElector(
            await stack.enter_async_context(leases),
            new_identity(self.rng),
            namespace=settings.resource_namespace,
            name=settings.resource_name,
            timings=timings,
            clock=SystemClock(),
            now=_now,
            generator=self.rng,
            metrics=self.metrics,
            component=self.options.configuration.profiles[0].scheduler_name,
            event_client=events,
        )

    async def _serve(
        self, live: LiveScheduler, recorder: EventRecorder, elector: LeaderElector | None, stack: AsyncExitStack
    ) -> int:
        debugger = debugger_of(live.loop, live.list_nodes)
        if self.options.serving.port:
            await self._listen(live, recorder, elector, debugger.as_json, stack)
        task = asyncio.current_task()
        assert task is not None

        def stop() -> None:
            self.is_stopping = True
            task.cancel()

        # As kube-scheduler: without an election there is nothing to hand over in good order.
        exit_code = EXIT_OK if elector is not None else EXIT_FAILED
        with handled_signals(stop, debugger.run):
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(live.listen(), name="listen")
                    group.create_task(recorder.run(), name="events")
                    await (self._lead_without_election(live) if elector is None else self._elect(live, elector))
            except* asyncio.CancelledError:
                LOGGER.info("Requested to terminate, exiting")
            except* LeaseLostError:
                LOGGER.error("Leaderelection lost")
                exit_code = EXIT_FAILED
            finally:
                await recorder.flush()
        return exit_code

    async def _elect(self, live: LiveScheduler, elector: LeaderElector) -> None:
        live.may_schedule = lambda: elector.is_leader

        async def lead() -> None:
            try:
                await live.schedule()
            finally:
                if elector.is_leader:
                    await live.drain()

        await elector.run(lead)

    async def _lead_without_election(self, live: LiveScheduler) -> None:
        try:
            await live.schedule()
        finally:
            await live.drain()

    async def _listen(
        self,
        live: LiveScheduler,
        recorder: EventRecorder,
        elector: LeaderElector | None,
        dump: Callable[[], dict[str, Any]],
        stack: AsyncExitStack,
    ) -> None:
        """Answer health checks, metrics and the rest over HTTPS."""
        serving = self.options.serving
        access = await open_access(self.options.access, SystemClock())
        stack.push_async_callback(access.close)
        tls = server_context(serving.min_version, serving.suites)
        load_cert(tls, serving.cert)
        await access.refresh(tls)
        state = StateMetrics(
            live.loop, operations=live.tasks.operations, watches=live.informers.reflectors, events=recorder.counts
        )
        resources = CollectorRegistry(auto_describe=False)
        resources.register(ResourceMetrics(lambda: [info.pod for info in list(live.loop.handlers.pods.values())]))
        election = [Check("leaderElection", elector.problem)] if elector is not None else []
        endpoints = Endpoints(
            configuration=self.options.configuration,
            registry=build_registry(self.metrics, state),
            reset_metrics=self.metrics.reset,
            resources=resources,
            is_leader=lambda: elector is None or elector.is_leader,
            healthz=election,
            readyz=[
                *election,
                Check("shutdown", lambda: "process is shutting down" if self.is_stopping else ""),
                Check(
                    "sched-handler-sync",
                    lambda: "" if live.informers.has_synced else "handlers are not fully synchronized",
                ),
            ],
            flags=self.options.flags,
            started=self.started,
            now=_now,
            dump=dump,
        )
        server = HttpServer(endpoints.handlers(), access.authenticator, access.authorizer)
        await server.start(serving.address, serving.port, tls)
        stack.push_async_callback(server.stop)


def _now() -> datetime:
    return datetime.now(UTC)
