"""Tables never cut a cell and keep to the width where that is possible."""

import contextlib
import io

import pytest
from hypothesis import given, strategies as st

from nodewise.cli.console import Console, printable, some_of
from nodewise.cli.text_table import Column, Table

WORDS = st.lists(st.text("abcdef-/.", min_size=1, max_size=12), min_size=1, max_size=12).map(" ".join)
CELLS = st.tuples(WORDS.map(lambda text: text.replace(" ", "-")), st.integers(0, 10**6).map(str), WORDS)


def printed(table: Table, width: int) -> list[str]:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out):
        console = Console()
        console.width = width
        table.print(console)
    out.seek(0)
    return out.read().splitlines()


def make(rows: list[tuple[str, str, str]]) -> Table:
    table = Table(Column("POD"), Column("NODES", is_right=True), Column("MESSAGE", flows=True))
    for row in rows:
        table.add(*row)
    return table


def test_a_message_wraps_beside_its_row_when_there_is_room() -> None:
    table = make([("shop/web", "12", "0/3 nodes are available: 3 Insufficient cpu.")])
    assert printed(table, 55) == [
        "POD        NODES   MESSAGE",
        "shop/web      12   0/3 nodes are available: 3",
        "                   Insufficient cpu.",
    ]


def test_a_message_goes_below_its_row_when_there_is_none() -> None:
    table = make([("shop/web-with-a-long-name", "12", "0/3 nodes are available: 3 Insufficient cpu.")])
    assert printed(table, 50) == [
        "POD                         NODES",
        "    MESSAGE",
        "shop/web-with-a-long-name      12",
        "    0/3 nodes are available: 3 Insufficient cpu.",
    ]


@given(st.lists(CELLS, max_size=5), st.integers(40, 160))
def test_every_word_is_there_whole_and_lines_fit_if_the_columns_do(
    rows: list[tuple[str, str, str]], width: int
) -> None:
    lines = printed(make(rows), width)
    words = " ".join(lines).split()
    for row in rows:
        assert all(word in words for cell in row for word in cell.split())
    plain = max((len(pod) for pod, _, _ in rows), default=3) + 3 + len("1000000")
    longest_word = 4 + max((len(word) for _, _, message in rows for word in message.split()), default=0)
    assert all(len(line) <= max(width, plain, longest_word) for line in lines)
    assert not any(line.endswith(" ") for line in lines)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("plain", "plain"), ("a\nb\tc", "a b c"), ("\x1b[31mred", "\\x1b[31mred"), ("ü\x9b", "ü\\x9b"), ("\x00", "\\x00")],
)
def test_nothing_reaches_the_terminal_that_it_would_obey(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_of_many_names_some_are_shown() -> None:
    names = [f"n{i}" for i in range(1, 2001)]
    assert some_of(names[:2], 3) == "n1, n2"
    assert some_of(names[:4], 3) == "n1, n2, n3, n4"
    assert some_of(names, 3) == "n1, n2, n3 and 1,997 more"
