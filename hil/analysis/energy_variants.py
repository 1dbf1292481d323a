"""Further parts of `hil energy`: compliant legs, sensitivity to the posture, and how the rover stands on the obstacle.

The metrics of standing are those of MacMahon 2016, 2.1: least friction needed, shares of the weight, margin to tipping.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from rich.markup import escape
from rich.table import Table

from hil.analysis.energy import EnergyCurve, energy_over_angle
from hil.experiments.drawing import ENERGY_COLOUR, curve_style, draw_limit, dress_panel, new_panels, share_legend
from hil.experiments.figure_form import FigureForm
from hil.experiments.summary_table import columns_table
from models.impact import (
    CompliantImpact,
    compliant_effective_kinetic_energy,
    energy_gradient,
    on_springs,
)
from models.rover.rover import Rover
from models.statics import least_friction, stability_margin, stand
from models.vehicle import HITTING_WHEELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hil.config.rig import Rig


# Plates over which the first hit is shown at one angle, in stiffnesses of a leg.
_PLATES_OVER_LEG = tuple(np.geomspace(1e-2, 1e6, 33).tolist())
_MOST_ROUNDS, _CLOSE = 100, 1e-9


class Compliance(TypedDict):
    """First hit of the front wheels on springs of the legs' stiffness, against a plate."""

    leg_stiffness_Npm: float  # of each leg, forward
    leg_stiffness_up_Npm: float  # upward
    rigid_energy_J: list[float]  # T_c of the rigid rover at each angle
    energy_J: list[float]  # most that the plate's springs hold at once in the first hit
    peak_force_N: list[float]  # over both wheels at that time
    time_s: list[float]  # of it after the touch
    plate_stiffness_Npm: list[float]  # of a linear spring with the plate's peak force at that energy, a wheel
    over_plate: dict[
        str, list[float]
    ]  # the first hit at `trial.angle_deg` over the plate: `stiffness_Npm`, `energy_J`.


def compliance(rig: Rig, angles_deg: Sequence[float]) -> Compliance:
    """The first hit over the angle (`models.impact.on_springs`), at `trial.speed_mps`, without ground.

    The legs have `obstacle.leg_stiffness_Npm` and `.leg_stiffness_up_Npm`, the plate `obstacle.plate_stiffness`,
    whatever `obstacle.legs` says. Angles are above 0; at 0 the wheel does not approach the plate.

    Raises ValueError: an angle of 0, or legs and plate for which models.impact refuses.
    """
    rover, trial, obstacle = rig.nominal.held.make_rover(), rig.config.trial, rig.config.obstacle
    speed = trial.speed_mps
    forward = obstacle.leg_stiffness_Npm
    legs = (forward, forward if obstacle.leg_stiffness_up_Npm is None else obstacle.leg_stiffness_up_Npm)
    hits = [_on_plate(rover, speed, angle, legs, obstacle.plate_stiffness, obstacle.exponent) for angle in angles_deg]
    plates = [share * forward for share in _PLATES_OVER_LEG]
    rigid = energy_over_angle(rover, speed)
    at_one = [_hit(rover, speed, trial.angle_deg, legs, plate).energy for plate in plates]
    return {
        "leg_stiffness_Npm": legs[0],
        "leg_stiffness_up_Npm": legs[1],
        "rigid_energy_J": [rigid(angle) for angle in angles_deg],
        "energy_J": [hit.energy for hit, _ in hits],
        "peak_force_N": [hit.peak_force for hit, _ in hits],
        "time_s": [hit.time for hit, _ in hits],
        "plate_stiffness_Npm": [plate for _, plate in hits],
        "over_plate": {"stiffness_Npm": plates, "energy_J": at_one},
    }


def compliance_table(found: Compliance, angles_deg: Sequence[float]) -> Table:
    """The first hit over the angle, as a table."""
    columns = (found[key] for key in ("rigid_energy_J", "energy_J", "peak_force_N", "time_s"))
    rows = (
        (f"{angle:g}", f"{rigid:.4f}", f"{energy:.5f}", f"{energy / rigid:.3f}", f"{force:.0f}", f"{1e3 * time:.3g}")
        for angle, rigid, energy, force, time in zip(angles_deg, *columns, strict=True)
    )
    titles = ("angle [deg]", "T_c rigid [J]", "first hit [J]", "share", "peak, both wheels [N]", "after [ms]")
    title = "the bare plate (obstacle.plate_stiffness, by default steel); in a trial the legs give: a far lower peak"
    return columns_table(titles, rows, title=title)


