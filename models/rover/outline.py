"""Common parts of the rovers defined by wheelbase and track: lines of wheels, a box for a body, three bogies."""

from __future__ import annotations

from typing import NamedTuple

from models.rover.assembly import TreeBuilder, box, row_places
from models.rover.parameters import Parameters
from models.rover.tree import Body


class OutlinedParameters(Parameters):
    """Their common parameters [kg, m, rad], which each of them declares.

    `track` is between the outer faces of the wheels of either side, `bogie_stop` the angle at which each bogie meets
    its stop, to either side of level.
    """

    bogie_mass: float
    body_mass: float
    wheelbase: float
    track: float
    bogie_height: float
    wheel_width: float
    body_length: float
    body_width: float
    body_height: float
    bogie_stop: float


class _Outline(NamedTuple):
    """Places of a rover's parts [m].

    Attributes:
        rows: forward places of the wheels by row.
        across: of the port wheels' centres.
        inboard: of the parts next to the port wheels, a wheel's width further in.
    """

    rows: dict[str, float]
    across: float
    inboard: float


def outline(p: OutlinedParameters) -> _Outline:
    """The lines of a rover's wheels."""
    across = 0.5 * (p.track - p.wheel_width)
    return _Outline(row_places(p.wheelbase), across, across - p.wheel_width)


def draw_body(p: OutlinedParameters, height: float) -> TreeBuilder:
    """A tree builder with only the main body: a uniform box, its centre `height` [m] over the base frame."""
    size = (p.body_length, p.body_width, p.body_height)
    return TreeBuilder(p.rover, Body("main_body", p.body_mass, (0.0, 0.0, height), box(p.body_mass, size), size))


def draw_body_on_bogies(p: OutlinedParameters, com_height: float | None = None) -> TreeBuilder:
    """A tree builder with the main body and the three bogies.

    Args:
        p: of the rover.
        com_height: of the body's centre of mass over ground [m]; None: its floor is at the bogies' pivots.
    """
    builder, (rows, _, inboard) = draw_body(p, com_height or p.bogie_height + 0.5 * p.body_height), outline(p)
    side, rear = (0.5 * rows["front"], inboard, p.bogie_height), (rows["rear"], 0.0, p.bogie_height)
    builder.three_bogies(p.bogie_mass, 0.5 * p.wheelbase, side, rear, p.bogie_stop)
    return builder
