"""Which nodes are looked at, and which of the best is taken."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nodewise.runtime.selection import Selector, TieBreak, feasible_nodes_to_find, heap_winner, search


def pop_from_binary_max_heap(totals: list[int]) -> int:
    """Build a binary max-heap bottom-up and return the position of what it pops, as written in the reference."""
    heap = list(range(len(totals)))

    def sift_down(i: int) -> None:
        while True:
            child = 2 * i + 1
            if child >= len(heap):
                return
            if child + 1 < len(heap) and totals[heap[child + 1]] > totals[heap[child]]:
                child += 1
            if not totals[heap[child]] > totals[heap[i]]:
                return
            heap[i], heap[child] = heap[child], heap[i]
            i = child

    for i in range(len(heap) // 2 - 1, -1, -1):
        sift_down(i)
    return heap[0]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60))
def test_the_kube_tie_break_takes_what_the_real_heap_pops(totals: list[int]) -> None:
    assert heap_winner(totals) == pop_from_binary_max_heap(totals)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60))
def test_a_kube_selector_takes_the_node_at_the_position_of_the_heap(totals: list[int]) -> None:
    selector = Selector(TieBreak.KUBE, random.Random(0))
    found = np.arange(len(totals))[::-1] + 100
    row = selector.select(found, np.array(totals), np.zeros(0, np.int64))
    assert row == found[pop_from_binary_max_heap(totals)]


def test_the_kube_tie_break_is_neither_first_nor_last() -> None:
    assert heap_winner([440, 453, 472, 472]) == 3
    assert heap_winner([5, 5, 5, 5, 5]) == 0


@pytest.mark.parametrize(
    ("n_nodes", "percentage", "expected"),
    [(99, 10, 99), (100, 100, 100), (1000, 0, 420), (5000, 0, 500), (6000, 0, 300), (20000, 0, 1000), (150, 1, 100)],
)
def test_the_search_quota_follows_the_percentage(n_nodes: int, percentage: int, expected: int) -> None:
    assert feasible_nodes_to_find(n_nodes, percentage) == expected


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(0, 80), st.integers(1, 40))
def test_a_search_stops_at_the_quota_and_counts_what_it_passed(feasible: list[bool], start: int, quota: int) -> None:
    order = np.arange(len(feasible))[::-1].copy()
    found, looked_at = search(np.array(feasible), order, start, quota)
    expected: list[int] = []
    passed = 0
    for step in range(len(order)):
        row = int(order[(start + step) % len(order)])
        if feasible[row]:
            if len(expected) == quota:
                break
            expected.append(row)
        passed += 1
    assert found.tolist() == expected
    assert looked_at == passed


def test_first_takes_the_first_name_whatever_the_order() -> None:
    selector = Selector(TieBreak.FIRST, random.Random(0))
    assert selector.select(np.array([4, 2, 7]), np.array([9, 9, 3]), np.array([0, 0, 1, 0, 5, 0, 0, 0])) == 2


def test_round_robin_takes_the_best_in_turn() -> None:
    selector = Selector(TieBreak.ROUND_ROBIN, random.Random(0))
    found, totals, rank = np.array([1, 3, 5]), np.array([7, 7, 2]), np.zeros(6, np.int64)
    assert [selector.select(found, totals, rank) for _ in range(4)] == [1, 3, 1, 3]


def test_round_robin_counts_decisions_without_equals_too() -> None:
    selector = Selector(TieBreak.ROUND_ROBIN, random.Random(0))
    found, rank = np.array([1, 3, 5]), np.zeros(6, np.int64)
    equal, unequal = np.array([7, 7, 7]), np.array([1, 9, 1])
    assert [selector.select(found, totals, rank) for totals in (equal, unequal, equal, equal)] == [1, 3, 5, 1]


def test_random_takes_only_the_best_and_the_same_for_the_same_seed() -> None:
    found, totals, rank = np.arange(10), np.array([5] * 5 + [1] * 5), np.zeros(10, np.int64)

    def run(seed: int) -> list[int]:
        selector = Selector(TieBreak.RANDOM, random.Random(seed))
        return [selector.select(found, totals, rank) for _ in range(50)]

    assert run(1) == run(1)
    assert set(run(1)) == set(range(5))