def draw_compliance(found: Compliance, angles_deg: Sequence[float], at_deg: float, form: FigureForm) -> Figure:
    """Draw T_c of the rigid rover and the first hit over the angle, and at one angle [deg] over the plate."""
    figure, (over_angle, over_plate) = new_panels(form, 2)
    first = curve_style(form, 0, marker="", label="first hit, legs on springs")
    rigid = curve_style(form, 0, color=ENERGY_COLOUR, label="$T_c$, rigid legs")
    over_angle.plot(angles_deg, found["rigid_energy_J"], **rigid)
    over_angle.plot(angles_deg, found["energy_J"], **first | {"marker": "s"})
    plates = found["over_plate"]
    over_plate.semilogx(plates["stiffness_Npm"], plates["energy_J"], **first)
    draw_limit(over_plate, form, found["leg_stiffness_Npm"], "a plate as stiff as a leg", upright=True)
    dress_panel(over_angle, form, "First hit over the angle", "energy [J]", "obstacle angle [deg]")
    dress_panel(over_plate, form, f"First hit at {at_deg:g}°", "energy [J]", "stiffness of the plate, a wheel [N/m]")
    for axes in (over_angle, over_plate):
        axes.set_ylim(bottom=0.0)
    share_legend(figure, form, over_angle, over_plate)
    return figure


def _hit(
    rover: Rover, speed_mps: float, angle_deg: float, legs_Npm: tuple[float, float], plate_Npm: float
) -> CompliantImpact:
    """The first hit on a linear plate."""
    mass, rows = on_springs(rover, rover.neutral(), math.radians(angle_deg))
    springs = np.zeros(rows.shape[1])
    springs[rover.nv :] = np.tile(legs_Npm, rows.shape[0])
    v = np.zeros(len(springs))
    v[0] = speed_mps
    return compliant_effective_kinetic_energy(mass, rows, v, springs, plate_Npm)


def _on_plate(
    rover: Rover,
    speed_mps: float,
    angle_deg: float,
    legs_Npm: tuple[float, float],
    stiffness: float,
    exponent: float,
) -> tuple[CompliantImpact, float]:
    """The first hit on F = stiffness x^exponent, and the linear plate [N/m] of the same peak at the same energy."""
    plate = stiffness
    for _ in range(_MOST_ROUNDS):
        hit = _hit(rover, speed_mps, angle_deg, legs_Npm, plate)
        wheel_J = hit.energy / 2.0  # of two wheels alike
        deepest = ((exponent + 1.0) * wheel_J / stiffness) ** (1.0 / (exponent + 1.0))
        before, plate = plate, (stiffness * deepest**exponent) ** 2 / (2.0 * wheel_J)
        if abs(plate - before) <= _CLOSE * plate:
            break
    return hit, plate


_BASE = ("base_roll", "base_pitch", "base_yaw")


class Sensitivity(TypedDict):
    """dT_c/dq at the neutral posture."""

    coordinates: list[str]  # the base's rotations about its own axes, and the joints but the wheels' own
    gradient_Jprad: list[list[float]]  # of each coordinate, one number an angle


def sensitivity(rig: Rig, angles_deg: Sequence[float]) -> Sensitivity:
    """dT_c/dq of the nominal rover at constant forward speed `trial.speed_mps`, without ground.

    Places and wheel angles are left out: T_c does not depend on them.
    """
    rover = rig.nominal.held.make_rover()
    q, v = rover.neutral(), np.zeros(rover.nv)
    v[0] = rig.config.trial.speed_mps
    bodies = {wheel.body for wheel in rover.tree.wheels}
    drives = {joint.name for joint in rover.tree.joints if joint.child in bodies}
    names = [*_BASE, *rover.joint_names]
    kept = [i for i, name in enumerate(names) if name not in drives]
    gradients = np.array([energy_gradient(rover, q, v, math.radians(angle)) for angle in angles_deg])[:, 3:]
    return {"coordinates": [names[i] for i in kept], "gradient_Jprad": gradients[:, kept].T.tolist()}


def sensitivity_table(found: Sensitivity, angles_deg: Sequence[float]) -> Table:
    """dT_c/dq, an angle a row, in mJ a degree."""
    rows = (
        (f"{angle:g}", *(f"{round(_mJpdeg(value), 3) + 0.0:+.3f}" for value in row))
        for angle, *row in zip(angles_deg, *found["gradient_Jprad"], strict=True)
    )
    title = escape("dT_c/dq [mJ/deg]")
    return columns_table(("angle [deg]", *found["coordinates"]), rows, title=title, title_justify="left")


def draw_sensitivity(found: Sensitivity, angles_deg: Sequence[float], form: FigureForm) -> Figure:
    """Draw dT_c/dq of each coordinate over the angle; coordinates of one curve share it."""
    found_mJpdeg = ([_mJpdeg(value) for value in row] for row in found["gradient_Jprad"])
    figure, (axes,) = new_panels(form, 1, 4.0)
    _plot_curves(axes, form, angles_deg, dict(zip(found["coordinates"], found_mJpdeg, strict=True)))
    dress_panel(axes, form, "Change of $T_c$ with the posture", "$dT_c/dq$ [mJ/deg]", "obstacle angle [deg]")
    share_legend(figure, form, axes)
    return figure


