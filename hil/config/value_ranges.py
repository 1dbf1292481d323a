"""Values of a range `FIRST:LAST:STEP`, its end included."""

from __future__ import annotations

import math
import re

_NUMBER = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_RANGE = re.compile(rf"^({_NUMBER}):({_NUMBER}):({_NUMBER})$")
_WHOLE = re.compile(r"^[-+]?[0-9]+$")


def is_range(text: str) -> bool:
    """Whether a text is three numbers with colons between."""
    return _RANGE.match(text.strip()) is not None


def range_values(text: str, most: int) -> list[int] | list[float]:
    """Values from FIRST to LAST by STEP; LAST is always included. Whole numbers stay whole.

    Args:
        text: FIRST:LAST:STEP.
        most: values that are allowed.

    Raises:
        ValueError: it is no range, does not rise, or has more values.

    Example:
        >>> range_values("40:90:20", most=10)
        [40, 60, 80, 90]
    """
    match = _RANGE.match(text.strip())
    first, last, step = (float(part) for part in match.groups()) if match else (math.nan,) * 3
    rising = math.isfinite(first) and first <= last < math.inf and 0.0 < step < math.inf
    if not rising or (last - first) / step >= most:
        raise ValueError(f"FIRST:LAST:STEP, rising, at most {most} values")
    # to twelve digits of the largest number, so that 0.1 + 2 * 0.1 is 0.3, whatever the size of a value's unit
    digits = 12 - math.frexp(max(abs(first), abs(last), step))[1] * 3 // 10
    values = [round(first + i * step, digits) for i in range(math.floor((last - first) / step + 1e-9) + 1)]
    if not math.isclose(values[-1], last, rel_tol=0.0, abs_tol=1e-6 * step):
        values.append(last)
    if match and all(_WHOLE.match(part) for part in match.groups()):
        return [round(value) for value in values]
    return values
