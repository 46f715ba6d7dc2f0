"""The general caches against cachetools and functools.lru_cache: operations per second and bytes per entry.

``python -m bench.caches``. nodewise's caches are thread-safe; cachetools' are so only with a lock around them, so they
are timed with one and without. functools.lru_cache is written in C and can only memoise a function.
"""

import argparse
import gc
import random
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import cachetools
from rich.console import Console
from rich.table import Table

from bench.scheduling import BenchError
from nodewise.caches import ExpiringLRUCache, GetOrCreateCache, LRUCache
from nodewise.clock import SystemClock

SIZE = 10_000
N_OPERATIONS = 200_000
N_RUNS = 5
TTL_S = 3_600.0
OURS = "nodewise"
LOCKED = "cachetools, locked"
UNLOCKED = "cachetools, no lock"
FUNCTOOLS = "functools.lru_cache"

KEYS = [f"shop/pod-{number}" for number in range(2 * SIZE)]
HELD = KEYS[:SIZE]
VALUE = object()

# What is timed, and after it what must be equal for all contenders.
Trial = tuple[Callable[[], None], Callable[[], object]]
Contenders = dict[str, Callable[[], Trial]]


@dataclass
class Case:
    """One kind of use, and how each contender is made ready for it."""

    title: str
    contenders: Contenders
    best_s: dict[str, float] = field(default_factory=dict)

    def run(self) -> None:
        """Time every contender once; all must give the same result."""
        results = {}
        for name, make in self.contenders.items():
            timed, result = make()
            gc.collect()
            started = time.perf_counter()
            timed()
            took_s = time.perf_counter() - started
            self.best_s[name] = min(took_s, self.best_s.get(name, took_s))
            results[name] = result()
        for name, found in results.items():
            if found != results[OURS]:
                raise BenchError(f"{self.title}: {name} ends with another result than {OURS}")

    def operations_per_s(self, name: str) -> float | None:
        """Operations a second in the best run; None: the contender cannot do this."""
        return N_OPERATIONS / self.best_s[name] if name in self.best_s else None


def main(argv: Sequence[str] | None = None) -> int:
    """Time every case and weigh every cache; a wrong result is an error, a missed target is not."""
    argparse.ArgumentParser(prog="python -m bench.caches", description=__doc__).parse_args(argv)
    cases = [
        Case("get, always there", reading_lru()),
        Case("add, half push another out", writing_lru()),
        Case("get or create, half are new", memoising()),
        Case("expiring: get, always there", reading_expiring()),
        Case("expiring: add, half push another out", writing_expiring()),
    ]
    for _ in range(N_RUNS):  # in turns, so that a busy moment does not hit one case alone
        for case in cases:
            case.run()
    console = Console(width=140)
    console.print(speed_table(cases))
    console.print(memory_table())
    return 0


# --- what is timed ----------------------------------------------------------------------------------------------------


def reading_lru() -> Contenders:
    """Read keys that are there."""

    def ours() -> Trial:
        cache = LRUCache[str, object](SIZE)
        for key in HELD:
            cache.add(key, VALUE)
        return lambda: _read(cache.get), cache.keys

    def functools() -> Trial:
        cached = lru_cache(SIZE)(len)
        for key in HELD:
            cached(key)
        # it does not tell what it holds; this is what it must hold
        return lambda: _read(cached), lambda: list(dict.fromkeys([*HELD, *_reads()][::-1]))[::-1]

    return {OURS: ours, **_reading_theirs(_lru), FUNCTOOLS: functools}


def writing_lru() -> Contenders:
    """Write keys to a full cache, half of them new."""

    def ours() -> Trial:
        cache = LRUCache[str, object](SIZE)

        def timed() -> None:
            add = cache.add
            for key in _asked():
                add(key, VALUE)

        return timed, cache.keys

    return {OURS: ours, **_writing_theirs(_lru)}


def memoising() -> Contenders:
    """Ask a memo for keys of which half are new."""

    def trial(function: Callable[[str], int]) -> Trial:
        answers: list[int] = []
        return lambda: answers.extend([function(key) for key in _asked()]), lambda: answers

    return {
        OURS: lambda: trial(GetOrCreateCache[str, int](len, SIZE).get),
        LOCKED: lambda: trial(cachetools.cached(cachetools.LRUCache[str, int](SIZE), lock=threading.RLock())(len)),
        UNLOCKED: lambda: trial(cachetools.cached(cachetools.LRUCache[str, int](SIZE))(len)),
        FUNCTOOLS: lambda: trial(lru_cache(SIZE)(len)),
    }


def reading_expiring() -> Contenders:
    """Read keys that are there and have not expired."""

    def ours() -> Trial:
        cache = ExpiringLRUCache[str, object](SIZE, clock=SystemClock())
        for key in HELD:
            cache.add(key, VALUE, TTL_S)
        return lambda: _read(cache.get), cache.keys

    return {OURS: ours, **_reading_theirs(_tlru)}


def writing_expiring() -> Contenders:
    """Write keys with a time to live to a full cache, half of them new."""

    def ours() -> Trial:
        cache = ExpiringLRUCache[str, object](SIZE, clock=SystemClock())

        def timed() -> None:
            add = cache.add
            for key in _asked():
                add(key, VALUE, TTL_S)

        return timed, cache.keys

    return {OURS: ours, **_writing_theirs(_tlru)}


