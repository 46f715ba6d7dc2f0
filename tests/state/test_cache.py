"""What the scheduler cache answers to every operation, from every state a pod can be in."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from nodewise.errors import CacheError
from nodewise.state.cache import SchedulerCache
from nodewise.state.pod_info import PodInfo
from nodewise.state.pod_states import AssumedPodExpiry, CacheRules, CacheSizes, PodPhase, PodStateError
from nodewise.testing.builders import make_cache
from tests.state.cache_world import small_node, small_pod

HERE = small_pod("p", "n0")
NEWER = small_pod("p", "n0", phase="Running")
ELSEWHERE = small_pod("p", "n1")
NOWHERE = small_pod("p", "")
OTHER_UID = small_pod("q", "n1")
OTHER_UID_UNBOUND = small_pod("q", "")
NAME = "p(ns/p)"

Operation = Callable[[SchedulerCache], object]

# How a pod gets into each state.
STATES: dict[str, tuple[Operation, ...]] = {
    "Initial": (),
    "Assumed": (lambda c: c.assume_pod(HERE),),
    "Assumed, bound": (lambda c: c.assume_pod(HERE), lambda c: c.finish_binding(HERE, 0.0)),
    "Added": (lambda c: c.add_pod(HERE),),
    "Added, confirmed": (lambda c: c.assume_pod(HERE), lambda c: c.add_pod(HERE)),
    "Expired": (lambda c: c.assume_pod(HERE), lambda c: c.finish_binding(HERE, 0.0), lambda c: c.cleanup(31.0)),
    "Deleted": (lambda c: c.add_pod(HERE), lambda c: c.remove_pod(HERE)),
    "Forgotten": (lambda c: c.assume_pod(HERE), lambda c: c.forget_pod(HERE)),
}
UNKNOWN = ("Initial", "Expired", "Deleted", "Forgotten")
ASSUMED = ("Assumed", "Assumed, bound")
ADDED = ("Added", "Added, confirmed")
KNOWN = ASSUMED + ADDED


@dataclass(frozen=True)
class Case:
    """An operation in some states: what it answers, and where which version of the pod is afterwards."""

    what: str
    states: tuple[str, ...]
    operation: Operation
    refusal: str | None = None
    phase: PodPhase | None = None
    pod: PodInfo | None = None
    counter: str | None = None


A, D = PodPhase.ASSUMED, PodPhase.ADDED
IN_CACHE = f"pod {NAME} is in the cache, so can't be assumed"
WAS_ASSUMED = f"pod {NAME} was assumed on n1 but assigned to n0"
NOT_ASSUMED = f"pod {NAME} is not assumed, so it cannot be removed or forgotten"
ALREADY_ADDED = f"pod {NAME} was already in added state"
NOT_ADDED = f"pod {NAME} is not added to scheduler cache, so cannot be updated"
SHOULD_NOT = f"assumed pod {NAME} should not be updated"
NOT_FOUND = f"pod {NAME} is not found in scheduler cache, so cannot be removed from it"

CASES = (
    Case("assume", UNKNOWN, lambda c: c.assume_pod(NEWER), None, A, NEWER),
    Case("assume", ASSUMED, lambda c: c.assume_pod(NEWER), IN_CACHE, A, HERE),
    Case("assume elsewhere", ADDED, lambda c: c.assume_pod(ELSEWHERE), IN_CACHE, D, HERE),
    Case("forget", UNKNOWN, lambda c: c.forget_pod(HERE)),
    Case("forget", ASSUMED, lambda c: c.forget_pod(NEWER)),
    Case("forget", ADDED, lambda c: c.forget_pod(HERE), NOT_ASSUMED, D, HERE),
    Case("forget elsewhere", ASSUMED, lambda c: c.forget_pod(ELSEWHERE), WAS_ASSUMED, A, HERE),
    Case("forget elsewhere", ADDED, lambda c: c.forget_pod(ELSEWHERE), WAS_ASSUMED, D, HERE),
    Case("remove assumed", UNKNOWN, lambda c: c.remove_assumed_pod(HERE)),
    Case("remove assumed", ASSUMED, lambda c: c.remove_assumed_pod(HERE)),
    Case("remove assumed", ADDED, lambda c: c.remove_assumed_pod(HERE), NOT_ASSUMED, D, HERE),
    Case("add", UNKNOWN, lambda c: c.add_pod(NEWER), None, D, NEWER),
    Case("confirm", ASSUMED, lambda c: c.add_pod(NEWER), None, D, NEWER),
    Case("confirm with the assumed copy", ASSUMED, lambda c: c.add_pod(HERE), None, D, HERE),
    Case("confirm elsewhere", ASSUMED, lambda c: c.add_pod(ELSEWHERE), None, D, ELSEWHERE, "n_confirmed_elsewhere"),
    Case("add", ADDED, lambda c: c.add_pod(NEWER), ALREADY_ADDED, D, HERE),
    Case("update", UNKNOWN, lambda c: c.update_pod(HERE, NEWER), NOT_ADDED),
    Case("update", ASSUMED, lambda c: c.update_pod(HERE, NEWER), SHOULD_NOT, A, HERE),
    Case("update", ADDED, lambda c: c.update_pod(HERE, NEWER), None, D, NEWER),
    Case("update to another node", ADDED, lambda c: c.update_pod(HERE, ELSEWHERE), None, D, ELSEWHERE, "n_moved"),
    Case("update to no node", ADDED, lambda c: c.update_pod(HERE, NOWHERE), None, None, None, "n_moved"),
    Case("update to another uid", UNKNOWN, lambda c: c.update_pod(HERE, OTHER_UID), None, D, OTHER_UID, "n_replaced"),
    Case("update to another uid", KNOWN, lambda c: c.update_pod(HERE, OTHER_UID), None, D, OTHER_UID, "n_replaced"),
    Case("update to a pending one", KNOWN, lambda c: c.update_pod(HERE, OTHER_UID_UNBOUND), counter="n_replaced"),
    Case("remove", UNKNOWN, lambda c: c.remove_pod(HERE), NOT_FOUND),
    Case("remove", KNOWN, lambda c: c.remove_pod(NEWER)),
    Case("remove elsewhere", KNOWN, lambda c: c.remove_pod(ELSEWHERE), counter="n_removed_elsewhere"),
    Case("remove without a node", KNOWN, lambda c: c.remove_pod(NOWHERE), counter="n_removed_elsewhere"),
    Case("finish binding", UNKNOWN, lambda c: c.finish_binding(HERE, 0.0)),
    Case("finish binding", ASSUMED, lambda c: c.finish_binding(HERE, 0.0), None, A, HERE),
    Case("finish binding", ADDED, lambda c: c.finish_binding(HERE, 0.0), None, D, HERE),
    Case("sweep", ("Assumed", *ADDED), lambda c: c.cleanup(1e9)),
    Case("sweep", ("Assumed, bound",), lambda c: c.cleanup(30.1), counter="n_expired"),
)


def cache_in(state: str, *, rules: CacheRules = CacheRules.KUBE_1_37) -> SchedulerCache:
    cache = SchedulerCache(expiry=AssumedPodExpiry(), rules=rules)
    for step in STATES[state]:
        step(cache)
    return cache


def answer(operation: Operation, cache: SchedulerCache) -> str | None:
    try:
        operation(cache)
    except PodStateError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("case", "state"), [pytest.param(case, state, id=f"{case.what} {state}") for case in CASES for state in case.states]
)
def test_every_operation_has_its_answer_in_every_state(case: Case, state: str) -> None:
    cache = cache_in(state)
    before = cache.counters.n_expired
    expected = case.pod
    if case.what == "sweep" and case.counter is None:  # nothing is over, so nothing changes
        expected, phase = HERE, PodPhase.ASSUMED if state == "Assumed" else PodPhase.ADDED
    else:
        phase = case.phase  # type: ignore[assignment] # None: gone
    assert answer(case.operation, cache) == case.refusal
    if expected is None:
        assert cache.sizes() == CacheSizes(0, 0, 0)
    else:
        found = cache.pod_state(expected.uid)
        assert found is not None
        assert (found.pod, found.phase) == (expected, phase)
        assert cache.get_pod(expected) is expected
        node = cache.get_node(expected.node_name)
        assert list(node.pods.values()) == [expected]
        assert node.requested == expected.requests
        assert cache.sizes() == CacheSizes(int(phase is PodPhase.ASSUMED), 1, 1)
    counters = {name: getattr(cache.counters, name) for name in cache.counters.__slots__}
    counters["n_expired"] -= before
    assert counters == {name: int(name == case.counter) for name in counters}


@pytest.mark.parametrize(
    ("state", "operation", "refusal"),
    [
        ("Initial", lambda c: c.forget_pod(HERE), "pod p wasn't assumed so cannot be forgotten"),
        ("Expired", lambda c: c.forget_pod(HERE), "pod p wasn't assumed so cannot be forgotten"),
        ("Added", lambda c: c.forget_pod(HERE), "pod p wasn't assumed so cannot be forgotten"),
        ("Assumed", lambda c: c.forget_pod(ELSEWHERE), "pod p was assumed on n1 but assigned to n0"),
        (
            "Assumed",
            lambda c: c.remove_pod(HERE),
            "pod p is not found in scheduler cache, so cannot be removed from it",
        ),
        ("Assumed", lambda c: c.assume_pod(HERE), "pod p is in the cache, so can't be assumed"),
        ("Added", lambda c: c.add_pod(HERE), "pod p was already in added state"),
    ],
)
def test_older_answers_can_be_had(state: str, operation: Operation, refusal: str) -> None:
    cache = cache_in(state, rules=CacheRules.KUBE_1_22)
    assert answer(operation, cache) == refusal


def test_a_refusal_says_what_was_found() -> None:
    cache = cache_in("Assumed")
    with pytest.raises(PodStateError) as caught:
        cache.update_pod(ELSEWHERE, ELSEWHERE)
    error = caught.value
    assert (error.uid, error.key, error.phase, error.node_name) == ("p", "ns/p", PodPhase.ASSUMED, "n0")


def test_an_unknown_pod_or_node_is_named_by_the_one_who_asks() -> None:
    cache = SchedulerCache()
    with pytest.raises(PodStateError, match=r"^pod p\(ns/p\) does not exist in scheduler cache$"):
        cache.get_pod(HERE)
    with pytest.raises(CacheError, match=r"^node n0 does not exist in scheduler cache$"):
        cache.get_node("n0")


def test_a_pod_without_a_key_is_refused() -> None:
    pod = small_pod("p", "n0")
    pod.uid = ""
    cache = SchedulerCache()
    for operation in (cache.assume_pod, cache.forget_pod, cache.add_pod, cache.remove_pod, cache.get_pod):
        with pytest.raises(CacheError, match=r"^cannot get cache key for pod with empty UID$"):
            operation(pod)


def test_a_uid_may_come_again_once_its_pod_is_gone() -> None:
    cache = make_cache([small_node("n0"), small_node("n1")])
    cache.add_pod(HERE)
    cache.remove_pod(HERE)
    cache.assume_pod(ELSEWHERE)
    assert cache.is_assumed_pod("p")
    assert not cache.get_node("n0").pods
    assert list(cache.get_node("n1").pods) == ["p"]


# --- expiry -----------------------------------------------------------------------------------------------------------


def test_an_assumed_pod_expires_strictly_after_its_time_counted_from_the_end_of_binding(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cache = SchedulerCache(expiry=AssumedPodExpiry(ttl_s=30.0))
    cache.assume_pod(HERE)
    assert cache.cleanup(1e6) == []
    cache.finish_binding(HERE, 100.0)
    state = cache.pod_state("p")
    assert state is not None
    assert (state.is_binding_finished, state.deadline_s) == (True, 130.0)
    assert cache.cleanup(130.0) == []
    with caplog.at_level(logging.WARNING, "nodewise.state"):
        assert cache.cleanup(130.5) == [HERE]
    assert '"Pod ns/p expired"' in caplog.text
    assert cache.counters.n_expired == 1
    assert cache.sizes() == CacheSizes(0, 0, 0)


def test_a_late_confirmation_brings_an_expired_pod_back() -> None:
    cache = cache_in("Expired")
    cache.add_pod(NEWER)
    assert cache.get_pod(HERE) is NEWER


@pytest.mark.parametrize("expiry", [None, AssumedPodExpiry(ttl_s=0.0)])
def test_by_default_and_with_no_ttl_assumed_pods_do_not_expire(expiry: AssumedPodExpiry | None) -> None:
    cache = SchedulerCache(expiry=expiry)
    cache.assume_pod(HERE)
    cache.finish_binding(HERE, 0.0)
    assert cache.cleanup(1e12) == []
    state = cache.pod_state("p")
    assert state is not None
    assert (state.phase, state.is_binding_finished, state.deadline_s) == (PodPhase.ASSUMED, True, None)


def test_the_older_defaults_are_30_seconds_and_a_sweep_a_second() -> None:
    assert AssumedPodExpiry() == AssumedPodExpiry(ttl_s=30.0, sweep_period_s=1.0)


# --- nodes ------------------------------------------------------------------------------------------------------------


def test_a_node_that_goes_before_its_pods_stays_as_a_ghost_until_the_last_is_gone() -> None:
    cache = make_cache([small_node("n0")])
    pods = [small_pod("p", "n0"), small_pod("q", "n0")]
    for pod in pods:
        cache.add_pod(pod)
    cache.remove_node("n0")
    ghost = cache.get_node("n0")
    assert (ghost.node, list(ghost.pods)) == (None, ["p", "q"])
    assert cache.get_pod(pods[0]) is pods[0]
    cache.remove_pod(pods[0])
    assert cache.node_count() == 1
    cache.remove_pod(pods[1])
    assert cache.node_count() == 0


def test_a_pod_may_come_before_its_node() -> None:
    cache = make_cache([])
    cache.add_pod(HERE)
    node = small_node("n0")
    cache.add_node(node)
    info = cache.get_node("n0")
    assert (info.node, list(info.pods)) == (node, ["p"])


def test_removing_a_node_that_is_not_there_is_an_error() -> None:
    cache = make_cache([])
    with pytest.raises(CacheError, match=r"^node n0 is not found$"):
        cache.remove_node("n0")
    cache.add_pod(HERE)
    with pytest.raises(CacheError) as caught:
        cache.remove_node(small_node("n0", "z"))
    assert str(caught.value) == 'node "n0" in group ":\\x00:z" was not found'
    with pytest.raises(CacheError, match=r'^node "n0" in group "" was not found$'):
        cache.remove_node("n0")
    assert list(cache.get_node("n0").pods) == ["p"]


def test_a_node_whose_amounts_cannot_be_read_changes_nothing() -> None:
    cache = make_cache([small_node("n0")])
    generation = cache.generation
    bad = small_node("n0")
    bad.status.allocatable["cpu"] = "much"  # type: ignore[index]
    with pytest.raises(Exception, match="much"):
        cache.update_node(bad)
    assert cache.generation == generation
    assert cache.get_node("n0").node is not bad


def test_a_node_refuses_to_count_out_a_pod_that_it_does_not_hold() -> None:
    info = make_cache([small_node("n0")]).get_node("n0")
    with pytest.raises(CacheError, match=r"^no corresponding pod p in pods of node n0$"):
        info.remove_pod(HERE)


def test_an_image_has_the_size_that_the_first_of_its_present_nodes_reported() -> None:
    cache = make_cache([small_node("n0", cpu=1), small_node("n1", cpu=2)])
    images = cache.nodes.images

    def state() -> tuple[int, set[str]]:
        found = images.get("img")
        assert found is not None
        return found.size_bytes, found.nodes

    assert state() == (51, {"n0", "n1"})
    cache.remove_node("n0")
    assert state() == (51, {"n1"})
    cache.update_node(small_node("n1", cpu=2))  # a heartbeat: out and in again
    assert state() == (52, {"n1"})
    cache.remove_node("n1")
    assert len(images) == 0


def test_a_node_that_goes_and_comes_again_gets_a_generation_never_used_before() -> None:
    cache = make_cache([small_node("n0")])
    seen = {cache.get_node("n0").generation}
    for _ in range(3):
        cache.remove_node("n0")
        cache.add_node(small_node("n0"))
        generation = cache.get_node("n0").generation
        assert generation > max(seen)
        seen.add(generation)


# --- copies -----------------------------------------------------------------------------------------------------------


def test_what_happens_later_does_not_reach_a_dump() -> None:
    cache = make_cache([small_node("n0")])
    cache.assume_pod(small_pod("p", "n0", port=80, claim="data"))
    dump = cache.dump()
    cache.add_pod(small_pod("q", "n0", port=81, claim="logs"))
    cache.remove_node("n0")
    info = dump.nodes["n0"]
    assert dump.assumed == {"p"}
    assert list(info.pods) == ["p"]
    assert info.node is not None
    assert info.requested == {"cpu": 1, "example.com/gpu": 1}
    assert info.used_ports == {("TCP", "0.0.0.0", 80)}
    assert info.pvc_ref_counts == {"ns/data": 1}


def test_a_port_is_free_again_when_one_of_two_pods_that_share_it_goes() -> None:
    # As in kube-scheduler, whose used ports are a set.
    cache = make_cache([small_node("n0")])
    pods = [small_pod("p", "n0", port=80), small_pod("q", "n0", port=80)]
    for pod in pods:
        cache.add_pod(pod)
    cache.remove_pod(pods[0])
    assert not cache.get_node("n0").used_ports
