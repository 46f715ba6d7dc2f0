"""YAML as go-yaml v2 reads it, in bounded time."""

import time
from typing import Any

import pytest

from nodewise.cluster.yaml_documents import read_yaml


def read(text: str) -> Any:
    (document,) = read_yaml(text.encode())
    assert document.error == ""
    return document.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("Off", False),
        ("y", True),
        ("~", None),
        ("nULL", "nULL"),
        ("0644", 420),
        ("0o17", 15),
        ("089", 89),
        ("0x1F", 31),
        ("0b11", 3),
        ("-0x10", -16),
        ("+5", 5),
        ("1_000", 1000),
        ("1e3", 1000),
        ("12E6", 12_000_000),
        (".5", 0.5),
        ("1.", 1),
        ("2.50", 2.5),
        ("1e400", "1e400"),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("12:30:45", "12:30:45"),
        ("500m", "500m"),
        ("-", None),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ('!!int "3"', 3),
        ("!!float 3", 3),
        ("!!binary aGk=", "hi"),
        ("!acme 1", "1"),
    ],
)
def test_scalars_mean_what_go_yaml_makes_of_them(text: str, value: Any) -> None:
    found = read(f"a: {text}") if text != "-" else read("a:")
    assert found == {"a": value}
    assert type(found["a"]) is type(value)


@pytest.mark.parametrize(
    ("key", "text"), [("1", "1"), ("true", "true"), ("on", "true"), ("1.5", "1.5"), ("'on'", "on")]
)
def test_keys_become_strings(key: str, text: str) -> None:
    assert read(f"{key}: x") == {text: "x"}


@pytest.mark.parametrize(
    "text", ["a: !!int x", "a: !!binary '*'", "? {a: b}\n: c", "? [a]\n: c", "~: x", "<<: 5", "a: .inf"]
)
def test_what_has_no_json_form_is_an_error(text: str) -> None:
    (document,) = read_yaml(text.encode())
    assert document.error


def test_anchors_and_merge_keys_work_and_a_later_merge_wins_as_in_go_yaml() -> None:
    text = "base: &b {x: 1, z: 2}\nfirst: {<<: *b, z: 3}\nlast: {z: 3, <<: *b}\nlist: {<<: [{x: 5}, *b]}\nalias: *b\n"
    value = read(text)
    assert value["first"] == {"x": 1, "z": 3}
    assert value["last"] == {"x": 1, "z": 2}
    assert value["list"] == {"x": 5, "z": 2}
    assert value["alias"] == value["base"]


def test_a_key_given_twice_counts_as_written_last_with_a_note() -> None:
    (document,) = read_yaml(b"a: 1\nb: 2\na: 3\n")
    assert document.value == {"a": 3, "b": 2}
    assert document.notes == ["line 3: key 'a' is given twice, the last one counts"]


def test_a_separator_inside_a_block_of_text_separates_nothing() -> None:
    assert read("a: |\n  ---\n  b\n") == {"a": "---\nb\n"}


def test_errors_count_lines_from_the_start_of_the_file() -> None:
    documents = list(read_yaml(b"a: 1\n---\nb: 1\n---\nc: [1\n"))
    assert documents[-1].error.startswith("is not valid YAML: line 6: ")


def bomb(n_levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, n_levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        bomb(30),
        "a: &a " + "x" * 1_000_000 + "\nb: [" + ", ".join(["*a"] * 10_000) + "]",
        "[" * 200_000,
        "{a: " * 200_000,
        "- " * 200_000,
        "".join(" " * i + "a:\n" for i in range(3000)),
    ],
)
def test_hostile_documents_are_refused_at_once(text: str) -> None:
    start = time.perf_counter()
    (document,) = read_yaml(text.encode())
    assert document.error
    assert time.perf_counter() - start < 5


def test_modest_aliasing_is_fine() -> None:
    assert len(read("a: &a {x: 1}\nb: [" + ", ".join(["*a"] * 500) + "]")["b"]) == 500
