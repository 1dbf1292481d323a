"""Energy of a drive along a path over a scan, and the path of least energy between two places (Petersen 2012, 1.4).

The energy is that of the motors at the axles, friction of the gears included. A metre costs what the rover needs in
steady straight driving up or down that grade, with what pulls at its drawbar: all wheels bear the same load and turn at
the same slip. Braking gives nothing back.

A turn costs what a rover needs more whose wheels are faster on one side than on the other. On an arc of curvature c
that is in proportion to c squared for each metre, so for each radian to c: the rover of the config drives an arc on
level ground, by the models of the plant, and the energy of a radian is that of an arc of `TURN_RADIUS_M`. Gentler turns
take less, sharper ones more. What a rover needs more that drives across a slope is not in it.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from hil.config.command_requirements import ground_of, refuse_unfit
from hil.experiments.drawing import COLOURS, dress_panel, new_panels, share_legend
from hil.experiments.figure_form import FigureForm
from models.kernels.bound import BoundArguments
from models.rover.rover import Rover
from models.terrain.least_cost import MapRoute, Traverse, least_cost, way_along
from models.vehicle import Scene, run_bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hil.config.rig import Rig
    from models.kernels.compiled import FloatArray
    from models.plant.parameters import RigParameters
    from models.wheel import CrownedWheel, FlexibleWheel, RigidWheel, WheelForces

MOST_ROLL_DEG = 20.0
# Radius of the arcs whose energy a turn has [m].
TURN_RADIUS_M = 3.0
# The arc of which that is worked out: share of the speed by which one side is faster and the other slower, speed of the
# rims [m/s], and times [s] before and while it is measured.
_SHARE, _SPEED_MPS, _SETTLE_S, _MEASURE_S, _TICK_S = 0.3, 0.1, 3.0, 5.0, 0.02
# Grades of the table [rad], and the slips between which the wheels' is looked for.
_GRADES, _SLIPS = np.radians(np.arange(-30.0, 30.5, 1.0)), (-0.95, 0.95)


class _PlannedPath(NamedTuple):
    """The path of least energy, and the straight one; energies in J, infinite: it cannot be driven."""

    least: MapRoute
    straight: MapRoute


def energy_per_metre(rig: Rig) -> FloatArray:
    """Energy of a metre (61,) [J/m] on grades from -30 to 30 degrees; infinite where the wheels find no such pull.

    Raises ConfigError: the ground is not soil.
    """
    refuse_unfit(rig.config, "energy of a metre", ground_of("soil", "scan"))
    rover = rig.nominal.make_rover()
    return np.array([_of_grade(rig, rover, grade) for grade in _GRADES.tolist()])


def _of_grade(rig: Rig, rover: Rover, grade: float) -> float:
    wheels, nominal = len(rover.wheel_names), rig.nominal
    each = Counter(nominal.ground.wheel_of(mount) for mount in rover.tree.wheels)
    load = rig.weight_N * math.cos(grade) / wheels
    wanted = (rig.weight_N * math.sin(grade) - nominal.drawbar.force[0]) / wheels

    def forces(wheel: RigidWheel | CrownedWheel | FlexibleWheel, slip: float) -> WheelForces:
        z = float(brentq(lambda z: float(wheel.forces(z, slip)[1]) - load, 0.0, wheel.radius, xtol=1e-10))
        return wheel.forces(z, slip)

    def lacks(slip: float) -> float:
        pulls = [count * float(forces(wheel, slip)[0]) for wheel, count in each.items()]
        return math.fsum(pulls) / wheels - wanted

    try:
        slip = float(brentq(lacks, *_SLIPS, xtol=1e-8))
    except ValueError:  # the soil does not carry it, or not up this grade
        return math.inf
    # rim's way over the rover's; each wheel turns by it over its radius
    rims = 1.0 / (1.0 - slip) if slip >= 0.0 else 1.0 + slip
    work = [count * float(forces(wheel, slip)[2]) / wheel.radius for wheel, count in each.items()]
    radii: list[float] = rover.chain.wheel_radius[rover.chain.motor_wheel].tolist()
    work += [nominal.drive.gear_friction / radius for radius in radii]
    return max(math.fsum(work), 0.0) * rims


def energy_per_radian(rig: Rig, radius_m: float = TURN_RADIUS_M) -> float:
    """Energy that a turn by a radian adds to a drive on level ground [J/rad], by the speeds of both sides alone.

    The arc has that radius [m].
    """
    ground = replace(rig.nominal.ground, relief=None, pitch=0.0, roll=0.0, regions=())
    level = replace(rig.nominal, obstacle=None, ground=ground)
    straight_J, length_m, _ = _arc(level, 0.0)
    arc_J, way_m, turned = _arc(level, _SHARE)
    curvature = turned / way_m
    return max((arc_J - straight_J / length_m * way_m) / turned, 0.0) / (radius_m * curvature)


def _arc(rig: RigParameters, share: float) -> tuple[float, float, float]:
    """Energy of the motors [J], way [m] and turned angle [rad] of an arc to port."""
    rover, vehicle, state = rig.build()
    motors = vehicle.chain.motor_wheel
    speeds = 5 + vehicle.chain.wheel_body[motors]
    to_port = np.sign(rover.wheel_positions(rover.neutral())[:, 1])
    state.drives.cut[:] = 0.0
    state.drives.set_speed[:] = _SPEED_MPS / vehicle.chain.wheel_radius * (1.0 - share * to_port)
    bound, step_s = BoundArguments(Scene(vehicle, state)), rig.substep_ns * 1e-9
    energy = way = turned = 0.0
    for tick in range(round((_SETTLE_S + _MEASURE_S) / _TICK_S)):
        place, heading = state.q[:2].copy(), _heading(state.q)
        run_bound(bound, round(_TICK_S / step_s), step_s)
        if tick * _TICK_S < _SETTLE_S:
            continue
        energy += float(np.maximum(state.drives.torque[motors] * state.v[speeds], 0.0).sum()) * _TICK_S
        way += float(np.hypot(*(state.q[:2] - place)))
        turned += math.remainder(_heading(state.q) - heading, 2.0 * math.pi)
    return energy, way, turned


def _heading(q: FloatArray) -> float:
    """Of the base [rad]."""
    x, y, z, w = q[3:7].tolist()
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def traverse_of(rig: Rig, most_roll_deg: float = MOST_ROLL_DEG) -> Traverse:
    """The rig's rover, for ways over its scan."""
    table, rover = energy_per_metre(rig), rig.nominal.make_rover()
    finite = np.isfinite(table)
    low, high = _GRADES[finite][[0, -1]]

    def cost(grade: FloatArray) -> FloatArray:
        inside = (grade >= low) & (grade <= high)
        return np.where(inside, np.interp(grade, _GRADES[finite], table[finite]), np.inf)

    wheels = rover.wheel_positions(rover.neutral())[:, :2]
    return Traverse(wheels, cost, math.radians(most_roll_deg), energy_per_radian(rig))