def _mJpdeg(value_Jprad: float) -> float:
    return 1e3 * math.radians(value_Jprad)


class _StandingCurve(TypedDict):
    """At each angle: front wheels touch only the obstacle, the others level ground, the joints are at their start."""

    friction_needed: list[float | None]  # least coefficient of friction that holds the rover; None: none does
    # by wheel, its normal force over the weight with that friction; None: there is none.
    load_share: dict[str, list[float | None]]
    stability_deg: list[float | None]  # margin to tipping over; None: the contacts span no polygon


def standing_curve(rig: Rig, angles_deg: Sequence[float]) -> _StandingCurve:
    """How the rover stands, over the obstacle's angle. Angles of the obstacle are 0 to 90 [deg]."""
    nominal, rover = rig.nominal, rig.nominal.held.make_rover()
    q, gravity, pull = rover.neutral(), (0.0, 0.0, -nominal.ground.gravity), nominal.drawbar.wrench()
    friction, margin = list[float | None](), list[float | None]()
    share: dict[str, list[float | None]] = {name: [] for name in rover.wheel_names}
    for angle in map(math.radians, angles_deg):
        normals = np.tile((0.0, 0.0, 1.0), (len(rover.wheel_names), 1))
        normals[:HITTING_WHEELS] = (-math.sin(angle), 0.0, math.cos(angle))
        standing = stand(rover, q, normals, gravity=gravity, pull=pull)
        found = least_friction(standing)
        friction.append(_finite(found.coefficient))
        for name, force in zip(rover.wheel_names, found.normal.tolist(), strict=True):
            share[name].append(_finite(force / standing.weight))
        try:
            margin.append(math.degrees(stability_margin(standing)))
        except ValueError:  # fewer than three wheels
            margin.append(None)
    return {"friction_needed": friction, "load_share": share, "stability_deg": margin}


def standing_table(standing: _StandingCurve, curve: EnergyCurve) -> Table:
    """How the rover stands over the angle, next to T_c, as a table."""
    shares, rows = standing["load_share"], []
    for i, (angle, joule) in enumerate(zip(curve["angles_deg"], curve["energy_J"], strict=True)):
        front = [share[i] for share in list(shares.values())[:HITTING_WHEELS]]
        borne = None if None in front else 100.0 * sum(one for one in front if one is not None)
        words = (f"{joule:.4f}", _words(standing["friction_needed"][i], ".3f"), _words(borne, ".0f", " %"))
        rows.append((f"{angle:g}", *words, _words(standing["stability_deg"][i], ".1f")))
    titles = ("angle [deg]", "T_c [J]", "friction needed", "front wheels bear", "tips after [deg]")
    return columns_table(titles, rows)


def draw_standing(standing: _StandingCurve, angles_deg: Sequence[float], form: FigureForm) -> Figure:
    """Draw the friction needed over the angle, and the shares of the weight; wheels of one curve share it."""
    figure, (friction, share) = new_panels(form, 2)
    style = curve_style(form, 0, color="black")
    friction.plot(angles_deg, _gaps(standing["friction_needed"]), **style)
    _plot_curves(share, form, angles_deg, {name: _gaps(values) for name, values in standing["load_share"].items()})
    dress_panel(friction, form, "Least friction that holds the rover", "[-]", "obstacle angle [deg]")
    dress_panel(share, form, "Normal force over the weight", "[-]", "obstacle angle [deg]")
    for axes in (friction, share):
        axes.set_ylim(bottom=0.0)
    share_legend(figure, form, share)
    return figure


def _plot_curves(
    axes: Axes, form: FigureForm, angles_deg: Sequence[float], values: Mapping[str, Sequence[float]]
) -> None:
    """Draw the values of each name over the angle; names whose values are alike share a curve."""
    curves: dict[str, list[str]] = {}
    for name, one in values.items():
        curves.setdefault(" ".join(f"{value:.6f}" for value in one).replace("-0.000000", "0.000000"), []).append(name)
    for place, names in enumerate(curves.values()):
        label = ", ".join(name.replace("_", " ") for name in names)
        axes.plot(angles_deg, values[names[0]], **curve_style(form, place, label=label))


def _gaps(values: Sequence[float | None]) -> list[float]:
    return [math.nan if one is None else one for one in values]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _words(value: float | None, form: str, unit: str = "") -> str:
    return "-" if value is None else f"{value:{form}}{unit}"


def draw_parts(parts: Mapping[str, Any], curve: EnergyCurve, at_deg: float, form: FigureForm) -> dict[str, Figure]:
    """The figure of each of `parts`, by its name; that over the stiffness of the plate is of the angle `at_deg`."""
    drawn: dict[str, Callable[..., Figure]] = {"sensitivity": draw_sensitivity, "standing": draw_standing}
    drawn["compliance"] = partial(draw_compliance, at_deg=at_deg)
    return {name: drawn[name](found, curve["angles_deg"], form=form) for name, found in parts.items()}
