"""The effective kinetic energy T_c of the nominal rover over the obstacle's angle, and what other masses do to it.

Constant forward speed `trial.speed_mps`, neutral configuration, no ground (MacMahon 2016 (3.27), 5.3): what an impact
of both front wheels at once can spend.

Energy of a drive along a path over a scan, and the path of least energy between two places (Petersen 2012, 1.4).

The energy is that of the motors at the axles, friction of the gears included. A metre costs what the rover needs in
steady straight driving up or down that grade, with what pulls at its drawbar: all wheels bear the same load and turn at
the same slip. Braking gives nothing back.

A turn costs what a rover needs more whose wheels are faster on one side than on the other. On an arc of curvature c
that is in proportion to c squared for each metre, so for each radian to c: the rover of the config drives an arc on
level ground, by the models of the plant, and the energy of a radian is that of an arc of `TURN_RADIUS_M`. Gentler turns
take less, sharper ones more. What a rover needs more that drives across a slope is not in it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from hil.config.command_requirements import ground_of, refuse_unfit
from hil.config.files import replacing, write_whole
from hil.config.scan.grid import node_axes
from hil.config.text_io import write_rows
from hil.experiments.drawing import COLOURS, ENERGY_COLOUR, curve_style, dress_panel, new_panels, share_legend
from hil.experiments.figure_form import FigureForm
from hil.experiments.summary_table import columns_table
from models.impact import effective_kinetic_energy
from models.kernels.bound import BoundArguments
from models.rover import Parameters
from models.rover.rover import Rover
from models.terrain.least_cost import MapRoute, Traverse, least_cost, way_along
from models.vehicle import Scene, run_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure
    from rich.table import Table

    from hil.config.rig import Rig
    from models.kernels.compiled import FloatArray
    from models.plant.parameters import RigParameters
    from models.wheel import CrownedWheel, FlexibleWheel, RigidWheel, WheelForces


# Masses to change, what they are called, and by how much.
_CHANGED = (
    ("body_mass", "body", (2 / 3, 1.0, 4 / 3)),
    ("wheel_mass", "wheels", (0.75, 1.0, 1.5)),
    ("rocker_mass", "rockers", (0.5, 1.0, 2.0)),
    ("bogie_mass", "bogies", (0.5, 1.0, 2.0)),
    ("leg_mass", "legs", (0.5, 1.0, 2.0)),
)
_GRID_DEG = tuple(float(angle) for angle in range(10, 91, 2))


class EnergyCurve(TypedDict):
    """T_c [J] over the angle [deg], and where it peaks inside the range of the angles; None where it does not."""

    angles_deg: list[float]
    energy_J: list[float]
    peak_angle_deg: float | None


@dataclass(frozen=True)
class MassSet:
    """Where the energy peaks with other masses."""

    masses: str  # what differs from the config
    total_kg: float  # mass of the rover
    peak_angle_deg: float | None  # angle of the peak; None: none between 10 and 90 degrees
    peak_energy_J: float | None  # T_c there


def energy_curve(rig: Rig, angles_deg: Sequence[float]) -> EnergyCurve:
    """T_c over the angle. `angles_deg` rise, and there is at least one.

    Returns `angles_deg`, `energy_J` (one each) and `peak_angle_deg`: of the maximum inside the range of the angles,
    found between them too; None where T_c is largest at an end of the range, for it may still grow beyond that end.
    """
    energy = energy_over_angle(rig.nominal.held.make_rover(), rig.config.trial.speed_mps)
    return {
        "angles_deg": [float(angle) for angle in angles_deg],
        "energy_J": [energy(angle) for angle in angles_deg],
        "peak_angle_deg": _peak(energy, angles_deg),
    }


def peak_over_masses(rig: Rig) -> list[MassSet]:
    """The peak over 10 to 90 degrees for a handful of mass sets, each differing from the config in one mass."""
    held = rig.nominal.held
    nominal = held.rover
    sets: dict[str, Parameters] = {"as configured": nominal}
    for name, label, shares in _CHANGED:
        for mass in (share * getattr(nominal, name) for share in shares if hasattr(nominal, name)):
            each = "" if name == "body_mass" else " each"
            sets[f"{label} {mass:g} kg{each}"] = replace(nominal, **{name: mass})
    if hasattr(nominal, "added_mass"):
        for label, mass in (("no added weights", 0.0), ("added weights 22.7 kg", 22.7)):
            sets[label] = replace(nominal, **{"added_mass": mass})
    rows = []
    for masses_named, parameters in sets.items():
        rover = replace(held, rover=parameters).make_rover()
        energy = energy_over_angle(rover, rig.config.trial.speed_mps)
        peak = _peak(energy, _GRID_DEG)
        rows.append(MassSet(masses_named, rover.mass, peak, None if peak is None else energy(peak)))
    return rows


def save_energy(
    folder: Path, curve: EnergyCurve, masses: Sequence[MassSet], parts: Mapping[str, Any] | None = None
) -> None:
    """Write energy.json, with further `parts` after the curve, and energy_masses.csv."""
    whole = {**curve, **(parts or {})}
    write_whole(folder / "energy.json", json.dumps(whole, indent=2) + "\n")
    table = folder / "energy_masses.csv"
    with replacing(table) as unfinished, unfinished.open("w", newline="", encoding="utf-8") as file:
        rows = [(row.masses, f"{row.total_kg:.6g}", row.peak_angle_deg, row.peak_energy_J) for row in masses]
        write_rows(file, [("masses", "total_kg", "peak_angle_deg", "peak_energy_J"), *rows])


def draw_energy(curve: EnergyCurve, form: FigureForm) -> Figure:
    """Draw T_c over the angle, its peak marked."""
    figure, (axes,) = new_panels(form, 1, 4.0)
    axes.plot(curve["angles_deg"], curve["energy_J"], **curve_style(form, 0, color=ENERGY_COLOUR))
    dress_panel(axes, form, f"Effective kinetic energy: {peak_in_words(curve)}", "$T_c$ [J]", "obstacle angle [deg]")
    if curve["peak_angle_deg"] is not None:
        axes.axvline(curve["peak_angle_deg"], color="#999999", lw=form.line(0.8), zorder=0)
    axes.set_ylim(bottom=0.0)
    return figure


def peak_in_words(curve: EnergyCurve) -> str:
    """Where T_c peaks, for people."""
    peak = curve["peak_angle_deg"]
    if peak is None:
        return "no peak inside this range: T_c is largest at one end of it, and may grow beyond"
    return f"peak at {peak:.1f}°"


def energy_table(curve: EnergyCurve) -> Table:
    """T_c over the angle, as a table; the largest is bold."""
    rows = []
    for angle, joule in zip(curve["angles_deg"], curve["energy_J"], strict=True):
        form = "[bold]{}[/]" if joule == max(curve["energy_J"]) else "{}"
        rows.append((form.format(f"{angle:g}"), form.format(f"{joule:.4f}")))
    return columns_table(("angle [deg]", "T_c [J]"), rows)


def masses_table(rows: Sequence[MassSet]) -> Table:
    """The peak over the assumed masses, as a table."""
    cells = []
    for row in rows:
        peak = "none" if row.peak_angle_deg is None else f"{row.peak_angle_deg:.1f}"
        energy = "-" if row.peak_energy_J is None else f"{row.peak_energy_J:.4f}"
        cells.append((row.masses, f"{row.total_kg:.1f}", peak, energy))
    return columns_table(("masses", "total [kg]", "peak [deg]", "T_c there [J]"), cells, words=1)


def energy_over_angle(rover: Rover, speed_mps: float) -> Callable[[float], float]:
    """T_c [J] as a function of the angle [deg]; the wheels' spin takes no part (MacMahon 2016 (3.24))."""
    q, v = rover.neutral(), np.zeros(rover.nv)
    v[0] = speed_mps
    mass_matrix = rover.mass_matrix(q)

    def energy(angle_deg: float) -> float:
        return effective_kinetic_energy(mass_matrix, rover.impact_jacobian(q, math.radians(angle_deg)), v)

    return energy


