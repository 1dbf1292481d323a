"""Range checks for the parameters and inputs of models; each error has the value found and the range allowed."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from models.kernels.compiled import FloatArray


@dataclass(frozen=True, slots=True)
class Range:
    """A range of one parameter.

    Attributes:
        low: Lower end, in the parameter's unit.
        high: Upper end, same unit; inf for none (an infinite value is refused in any case).
        unit: Unit as shown in the message.
        open_low: True where the lower end itself is not allowed.
        open_high: True where the upper end itself is not allowed.
    """

    low: float
    high: float
    unit: str
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, value: float) -> bool:
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return above and below and math.isfinite(value)

    def __str__(self) -> str:
        left = "(" if self.open_low or math.isinf(self.low) else "["
        right = ")" if self.open_high or math.isinf(self.high) else "]"
        return f"a finite number in {left}{self.low:g}, {self.high:g}{right} {self.unit}".rstrip()


def problem(name: str, value: object, allowed: Range) -> str | None:
    """Returns the error in one parameter, or None.

    Args:
        name: Name of the parameter.
        value: Value found, of any type.
        allowed: What it may be.
    """
    try:
        good = not isinstance(value, (bool, str, bytes)) and float(value) in allowed  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        good = False
    return None if good else f"{name} is {value!r}, allowed: {allowed}"


def refuse(owner: str, problems: list[str | None]) -> None:
    """Raises one ValueError that lists every problem; returns if there is none.

    Args:
        owner: Owner of the parameters, the first word of the message.
        problems: Results of `problem`.

    Raises:
        ValueError: At least one entry is not None.
    """
    errors = [entry for entry in problems if entry is not None]
    if errors:
        raise ValueError(f"{owner}: " + "; ".join(errors))


def finite_array(owner: str, name: str, value: ArrayLike, allowed: Range) -> FloatArray:
    """Returns a value as a C-contiguous float64 array.

    Args:
        owner: Owner of the value, the first word of the message.
        name: Name of the value.
        value: A number or an array of numbers.
        allowed: Range of each.

    Raises:
        ValueError: A number is not finite or out of range; the message names the first one.
    """
    if type(value) is float and value in allowed:  # the common scalar call, four times as fast
        return np.asarray(value)
    try:
        raw = np.asarray(value)
    except ValueError:  # a ragged list
        raw = np.empty(0, dtype=object)
    if raw.dtype.kind not in "iuf":
        raise ValueError(f"{owner}: {name} is {value!r}, allowed: {allowed}, or an array of such numbers")
    array = np.ascontiguousarray(raw, dtype=np.float64) if raw.ndim else raw.astype(np.float64)
    above = array > allowed.low if allowed.open_low else array >= allowed.low
    below = array < allowed.high if allowed.open_high else array <= allowed.high
    good = np.isfinite(array) & above & below
    if not np.all(good):
        index = tuple(int(i) for i in np.argwhere(~good)[0])
        place = f"[{', '.join(map(str, index))}]" if index else ""
        raise ValueError(f"{owner}: {name}{place} is {array[index]:g}, allowed: {allowed}")
    return array
