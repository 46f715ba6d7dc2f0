"""CEL expressions about devices: results and errors are those that kube-scheduler 1.37.2 gives."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given, strategies as st

from nodewise.api.devices import Device
from nodewise.devices.cel.frame import MAX_COST
from nodewise.devices.cel.parsing import CompileError
from nodewise.devices.cel.program import Program
from nodewise.devices.selectors import Failure, Selectors

DEVICE = {
    "name": "dev-0",
    "attributes": {
        "model": {"string": "a"},
        "numa": {"int": 1},
        "healthy": {"bool": True},
        "v": {"version": "2.1.0"},
        "other.com/x": {"string": "y"},
    },
    "capacity": {"memory": {"value": "40Gi"}, "other.com/mem": {"value": "1500m"}},
}
MINE = 'device.attributes["gpu.example.com"]'
MEMORY = 'device.capacity["gpu.example.com"].memory'
HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)


def answer(expression: str) -> bool | str:
    """Evaluate for DEVICE."""
    selectors = Selectors()
    device = msgspec.convert(DEVICE, Device)
    found = selectors.matches(expression, selectors.profile_of("gpu.example.com", device))
    return found.text if isinstance(found, Failure) else found


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "gpu.example.com"',
        f'{MINE}.model == "a" && {MINE}.numa == 1 && {MINE}.healthy',
        f'{MINE}["model"] == "a"',
        'device.attributes["other.com"].x == "y"',
        f"has({MINE}.model)",
        'has(device.attributes) && !has(device.attributes["x"].y)',
        '!("nowhere" in device.attributes) && "gpu.example.com" in device.attributes',
        "!device.allowMultipleAllocations",
        f'cel.bind(g, {MINE}, g.model == "a" && g.numa == 1)',
        f'{MINE}.?missing.orValue("z") == "z" && {MINE}[?"model"].orValue("") == "a"',
        f"{MINE}.?model.optMap(m, m + m).orValue('') == 'aa'",
        f"{MINE}.missing || true",
        f'{MINE}.exists(k, k == "model") && {MINE}.all(k, k.size() > 0)',
        f"{MINE}.numa == 1.0 && {MINE}.numa in [1, 2] && {MINE}.model != 3",
        f'{MEMORY}.compareTo(quantity("40960Mi")) == 0 && {MEMORY}.isGreaterThan(quantity("39Gi"))',
        f'{MEMORY}.asInteger() == 42949672960 && {MEMORY}.add(1).isLessThan(quantity("41Gi"))',
        '!device.capacity["other.com"].mem.isInteger() && device.capacity["other.com"].mem.asApproximateFloat() == 1.5',
        f'{MINE}.v.compareTo(semver("2.0.0")) > 0 && !{MINE}.v.isLessThan(semver("2.1.0-rc.1"))',
        f"{MINE}.v.major() == 2 && {MINE}.v.minor() == 1 && {MINE}.v.patch() == 0",
        'semver("v1.2", true) == semver("1.2.0") && !isSemver("1.02.3")',
        'device.driver.startsWith("gpu") && device.driver.matches("^gpu\\\\.[a-z.]+$") && device.driver.size() == 15',
        'device.driver.split(".")[1] == "example" && "abc".substring(1) == "bc" && "A".lowerAscii() == "a"',
        '"abc".find("b.") == "bc" && "%s-%d".format(["a", 3]) == "a-3" && ["a", "b"].join("-") == "a-b"',
        "[3, 1].sort() == [1, 3] && [1, 2].sum() == 3 && [1, 5, 2].max() == 5 && [1, 2, 2].distinct() == [1, 2]",
        "sets.contains([1, 2], [1]) && [[1], [2]].flatten() == [1, 2] && lists.range(2) == [0, 1]",
        "type(device.driver) == string && dyn(1) == 1u && int('12') == 12",
        'timestamp("2024-01-01T00:00:00Z") > timestamp("2023-01-01T00:00:00Z") && duration("1h") > duration("30m")',
    ],
)
def test_expressions_that_hold(expression: str) -> None:
    assert answer(expression) is True


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (f'{MINE}.missing == "a"', f"no such key: missing{HINT}"),
        ('device.attributes["nowhere"].missing == "a"', f"no such key: missing{HINT}"),
        ('device.capacity["nowhere"].memory.sign() == 0', None),
        (f"{MINE}.model > 3", "no such overload"),
        (f"{MINE}.model && true", "no such overload"),
        (
            f"{MINE}.model",
            "CEL result of type string could not be converted to bool: "
            "unsupported native conversion from string to 'bool'",
        ),
        (f'{MINE}.model.compareTo(quantity("1")) == 0', "no such overload: compareTo(string, kubernetes.Quantity)"),
        ("1 / 0 == 1", "division by zero"),
        ('device.capacity["other.com"].mem.asInteger() == 1', "cannot convert value to integer"),
        ("9223372036854775807 + 1 == 0", "integer overflow"),
        ("[1, 2][5] == 1", "index out of bounds: 5"),
        ('semver("1") == semver("1")', "No Major.Minor.Patch elements found"),
        (
            'quantity("abc") == quantity("1")',
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
        (
            "device.foo == 1",
            "compilation failed: ERROR: <input>:1:7: undefined field 'foo'\n | device.foo == 1\n | ......^",
        ),
        (
            "wrong == 1",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'wrong' (in container '')\n"
            " | wrong == 1\n | ^",
        ),
        (
            "device.driver + 1 == 2",
            "compilation failed: ERROR: <input>:1:15: found no matching overload for '_+_' applied to '(string, int)'\n"
            " | device.driver + 1 == 2\n | ..............^",
        ),
    ],
)
def test_expressions_that_fail_say_what_cel_go_says(expression: str, text: str | None) -> None:
    found = answer(expression)
    assert isinstance(found, str)
    assert text is None or found == text


@pytest.mark.parametrize(
    ("expression", "cost"),
    [
        ("true", 0),
        ('device.driver == "a"', 3),
        (f'{MINE}.model == "a"', 5),
        (f"has({MINE}.model)", 3),
        ("[1, 2, 3].all(x, x > 0)", 16),
        ("[1, 2, 3].map(x, x).size() == 3", 42),
        (f'cel.bind(g, {MINE}, g.model == "a" && g.numa == 1)', 9),
        (f'{MEMORY}.compareTo(quantity("40Gi")) >= 0', 7),
        ('device.driver.split(".").size() == 3', 7),
        ("[1, 2, 3][0] == 1", 3),
        (f'{MINE}.model == "a" ? {MINE}.healthy : false', 8),
    ],
)
def test_costs_are_counted_as_cel_go_counts_them(expression: str, cost: int) -> None:
    selectors = Selectors()
    profile = selectors.profile_of("gpu.example.com", msgspec.convert(DEVICE, Device))
    assert Program(expression).evaluate(profile.variables()).cost == cost


def test_an_evaluation_that_costs_too_much_is_cancelled() -> None:
    numbers = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
    loops = "true"
    for variable in "abcdef":
        loops = f"{numbers}.all({variable}, {variable} > 0 && {loops})"
    assert MAX_COST == 1_000_000
    assert answer(loops) == "operation cancelled: actual cost limit exceeded"
    assert answer(f"{loops} || true") == "operation cancelled: actual cost limit exceeded"


def test_devices_that_look_the_same_share_their_answers() -> None:
    selectors = Selectors()
    first, second = (msgspec.convert({**DEVICE, "name": name}, Device) for name in ("a", "b"))
    assert selectors.profile_of("gpu.example.com", first) is selectors.profile_of("gpu.example.com", second)
    assert selectors.profile_of("gpu.example.com", first) is not selectors.profile_of("other.example.com", first)


@pytest.mark.parametrize("expression", ["google.protobuf.Value{} == null", "[].all(x, google.protobuf.Any{} == x)"])
def test_messages_are_not_supported_and_fail_to_compile(expression: str) -> None:
    found = answer(expression)
    assert isinstance(found, str)
    assert found.startswith("compilation failed: ")
    assert "not supported: a message of type" in found


@pytest.mark.parametrize("expression", ["[?dyn(1)] == [1]", '{?"a": dyn(1)} == {}', '{b"a": 1}.size() == 1'])
def test_what_makes_kube_scheduler_panic_is_an_error_here(expression: str) -> None:
    assert isinstance(answer(expression), str)


@given(st.text(alphabet="device.attributes[]\"'(){}?:,&|!=<>+-*/% \n\t0123456789abxu\\é_", max_size=40))
def test_any_text_is_an_expression_or_fails_to_compile(text: str) -> None:
    with suppress(CompileError):
        Program(text).evaluate({"driver": "a", "attributes": {}, "capacity": {}, "allowMultipleAllocations": False})
