"""What pod classes keep equals what is computed from nothing, whatever happened to the cluster meanwhile."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import numpy as np
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from nodewise.api.objects import Node, Pod
from nodewise.config.load import default_configuration
from nodewise.plugins import in_tree_registry
from nodewise.runtime.evaluation import Evaluation
from nodewise.runtime.selection import Selector, TieBreak
from nodewise.scheduler.frameworks import build_frameworks
from nodewise.scheduler.handle import SchedulerHandle
from nodewise.scheduler.scheduler import Scheduler
from nodewise.state.cache import SchedulerCache
from nodewise.state.listers import Listers
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot
from nodewise.testing.samples import sample_node, sample_pods, sample_running_pod

NODE_NAMES = [f"n{index}" for index in range(9)]
SEEDS = st.integers(0, 2**32)


def scheduler_over(cache: SchedulerCache) -> Scheduler:
    """Return a scheduler of the default profile that knows nothing yet."""
    snapshot = Snapshot(Listers())
    handle = SchedulerHandle(snapshot.listers, snapshot, lambda: datetime(2026, 7, 1, tzinfo=UTC))
    frameworks = build_frameworks(default_configuration(), in_tree_registry(), handle)
    return Scheduler(cache, snapshot, frameworks, Selector(TieBreak.FIRST, random.Random(0)))


def node_without_images(rng: random.Random, name: str) -> Node:
    """Return a node; how many nodes have an image is frozen in each row, as in kube-scheduler, so it may be old."""
    node = sample_node(rng, name)
    return replace(node, status=replace(node.status, images=()))


def answers(evaluation: Evaluation) -> dict[str, Any]:
    """Return everything an evaluation says, by node name."""
    names = evaluation.snapshot.columns.names
    alive = np.flatnonzero(evaluation.snapshot.columns.alive).tolist()
    found = np.flatnonzero(evaluation.feasible)
    scores = {
        (plugin.name, names[row]): (raw, normalized)
        for plugin in (evaluation.plugin_scores(found) if len(found) else ())
        for row, raw, normalized in zip(found.tolist(), plugin.raw.tolist(), plugin.normalized.tolist(), strict=True)
    }
    totals = evaluation.totals(found) if len(found) else np.zeros(0, np.int64)
    return {
        "pre_filter": evaluation.pre_filter_status,
        "feasible": sorted(names[row] for row in found.tolist()),
        "failures": {names[row]: evaluation.failures(row) for row in alive},
        "scores": scores,
        # Totals leave out what is the same for all nodes: only their differences say something.
        "lead": {names[row]: int(total - totals.max()) for row, total in zip(found.tolist(), totals, strict=True)},
        "message": evaluation.message(),
    }


class ClassMachine(RuleBasedStateMachine):
    """Random events on one cache; one scheduler lives through all of them, others are made anew after each."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = SchedulerCache()
        self.scheduler = scheduler_over(self.cache)
        self.running: dict[str, PodInfo] = {}
        self.nodes: set[str] = set()
        self.pending: list[Pod] = []

    @initialize(seed=SEEDS)
    def some_nodes(self, seed: int) -> None:
        rng = random.Random(seed)
        spec = {"scheduler_name": "default-scheduler"}
        self.pending = [replace(pod, spec=replace(pod.spec, **spec)) for pod in rng.sample(sample_pods(), 6)]
        for name in NODE_NAMES[:6]:
            self.cache.add_node(node_without_images(rng, name))
            self.nodes.add(name)

    @rule(name=st.sampled_from(NODE_NAMES), seed=SEEDS)
    def set_node(self, name: str, seed: int) -> None:
        self.cache.add_node(node_without_images(random.Random(seed), name))
        self.nodes.add(name)

    @rule(name=st.sampled_from(NODE_NAMES))
    def remove_node(self, name: str) -> None:
        if name in self.nodes:
            self.nodes.discard(name)
            self.cache.remove_node(name)

    @rule(name=st.sampled_from(NODE_NAMES), seed=SEEDS)
    def add_pod(self, name: str, seed: int) -> None:
        info = PodInfo(sample_running_pod(random.Random(seed), f"running-{seed}-{len(self.running)}", name))
        if info.uid not in self.running:
            self.running[info.uid] = info
            self.cache.add_pod(info)

    @rule(data=st.data())
    def remove_pod(self, data: st.DataObject) -> None:
        if self.running:
            self.cache.remove_pod(self.running.pop(data.draw(st.sampled_from(sorted(self.running)))))

    @rule(data=st.data())
    def place(self, data: st.DataObject) -> None:
        pod = data.draw(st.sampled_from(self.pending))
        decision = self.scheduler.schedule(PodInfo(pod), with_post_filter=False)
        if decision.node_name is not None:
            metadata = pod.metadata
            uid = f"{metadata.name}-{len(self.running)}-{data.draw(SEEDS)}"
            named = replace(pod, metadata=replace(metadata, uid=uid, name=uid))
            info = PodInfo(named).placed_on(decision.node_name)
            if uid not in self.running:
                self.running[uid] = info
                self.cache.assume_pod(info)
                self.cache.add_pod(info)

    @invariant()
    def kept_answers_are_those_of_a_new_scheduler(self) -> None:
        fresh = scheduler_over(self.cache)
        for pod in self.pending:
            info = PodInfo(pod)
            assert answers(self.scheduler.evaluate(info)) == answers(fresh.evaluate(info)), pod


TestClasses = ClassMachine.TestCase
TestClasses.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