def _peak(energy: Callable[[float], float], angles_deg: Sequence[float]) -> float | None:
    """Angle [deg] of the maximum, refined between the neighbours of the best angle; None if that is an end."""
    values = [energy(angle) for angle in angles_deg]
    best = max(range(len(values)), key=values.__getitem__)
    if best in (0, len(values) - 1):
        return None
    result = minimize_scalar(
        lambda angle: -energy(float(angle)),
        bounds=(angles_deg[best - 1], angles_deg[best + 1]),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return float(result.x) if -result.fun >= values[best] else float(angles_deg[best])


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


def energy_per_radian(rig: Rig) -> float:
    """Energy that a turn by a radian adds to a drive on level ground [J/rad], by the speeds of both sides alone.

    The arc has the radius `TURN_RADIUS_M`.
    """
    ground = replace(rig.nominal.ground, relief=None, pitch=0.0, roll=0.0, regions=())
    level = replace(rig.nominal, obstacle=None, ground=ground)
    straight_J, length_m, _ = _arc(level, 0.0)
    arc_J, way_m, turned = _arc(level, _SHARE)
    curvature = turned / way_m
    return max((arc_J - straight_J / length_m * way_m) / turned, 0.0) / (TURN_RADIUS_M * curvature)


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
    x, y = node_axes(relief)
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
