"""What policy compares of a number: floor, ceil and decimal (section 7).

The page computes on digits; this does exact arithmetic instead, which is
affordable because a lexeme has at most 1,024 bytes: outside a few thousand
orders of magnitude the answer no longer depends on the digits.
"""

from fractions import Fraction

LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1


def _clamp(value):
    return max(LONG_MIN, min(LONG_MAX, value))


def parts(lexeme):
    """(floor, ceil, decimal or None) of a number."""
    mantissa, _, exponent = lexeme.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = int(whole.lstrip("-") + fraction)
    sign = -1 if mantissa.startswith("-") else 1
    scale = int(exponent or "0") - len(fraction)
    if digits == 0:
        return 0, 0, "0.0"
    if scale > 1_000:
        end = LONG_MAX if sign > 0 else LONG_MIN
        return end, end, None
    if scale < -3_000:
        return (0, 1, None) if sign > 0 else (-1, 0, None)
    value = sign * digits * Fraction(10) ** scale
    floor = value.numerator // value.denominator
    ceil = -(-value.numerator // value.denominator)
    return _clamp(floor), _clamp(ceil), _decimal(value * 10_000)


def _decimal(units):
    """The shortest decimal of `units` ten-thousandths, if Cedar's `decimal` holds it."""
    if units.denominator != 1 or not LONG_MIN <= units.numerator <= LONG_MAX:
        return None
    whole, part = divmod(abs(units.numerator), 10_000)
    fraction = f"{part:04}".rstrip("0") or "0"
    return f"{'-' if units < 0 else ''}{whole}.{fraction}"
