"""Random device selectors: mostly of fitting types, now and then not."""

import random
from collections.abc import Callable

_STRINGS = (
    '""',
    '"a"',
    '"b"',
    '"héllo"',
    '"a,b"',
    '"1.2.3"',
    '"10.0.0.1"',
    '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"',
    '"x-y.z"',
)
_INTS = ("0", "1", "2", "-1", "7", "15", "9223372036854775807", "-9223372036854775808")
_DOUBLES = ("0.0", "1.0", "1.5", "-2.5", "1e6", "1e300", '-double("inf")', "0.1")
_UINTS = ("0u", "1u", "3u", "18446744073709551615u")
_BYTES = ('b""', 'b"a"', 'b"\\xff"')
_DURATIONS = ('duration("1s")', 'duration("-90m")', 'duration("1.5h")', 'duration("1ns")')
_TIMES = (
    "timestamp(0)",
    'timestamp("2024-02-29T23:59:59.5+02:00")',
    'timestamp("0001-01-01T00:00:00Z")',
    'timestamp("9999-12-31T23:59:59Z")',
)
_QUANTITIES = ('quantity("1")', 'quantity("1500m")', 'quantity("2Gi")', 'quantity("1e3")', 'quantity("0")')
_VERSIONS = ('semver("1.2.3")', 'semver("1.2.3-rc.1")', 'semver("v2", true)', 'semver("0.0.0+b")')
_ADDRESSES = ('ip("10.0.0.1")', 'ip("fe80::1")', 'ip("::")', 'ip("224.0.0.5")')
_NETWORKS = ('cidr("10.0.0.0/8")', 'cidr("10.1.2.3/16")', 'cidr("2001:db8::/32")', 'cidr("0.0.0.0/0")')
_URLS = ('url("https://u@e.com:80/a%20b?x=1#f")', 'url("/p?q")', 'url("mailto:x")')
_ZONES = ('"UTC"', '"Europe/Berlin"', '"-05:30"', '"14:00"', '"nowhere"')
_PATTERNS = ('"a"', '"[a-c]+"', '"^$"', '"(a|b)*"', '"\\\\."', '"("')
_MINE = 'device.attributes["gpu.example.com"]'


class ExpressionMaker:
    """Makes expressions of a wanted type from a seed; the same seed makes the same expressions."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._scopes: list[tuple[str, str]] = []
        self._n_names = 0

    def expression(self) -> str:
        """Return an expression that is to be a bool."""
        return self.of("bool", self._random.randint(1, 4))

    def of(self, kind: str, depth: int) -> str:
        """Return an expression of a type, at most so deep."""
        if self._random.random() < 0.02:
            kind = self._random.choice(tuple(_MAKERS))
        if self._random.random() < 0.06:
            return f"dyn({self.of(self._random.choice(tuple(_MAKERS)), depth - 1)})" if depth > 0 else "dyn(1)"
        names = [name for name, of_kind in self._scopes if of_kind == kind]
        if names and self._random.random() < 0.4:
            return self._random.choice(names)
        if depth > 0 and self._random.random() < 0.1:
            return self._common(kind, depth)
        return _MAKERS[kind](self, depth)

    def _common(self, kind: str, depth: int) -> str:
        """Return something that there is for every type."""

        def some(of_kind: str) -> str:
            return self.of(of_kind, depth - 1)

        choice = self._random.randrange(7)
        if choice == 0:
            return f"({some('bool')} ? {some(kind)} : {some(kind)})"
        if choice == 1:
            return f"[{some(kind)}, {some(kind)}][{some('int')}]"
        if choice == 2:
            return f"optional.of({some(kind)}).orValue({some(kind)})"
        if choice == 3:
            return f'{{"a": {some(kind)}}}.?{self.pick("a", "b")}.orValue({some(kind)})'
        if choice == 4:
            name = self._new_name()
            value = some(kind)
            return f"cel.bind({name}, {value}, {self.within(name, kind, kind, depth)})"
        if choice == 5:
            return f"[{some(kind)}].{self.pick('first', 'last')}().value()"
        return f'{{"a": {{"b": {some(kind)}}}}}.a.b'

    def pick(self, *texts: str) -> str:
        """Return one of some texts."""
        return self._random.choice(texts)

    def within(self, name: str, name_kind: str, kind: str, depth: int) -> str:
        """Return an expression that may use a variable."""
        self._scopes.append((name, name_kind))
        try:
            return self.of(kind, depth - 1)
        finally:
            self._scopes.pop()

    def loop_name(self) -> str:
        """Return a name for a loop's variable."""
        return self._new_name()

    def _new_name(self) -> str:
        self._n_names += 1
        return self.pick(f"v{self._n_names}", "x", "y")


def _of(*literals: str) -> Callable[[ExpressionMaker, int], str]:
    return lambda make, depth: make.pick(*literals)