def plan(
    rig: Rig,
    start: tuple[float, float],
    goal: tuple[float, float],
    most_roll_deg: float = MOST_ROLL_DEG,
    heading_deg: float = 0.0,
) -> _PlannedPath:
    """The way of least energy over the rig's scan, and the straight one.

    Args:
        rig: with a scan.
        start: x and y of the run [m]: x ahead of the rover's start, y to port.
        goal: likewise.
        most_roll_deg: largest tilt to a side [deg].
        heading_deg: of the rover at the start of the way, 0 ahead, positive to port [deg].

    Raises:
        ConfigError: no scan.
        ValueError: a place off it, or no path.
    """
    refuse_unfit(rig.config, "path", ground_of("scan"))
    relief = rig.nominal.ground.relief
    assert relief is not None
    rover, heading = traverse_of(rig, most_roll_deg), math.radians(heading_deg)
    least = least_cost(relief, rover, start, goal, heading=heading)
    return _PlannedPath(least, way_along(relief, rover, least.places[[0, -1]], heading=heading))


def draw_plan(rig: Rig, planned: _PlannedPath, form: FigureForm) -> Figure:
    """Both paths over lines of equal height."""
    relief = rig.nominal.ground.relief
    assert relief is not None
    x, y = (first + relief.spacing * np.arange(n) for first, n in zip(relief[1:3], relief.height.shape, strict=True))
    high = min(max(9.0 * np.ptp(y) / np.ptp(x), 1.5), 8.0)
    figure, (axes,) = new_panels(form, 1, float(high))
    drawn = axes.contour(x, y, relief.height.T, levels=12, colors="#9a8f7d", linewidths=form.line(0.7))
    axes.clabel(drawn, fontsize=form.font(7.0), fmt="%.2f m")
    for path, colour, line, wide, name in (
        (planned.straight, "black", "--", 1.6, "straight"),
        (planned.least, COLOURS[0], "-", 3.2, "least energy"),
    ):
        energy = f"{path.cost:.0f} J" if math.isfinite(path.cost) else "cannot be driven"
        style: dict[str, Any] = {"color": colour, "ls": line, "lw": form.line(wide), "zorder": 4.0 - wide}
        axes.plot(*path.places.T, label=f"{name}: {path.length:.2f} m, {energy}", **style)
    for place, mark, words in ((planned.least.places[0], "o", "start"), (planned.least.places[-1], "s", "goal")):
        axes.plot(*place, mark, color="black", mfc="white", ms=form.line(7.0), label=words, zorder=5)
    axes.set_aspect("equal")
    dress_panel(axes, form, "Paths over lines of equal height", "to port [m]", "ahead of the start [m]")
    axes.grid(visible=False)
    share_legend(figure, form, axes)
    return figure
