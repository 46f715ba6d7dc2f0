"""From a configuration and what is known of a cluster to a scheduler."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.config.model import KubeSchedulerConfiguration
from nodewise.framework.registry import Registry
from nodewise.runtime.selection import Selector, TieBreak
from nodewise.scheduler.extenders import build_extenders
from nodewise.scheduler.frameworks import build_frameworks
from nodewise.scheduler.handle import SchedulerHandle
from nodewise.scheduler.scheduler import Scheduler
from nodewise.state.cache import SchedulerCache
from nodewise.state.listers import Listers
from nodewise.state.pod_groups import PodGroupStates
from nodewise.state.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """How decisions are made, besides what the configuration says.

    Attributes
    ----------
    tie_break : TieBreak
    seed : int
        For random tie-breaks.
    percentage_of_nodes_to_score : int | None
        Overrides the configuration's values; None: these, or all nodes when they say nothing.
    added_plugins : tuple[str, ...]
        Names of plugins that run besides those that the profiles name.
    feature_gates : FeatureGates
        Those that the configuration was read with.
    originals : Mapping[tuple[str, str], bytes]
        What pods and nodes were read from, for extenders; see `ObjectDocuments`.
    """

    tie_break: TieBreak = TieBreak.FIRST
    seed: int = 0
    percentage_of_nodes_to_score: int | None = None
    added_plugins: tuple[str, ...] = ()
    feature_gates: FeatureGates = DEFAULT_GATES
    originals: Mapping[tuple[str, str], bytes] = field(default_factory=dict)


def assemble_scheduler(
    listers: Listers,
    configuration: KubeSchedulerConfiguration,
    registry: Registry,
    options: SchedulerOptions,
    now: Callable[[], datetime],
) -> tuple[Scheduler, SchedulerHandle]:
    """Make a scheduler with an empty cache, and the handle through which its plugins see it.

    Raises
    ------
    ConfigError
        The configuration names plugins that do not exist, or does not fit together.
    """
    snapshot = Snapshot(listers)
    extenders = build_extenders(configuration, options.originals)
    handle = SchedulerHandle(listers, snapshot, now, feature_gates=options.feature_gates, extenders=extenders)
    frameworks = build_frameworks(configuration, registry, handle, options.added_plugins)
    percentage = options.percentage_of_nodes_to_score
    if percentage is None:
        # kube-scheduler's 0, also its default, samples big clusters; here nothing is left out unless asked for.
        percentage = configuration.percentage_of_nodes_to_score or 100
    else:
        for framework in frameworks.values():
            framework.percentage_of_nodes_to_score = None
    selector = Selector(options.tie_break, random.Random(options.seed))
    cache = SchedulerCache()
    if options.feature_gates.enabled("GenericWorkload"):
        handle.pod_groups = cache.pod_groups = PodGroupStates(
            has_composites=options.feature_gates.enabled("CompositePodGroup")
        )
    scheduler = Scheduler(cache, snapshot, frameworks, selector, percentage, extenders)
    handle.nominator = scheduler.nominations
    handle.cache = cache
    return scheduler, handle
