from hypothesis import given, strategies as st

from tests.queue.world import FIT, World, with_labels, with_priority


@given(priorities=st.lists(st.integers(-3, 3), max_size=12))
def test_pods_are_popped_by_priority_then_by_age(priorities: list[int]) -> None:
    world = World()
    for number, priority in enumerate(priorities):
        world.add(str(number), priority)
        world.now += number % 2
    expected = sorted(range(len(priorities)), key=lambda number: -priorities[number])
    assert world.names_popped() == [str(number) for number in expected]


def test_a_pod_without_a_priority_counts_as_zero() -> None:
    world = World()
    world.add("below", -1)
    world.add("none", priority=None)  # type: ignore[arg-type]
    assert world.names_popped() == ["none", "below"]


def test_a_failed_pod_goes_behind_its_peers() -> None:
    world = World(FIT)
    world.add("first")
    world.add("second")
    world.add("third")
    first = world.pop()
    world.now += 5
    world.fail(first, "Fit")
    world.now += 15
    world.event(FIT.events[0].event)
    assert world.names_popped() == ["second", "third", "first"]


def test_a_change_of_priority_changes_the_place_but_not_the_age() -> None:
    world = World()
    old = world.add("old").pod
    world.add("middle")
    world.add("new")
    changed = world.update(old, with_priority(-1))
    world.update(changed, with_priority(0))
    assert world.names_popped() == ["old", "middle", "new"]


def test_an_update_of_an_active_pod_replaces_the_object() -> None:
    world = World()
    world.update(world.add("p").pod, with_labels(app="web"))
    assert world.pop().pod.metadata.labels == {"app": "web"}


def test_time_of_the_first_attempt_is_when_the_pod_first_became_active() -> None:
    world = World(FIT)
    since = world.now
    queued = world.reject("p", "Fit")
    world.now += 20
    world.event(FIT.events[0].event)
    assert world.pop().initial_attempt_timestamp == since
    assert queued.attempts == 2