def _filled(make: ExpressionMaker, depth: int, literals: tuple[str, ...], templates: tuple[str, ...]) -> str:
    """Return a literal, or a template whose `{kind}` places are filled."""
    if depth <= 0:
        return make.pick(*literals)
    text = make.pick(*templates, *literals[:2])
    while (start := text.find("<")) >= 0 and (end := text.find(">", start)) >= 0 and text[start + 1 : end] in _PLACES:
        text = f"{text[:start]}{_PLACES[text[start + 1 : end]](make, depth)}{text[end + 1 :]}"
    return text


def _maker(literals: tuple[str, ...], *templates: str) -> Callable[[ExpressionMaker, int], str]:
    return lambda make, depth: _filled(make, depth, literals, templates)


def _loop(form: str, kind: str, body: str) -> Callable[[ExpressionMaker, int], str]:
    def run(make: ExpressionMaker, depth: int) -> str:
        name = make.loop_name()
        items = make.of(f"list {kind}", depth - 1)
        return form.format(items=items, name=name, body=make.within(name, kind, body, depth))

    return run


def _nested(kind: str) -> Callable[[ExpressionMaker, int], str]:
    return lambda make, depth: make.of(kind, depth - 1)


_PLACES: dict[str, Callable[[ExpressionMaker, int], str]] = {
    **{
        short: _nested(kind)
        for short, kind in (
            *(("b", "bool"), ("i", "int"), ("s", "string"), ("d", "double"), ("u", "uint"), ("y", "bytes")),
            *(("n", "duration"), ("t", "timestamp"), ("Q", "quantity"), ("V", "semver"), ("A", "ip"), ("N", "cidr")),
            *(("U", "url"), ("li", "list int"), ("ls", "list string"), ("m", "map"), ("o", "optional")),
        )
    },
    "zone": _of(*_ZONES),
    "pattern": _of(*_PATTERNS),
    "order": _of("<", "<=", ">", ">="),
    "same": _of("==", "!="),
    "all-i": _loop("{items}.all({name}, {body})", "int", "bool"),
    "exists-s": _loop("{items}.exists({name}, {body})", "string", "bool"),
    "one-i": _loop("{items}.exists_one({name}, {body})", "int", "bool"),
    "all2-s": _loop("{items}.all(i, {name}, {body})", "string", "bool"),
    "map-i": _loop("{items}.map({name}, {body})", "int", "int"),
    "map-s": _loop("{items}.map({name}, {body})", "int", "string"),
    "filter-i": _loop("{items}.filter({name}, {body})", "int", "bool"),
    "sortby-s": _loop("{items}.sortBy({name}, {body})", "string", "int"),
    "transform-i": _loop("{items}.transformList(i, {name}, {body})", "int", "int"),
    "transform-m": _loop(
        '{items}.transformMap(i, {name}, i == 0, {body}).transformMapEntry(k, v, {{"a": v}})', "int", "int"
    ),
}