def _reading_theirs(make: Callable[[], "cachetools.Cache[str, object]"]) -> Contenders:
    def filled() -> "cachetools.Cache[str, object]":
        cache = make()
        for key in HELD:
            cache[key] = VALUE
        return cache

    def locked() -> Trial:
        cache, lock = filled(), threading.RLock()

        def timed() -> None:
            for key in _reads():
                with lock:
                    cache[key]  # faster than its get()

        return timed, lambda: _keys_of(cache)

    def unlocked() -> Trial:
        cache = filled()

        def timed() -> None:
            for key in _reads():
                cache[key]

        return timed, lambda: _keys_of(cache)

    return {LOCKED: locked, UNLOCKED: unlocked}


def _writing_theirs(make: Callable[[], "cachetools.Cache[str, object]"]) -> Contenders:
    def locked() -> Trial:
        cache, lock = make(), threading.RLock()

        def timed() -> None:
            for key in _asked():
                with lock:
                    cache[key] = VALUE

        return timed, lambda: _keys_of(cache)

    def unlocked() -> Trial:
        cache = make()

        def timed() -> None:
            for key in _asked():
                cache[key] = VALUE

        return timed, lambda: _keys_of(cache)

    return {LOCKED: locked, UNLOCKED: unlocked}


def _read(get: Callable[[str], object]) -> None:
    for key in _reads():
        get(key)


def _keys_of(cache: "cachetools.Cache[str, object]") -> list[str]:
    """Empty a cache; return its keys, least recently used first."""
    return [cache.popitem()[0] for _ in range(len(cache))]


def _lru() -> "cachetools.Cache[str, object]":
    return cachetools.LRUCache(SIZE)


def _tlru() -> "cachetools.Cache[str, object]":
    return cachetools.TLRUCache(SIZE, ttu=lambda key, value, now_s: now_s + TTL_S)


@lru_cache
def _reads() -> list[str]:
    return random.Random(1).choices(HELD, k=N_OPERATIONS)


@lru_cache
def _asked() -> list[str]:
    return random.Random(2).choices(KEYS, k=N_OPERATIONS)


# --- what is weighed --------------------------------------------------------------------------------------------------


def bytes_per_entry(fill: Callable[[], object]) -> float:
    """Return the memory that a full cache takes beyond its keys and values, for each of its entries."""
    fill()  # what is made only once
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    cache = fill()
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del cache
    return (after - before) / SIZE


def fill_lru() -> object:
    """Fill ours."""
    cache = LRUCache[str, object](SIZE)
    for key in HELD:
        cache.add(key, VALUE)
    return cache


def fill_expiring() -> object:
    """Fill ours with expiring entries."""
    cache = ExpiringLRUCache[str, object](SIZE, clock=SystemClock())
    for key in HELD:
        cache.add(key, VALUE, TTL_S)
    return cache


def fill_theirs(make: Callable[[], "cachetools.Cache[str, object]"]) -> object:
    """Fill one of cachetools'."""
    cache = make()
    for key in HELD:
        cache[key] = VALUE
    return cache


def fill_functools() -> object:
    """Fill functools.lru_cache."""
    cached = lru_cache(SIZE)(bool)
    for key in HELD:
        cached(key)
    return cached


# --- what is shown ----------------------------------------------------------------------------------------------------


def speed_table(cases: Sequence[Case]) -> Table:
    """Give a line for every case."""
    table = Table("operation", title=f"Million operations per second, {SIZE:,} entries, best of {N_RUNS}")
    for heading in (OURS, LOCKED, "ratio", UNLOCKED, "ratio", FUNCTOOLS, "ahead of cachetools"):
        table.add_column(heading, justify="right")
    for case in cases:
        ours = N_OPERATIONS / case.best_s[OURS]
        cells = [f"{ours / 1e6:.2f}"]
        for name in (LOCKED, UNLOCKED):
            theirs = N_OPERATIONS / case.best_s[name]
            cells += [f"{theirs / 1e6:.2f}", f"{ours / theirs:.2f}"]
        functools = case.operations_per_s(FUNCTOOLS)
        cells.append("" if functools is None else f"{functools / 1e6:.2f}")
        table.add_row(
            case.title, *cells, "yes" if case.best_s[OURS] < min(case.best_s[LOCKED], case.best_s[UNLOCKED]) else "no"
        )
    return table


def memory_table() -> Table:
    """Give a line for every kind of cache."""
    table = Table("cache", title="Bytes per entry, keys and values not counted")
    for heading in (OURS, "cachetools", "ratio", FUNCTOOLS):
        table.add_column(heading, justify="right")
    functools = f"{bytes_per_entry(fill_functools):.0f}"
    for title, ours, theirs, other in (
        ("LRU", fill_lru, lambda: fill_theirs(_lru), functools),
        ("expiring LRU", fill_expiring, lambda: fill_theirs(_tlru), ""),
    ):
        own, their = bytes_per_entry(ours), bytes_per_entry(theirs)
        table.add_row(title, f"{own:.0f}", f"{their:.0f}", f"{own / their:.2f}", other)
    return table


if __name__ == "__main__":
    sys.exit(main())
