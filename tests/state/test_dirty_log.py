"""The log of changed rows."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_

from hypothesis import given, strategies as st

from nodewise.state.dirty_log import FEW, NODE, PODS, RESOURCES, ROW, DirtyLog

ENTRIES = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from([RESOURCES | PODS, RESOURCES | PODS, NODE, RESOURCES, ROW, 0])),
    min_size=1,
    max_size=3 * FEW,
)


@given(ENTRIES, st.sets(st.integers(0, 3 * FEW)), st.integers(1, 40))
def test_a_reader_gets_each_row_that_changed_since_its_cursor_once(
    entries: list[tuple[int, int]], reading_at: set[int], limit: int
) -> None:
    log = DirtyLog(limit)
    for position, (row, kind) in enumerate(entries, 1):
        log.append(row, kind)
        if position not in reading_at:
            continue
        for cursor in range(log.base, position):
            window = log.window(cursor, at_most=100)
            assert window is not None
            since = entries[cursor:position]
            assert window.rows.tolist() == list(dict.fromkeys(row for row, _ in since))
            kinds = [kind for _, kind in since]
            assert (window.any_kind, window.every_kind) == (reduce(or_, kinds), reduce(and_, kinds))
            for wanted in (NODE, PODS, RESOURCES):
                found = log.since(cursor, wanted, at_most=100)
                assert found is not None
                assert sorted(found.tolist()) == sorted({row for row, kind in since if kind & wanted})


def test_entries_that_were_cut_off_are_not_known_any_more() -> None:
    log = DirtyLog(limit=4)
    for row in range(9):
        log.append(row, RESOURCES)
    assert log.base == 5
    assert log.window(4, at_most=100) is None
    window = log.window(5, at_most=100)
    assert window is not None
    assert window.rows.tolist() == [5, 6, 7, 8]


def test_a_reader_that_would_get_too_many_rows_gets_none() -> None:
    log = DirtyLog()
    for row in (1, 2, 1, 2):
        log.append(row, RESOURCES)
    assert log.window(0, at_most=1) is None
    assert log.window(0, at_most=2) is not None
    assert log.window(log.end, at_most=0) is not None
