"""Quantities read exactly as k8s.io/apimachinery v0.37.2 reads them; the literals are its results."""

from __future__ import annotations

import math
import re
import time
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from nodewise.api.quantity import Quantity, parse_quantity
from nodewise.errors import NodewiseError, QuantityError

# text, Value(), MilliValue(), MilliValue() after RoundUp(Milli), String()
ACCEPTED = [
    ("0", 0, 0, 0, "0"),
    ("1", 1, 1000, 1000, "1"),
    ("+1", 1, 1000, 1000, "+1"),
    ("-1", -1, -1000, -1000, "-1"),
    ("+", 0, 0, 0, "0"),
    ("-", 0, 0, 0, "0"),
    (".", 0, 0, 0, "0"),
    ("5.", 5, 5000, 5000, "5."),
    (".5", 1, 500, 500, "500m"),
    ("-.5", -1, -500, -500, "-500m"),
    ("k", 0, 0, 0, "0"),
    ("0.5", 1, 500, 500, "500m"),
    ("1.5Gi", 1610612736, 1610612736000, 1610612736000, "1536Mi"),
    ("100m", 1, 100, 100, "100m"),
    ("0.1m", 1, 1, 1, "100u"),
    ("1n", 1, 1, 1, "1n"),
    ("0.1n", 1, 1, 1, "1n"),
    ("1.5n", 1, 1, 1, "2n"),
    ("-0.1n", 1, 1, -1, "-1n"),
    ("-1.5", -2, -1500, -1500, "-1500m"),
    ("-1500m", -2, -1500, -1500, "-1500m"),
    ("1u", 1, 1, 1, "1u"),
    ("12k", 12000, 12000000, 12000000, "12k"),
    ("1M", 1000000, 1000000000, 1000000000, "1M"),
    ("1G", 1000000000, 1000000000000, 1000000000000, "1G"),
    ("1T", 1000000000000, 1000000000000000, 1000000000000000, "1T"),
    ("1P", 1000000000000000, 1000000000000000000, 1000000000000000000, "1P"),
    ("1E", 1000000000000000000, 0, 0, "1E"),
    ("8E", 8000000000000000000, 0, 0, "8E"),
    ("9E", 9000000000000000000, 0, 0, "9E"),
    ("10E", 0, 0, 0, "10E"),
    ("50E", 0, 0, 0, "50E"),
    ("9.3E", 0, 0, 0, "9300P"),
    ("1e3", 1000, 1000000, 1000000, "1e3"),
    ("1E3", 1000, 1000000, 1000000, "1E3"),
    ("1e+3", 1000, 1000000, 1000000, "1e+3"),
    ("1E-3", 1, 1, 1, "1E-3"),
    ("1e18", 1000000000000000000, 0, 0, "1e18"),
    ("1e19", 0, 0, 0, "10e18"),
    ("1e2147483647", 0, 1, 1, "10e2147483646"),
    ("1e4294967299", 1000, 1000000, 1000000, "1e4294967299"),
    ("1e-99", 1, 1, 1, "1e-9"),
    ("1Ki", 1024, 1024000, 1024000, "1Ki"),
    ("0.5Ki", 512, 512000, 512000, "512"),
    ("1Mi", 1048576, 1048576000, 1048576000, "1Mi"),
    ("1Gi", 1073741824, 1073741824000, 1073741824000, "1Gi"),
    ("1Ti", 1099511627776, 1099511627776000, 1099511627776000, "1Ti"),
    ("10Ti", 10995116277760, 10995116277760000, 10995116277760000, "10Ti"),
    ("100Ti", 109951162777600, 109951162777600000, 109951162777600000, "100Ti"),
    ("1Pi", 1125899906842624, 1125899906842624000, 1125899906842624000, "1Pi"),
    ("1Ei", 1152921504606846976, -9223372036854775808, -9223372036854775808, "1Ei"),
    ("7Ei", 8070450532247928832, -9223372036854775808, -9223372036854775808, "7Ei"),
    ("8Ei", 9223372036854775807, -1000, -1000, "9223372036854775807"),
    ("-8Ei", -9223372036854775807, 1000, 1000, "-9223372036854775807"),
    ("9Ei", 9223372036854775807, -1000, -1000, "9223372036854775807"),
    ("16Ei", 9223372036854775807, -1000, -1000, "9223372036854775807"),
    ("1.0000000001Ki", 1025, 1024001, 1024001, "1024000000103n"),
    ("0.0000000001Ki", 1, 1, 1, "103n"),
    ("9223372036854775807", 9223372036854775807, -1000, -1000, "9223372036854775807"),
    ("9223372036854775808", -9223372036854775808, 0, 0, "9223372036854775808"),
    ("18446744073709551617", 1, 1000, 1000, "18446744073709551617"),
    ("-9223372036854775809", -1, -1000, -1000, "-9223372036854775809"),
    ("999999999999999999", 999999999999999999, 3875820019684211736, 3875820019684211736, "999999999999999999"),
    ("9223372036854775", 9223372036854775, 9223372036854775000, 9223372036854775000, "9223372036854775"),
    ("9223372036854776", 9223372036854776, -9223372036854775616, -9223372036854775616, "9223372036854776"),
    ("9223372036854775G", -808000000, 0, 0, "9223372036854775G"),
    ("123456789012345678", 123456789012345678, -5670419503621183312, -5670419503621183312, "123456789012345678"),
    ("1234567890123456789", 1234567890123456789, -1363962815083169272, -1363962815083169272, "1234567890123456789"),
    ("1.0000000001", 2, 1001, 1001, "1000000001n"),
    ("-1.0000000001", 0, -999, -1001, "-1000000001n"),
    ("12345678901234567890n", 12345678902, 12345678901235, 12345678901235, "12345678901234567890n"),
    ("-12345678901234567890n", 6101065173, 6101065172475, -12345678901235, "-12345678901234567890n"),
    ("000001", 1, 1000, 1000, "000001"),
    ("1000", 1000, 1000000, 1000000, "1k"),
    ("1000000", 1000000, 1000000000, 1000000000, "1M"),
    ("1024", 1024, 1024000, 1024000, "1024"),
    ("1024Ki", 1048576, 1048576000, 1048576000, "1Mi"),
    ("1500k", 1500000, 1500000000, 1500000000, "1500k"),
    ("e5", 0, 0, 0, "0"),
    ("0e-10", 0, 0, 0, "0"),
]