_MAKERS: dict[str, Callable[[ExpressionMaker, int], str]] = {
    "bool": _maker(
        ("true", "false", f"{_MINE}.healthy", "device.allowMultipleAllocations", f"{_MINE}.missing"),
        "(<b> && <b>)",
        "(<b> || <b>)",
        "!<b>",
        "(<i> <order> <i>)",
        "(<s> <order> <s>)",
        "(<d> <order> <i>)",
        "(<i> <same> <i>)",
        "(<s> <same> <s>)",
        "(<Q> <same> <Q>)",
        "(<li> <same> <li>)",
        "(<n> <order> <n>)",
        "(<t> <order> <t>)",
        "(<m> <same> <m>)",
        "(<o> <same> <o>)",
        "(<i> in <li>)",
        "(<s> in <m>)",
        "(<i> in [1, 2, 3])",
        "<s>.contains(<s>)",
        "<s>.startsWith(<s>)",
        "<s>.endsWith(<s>)",
        "<s>.matches(<pattern>)",
        "<s>.matches(<s>)",
        "<Q>.isGreaterThan(<Q>)",
        "<V>.isLessThan(<V>)",
        "<Q>.isInteger()",
        "isQuantity(<s>)",
        "isSemver(<s>, <b>)",
        "isIP(<s>)",
        "isCIDR(<s>)",
        "isURL(<s>)",
        "<A>.isGlobalUnicast()",
        "<N>.containsIP(<A>)",
        "<N>.containsIP(<s>)",
        "<N>.containsCIDR(<N>)",
        "<li>.isSorted()",
        "<li>.includes(<i>)",
        "sets.contains(<li>, <li>)",
        "sets.equivalent(<ls>, <ls>)",
        "sets.intersects(<ls>, <ls>)",
        "<o>.hasValue()",
        "bool(<s>)",
        "has(<m>.a)",
        "format.named(<s>).hasValue()",
        "format.dns1123Label().validate(<s>).hasValue()",
        "(<U> <same> <U>)",
        "(<A> <same> <A>)",
        "(<V> <same> <V>)",
        "<all-i>",
        "<exists-s>",
        "<one-i>",
        "<all2-s>",
        "(type(<i>) == int)",
    ),
    "int": _maker(
        (*_INTS, f"{_MINE}.numa"),
        "(<i> + <i>)",
        "(<i> - <i>)",
        "(<i> * <i>)",
        "(<i> / <i>)",
        "(<i> % <i>)",
        "-(<i>)",
        "size(<s>)",
        "<li>.size()",
        "<li>.sum()",
        "<li>.max()",
        "<li>.min()",
        "<li>.indexOf(<i>)",
        "<s>.indexOf(<s>)",
        "<s>.lastIndexOf(<s>, <i>)",
        "int(<s>)",
        "int(<d>)",
        "int(<u>)",
        "int(<n>)",
        "int(<t>)",
        "<Q>.asInteger()",
        "sign(<Q>)",
        "<Q>.compareTo(<Q>)",
        "<V>.major()",
        "<V>.compareTo(<V>)",
        "<A>.family()",
        "<N>.prefixLength()",
        "<t>.getFullYear()",
        "<t>.getDayOfYear(<zone>)",
        "<t>.getHours(<zone>)",
        "<t>.getDayOfWeek()",
        "<t>.getMilliseconds()",
        "<n>.getHours()",
        "<n>.getMilliseconds()",
        "<o>.orValue(<i>)",
        "<m>.a",
    ),
    "string": _maker(
        (*_STRINGS, "device.driver", f"{_MINE}.model"),
        "(<s> + <s>)",
        "<s>.charAt(<i>)",
        "<s>.lowerAscii()",
        "<s>.upperAscii()",
        "<s>.trim()",
        "<s>.replace(<s>, <s>)",
        "<s>.replace(<s>, <s>, <i>)",
        "<s>.substring(<i>)",
        "<s>.substring(<i>, <i>)",
        "<ls>.join(<s>)",
        "<ls>.join()",
        "<s>.find(<pattern>)",
        "<s>.find(<s>)",
        "string(<i>)",
        "string(<d>)",
        "string(<u>)",
        "string(<b>)",
        "string(<y>)",
        "string(<n>)",
        "string(<t>)",
        "string(<A>)",
        "string(<N>)",
        "strings.quote(<s>)",
        '"%s %d %.2f".format([<s>, <i>, <d>])',
        '"%s|%x|%e".format([<li>, <s>, <d>])',
        "<U>.getHost()",
        "<U>.getEscapedPath()",
        "<ls>[<i>]",
    ),
    "double": _maker(
        _DOUBLES, "(<d> + <d>)", "(<d> / <d>)", "(<d> * <d>)", "double(<i>)", "double(<s>)", "<Q>.asApproximateFloat()"
    ),
    "uint": _maker(_UINTS, "(<u> + <u>)", "(<u> - <u>)", "(<u> % <u>)", "uint(<i>)", "uint(<s>)", "uint(<d>)"),
    "bytes": _maker(_BYTES, "bytes(<s>)", "(<y> + <y>)"),
    "duration": _maker(_DURATIONS, "(<n> + <n>)", "(<n> - <n>)", "(<t> - <t>)", "[<n>, <n>].max()"),
    "timestamp": _maker(_TIMES, "(<t> + <n>)", "(<n> + <t>)", "(<t> - <n>)", "timestamp(<i>)"),
    "quantity": _maker(
        (*_QUANTITIES, 'device.capacity["gpu.example.com"].memory'),
        "<Q>.add(<Q>)",
        "<Q>.add(<i>)",
        "<Q>.sub(<Q>)",
        "quantity(<s>)",
    ),
    "semver": _maker((*_VERSIONS, f"{_MINE}.v"), "semver(<s>)", "semver(<s>, true)"),
    "ip": _maker(_ADDRESSES, "<N>.ip()", "ip(<s>)"),
    "cidr": _maker(_NETWORKS, "<N>.masked()"),
    "url": _maker(_URLS, "url(<s>)"),
    "map": _maker(('{"a": 1}', '{"a": 1, "b": 2}', "{}"), '{"a": <i>}', '{<s>: <i>, "b": <i>}', "<transform-m>"),
    "optional": _maker(
        ("optional.of(1)", "optional.none()"),
        "<m>.?a",
        "<li>[?<i>]",
        "<li>.first()",
        "optional.ofNonZeroValue(<i>)",
        "<o>.or(<o>)",
        "<o>.optMap(x, x + <i>)",
        "<o>.optFlatMap(x, <o>)",
    ),
    "list int": _maker(
        ("[1, 2, 3]", "[]", "[3, 1, 2, 1]", f"{_MINE}.numbers"),
        "[<i>, <i>]",
        "(<li> + <li>)",
        "<li>.sort()",
        "<li>.reverse()",
        "<li>.distinct()",
        "<li>.slice(<i>, <i>)",
        "[<li>, <li>].flatten()",
        "lists.range(size(<s>))",
        "<map-i>",
        "<filter-i>",
        "<transform-i>",
        "[<o>, <o>].unwrapOpt()",
    ),
    "list string": _maker(
        ('["a", "b"]', "[]", '["b", "a", "a"]', f"{_MINE}.names"),
        "[<s>, <s>]",
        "<s>.split(<s>)",
        "<s>.split(<s>, <i>)",
        "<s>.findAll(<pattern>)",
        "<ls>.sort()",
        "<ls>.distinct()",
        "<sortby-s>",
        "<map-s>",
    ),
}
