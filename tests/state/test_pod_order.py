from hypothesis import given, strategies as st

from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot
from nodewise.testing.builders import make_cache, make_node, make_pod


@given(st.lists(st.integers(0, 5), max_size=20))
def test_the_last_pod_of_a_node_takes_the_place_of_one_that_goes(toggles: list[int]) -> None:
    # The order in which kube-scheduler lists a node's pods; it decides between equally important victims.
    pods = [PodInfo(make_pod(f"p{index}", node="n1")) for index in range(6)]
    cache, snapshot = make_cache([make_node("n1")]), Snapshot()
    expected: list[PodInfo] = []
    for index in toggles:
        pod = pods[index]
        if pod in expected:
            cache.remove_pod(pod)
            expected[expected.index(pod)] = expected[-1]
            expected.pop()
        else:
            cache.add_pod(pod)
            expected.append(pod)
        if index % 2:
            snapshot.update(cache)
    snapshot.update(cache)
    assert list(snapshot.pods_on(0).values()) == expected
