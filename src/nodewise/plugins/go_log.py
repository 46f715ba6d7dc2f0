"""The natural logarithm to the bit as Go computes it."""

from __future__ import annotations

import math
from functools import lru_cache

_SQRT_HALF = 7.07106781186547524401e-01
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# Coefficients of FreeBSD's e_log, for odd and even powers of s**2.
_ODD = (1.479819860511658591e-01, 1.818357216161805012e-01, 2.857142874366239149e-01, 6.666666666666735130e-01)
_EVEN = (1.531383769920937332e-01, 2.222219843214978396e-01, 3.999999999940941908e-01)


@lru_cache(maxsize=65536)
def go_log(x: float) -> float:
    """Return ln(x) for a finite x > 0, rounded as Go's math.Log rounds; the C library differs in the last bit at times.

    The method is that of FreeBSD's e_log.c: x = 2**k * (1 + f), s = f / (2 + f), and a polynomial in s**2 whose
    order of operations decides the last bit.
    """
    mantissa, exponent = math.frexp(x)
    if mantissa < _SQRT_HALF:
        mantissa *= 2
        exponent -= 1
    f = mantissa - 1
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    remainder = s2 * _horner(_ODD, s4) + s4 * _horner(_EVEN, s4)
    half_square = 0.5 * f * f
    return exponent * _LN2_HIGH - ((half_square - (s * (half_square + remainder) + exponent * _LN2_LOW)) - f)


def _horner(coefficients: tuple[float, ...], x: float) -> float:
    value = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value
