"""Which taints a toleration tolerates."""

from __future__ import annotations

import pytest

from nodewise.api.objects import Taint, Toleration
from nodewise.api.tolerations import match_tolerates, untolerated_taint

GPU = Taint(key="gpu", value="yes", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "is_tolerated"),
    [
        (Toleration(key="gpu", value="yes", effect="NoSchedule"), True),
        (Toleration(key="gpu", operator="Equal", value="yes"), True),
        (Toleration(key="gpu", value="no"), False),
        (Toleration(key="gpu", operator="Exists", value="no"), True),
        (Toleration(key="disk", operator="Exists"), False),
        (Toleration(key="gpu", operator="Exists", effect="NoExecute"), False),
        (Toleration(operator="Exists"), True),
        (Toleration(value="yes"), True),
        (Toleration(), False),
        (Toleration(key="gpu", operator="exists"), False),
    ],
)
def test_effect_key_and_value_decide(toleration: Toleration, is_tolerated: bool) -> None:
    assert match_tolerates(toleration, GPU) is is_tolerated


@pytest.mark.parametrize(
    ("operator", "toleration_value", "taint_value", "is_tolerated"),
    [
        ("Lt", "10", "9", True),
        ("Lt", "10", "10", False),
        ("Gt", "-10", "9", True),
        ("Gt", "10", "9", False),
        ("Gt", "0", "010", False),
        ("Gt", "0", "+1", False),
        ("Lt", "-0", "-1", False),
        ("Gt", "0", "9223372036854775807", True),
        ("Gt", "0", "9223372036854775808", False),
        ("Gt", "-9223372036854775808", "0", True),
        ("Lt", "", "1", False),
        ("Gt", "0", "9" * 100_000, False),
    ],
)
def test_comparison_operators_compare_canonical_int64_values(
    operator: str,
    toleration_value: str,
    taint_value: str,
    is_tolerated: bool,
) -> None:
    toleration = Toleration(key="n", operator=operator, value=toleration_value)
    taint = Taint(key="n", value=taint_value, effect="NoSchedule")
    assert match_tolerates(toleration, taint, comparison_operators=True) is is_tolerated
    assert not match_tolerates(toleration, taint)


def test_the_first_untolerated_repelling_taint_is_returned() -> None:
    soft = Taint(key="soft", effect="PreferNoSchedule")
    evicting = Taint(key="down", effect="NoExecute")
    taints = (soft, GPU, evicting)
    assert untolerated_taint((), taints) is GPU
    assert untolerated_taint((Toleration(key="gpu", operator="Exists"),), taints) is evicting
    assert untolerated_taint((Toleration(operator="Exists"),), taints) is None
    assert untolerated_taint((), (soft,)) is None