REJECTED = [
    ("", "quantities must match"),
    ("a", "quantities must match"),
    ("1 m", "quantities must match"),
    ("1mi", "unable to parse quantity's suffix"),
    ("1K", "unable to parse quantity's suffix"),
    ("1ki", "unable to parse quantity's suffix"),
    ("1.2.3", "quantities must match"),
    ("--1", "unable to parse quantity's suffix"),
    ("1e", "unable to parse quantity's suffix"),
    ("1E+", "unable to parse quantity's suffix"),
    ("1ee3", "unable to parse quantity's suffix"),
    ("1kk", "unable to parse quantity's suffix"),
    ("1e99999999999999999999", "unable to parse quantity's suffix"),
    ("Ei", "unable to parse numeric part of quantity"),
    (".Ei", "unable to parse numeric part of quantity"),
    ("0x10", "quantities must match"),
    ("1_000", "quantities must match"),
    ("\uff11", "quantities must match"),
    ("1Kii", "unable to parse quantity's suffix"),
    ("1m5", "unable to parse quantity's suffix"),
    ("Infinity", "quantities must match"),
    ("NaN", "quantities must match"),
]

# two texts, their Cmp, and Value(), MilliValue() and String() of their sum
SUMS = [
    ("8E", "8E", 0, 0, 0, "16E"),
    ("8Ei", "8Ei", 0, -2, -2000, "18446744073709551614"),
    ("50E", "1", 1, -5340232221128654847, -9123183826594429976, "50000000000000000001"),
    ("-1.0000000001", "0", -1, 0, -999, "-1000000001n"),
    ("1e19", "1", 1, -8446744073709551615, 1864712049423025128, "10000000000000000001"),
    ("9223372036854775807", "1", 1, -9223372036854775808, 0, "9223372036854775808"),
    ("999999999999999999E", "999999999999999999E", 0, 0, 0, "1999999999999999998E"),
    ("100m", "1Gi", -1, 1073741825, 1073741824100, "1073741824100m"),
    ("0", "1Gi", -1, 1073741824, 1073741824000, "1Gi"),
]

SMALL_TEXTS = st.builds(
    lambda sign, number, suffix: f"{sign}{number}{suffix}",
    st.sampled_from(["", "-", "+"]),
    st.one_of(st.integers(0, 10**9).map(str), st.decimals(0, 1000, places=3).map(str)),
    st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "e3", "E-2"]),
)


def exact(text: str) -> Fraction:
    match = re.fullmatch(r"([+-]?[0-9.]+)(.*)", text)
    assert match is not None
    factor = {
        "": Fraction(1),
        "m": Fraction(1, 1000),
        "k": Fraction(1000),
        "M": Fraction(10**6),
        "Ki": Fraction(1024),
        "Mi": Fraction(1024**2),
        "e3": Fraction(1000),
        "E-2": Fraction(1, 100),
    }[match[2]]
    return Fraction(match[1]) * factor


def is_unsigned(text: str) -> bool:
    return not text.startswith("-")


@pytest.mark.parametrize(("text", "value", "milli", "rounded_milli", "canonical"), ACCEPTED)
def test_a_text_reads_as_kubernetes_reads_it(
    text: str, value: int, milli: int, rounded_milli: int, canonical: str
) -> None:
    quantity = parse_quantity(text)
    assert (quantity.value(), quantity.milli_value(), str(quantity)) == (value, milli, canonical)
    assert quantity.round_up_milli().milli_value() == rounded_milli


