"""Whatever happens, the cache is what a plain model says, and its snapshot is what one made from nothing would be."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from nodewise.errors import CacheError
from nodewise.state.affinity_terms import TermRole
from nodewise.state.cache import SchedulerCache
from nodewise.state.log_message import LOGGER
from nodewise.state.pod_info import PodInfo
from nodewise.state.pod_states import AssumedPodExpiry, PodPhase
from nodewise.state.snapshot import Snapshot
from tests.state.cache_model import TTL_S, CacheModel
from tests.state.cache_world import APPS, CLAIMS, NODE_NAMES, facts, small_node, small_pod

node_names = st.sampled_from(NODE_NAMES)
pod_parts = st.fixed_dictionaries(
    {
        "app": st.sampled_from(APPS),
        "cpu": st.integers(0, 5),
        "port": st.sampled_from([0, 0, 80, 81]),
        "repels": st.booleans(),
        "claim": st.sampled_from(CLAIMS),
        "priority": st.sampled_from([0, 0, 5, -3]),
    }
)
# What one of several threads does with a pod of its own; every step leaves the pod known or unknown as noted.
STORIES = {
    "bound": ("assume", "finish", "confirm"),
    "came bound": ("confirm", "update"),
    "not bound": ("assume", "forget"),
    "deleted while binding": ("assume", "finish", "remove_assumed"),
    "lived and died": ("assume", "confirm", "update", "remove"),
}


def answer(operation: Callable[..., object], *args: Any) -> str | None:
    """Return the text of a refusal."""
    try:
        operation(*args)
    except CacheError as error:
        return str(error)
    return None


def cache_steps(cache: SchedulerCache) -> dict[str, Callable[[PodInfo, PodInfo], object]]:
    """Return the steps of a story: each is given a pod as it was assumed and as the API has it."""
    return {
        "assume": lambda pod, newer: cache.assume_pod(pod),
        "finish": lambda pod, newer: cache.finish_binding(pod, 0.0),
        "forget": lambda pod, newer: cache.forget_pod(pod),
        "remove_assumed": lambda pod, newer: cache.remove_assumed_pod(pod),
        "confirm": lambda pod, newer: cache.add_pod(newer),
        "update": lambda pod, newer: cache.update_pod(newer, newer),
        "remove": lambda pod, newer: cache.remove_pod(newer),
    }


def model_steps(model: CacheModel) -> dict[str, Callable[[PodInfo, PodInfo], object]]:
    """Return the same for the model."""
    return {
        "assume": lambda pod, newer: model.assume(pod),
        "finish": lambda pod, newer: model.finish_binding(pod, 0.0),
        "forget": lambda pod, newer: model.forget(pod),
        "remove_assumed": lambda pod, newer: model.forget(pod),
        "confirm": lambda pod, newer: model.add(newer),
        "update": lambda pod, newer: model.update(newer, newer),
        "remove": lambda pod, newer: model.remove(newer),
    }


class CacheMachine(RuleBasedStateMachine):
    """Random operations on one cache, watched by a snapshot that is updated always and one now and then."""

    def __init__(self) -> None:
        super().__init__()
        LOGGER.disabled = True
        self.cache = SchedulerCache(expiry=AssumedPodExpiry(TTL_S))
        self.snapshot = Snapshot()
        self.rare = Snapshot()
        self.model = CacheModel()
        self.counter = 0
        self.now_s = 0.0
        self.gone: list[PodInfo] = []
        self.watched: list[Any] = []

    def new_uid(self) -> str:
        self.counter += 1
        return f"p{self.counter}"

    def some_pod(self, data: st.DataObject) -> PodInfo | None:
        """Choose a pod that is here or was here."""
        pods = [*self.model.pods.values(), *self.gone[-2:]]
        return data.draw(st.sampled_from(pods)) if pods else None

    # --- nodes --------------------------------------------------------------------------------------------------------

    @rule(name=node_names, zone=st.sampled_from("ab"), cpu=st.integers(1, 8), tainted=st.booleans())
    def set_node(self, name: str, zone: str, cpu: int, tainted: bool) -> None:
        node = small_node(name, zone, cpu, tainted=tainted)
        is_known = name in self.model.nodes
        self.model.set_node(node, zone)
        (self.cache.update_node if is_known else self.cache.add_node)(node)

    @rule(name=node_names)
    def remove_node(self, name: str) -> None:
        assert answer(self.cache.remove_node, name) == self.model.remove_node(name)

    # --- pods ---------------------------------------------------------------------------------------------------------

    @rule(name=node_names, parts=pod_parts, assumed=st.booleans())
    def new_pod(self, name: str, parts: dict[str, Any], assumed: bool) -> None:
        pod = small_pod(self.new_uid(), name, **parts)
        if assumed:
            assert answer(self.cache.assume_pod, pod) == self.model.assume(pod)
        else:
            assert answer(self.cache.add_pod, pod) == self.model.add(pod)

    @rule(data=st.data(), name=node_names, parts=pod_parts)
    def assume_again(self, data: st.DataObject, name: str, parts: dict[str, Any]) -> None:
        known = self.some_pod(data)
        if known is not None:
            pod = small_pod(known.uid, name, **parts)
            assert answer(self.cache.assume_pod, pod) == self.model.assume(pod)

    @rule(data=st.data(), name=st.sampled_from([None, None, *NODE_NAMES]), parts=pod_parts, same=st.booleans())
    def confirm(self, data: st.DataObject, name: str | None, parts: dict[str, Any], same: bool) -> None:
        known = self.some_pod(data)
        if known is not None:
            pod = known if same else small_pod(known.uid, name or known.node_name, **parts)
            assert answer(self.cache.add_pod, pod) == self.model.add(pod)

    @rule(data=st.data(), name=st.sampled_from([None, None, *NODE_NAMES]), for_good=st.booleans())
    def forget(self, data: st.DataObject, name: str | None, for_good: bool) -> None:
        known = self.some_pod(data)
        if known is not None:
            pod = known.placed_on(name or known.node_name)
            operation = self.cache.remove_assumed_pod if for_good else self.cache.forget_pod
            assert answer(operation, pod) == self.model.forget(pod)
            self.gone.append(known)

    @rule(data=st.data(), name=st.sampled_from([None, None, "", *NODE_NAMES]), parts=pod_parts, replaced=st.booleans())
    def update(self, data: st.DataObject, name: str | None, parts: dict[str, Any], replaced: bool) -> None:
        known = self.some_pod(data)
        if known is not None:
            uid = self.new_uid() if replaced else known.uid
            new = small_pod(uid, known.node_name if name is None else name, **parts)
            assert answer(self.cache.update_pod, known, new) == self.model.update(known, new)

    @rule(data=st.data(), name=st.sampled_from([None, None, "", *NODE_NAMES]))
    def remove(self, data: st.DataObject, name: str | None) -> None:
        known = self.some_pod(data)
        if known is not None:
            pod = known.placed_on(known.node_name if name is None else name)
            assert answer(self.cache.remove_pod, pod) == self.model.remove(pod)
            self.gone.append(known)

    @rule(data=st.data())
    def finish_binding(self, data: st.DataObject) -> None:
        known = self.some_pod(data)
        if known is not None:
            self.cache.finish_binding(known, self.now_s)
            self.model.finish_binding(known, self.now_s)

    @rule(seconds=st.sampled_from([1.0, TTL_S, TTL_S + 1]))
    def sweep(self, seconds: float) -> None:
        self.now_s += seconds
        expired = self.model.cleanup(self.now_s)
        assert self.cache.cleanup(self.now_s) == expired
        self.gone.extend(expired)

    # --- several threads ----------------------------------------------------------------------------------------------

    @rule(stories=st.lists(st.tuples(st.sampled_from(sorted(STORIES)), node_names), min_size=2, max_size=4))
    def at_once(self, stories: list[tuple[str, str]]) -> None:
        pods = [small_pod(self.new_uid(), name) for _, name in stories]
        start = threading.Barrier(len(stories) + 1)
        failures: list[BaseException] = []

        def live(steps: dict[str, Callable[[PodInfo, PodInfo], object]], story: str, pod: PodInfo) -> None:
            newer = small_pod(pod.uid, pod.node_name, cpu=3, phase="Running")
            for step in STORIES[story]:
                assert steps[step](pod, newer) is None

        def run(story: str, pod: PodInfo) -> None:
            start.wait()
            try:
                live(cache_steps(self.cache), story, pod)
            except BaseException as error:
                failures.append(error)

        threads = [
            threading.Thread(target=run, args=(story, pod)) for (story, _), pod in zip(stories, pods, strict=True)
        ]
        for thread in threads:
            thread.start()
        start.wait()
        self.snapshot.update(self.cache)
        for thread in threads:
            thread.join()
        assert not failures
        for (story, _), pod in zip(stories, pods, strict=True):
            live(model_steps(self.model), story, pod)
        self.adopt_what_threads_decide()

    def adopt_what_threads_decide(self) -> None:
        """Take over the order of pods on nodes and the versions of pods, which are equal but not the same."""
        for name, uids in self.model.on_node.items():
            info = self.cache.node_info(name)
            found = list(info.pods) if info is not None else []
            assert Counter(found) == Counter(uids)
            self.model.on_node[name] = found
            for uid in found:
                assert info is not None
                assert info.pods[uid].requests == self.model.pods[uid].requests
                self.model.pods[uid] = info.pods[uid]

    # --- what holds after every step ----------------------------------------------------------------------------------

    @rule()
    def look_again_after_a_while(self) -> None:
        self.check_snapshot(self.rare)

    @rule()
    def watch_a_term(self) -> None:
        # Live counts: once asked for, they are kept up to date by later events.
        pods = self.model.pods.values()
        term = next((t for pod in pods for t in self.snapshot.pods.terms_of(pod).required_anti_affinity), None)
        if term is not None and not self.watched:
            self.watched = [self.snapshot.pods.owner_counts((TermRole.REQUIRED_ANTI_AFFINITY, term)), term]

    @invariant()
    def pods_and_their_states_are_those_of_the_model(self) -> None:
        sizes = self.cache.sizes()
        assert (sizes.pods, sizes.assumed_pods, sizes.nodes) == (
            len(self.model.pods),
            len(self.model.assumed),
            len(self.model.names()),
        )
        for uid, pod in self.model.pods.items():
            state = self.cache.pod_state(uid)
            assert state is not None
            assert self.cache.get_pod(pod) is state.pod is pod
            assert (state.phase is PodPhase.ASSUMED) == (uid in self.model.assumed) == self.cache.is_assumed_pod(uid)
            assert state.deadline_s == self.model.assumed.get(uid)
        for pod in self.gone[-3:]:
            assert (self.cache.pod_state(pod.uid) is None) == (pod.uid not in self.model.pods)

    @invariant()
    def a_node_holds_the_sums_of_its_pods(self) -> None:
        dump = self.cache.dump()
        assert set(dump.nodes) == self.model.names()
        assert dump.assumed == set(self.model.assumed)
        for name, info in dump.nodes.items():
            here = [self.model.pods[uid] for uid in self.model.on_node.get(name, ())]
            assert list(info.pods.values()) == here
            assert info.node is self.model.nodes.get(name)
            for resource in ("cpu", "example.com/gpu"):
                assert info.requested.get(resource, 0) == sum(pod.requests.get(resource, 0) for pod in here)
            assert info.non_zero_cpu_milli == sum(pod.non_zero[0] for pod in here)
            assert info.non_zero_memory_bytes == sum(pod.non_zero[1] for pod in here)
            assert info.pvc_ref_counts == Counter(key for pod in here for key in pod.pvc_keys)

    @invariant()
    def the_incremental_snapshot_is_one_made_from_nothing(self) -> None:
        self.check_snapshot(self.snapshot)

    def check_snapshot(self, snapshot: Snapshot) -> None:
        self.cache.update_snapshot(snapshot)
        fresh = Snapshot()
        fresh.update(self.cache)
        assert facts(snapshot) == facts(fresh)
        order = [snapshot.columns.names[row] for row in snapshot.order]
        assert order == [fresh.columns.names[row] for row in fresh.order] == self.model.order()
        here = [pod for pod in self.model.pods.values() if pod.node_name in self.model.nodes]
        for claim in CLAIMS[1:]:
            key = f"ns/{claim}"
            expected = any(key in pod.pvc_keys for pod in here)
            assert snapshot.is_pvc_used(key) is fresh.is_pvc_used(key) is expected

    @invariant()
    def the_tree_has_the_nodes_and_the_images_are_theirs(self) -> None:
        nodes = self.cache.nodes
        assert sorted(nodes.tree.list()) == sorted(self.model.nodes)
        assert len(nodes.tree) == len(self.model.nodes)
        assert len(nodes.images) == len(self.model.images)
        for name, (size_bytes, names) in self.model.images.items():
            state = nodes.images.get(name)
            assert state is not None
            assert (state.size_bytes, state.nodes) == (size_bytes, names)

    @invariant()
    def the_list_is_in_the_order_of_generations(self) -> None:
        infos = list(self.cache.newest_first())
        generations = [info.generation for info in infos]
        assert generations == sorted(set(generations), reverse=True)
        assert {info.name for info in infos} == self.model.names()
        assert len(infos) == self.cache.node_count()

    @precondition(lambda self: self.watched)
    @invariant()
    def counts_of_terms_are_live(self) -> None:
        counts, term = self.watched
        self.snapshot.update(self.cache)
        rows = counts.by_row(self.snapshot.columns.n_rows)
        terms_of = self.snapshot.pods.terms_of
        for name, row in self.snapshot.columns.rows.items():
            here = [pod for pod in self.model.pods.values() if pod.node_name == name]
            assert rows[row] == sum(term in terms_of(pod).required_anti_affinity for pod in here)

    def teardown(self) -> None:
        LOGGER.disabled = False
        for pod in list(self.model.pods.values()):
            assert answer(self.cache.remove_pod, pod) is self.model.remove(pod) is None
        for name in list(self.model.nodes):
            assert answer(self.cache.remove_node, name) is self.model.remove_node(name) is None
        assert self.cache.node_count() == self.cache.pod_count() == 0
        assert list(self.cache.newest_first()) == []
        assert len(self.cache.nodes.images) == len(self.cache.nodes.tree) == 0
        self.snapshot.update(self.cache)
        assert self.snapshot.n_nodes == len(self.snapshot.order) == 0
        assert not np.any(self.snapshot.columns.alive)
        self.check_snapshot(self.rare)
        assert not any(self.snapshot.is_pvc_used(f"ns/{claim}") for claim in CLAIMS)


TestCacheMachine = CacheMachine.TestCase
TestCacheMachine.settings = hypothesis.settings(stateful_step_count=30)
