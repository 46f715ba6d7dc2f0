"""What a snapshot says besides its columns, and what it does when it is not what its cache says."""

from __future__ import annotations

import logging

import pytest

from nodewise.state.cache import SchedulerCache
from nodewise.state.snapshot import Snapshot, SnapshotError
from nodewise.testing.builders import make_cache
from tests.state.cache_world import facts, small_node, small_pod


def names_in_order(snapshot: Snapshot) -> list[str]:
    return [snapshot.columns.names[row] for row in snapshot.order]


def test_nodes_come_in_turn_from_every_zone() -> None:
    cache = SchedulerCache()
    for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a"), ("c1", "c")):
        cache.add_node(small_node(name, zone))
    snapshot = Snapshot()
    snapshot.update(cache)
    assert names_in_order(snapshot) == ["a1", "b1", "c1", "a2", "a3"]


def test_a_zone_that_was_empty_goes_to_the_end() -> None:
    cache = SchedulerCache()
    for name, zone in (("a1", "a"), ("b1", "b")):
        cache.add_node(small_node(name, zone))
    cache.remove_node("a1")
    cache.add_node(small_node("a1", "a"))
    snapshot = Snapshot()
    snapshot.update(cache)
    assert names_in_order(snapshot) == ["b1", "a1"]


def test_a_ghost_is_not_in_the_snapshot_and_comes_back_with_its_pods() -> None:
    cache, snapshot = make_cache([small_node("n0"), small_node("n1")]), Snapshot()
    pod = small_pod("p", "n0", claim="data")
    cache.add_pod(pod)
    snapshot.update(cache)
    cache.remove_node("n0")
    snapshot.update(cache)
    assert names_in_order(snapshot) == ["n1"]
    assert not snapshot.is_pvc_used("ns/data")
    assert cache.node_count() == 2
    cache.add_node(small_node("n0"))
    snapshot.update(cache)
    assert list(snapshot.pods_on(snapshot.columns.rows["n0"])) == ["p"]
    assert snapshot.is_pvc_used("ns/data")


def test_a_claim_is_used_until_the_last_pod_that_names_it_is_gone() -> None:
    cache, snapshot = make_cache([small_node("n0"), small_node("n1")]), Snapshot()
    pods = [small_pod("p", "n0", claim="data"), small_pod("q", "n1", claim="data")]
    for pod in pods:
        cache.add_pod(pod)
    for pod in pods:
        snapshot.update(cache)
        assert snapshot.is_pvc_used("ns/data")
        cache.remove_pod(pod)
    snapshot.update(cache)
    assert not snapshot.is_pvc_used("ns/data")
    assert not snapshot.is_pvc_used("other/data")


def test_only_changed_rows_are_written() -> None:
    cache, snapshot = make_cache([small_node(f"n{i}") for i in range(5)]), Snapshot()
    snapshot.update(cache)
    end = snapshot.log.end
    snapshot.update(cache)
    assert snapshot.log.end == end
    cache.add_pod(small_pod("p", "n3"))
    cache.update_node(small_node("n1"))
    snapshot.update(cache)
    window = snapshot.log.window(end, at_most=5)
    assert window is not None
    assert sorted(snapshot.columns.names[row] for row in window.rows) == ["n1", "n3"]


def test_a_heartbeat_of_one_node_does_not_make_the_images_of_others_look_changed() -> None:
    cache = make_cache([small_node("n0", cpu=4), small_node("n1", cpu=4)])
    version = cache.nodes.images.version
    cache.update_node(small_node("n1", cpu=4))
    assert cache.nodes.images.version == version


def test_a_snapshot_follows_another_cache_when_it_is_given_one() -> None:
    first = make_cache([small_node("n0"), small_node("n1")])
    second = make_cache([small_node("n1", "b"), small_node("n2")])
    first.add_pod(small_pod("p", "n1"))
    second.add_pod(small_pod("q", "n2"))
    moved, fresh = Snapshot(), Snapshot()
    moved.update(first)
    moved.update(second)
    fresh.update(second)
    assert facts(moved) == facts(fresh)
    assert names_in_order(moved) == names_in_order(fresh)


def test_an_amount_beyond_int64_wraps_as_in_go_and_comes_back() -> None:
    cache, snapshot = make_cache([small_node("n0")]), Snapshot()
    pods = [small_pod(uid, "n0") for uid in "pqr"]
    for pod in pods:
        pod.requests = {"cpu": 2**62}
        cache.add_pod(pod)
        snapshot.update(cache)
    row = snapshot.columns.resource_row("cpu")
    assert int(snapshot.columns.requested[row, 0]) == 3 * 2**62 - 2**64
    cache.remove_pod(pods[0])
    cache.remove_pod(pods[1])
    snapshot.update(cache)
    assert int(snapshot.columns.requested[row, 0]) == 2**62


def test_a_node_made_anew_under_its_name_has_nothing_of_the_old_one() -> None:
    cache, snapshot = make_cache([small_node("n0")]), Snapshot()
    pod = small_pod("p", "n0", cpu=3)
    cache.add_pod(pod)
    snapshot.update(cache)
    cache.remove_pod(pod)
    cache.remove_node("n0")
    cache.add_node(small_node("n0"))
    snapshot.update(cache)
    assert not snapshot.columns.requested.any()


def test_a_snapshot_that_lost_a_node_reports_it_and_is_right_in_the_next_cycle(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cache, snapshot = make_cache([small_node(f"n{i}") for i in range(3)]), Snapshot()
    cache.add_pod(small_pod("p", "n1"))
    cache.add_pod(small_pod("q", "ghost"))
    snapshot.update(cache)
    snapshot._rows.drop("n1")
    cache.add_node(small_node("n3"))
    with caplog.at_level(logging.ERROR, "nodewise.state"), pytest.raises(SnapshotError) as caught:
        snapshot.update(cache)
    text = (
        "snapshot state is not consistent, length of NodeInfoList=3 not equal to length of nodes in tree=4 "
        ", length of NodeInfoMap=3, length of nodes in cache=5, trying to recover"
    )
    assert str(caught.value) == text
    assert text in caplog.text
    assert cache.counters.n_snapshot_repairs == 1
    cache.add_pod(small_pod("r", "n1"))
    snapshot.update(cache)
    fresh = Snapshot()
    fresh.update(cache)
    assert facts(snapshot) == facts(fresh)
    assert names_in_order(snapshot) == ["n0", "n1", "n2", "n3"]


def test_a_tree_with_a_node_that_the_cache_has_not_is_reported_in_every_cycle() -> None:
    cache, snapshot = make_cache([small_node("n0")]), Snapshot()
    snapshot.update(cache)
    cache.nodes.tree.add_node(small_node("stranger"))
    for uid in "pq":
        cache.add_pod(small_pod(uid, "n0"))
        with pytest.raises(SnapshotError, match=r"NodeInfoList=1 not equal to length of nodes in tree=2 "):
            snapshot.update(cache)
