import msgspec

from nodewise.api.objects import Pod
from nodewise.queue.nominator import Nominations
from nodewise.state.pod_info import PodInfo
from tests.queue.world import FIT, World, pod, with_labels


def with_nomination(old: Pod, node_name: str) -> Pod:
    status = msgspec.structs.replace(old.status, nominated_node_name=node_name)
    return msgspec.structs.replace(old, status=status)


def test_a_pod_that_comes_with_a_nomination_is_nominated() -> None:
    world = World()
    info = world.add("p", nominated="n1")
    assert world.queue.nominations.node_of(info.uid) == "n1"
    assert list(world.queue.nominated_pods_for_node("n1")) == [info]


def test_a_given_node_goes_before_the_status_and_an_empty_one_clears() -> None:
    nominations = Nominations()
    info = PodInfo(pod("p", nominated="n1"))
    nominations.add_nominated(info, "n2")
    assert nominations.node_of(info.uid) == "n2"
    nominations.add_nominated(info)
    assert nominations.node_of(info.uid) == "n1"
    nominations.add_nominated(info, "")
    assert nominations.nominations() == {}


def test_a_pod_is_nominated_to_one_node_at_a_time_in_order() -> None:
    nominations = Nominations()
    first, second = PodInfo(pod("a")), PodInfo(pod("b"))
    nominations.add_nominated(first, "n1")
    nominations.add_nominated(second, "n1")
    nominations.add_nominated(first, "n1")
    assert nominations.nominated_to("n1") == [second, first]
    nominations.add_nominated(first, "n2")
    assert nominations.nominated_to("n1") == [second]


def test_a_pod_that_is_gone_or_bound_is_not_nominated() -> None:
    known: dict[str, Pod] = {"default/bound": pod("bound", node="n9")}
    nominations = Nominations(lambda asked: known.get(asked.key))
    for name in ("gone", "bound"):
        nominations.add_nominated(PodInfo(pod(name)), "n1")
    assert nominations.nominations() == {}


def test_an_update_without_nominations_keeps_one_that_was_made_here() -> None:
    world = World(FIT)
    queued = world.reject("p", "Fit")
    world.queue.nominations.add_nominated(queued.info, "n1")
    world.update(queued.pod, with_labels(app="web"))
    nominations = world.queue.nominations
    assert nominations.node_of(queued.uid) == "n1"
    assert [info.pod.metadata.labels for info in nominations.nominated_to("n1")] == [{"app": "web"}]


def test_an_update_that_sets_changes_or_takes_away_a_nomination_is_followed() -> None:
    world = World()
    current = world.add("p").pod
    for node_name in ("n1", "n2", ""):
        current = world.update(current, lambda old, name=node_name: with_nomination(old, name))  # type: ignore[misc]
        assert world.queue.nominations.node_of("uid-of-p") == node_name


def test_a_pod_that_is_deleted_loses_its_nomination() -> None:
    world = World()
    info = world.add("p", nominated="n1")
    world.queue.delete(info.pod, world.now)
    assert world.queue.nominations.nominations() == {}