@pytest.mark.parametrize(("text", "reason"), REJECTED)
def test_a_text_that_kubernetes_rejects_is_an_error_with_its_words(text: str, reason: str) -> None:
    with pytest.raises(QuantityError, match=re.escape(repr(text))) as caught:
        parse_quantity(text)
    assert caught.value.reason.startswith(reason)


@pytest.mark.parametrize(("left", "right", "order", "value", "milli", "canonical"), SUMS)
def test_a_sum_overflows_as_in_kubernetes(
    left: str, right: str, order: int, value: int, milli: int, canonical: str
) -> None:
    total = parse_quantity(left) + parse_quantity(right)
    assert parse_quantity(left).compare(parse_quantity(right)) == order
    assert (total.value(), total.milli_value(), str(total)) == (value, milli, canonical)


def test_an_amount_beyond_int64_reads_differently_in_the_exact_form() -> None:
    assert parse_quantity("50E").value() == 0
    assert parse_quantity("50E").as_exact().value() == -5340232221128654848


@pytest.mark.parametrize(
    ("raw", "found"),
    [(None, "None"), (True, "True"), (math.nan, "nan"), (math.inf, "inf"), ([1], "a list"), ({}, "a dict")],
)
def test_what_is_neither_text_nor_number_is_an_error_that_names_it(raw: object, found: str) -> None:
    with pytest.raises(QuantityError, match=f"^{found} is not a quantity such as '500m' or '128Mi'") as caught:
        parse_quantity(raw)
    assert isinstance(caught.value, NodewiseError)
    assert caught.value.found == found


def test_numbers_read_like_their_text() -> None:
    assert [parse_quantity(raw).milli_value() for raw in (2, -3, 0.5, 1e3)] == [2000, -3000, 500, 1000000]
    assert parse_quantity(10**5000 + 7).value() == 7


def test_true_is_rejected_even_after_the_number_one_was_read() -> None:
    assert parse_quantity(1).value() == 1
    with pytest.raises(QuantityError):
        parse_quantity(True)


def test_spaces_around_the_text_are_dropped_as_the_api_does() -> None:
    assert parse_quantity(" 1Gi\u00a0").value() == 2**30
    with pytest.raises(QuantityError):
        parse_quantity("1\x1f")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e999999999", 0),
        ("1e-999999999", 1),
        ("1234567890123456789012e999999999", 0),
        ("9" * 10**6, -1),
        ("9" * 10**6 + "Ki", 2**63 - 1),
        ("0." + "0" * 10**6 + "1", 1),
        ("." + "1" * 10**6 + "Ki", 114),
        ("0" * 10**6, 0),
        ("1e" + "0" * 10**6 + "5", 100000),
    ],
    ids=lambda raw: str(raw)[:12],
)
def test_huge_texts_are_read_in_bounded_time(text: str, value: int) -> None:
    started_s = time.process_time()
    quantity = parse_quantity(text)
    total = (quantity + parse_quantity("1") + quantity).round_up_milli()
    assert quantity.value() == value
    assert len(str(total)) < 5000
    assert hash(total.as_exact()) == hash(total)
    assert time.process_time() - started_s < 2


@pytest.mark.parametrize("text", ["0" * 10**6 + "x", "k" * 10**6, "1e" + "9" * 10**6, "1" * 10**6 + ".."])
def test_huge_wrong_texts_are_rejected_with_a_short_message(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(text)
    assert len(str(caught.value)) < 300


@given(SMALL_TEXTS.filter(is_unsigned), SMALL_TEXTS.filter(is_unsigned))
def test_a_sum_within_range_is_exact(left: str, right: str) -> None:
    # negative amounts in the exact form round oddly, see ("-1.0000000001", "0") above
    total = parse_quantity(left) + parse_quantity(right)
    wanted = exact(left) + exact(right)
    assert total.value() == math.ceil(wanted)
    assert total.milli_value() == math.ceil(wanted * 1000)
    assert total.sign == (wanted > 0) - (wanted < 0)


@given(SMALL_TEXTS, SMALL_TEXTS)
def test_order_equality_and_hash_are_those_of_the_exact_amounts(left: str, right: str) -> None:
    first, second = parse_quantity(left), parse_quantity(right)
    assert (first < second, first == second) == (exact(left) < exact(right), exact(left) == exact(right))
    if first == second:
        assert hash(first) == hash(second)


@given(SMALL_TEXTS)
def test_the_canonical_text_reads_back_as_the_same_amount(text: str) -> None:
    rounded = parse_quantity(text).round_up_milli()
    assert parse_quantity(str(rounded)) == rounded
    assert rounded == rounded.as_exact()


def test_a_quantity_equals_no_other_type() -> None:
    assert Quantity(1) != 1
