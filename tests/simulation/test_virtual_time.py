"""Virtual time: what happens when, and tasks that wait in it."""

from __future__ import annotations

from hypothesis import given, strategies as st

from nodewise.simulation.virtual_time import Moment, VirtualTime


@given(st.lists(st.integers(0, 20), max_size=30))
def test_timers_fire_in_the_order_of_their_times_then_as_they_were_asked_for(delays: list[int]) -> None:
    time = VirtualTime(100.0)
    fired: list[tuple[float, int]] = []
    for number, delay in enumerate(delays):
        time.call_at(100.0 + delay, lambda n=number: fired.append((time.now(), n)))  # type: ignore[misc]
    time.advance_to(200.0)
    assert fired == sorted((100.0 + delay, number) for number, delay in enumerate(delays))
    assert time.now() == 200.0
    assert time.next_at() is None


def test_a_timer_that_is_cancelled_does_not_fire() -> None:
    time = VirtualTime(0.0)
    fired: list[str] = []
    time.call_at(1.0, lambda: fired.append("a")).cancel()
    time.call_at(2.0, lambda: fired.append("b"))
    assert time.next_at() == 2.0
    time.advance_to(3.0)
    assert fired == ["b"]


def test_what_a_timer_asks_for_happens_in_the_same_jump() -> None:
    time = VirtualTime(0.0)
    fired: list[float] = []
    time.call_at(1.0, lambda: time.call_at(2.0, lambda: fired.append(time.now())))
    time.advance_to(5.0)
    assert fired == [2.0]


def test_a_task_runs_to_its_first_wait_and_goes_on_when_that_is_over() -> None:
    time = VirtualTime(0.0)
    steps: list[str] = []
    promise = time.promise()

    async def work() -> None:
        steps.append("begins")
        await time.sleep(10)
        steps.append(f"slept until {time.now():g}")
        steps.append(await promise)

    time.spawn(work(), name="work")
    assert steps == ["begins"]
    time.advance_to(20)
    assert steps == ["begins", "slept until 10"]
    promise.set_result("got it")
    assert steps[-1] == "got it"


def test_a_task_can_cancel_another_one_that_waits_and_not_itself() -> None:
    time = VirtualTime(0.0)
    steps: list[str] = []
    done: Moment = time.promise()

    async def timer() -> None:
        await time.sleep(5)
        done.set_result(None)
        steps.append("timer ends")

    async def other() -> None:
        await time.sleep(50)
        steps.append("never")

    async def waits() -> None:
        tasks = [time.spawn(timer(), name="timer"), time.spawn(other(), name="other")]
        await done
        for task in tasks:
            task.cancel()
        steps.append("waiting ends")

    time.spawn(waits(), name="waits")
    time.advance_to(100)
    assert steps == ["waiting ends", "timer ends"]
