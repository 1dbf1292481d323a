"""What a tick of a record shows a person: quantities with their units, each as a short text."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hil.messages.layout import COMMANDED, ROLES, Layout
from hil.messages.signals import AGE

_DEG = 180.0 / math.pi


@dataclass(frozen=True)
class Quantity:
    """A quantity of a tick.

    Attributes:
        name: with its unit.
        text: its value in a row of `/tick`.
    """

    name: str
    text: Callable[[np.void], str]


def quantities(layout: Layout, states: str, fields: Collection[str]) -> Iterator[Quantity]:
    """The quantities that tell how a rig fares.

    Args:
        layout: of the rig.
        states: of the experiment, as /meta/states of a record names them: 0=idle,1=armed.
        fields: that a tick of the record has.
    """
    names = dict(state.split("=", 1) for state in states.split(","))
    yield Quantity("state", lambda row: names.get(str(row["state"]), str(row["state"])).replace("_", " "))
    yield _yes_or_no("Safe", "safe")
    yield _yes_or_no("drives cut", "cut")
    yield Quantity("commands clamped", lambda row: str(row["clamped"]))
    yield from _ages(layout, fields)
    if layout.wheels:
        yield Quantity("set speed of the wheels [rad/s]", lambda row: _range(row["set_speed_radps"]))
    for place, wheel in enumerate(layout.wheels):
        yield Quantity(f"speed of {wheel} [rad/s]", partial(_element, "wheel_speed_radps", (place,), 1.0, 2))
    if layout.servos:
        yield _yes_or_no("servos cut", "servos_cut")
    for place, joint in enumerate(layout.servos):
        unit, scale = ("mm", 1e3) if joint in layout.slides else ("deg", _DEG)
        yield Quantity(f"{joint} set [{unit}]", partial(_element, "set_servo_angle_rad", (place,), scale, 1))
        yield Quantity(f"{joint} [{unit}]", partial(_element, "servo_angle_rad", (place,), scale, 1))
    yield Quantity("speed of the rover, by the twin [m/s]", lambda row: _number(row["speed_mps"], 3))
    if layout.channels:
        yield Quantity("sum of the forces [N]", lambda row: _number(row["force_sum_N"], 1))
    if layout.valves:
        yield Quantity("valves on", lambda row: _names_on(layout, row))
        yield from _pressures(layout)
    if layout.trigger:
        yield _yes_or_no("camera's trigger line on", "camera_trigger")


def _yes_or_no(name: str, field: str) -> Quantity:
    return Quantity(name, lambda row: "yes" if row[field] else "no")


def _ages(layout: Layout, fields: Collection[str]) -> Iterator[Quantity]:
    """How old the newest answer of each device is."""
    for link in layout.links:
        name, aged = f"age of the {ROLES[link].says} [ms]", AGE.get(link, "")
        if aged in fields:
            yield Quantity(name, partial(_element, aged, (), 1e-6, 0))
        elif link in COMMANDED:
            yield Quantity(name, partial(_since, f"{link}_t_ns"))


def _since(field: str, row: np.void) -> str:
    return _number((row["t_ns"] - row[field]) * 1e-6, 0)


def _pressures(layout: Layout) -> Iterator[Quantity]:
    for place, chamber in enumerate(layout.chambers):
        yield Quantity(f"pressure {chamber} [kPa]", partial(_element, "pressure_Pa", divmod(place, 2), 1e-3, 0))


def _element(field: str, place: tuple[int, ...], factor: float, decimals: int, row: np.void) -> str:
    return _number(row[field][place] * factor, decimals)


def _names_on(layout: Layout, row: np.void) -> str:
    on = layout.by_valve(row["valves"])
    return ", ".join(name for name, powered in zip(layout.valves, on, strict=True) if powered) or "none"


def _range(values: NDArray[np.float64]) -> str:
    """One number if all are alike, else the lowest and the highest."""
    return " to ".join(dict.fromkeys((_number(values.min(), 2), _number(values.max(), 2))))


def _number(value: float, decimals: int) -> str:
    """A number; "-" for one that is not finite, as of what is not measured."""
    return f"{round(value, decimals) + 0.0:.{decimals}f}" if np.isfinite(value) else "-"  # + 0.0: no -0
