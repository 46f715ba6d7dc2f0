"""Device selectors against the real compiler and evaluator of kube-scheduler: values, errors and costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from nodewise.api.devices import Device
from nodewise.devices.cel.declarations import declarations
from nodewise.devices.cel.parsing import CompileError
from nodewise.devices.cel.program import Program
from nodewise.devices.selectors import Failure, Selectors
from tests.devices.cel_expressions import ExpressionMaker
from tests.devices.world import claim, device, device_class, exactly, node, pod, slice_of
from tests.oracle import Oracle
from tests.parity.comparison import ask_both, differences_between

CORPUS: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "cel_corpus.yaml").read_text())
DRIVER = "gpu.example.com"
DEVICE: dict[str, Any] = {
    "attributes": {
        "model": {"string": "a"},
        "numa": {"int": 1},
        "healthy": {"bool": True},
        "v": {"version": "2.1.0"},
        "numbers": {"ints": [1, 2, 3]},
        "names": {"strings": ["x", "y"]},
        "versions": {"versions": ["1.0.0", "2.0.0"]},
        "other.com/x": {"string": "y"},
    },
    "capacity": {"memory": {"value": "40Gi"}, "other.com/mem": {"value": "1500m"}},
}
SEEDS = range(20)
EXPRESSIONS_PER_SEED = 200
MAX_CHARS = 3000
HIDDEN_FUNCTIONS = frozenset({"in", "_in_", "__not_strictly_false__"})
"""Deprecated names that cel-go keeps, but does not let expressions use."""


def our_answer(expression: str) -> dict[str, Any]:
    """Answer as the oracle does."""
    selectors = Selectors()
    profile = selectors.profile_of(DRIVER, msgspec.convert({**DEVICE, "name": "dev-0"}, Device))
    try:
        outcome = Program(expression).evaluate(profile.variables())
    except CompileError as error:
        return {"compileError": str(error)}
    found = selectors.matches(expression, profile)
    if isinstance(found, Failure):
        return {"error": found.text, "cost": outcome.cost}
    return {"result": found, "cost": outcome.cost}


def random_expressions(seed: int) -> list[str]:
    """Make selectors that are not overlong."""
    maker = ExpressionMaker(seed)
    made = [maker.expression() for _ in range(EXPRESSIONS_PER_SEED)]
    return [expression for expression in made if len(expression) <= MAX_CHARS]


def assert_same_answers(oracle: Oracle, expressions: list[str]) -> None:
    """Compare with the oracle, one expression after another."""
    theirs = oracle.answer_selectors(expressions, {"driver": DRIVER, **DEVICE})
    differing = [
        (expression, upstream, ours)
        for expression, upstream in zip(expressions, theirs, strict=True)
        if (ours := our_answer(expression)) != upstream
    ]
    assert differing == []


@pytest.mark.parametrize("group", CORPUS["expressions"])
def test_selectors_of_the_corpus_have_the_value_error_and_cost_of_the_real_ones(oracle: Path, group: str) -> None:
    assert_same_answers(Oracle(oracle), CORPUS["expressions"][group].splitlines())


def test_strings_come_out_as_the_real_functions_write_them(oracle: Path) -> None:
    shown = [f'{{"": 1}}[dyn({expression})] == 1' for expression in CORPUS["shown"].splitlines()]
    assert_same_answers(Oracle(oracle), shown)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_selectors_have_the_value_error_and_cost_of_the_real_ones(oracle: Path, seed: int) -> None:
    assert_same_answers(Oracle(oracle), random_expressions(seed))


def test_random_selectors_of_a_fresh_seed_agree_as_well(oracle: Path, fresh_seed: int) -> None:
    assert_same_answers(Oracle(oracle), random_expressions(fresh_seed))


def test_the_functions_are_those_of_the_real_environment(oracle: Path) -> None:
    real = [
        (row["function"], row["id"], bool(row.get("member")), tuple(row["args"] or ()), row["result"])
        for row in Oracle(oracle).selector_functions()
        if row["function"] not in HIDDEN_FUNCTIONS
    ]
    ours = [
        (function, one.overload_id, one.is_member, tuple(map(str, one.params)), str(one.result))
        for function, overloads in sorted(declarations().items())
        for one in overloads
    ]
    assert ours == real


def test_every_function_that_a_device_can_reach_is_in_the_corpus() -> None:
    text = " ".join([*CORPUS["expressions"].values(), CORPUS["shown"]])
    names = [name for name in declarations() if name[0].isalpha() and not name.startswith("cel.@")]
    assert [name for name in names if f"{name}(" not in text] == []


LOOPS = "lists.range(200).all(x, lists.range(200).all(y, lists.range(200).all(z, x + y + z >= 0)))"


@pytest.mark.parametrize("place", ["class", "claim"])
@pytest.mark.parametrize(
    "expression",
    [
        "device.driver ==",
        "device.driver == 1",
        "device.driver",
        'int("x") == 1',
        'device.attributes["gpu.example.com"].missing == 1',
        'device.attributes["gpu.example.com"].model > 1',
        'device.attributes["gpu.example.com"].model',
        'device.attributes["gpu.example.com"].model in [b"a"] || dyn(b"a") in ["a"]',
        LOOPS,
    ],
)
def test_a_selector_that_fails_says_so_in_the_pods_message(
    oracle: Path, tmp_path: Path, place: str, expression: str
) -> None:
    path = tmp_path / "cluster.json"
    in_class, in_claim = (expression if place == where else "true" for where in ("class", "claim"))
    items = [
        node("n1"),
        node("n2"),
        device_class(expression=in_class),
        slice_of("n1", device("d0", attributes={"model": "a"})),
        claim("c", exactly("r", "gpu", "true", in_claim)),
        pod("p", "c"),
    ]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    answers = ask_both(Oracle(oracle), path)
    outcome = differences_between(answers, expression)
    assert outcome.is_equal, str(outcome)
    assert "CEL" in answers.placed[0]["message"]
