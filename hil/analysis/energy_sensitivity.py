"""How T_c changes with the rover's posture, over the obstacle's angle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from rich.markup import escape
from rich.table import Table

from models.impact import energy_gradient

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hil.config.rig import Rig

_BASE = ("base_roll", "base_pitch", "base_yaw")


class Sensitivity(TypedDict):
    """dT_c/dq at the neutral posture.

    Attributes:
        coordinates: the base's rotations about its own axes, and the joints but the wheels' own.
        gradient_Jprad: of each coordinate, one number an angle.
    """

    coordinates: list[str]
    gradient_Jprad: list[list[float]]


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
    table = Table(title=escape("dT_c/dq [mJ/deg]"), title_justify="left")
    table.add_column("angle [deg]", justify="right")
    for name in found["coordinates"]:
        table.add_column(name, justify="right")
    for angle, *row in zip(angles_deg, *found["gradient_Jprad"], strict=True):
        table.add_row(f"{angle:g}", *(f"{round(_mJpdeg(value), 3) + 0.0:+.3f}" for value in row))
    return table


def draw_sensitivity(axes: Axes, found: Sensitivity, angles_deg: Sequence[float]) -> None:
    """Draw dT_c/dq of each coordinate over the angle."""
    for place, (name, values) in enumerate(zip(found["coordinates"], found["gradient_Jprad"], strict=True)):
        axes.plot(
            angles_deg,
            [_mJpdeg(value) for value in values],
            marker="os^Dv<>P"[place % 8],
            linestyle=("-", "--", ":")[place % 3],
            markersize=3.5,
            label=name,
        )
    axes.set(xlabel="obstacle angle [deg]", ylabel="$dT_c/dq$ [mJ/deg]", title="Sensitivity to the posture")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, ncols=2)


def _mJpdeg(value_Jprad: float) -> float:
    return 1e3 * math.radians(value_Jprad)
