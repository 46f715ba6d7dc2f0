"""A scheduler at work on a real cluster: listens, decides, binds."""

from __future__ import annotations

import gc
import logging
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from nodewise.api.objects import Node
from nodewise.cluster.client import ClusterClient
from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.informers import Informers
from nodewise.cluster.live.resources import resources_for
from nodewise.config.model import KubeSchedulerConfiguration
from nodewise.framework.registry import Registry
from nodewise.queue.metrics import NO_METRICS
from nodewise.scheduler.assembly import SchedulerOptions, assemble_scheduler
from nodewise.scheduler.control_loop import ControlLoop, build_control_loop
from nodewise.scheduler.extenders import ExtenderBinder
from nodewise.scheduler.metrics import NO_SCHEDULER_METRICS
from nodewise.server.asyncio_tasks import AsyncioTasks
from nodewise.server.epoch_clock import EpochClock
from nodewise.server.scheduler_metrics import PrometheusMetrics
from nodewise.server.scheduling_loop import SchedulingLoop
from nodewise.state.listers import Listers

LOGGER = logging.getLogger("nodewise")
DRAIN_S = 10.0


class LiveScheduler:
    """Everything between an API server and the decision core.

    Parameters
    ----------
    client : ApiClient
        Reads the cluster.
    cluster : ClusterClient
        Writes to it.
    rng : random.Random
        Spreads waits; decisions have a generator of their own, made from the options' seed.

    Attributes
    ----------
    loop : ControlLoop
    informers : Informers
    tasks : AsyncioTasks
        Bindings, evictions and status updates under way.
    may_schedule : Callable[[], bool]
        Asked before every slice of scheduling: whether this process is still the one to do it.
    """

    def __init__(
        self,
        client: ApiClient,
        cluster: ClusterClient,
        configuration: KubeSchedulerConfiguration,
        registry: Registry,
        options: SchedulerOptions,
        *,
        rng: random.Random,
        clock: EpochClock | None = None,
        metrics: PrometheusMetrics | None = None,
        max_unschedulable_s: float = 300.0,
    ) -> None:
        self.clock = clock or EpochClock()
        self.tasks = AsyncioTasks()
        now: Callable[[], datetime] = self.clock.time_of_day
        # Extenders are sent all that a pod or node says, of which the scheduler reads a part.
        originals: dict[tuple[str, str], bytes] | None = {} if configuration.extenders else None
        if originals is not None:
            options = replace(options, originals=originals)
        scheduler, handle = assemble_scheduler(Listers(), configuration, registry, options, now)
        self.loop: ControlLoop = build_control_loop(
            scheduler,
            handle,
            configuration,
            client=cluster,
            tasks=self.tasks,
            clock=self.clock,
            metrics=metrics or NO_METRICS,
            scheduler_metrics=metrics or NO_SCHEDULER_METRICS,
            max_unschedulable_s=max_unschedulable_s,
        )
        if scheduler.extenders:
            scheduler.binders = [ExtenderBinder(scheduler.extenders)]
        self._nodes: dict[str, Node] = {}
        self.may_schedule: Callable[[], bool] = lambda: True
        self._scheduling = SchedulingLoop(self.loop, self.clock, self.tasks, lambda: self.may_schedule())
        plugins = {plugin.name for framework in scheduler.frameworks.values() for plugin in framework.plugins()}
        gates = options.feature_gates
        resources = resources_for(
            plugins,
            has_pod_groups=gates.enabled("GenericWorkload"),
            has_composites=gates.enabled("CompositePodGroup"),
        )
        self.informers = Informers(client, resources, self._on_change, rng=rng, documents=originals)

    def _on_change(self, old: Any | None, new: Any | None) -> None:
        if isinstance(new, Node):
            self._nodes[new.metadata.name] = new
        elif isinstance(old, Node):
            self._nodes.pop(old.metadata.name, None)
        self.loop.handlers.on_change(old, new)
        self._scheduling.wake()

    def list_nodes(self) -> list[Node]:
        """Return the nodes as the API server has them."""
        return list(self._nodes.values())

    async def listen(self) -> None:
        """Follow the cluster until cancelled."""
        await self.informers.run()

    async def schedule(self) -> None:
        """Schedule until cancelled, once all that there is has been heard of."""
        await self.informers.wait_synced()
        snapshot, cache = self.loop.scheduler.snapshot, self.loop.scheduler.cache
        snapshot.update(cache)
        snapshot.pods.settle()
        # What is there now stays: looking through it for garbage again and again finds nothing.
        gc.freeze()
        LOGGER.info("scheduling: %d nodes, %d pods", cache.node_count(), cache.pod_count())
        await self._scheduling.run()

    async def drain(self) -> None:
        """Let what is under way come to its end."""
        self.loop.queue.close()
        await self.tasks.drain(DRAIN_S)
