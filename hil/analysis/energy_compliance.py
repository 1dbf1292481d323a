"""T_c with compliant legs over the obstacle's angle: what the wheels' first hit spends of the rigid rover's T_c."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from rich.table import Table

from models.impact import (
    CompliantImpact,
    compliant_effective_kinetic_energy,
    effective_kinetic_energy,
    on_springs,
)
from models.rover.rover import Rover

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hil.config.rig import Rig

# Plates over which the first hit is shown at one angle, in stiffnesses of a leg.
_PLATES_OVER_LEG = tuple(np.geomspace(1e-2, 1e6, 33).tolist())
_MOST_ROUNDS, _CLOSE = 100, 1e-9


class Compliance(TypedDict):
    """First hit of the front wheels on springs of the legs' stiffness, against a plate.

    Attributes:
        leg_stiffness_Npm: of each leg, forward.
        leg_stiffness_up_Npm: upward.
        rigid_energy_J: T_c of the rigid rover at each angle.
        energy_J: most that the plate's springs hold at once in the first hit.
        peak_force_N: over both wheels at that time.
        time_s: of it after the touch.
        plate_stiffness_Npm: of a linear spring with the plate's peak force at that energy, a wheel.
        over_plate: the first hit at `trial.angle_deg` over the plate: `stiffness_Npm`, `energy_J`.
    """

    leg_stiffness_Npm: float
    leg_stiffness_up_Npm: float
    rigid_energy_J: list[float]
    energy_J: list[float]
    peak_force_N: list[float]
    time_s: list[float]
    plate_stiffness_Npm: list[float]
    over_plate: dict[str, list[float]]


def compliance(rig: Rig, angles_deg: Sequence[float]) -> Compliance:
    """The first hit over the angle (`models.impact.on_springs`), at `trial.speed_mps`, without ground.

    The legs have `obstacle.leg_stiffness_Npm` and `.leg_stiffness_up_Npm`, the plate `obstacle.plate_stiffness`,
    whatever `obstacle.legs` says.

    Args:
        rig: rover with its payload, speed, legs and plate.
        angles_deg: above 0; at 0 the wheel does not approach the plate.

    Raises:
        ValueError: an angle of 0, or legs and plate for which models.impact refuses.
    """
    rover, trial, obstacle = rig.nominal.held.make_rover(), rig.config.trial, rig.config.obstacle
    speed = trial.speed_mps
    forward = obstacle.leg_stiffness_Npm
    legs = (forward, forward if obstacle.leg_stiffness_up_Npm is None else obstacle.leg_stiffness_up_Npm)
    hits = [_on_plate(rover, speed, angle, legs, obstacle.plate_stiffness, obstacle.exponent) for angle in angles_deg]
    plates = [share * forward for share in _PLATES_OVER_LEG]
    at_one = [_hit(rover, speed, trial.angle_deg, legs, plate).energy for plate in plates]
    return {
        "leg_stiffness_Npm": legs[0],
        "leg_stiffness_up_Npm": legs[1],
        "rigid_energy_J": [_rigid(rover, speed, angle) for angle in angles_deg],
        "energy_J": [hit.energy for hit, _ in hits],
        "peak_force_N": [hit.peak_force for hit, _ in hits],
        "time_s": [hit.time for hit, _ in hits],
        "plate_stiffness_Npm": [plate for _, plate in hits],
        "over_plate": {"stiffness_Npm": plates, "energy_J": at_one},
    }


def compliance_table(found: Compliance, angles_deg: Sequence[float]) -> Table:
    """The first hit over the angle, as a table."""
    table = Table(title="first hit of a plate of obstacle.plate_stiffness: in a trial the legs give in the contact")
    for name in ("angle [deg]", "T_c rigid [J]", "first hit [J]", "share", "peak, both wheels [N]", "after [ms]"):
        table.add_column(name, justify="right")
    columns = (found[key] for key in ("rigid_energy_J", "energy_J", "peak_force_N", "time_s"))
    for angle, rigid, energy, force, time in zip(angles_deg, *columns, strict=True):
        table.add_row(
            f"{angle:g}", f"{rigid:.4f}", f"{energy:.5f}", f"{energy / rigid:.3f}", f"{force:.0f}", f"{1e3 * time:.3g}"
        )
    return table


def draw_compliance(
    over_angle: Axes, over_plate: Axes, found: Compliance, angles_deg: Sequence[float], at: float
) -> None:
    """Draw T_c of the rigid rover and the first hit over the angle, and at one angle [deg] over the plate."""
    over_angle.plot(angles_deg, found["rigid_energy_J"], marker="o", markersize=3.5, label="rigid legs")
    over_angle.plot(angles_deg, found["energy_J"], "s--", markersize=3.5, label="first hit, legs on springs")
    over_angle.set(xlabel="obstacle angle [deg]", ylabel="energy [J]", title="Legs on springs")
    over_angle.set_ylim(bottom=0.0)
    plates = found["over_plate"]
    over_plate.semilogx(plates["stiffness_Npm"], plates["energy_J"], color="C1")
    over_plate.axvline(
        found["leg_stiffness_Npm"], color="0.5", linestyle="--", linewidth=1.0, label="as stiff as a leg"
    )
    over_plate.set(xlabel="plate's stiffness, a wheel [N/m]", ylabel="energy of the first hit [J]", title=f"At {at:g}°")
    over_plate.set_ylim(bottom=0.0)
    for axes in (over_angle, over_plate):
        axes.grid(alpha=0.3)
        axes.legend()


def _rigid(rover: Rover, speed_mps: float, angle_deg: float) -> float:
    q = rover.neutral()
    rows = rover.impact_jacobian(q, math.radians(angle_deg))
    return effective_kinetic_energy(rover.mass_matrix(q), rows, _forward(rover.nv, speed_mps))


def _forward(count: int, speed_mps: float) -> np.ndarray:
    v = np.zeros(count)
    v[0] = speed_mps
    return v


def _hit(
    rover: Rover, speed_mps: float, angle_deg: float, legs_Npm: tuple[float, float], plate_Npm: float
) -> CompliantImpact:
    """The first hit on a linear plate."""
    mass, rows = on_springs(rover, rover.neutral(), math.radians(angle_deg))
    springs = np.zeros(rows.shape[1])
    springs[rover.nv :] = np.tile(legs_Npm, rows.shape[0])
    return compliant_effective_kinetic_energy(mass, rows, _forward(len(springs), speed_mps), springs, plate_Npm)


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
