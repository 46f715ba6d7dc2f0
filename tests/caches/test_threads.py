"""What must hold after several threads have used a cache at once."""

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from nodewise.caches import (
    ChangeKind,
    ExpiringLRUCache,
    GetOrCreateCache,
    LRUCache,
    StoreChange,
    ThreadSafeStore,
    TokenBucket,
)
from nodewise.testing.clock import FakeClock

N_THREADS = 6
N_OPERATIONS = 500


@pytest.fixture(autouse=True)
def _busy_switching() -> Iterator[None]:
    """Let threads take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def run_together(work: Callable[[int, random.Random], None], seed: int) -> None:
    """Start threads at one moment; raise what any of them raised."""
    barrier = threading.Barrier(N_THREADS)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait()
        try:
            work(number, random.Random(seed + number))
        except BaseException as error:  # whatever it is, it belongs to the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(N_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def yield_turn() -> None:
    """Let another thread run here; takes no time if none wants to."""
    time.sleep(0)


class Boxed:
    """A key that lets other threads run in the middle of a look-up."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        yield_turn()
        return self.number % 97

    def __eq__(self, other: object) -> bool:
        yield_turn()
        return isinstance(other, Boxed) and other.number == self.number


class YieldingClock(FakeClock):
    """Lets other threads run when it is read."""

    def now(self) -> float:
        yield_turn()
        return super().now()


def letters(text: str) -> list[str]:
    """Index a text by its letters."""
    yield_turn()
    return list(text)


@pytest.mark.parametrize("make_key", [str, Boxed], ids=["text", "own class"])
def test_every_entry_of_an_lru_cache_leaves_exactly_once_or_is_still_there(
    fresh_seed: int, make_key: Callable[[int], str | Boxed]
) -> None:
    left: list[int] = []
    cache = LRUCache[str | Boxed, int](20, on_evict=lambda key, value: left.append(value))
    added: list[list[int]] = [[] for _ in range(N_THREADS)]

    def work(number: int, rng: random.Random) -> None:
        for step in range(N_OPERATIONS):
            value = number * N_OPERATIONS + step  # a key of its own, so that no add replaces
            operation = rng.randrange(8)
            if operation < 3:
                cache.add(make_key(value), value)
                added[number].append(value)
            elif operation < 6:
                wanted = rng.choice(added[number]) if added[number] else 0
                assert cache.get(make_key(wanted)) in (wanted, None)
            elif operation == 6:
                cache.remove(make_key(rng.choice(added[number]) if added[number] else 0))
            else:
                cache.remove_oldest()
            assert len(cache) <= 21  # one more while an add is under way

    run_together(work, fresh_seed)
    held = [value for _, value in cache.items()]
    assert len(held) <= 20
    assert Counter(left + held) == Counter(value for values in added for value in values)


def test_one_thread_that_clears_and_sweeps_loses_nothing_of_others(fresh_seed: int) -> None:
    left: list[int] = []
    clock = YieldingClock()
    cache = ExpiringLRUCache[str, int](50, clock=clock, on_evict=lambda key, value: left.append(value))
    added: list[list[int]] = [[] for _ in range(N_THREADS)]

    def work(number: int, rng: random.Random) -> None:
        for step in range(N_OPERATIONS):
            value = number * N_OPERATIONS + step
            if number == 0:
                clock.advance(0.001)
                operation = rng.randrange(3)
                if operation == 0:
                    cache.clear()
                elif operation == 1:
                    cache.remove_expired()
                else:
                    cache.remove_all(lambda key: key > "5")
            elif rng.random() < 0.5:
                cache.add(str(value), value, rng.choice([0.0, 0.01, 100.0]))
                added[number].append(value)
            else:
                wanted = rng.choice(added[number]) if added[number] else 0
                assert cache.get(str(wanted)) in (wanted, None)

    run_together(work, fresh_seed)
    n_held = len(cache)
    cache.clear()
    assert n_held <= 50
    assert Counter(left) == Counter(value for values in added for value in values)


def test_a_value_that_comes_while_a_reader_finds_the_old_one_expired_stays() -> None:
    class Interrupted(FakeClock):
        def now(self) -> float:
            if is_reading:
                is_reading.clear()
                cache.add("a", "new", 10.0)  # what another thread does meanwhile
            return super().now()

    is_reading: list[bool] = []
    clock = Interrupted()
    cache = ExpiringLRUCache[str, str](10, clock=clock)
    cache.add("a", "old", 1.0)
    clock.advance(2.0)
    is_reading.append(True)
    assert cache.get("a") is None
    assert cache.get("a") == "new"


def test_all_callers_of_get_or_create_get_the_same_value(fresh_seed: int) -> None:
    def make(key: str) -> list[str]:
        yield_turn()
        return [key]

    cache = GetOrCreateCache[str, list[str]](make, 0)
    seen: list[dict[str, list[str]]] = [{} for _ in range(N_THREADS)]

    def work(number: int, rng: random.Random) -> None:
        for _ in range(N_OPERATIONS):
            key = str(rng.randrange(100))
            value = cache.get(key)
            assert seen[number].setdefault(key, value) is value

    run_together(work, fresh_seed)
    for by_key in seen:
        for key, value in by_key.items():
            assert cache.get(key) is value


def test_no_token_is_taken_twice(fresh_seed: int) -> None:
    bucket = TokenBucket(1, 1_000, YieldingClock())
    accepted = [0] * N_THREADS

    def work(number: int, rng: random.Random) -> None:
        accepted[number] = sum(bucket.try_accept() for _ in range(N_OPERATIONS))

    run_together(work, fresh_seed)
    assert sum(accepted) == 1_000


def test_the_indices_of_a_store_follow_all_threads(fresh_seed: int) -> None:
    store = ThreadSafeStore[str]({"letter": letters})

    def work(number: int, rng: random.Random) -> None:
        for step in range(N_OPERATIONS):
            key = str(rng.randrange(30))
            text = "".join(rng.choices("abcdef", k=rng.randrange(4)))
            operation = rng.randrange(8)
            if operation < 4:
                store.add(key, text)
            elif operation == 4:
                store.delete(key)
            elif operation == 5:
                changes = [StoreChange(rng.choice(list(ChangeKind)), str(rng.randrange(30)), text) for _ in range(3)]
                store.transaction(changes)
            elif operation == 6:
                for found in store.by_index("letter", "a"):
                    assert "a" in found
            elif step % 50 == 0:
                store.replace({str(idx): text for idx in range(10)})
            if number == 0 and step == 100:
                store.add_indexers({"length": lambda item: [str(len(item))]})

    run_together(work, fresh_seed)
    assert store.check() == []
    assert sum(len(store.by_index("length", str(size))) for size in range(4)) == len(store)


def test_nobody_sees_half_a_transaction(fresh_seed: int) -> None:
    def text(number: int) -> list[str]:
        yield_turn()
        return [str(number)]

    store = ThreadSafeStore[int]({"value": text})
    store.replace({"a": 0, "b": 0})

    def work(number: int, rng: random.Random) -> None:
        for _ in range(N_OPERATIONS):
            if number % 2:
                value = rng.randrange(1_000)
                store.transaction([StoreChange(ChangeKind.UPDATE, key, value) for key in "ab"])
            else:
                first, second = store.list()
                assert first == second
                assert len(store.list_index_func_values("value")) == 1

    run_together(work, fresh_seed)
