"""Pods taken off their nodes for a while."""

from hypothesis import given, strategies as st

from nodewise.state.cache import SchedulerCache
from nodewise.state.cache_trial import CacheTrial
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot
from nodewise.testing.builders import make_cache, make_node, make_pod

NODES = [make_node("n0", cpu="8"), make_node("n1", cpu="8")]
PODS = [make_pod(f"p{i}", "1", node=f"n{i % 2}", host_ports=[80 + i // 2]) for i in range(6)]


def seen(cache: SchedulerCache) -> dict[str, tuple[list[str], dict[str, int], set[object]]]:
    """Return what the nodes hold, in its order."""
    return {
        name: (list(info.pods), dict(info.requested), set(info.used_ports))
        for name, info in sorted(cache.nodes.infos.items())
    }


def rows(snapshot: Snapshot) -> dict[str, tuple[list[str], list[int]]]:
    """Return what a snapshot says of each node."""
    columns = snapshot.columns
    return {
        name: (list(snapshot.pods_on(row)), columns.requested[:, row].tolist()) for name, row in columns.rows.items()
    }


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=12))
def test_in_the_end_all_is_as_it_was_down_to_the_order_of_pods(steps: list[tuple[int, bool]]) -> None:
    cache = make_cache(NODES, PODS)
    snapshot = Snapshot()
    snapshot.update(cache)
    before, rows_before = seen(cache), rows(snapshot)
    infos = {pod.uid: pod for info in cache.nodes.infos.values() for pod in info.pods.values()}
    off: set[int] = set()
    with CacheTrial(cache) as trial:
        for number, reads in steps:
            pod = infos[f"default/p{number}"]
            if number in off:
                trial.put_back(pod)
            else:
                trial.take_off(pod)
            off ^= {number}
            if reads:
                snapshot.update(cache)
                assert {uid for row in rows(snapshot).values() for uid in row[0]} == {
                    f"default/p{i}" for i in range(6) if i not in off
                }
    snapshot.update(cache)
    assert seen(cache) == before
    assert rows(snapshot) == rows_before


def test_the_cache_knows_pods_that_are_off_their_nodes() -> None:
    cache = make_cache(NODES, PODS[:1])
    [pod] = cache.nodes.infos["n0"].pods.values()
    with CacheTrial(cache) as trial:
        trial.take_off(pod)
        assert cache.get_pod(pod) is pod
        cache.assume_pod(PodInfo(make_pod("other", "1", node="n0")))
        cache.forget_pod(PodInfo(make_pod("other", "1", node="n0")))
    assert list(cache.nodes.infos["n0"].pods) == [pod.uid]
