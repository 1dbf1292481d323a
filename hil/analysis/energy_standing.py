"""How the nominal rover stands with its front wheels on the obstacle, over the obstacle's angle: beside T_c.

The metrics of MacMahon 2016, 2.1: least friction needed, shares of the weight, margin to tipping over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from rich.table import Table

from models.statics import least_friction, stability_margin, stand
from models.vehicle import HITTING_WHEELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hil.analysis.energy import EnergyCurve
    from hil.config.rig import Rig


class _StandingCurve(TypedDict):
    """At each angle; the front wheels touch only the obstacle, the others level ground, the joints are at their start.

    Attributes:
        friction_needed: least coefficient of friction that holds the rover; None: none does.
        load_share: by wheel, its normal force over the weight with that friction; None: there is none.
        stability_deg: margin to tipping over; None: the contacts span no polygon.
    """

    friction_needed: list[float | None]
    load_share: dict[str, list[float | None]]
    stability_deg: list[float | None]


def standing_curve(rig: Rig, angles_deg: Sequence[float]) -> _StandingCurve:
    """How the rover stands, over the obstacle's angle.

    Args:
        rig: rover with payload and drawbar, and gravity of its ground.
        angles_deg: of the obstacle, 0 to 90.
    """
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
    """How the rover stands over the angle, beside T_c, as a table."""
    table = Table()
    shares = standing["load_share"]
    for name in ("angle [deg]", "T_c [J]", "friction needed", "front wheels bear", "tips after [deg]"):
        table.add_column(name, justify="right")
    for i, (angle, joule) in enumerate(zip(curve["angles_deg"], curve["energy_J"], strict=True)):
        front = [share[i] for share in list(shares.values())[:HITTING_WHEELS]]
        borne = None if None in front else 100.0 * sum(one for one in front if one is not None)
        words = (f"{joule:.4f}", _words(standing["friction_needed"][i], ".3f"), _words(borne, ".0f", " %"))
        table.add_row(f"{angle:g}", *words, _words(standing["stability_deg"][i], ".1f"))
    return table


def draw_standing(friction: Axes, share: Axes, standing: _StandingCurve, curve: EnergyCurve) -> None:
    """Draw the friction needed over the angle with T_c on an axis of its own, and the shares of the weight."""
    angles = curve["angles_deg"]
    friction.plot(angles, _gaps(standing["friction_needed"]), marker="o", markersize=3.5)
    friction.set(xlabel="obstacle angle [deg]", ylabel="least friction needed")
    energy = friction.twinx()
    energy.plot(angles, curve["energy_J"], "s--", color="C1", markersize=3.5)
    energy.set_ylabel("effective kinetic energy $T_c$ [J]", color="C1")
    for name, one in standing["load_share"].items():
        if not name.endswith("right"):  # both sides of the nominal rover bear the same
            share.plot(angles, _gaps(one), marker="o", markersize=3.5, label=name.replace("_", " "))
    share.set(xlabel="obstacle angle [deg]", ylabel="normal force over the weight")
    share.legend()
    for axes in (friction, share):
        axes.set_ylim(bottom=0.0)
        axes.grid(alpha=0.3)


def _gaps(values: Sequence[float | None]) -> list[float]:
    return [math.nan if one is None else one for one in values]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _words(value: float | None, form: str, unit: str = "") -> str:
    return "-" if value is None else f"{value:{form}}{unit}"
