"""Petersen 2012, 6.1: the Juno rover with its transverse rocker and rods, its gears and its tilting chassis.

Run: python docs/reproduce/juno.py [--check]

Writes docs/reproduce/juno.md. With --check it writes nothing, and says where the page differs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from written_page import page_script

from hil.analysis.identification.forward import WheelSize, soil_of, wheel_state
from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.actuators.gearbox import Gearbox
from models.gravity import GRAVITY_MPS2
from models.rover import JunoExactParameters, juno, juno_exact
from models.rover.rover import Rover
from models.vehicle import VehicleModel, VehicleState, run

FloatArray = NDArray[np.float64]
PAGE = Path(__file__).with_suffix(".md")
P = JunoExactParameters()
MASS, WHEEL = 317.7, WheelSize(P.wheel_radius, P.wheel_width)
WEIGHT = MASS * GRAVITY_MPS2
# The three soils of 6.2 (stiffness, exponent, rebound, slip modulus); friction angle and cohesion are not printed.
SOILS = {
    1: (2.07e5, 0.583, 0.0674, 0.689),
    2: (1.58e5, 0.501, 0.0813, 0.819),
    3: (1.47e5, 0.533, 0.0834, 0.794),
}
GEARS = {"low": 129.0, "high": 32.0}  # quoted
MOTOR = {"efficiency": 0.8, "torque": 3.0, "stall_torque": 12.0, "no_load_speed": 314.0, "rotor_inertia": 1e-3}
ANGLES_DEG = (1, 5, 10, 15, 20, 25)
STEP_S = 2e-4


def bent(rover: Rover, left: float) -> FloatArray:
    """Configuration with the left rocker at an angle [rad]."""
    q = rover.neutral()
    q[7 + rover.joint_names.index("left_rocker")] = left
    return q


def right_rocker(rover: Rover, left: float) -> float:
    """Angle of the right rocker [rad]."""
    return float(rover.tree_configuration(bent(rover, left))[7 + rover.tree_joint_names.index("right_rocker")])


def linear_errors() -> list[tuple[int, float, float, float, float]]:
    """Angle of the left rocker, that of the right one up and down, ratio, error of the constant ratio [deg]."""
    rover, rows = juno_exact(), []
    for angle in ANGLES_DEG:
        left = math.radians(angle)
        up, down = right_rocker(rover, left), right_rocker(rover, -left)
        v = np.zeros(rover.nv)
        v[6] = 1.0
        ratio = float(rover.tree_speeds(v, bent(rover, left))[6 + rover.tree_joint_names.index("right_rocker")])
        rows.append(
            (angle, math.degrees(up), math.degrees(down), ratio, math.degrees(max(abs(up + left), abs(down - left))))
        )
    return rows


def standing(rover: Rover, heights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Configuration with the wheels raised by `heights` [m]; rise, pitch, roll and left rocker's angle."""
    level, x = rover.wheel_positions(rover.neutral())[:, 2], np.zeros(4)

    def placed(x: FloatArray) -> FloatArray:
        q = bent(rover, x[3])
        q[2], q[3:7] = x[0], Rotation.from_euler("yx", x[1:3]).as_quat()
        return q

    def over(x: FloatArray) -> FloatArray:
        out: FloatArray = rover.wheel_positions(placed(x))[:, 2] - level - heights
        return out

    for _ in range(12):
        slope = np.column_stack([(over(x + one) - over(x - one)) / 2e-6 for one in 1e-6 * np.eye(4)])
        x = x - np.linalg.solve(slope, over(x))
    return placed(x), x


def raised(rover: Rover, h: float) -> dict[str, float]:
    """The front left wheel raised by h [m]: chassis and rockers against level ground, and the left side's share."""
    q, (rise, pitch, roll, left) = standing(rover, np.array([h, 0.0, 0.0, 0.0]))
    up = -rover.impact_jacobian(q, 0.0, rover.wheel_names)
    weight = rover.bias(q, np.zeros(rover.nv), (0.0, 0.0, -GRAVITY_MPS2))
    loads = np.linalg.lstsq(up.T, weight)[0]
    return {
        "rise": rise / h, "rocker": pitch + left, "other": pitch + right_rocker(rover, left), "pitch": pitch,
        "roll": roll, "left": float(loads[[0, 2]].sum() / loads.sum()),
    }  # fmt: skip


def wheel(soil: int, slip: float, load: float = WEIGHT / 4.0) -> tuple[float, float, float]:
    """Pull [N], torque [N m] and sinkage [m] of one wheel."""
    names = ("stiffness", "exponent", "rebound", "slip_modulus")
    given = {"friction_angle_deg": 30.0, "cohesion_Pa": 0.0, **dict(zip(names, SOILS[soil], strict=True))}
    pull, torque, sinkage = wheel_state(WHEEL, soil_of(given), np.array([load]), np.array([slip]))
    return float(pull[0]), float(torque[0]), float(sinkage[0])


def slip_at(gear: Gearbox, load: float) -> float:
    """Slip with a side's motor, which drives two wheels, at its limit; 0.95: the soil gives way first."""

    def surplus(slip: float) -> float:
        return 2.0 * wheel(2, slip, load)[1] - gear.axle_torque

    return 0.95 if surplus(0.95) <= 0.0 else float(brentq(surplus, 0.0, 0.95))


def gear_rows() -> list[tuple[str, Gearbox, float, float, float]]:
    """Gear, its slip and pull on level soil 2 with the motors at their limit, and the steepest slope [deg]."""
    rows = []
    for name, ratio in GEARS.items():
        gear = Gearbox(ratio, **MOTOR)

        def surplus(slope: float, gear: Gearbox = gear) -> float:
            load = WEIGHT / 4.0 * math.cos(slope)
            return 4.0 * wheel(2, slip_at(gear, load), load)[0] - WEIGHT * math.sin(slope)

        slip = slip_at(gear, WEIGHT / 4.0)
        slope = brentq(surplus, 0.0, 1.0) if surplus(0.0) > 0.0 else 0.0
        rows.append((name, gear, slip, 4.0 * wheel(2, slip)[0], math.degrees(slope)))
    return rows


def on_soil(changes: Mapping[str, Any]) -> tuple[Rover, VehicleModel, VehicleState]:
    """The rover of sim_juno_exact on level soil, settled."""
    level = {"ground.kind": "soil", "ground.scan": None, "limits.wheel_speed_radps": 1.0}
    return nominal_rig(load_config("sim_juno_exact", level | dict(changes))).build()


def skid_turn() -> tuple[float, float, FloatArray]:
    """Turning speed [rad/s] over that of wheels that do not slip, speed over the rims' mean, slips."""
    _, vehicle, state = on_soil({})
    state.drives.cut[:] = 0.0
    rims = np.array([0.10, 0.20, 0.10, 0.20])
    state.drives.set_speed[:] = rims / P.wheel_radius
    run(vehicle, state, round(3.0 / STEP_S), STEP_S)
    heading = [Rotation.from_quat(state.q[3:7]).as_euler("ZYX")[0]]
    run(vehicle, state, round(1.0 / STEP_S), STEP_S)
    heading.append(Rotation.from_quat(state.q[3:7]).as_euler("ZYX")[0])
    return (heading[1] - heading[0]) * P.track / 0.10, float(state.v[0]) / 0.15, state.ground.slip.copy()


def tilt_rows() -> list[tuple[float, float, float, float, float]]:
    """Commanded tilt [deg], chassis pitch [deg], CoM's way ahead and up [mm], share of the rear wheels."""
    rover, vehicle, state = on_soil({"servos": {"joints": {"chassis_tilt": {}}, "torque_limit_Nm": 600.0}})
    assert state.servos is not None
    tilt = 7 + rover.tree_joint_names.index("chassis_tilt")
    # braked: the wheels stand
    start, rows = centre_of_mass(rover, state), []
    for degrees in (0.0, 5.0, 10.0, -10.0):
        state.servos.angle[:] = -math.radians(degrees)  # the joint turns nose down
        run(vehicle, state, round(4.0 / STEP_S), STEP_S)
        pitch = Rotation.from_quat(state.q[3:7]).as_euler("ZYX")[1] + state.q[tilt]
        moved, load = centre_of_mass(rover, state) - start, state.ground.vertical
        rows.append((degrees, -math.degrees(pitch), 1e3 * moved[0], 1e3 * moved[2], float(load[2:].sum() / load.sum())))
    return rows


def centre_of_mass(rover: Rover, state: VehicleState) -> FloatArray:
    """[m] from the middle of the four wheels, world axes."""
    q = rover.own_configuration(state.q)
    M, turn = rover.mass_matrix(q), Rotation.from_quat(q[3:7])
    first = np.array([M[1, 5] - M[2, 4], M[2, 3] - M[0, 5], M[0, 4] - M[1, 3]]) / 2.0
    place: FloatArray = q[:3] + turn.apply(first / M[0, 0]) - rover.wheel_positions(q).mean(axis=0)
    return place


def page() -> str:
    """The text of the page: juno.txt with its numbers."""
    exact, h = juno_exact(), 1e-3
    small, high, lumped = raised(exact, h), raised(exact, 0.1), raised(juno(), 0.1)
    pulls = {slip: [wheel(soil, slip)[0] for soil in SOILS] for slip in (0.2, 0.4, 0.8)}
    sinkage = [1e3 * wheel(soil, slip)[2] for soil in SOILS for slip in (0.2, 0.8)]
    turn, ahead, slips = skid_turn()
    tilts = tilt_rows()
    values = {
        "mass": f"{exact.mass:.1f}",
        "thesis": juno_exact(chains=False, locks={"spin": None}).nv,
        "chains": juno_exact(locks={"spin": None}).nv,
        "speeds": exact.nv,
        "pitch_small": f"{small['pitch'] / small['rocker']:.3f}",
        "pitch_high": f"{high['pitch'] / high['rocker']:.3f}",
        "pitch_off": f"{abs(high['pitch'] / high['rocker'] - 0.5):.3f}",
        "rise_small": f"{small['rise']:.4f}",
        "rise_high": f"{high['rise']:.4f}",
        "rise_off": f"{abs(high['rise'] - 0.25):.4f}",
        "roll_small": f"{small['roll'] * P.track / h:.4f}",
        "roll_high": f"{high['roll'] * P.track / 0.1:.4f}",
        "roll_off": f"{abs(high['roll'] * P.track / 0.1 - 0.5):.4f}",
        "left": f"{high['left']:.1%}",
        "left_lumped": f"{lumped['left']:.1%}",
        "left_off": f"{abs(high['left'] - 0.5):.1%}",
        "tilted": f"{tilts[2][0]:.0f}",
        "tilted_com": f"{tilts[2][2]:+.0f}",
        "tilted_rear": f"{tilts[2][4]:.1%}",
        "level_rear": f"{tilts[0][4]:.1%}",
        "sinkage": f"{min(sinkage):.0f}-{max(sinkage):.0f}",
        "pulls": ", ".join(f"{min(found):.0f} to {max(found):.0f} N at {slip}" for slip, found in pulls.items()),
        "turn": f"{turn:.2f}",
        "ahead": f"{ahead:.2f}",
        "slips": ", ".join(f"{slip:.2f}" for slip in slips),
        "errors": _table(
            f"{a} | {up:.3f} | {down:.3f} | {ratio:.4f} | {error:.3f}" for a, up, down, ratio, error in linear_errors()
        ),
        "gears": _table(
            f"{name}, 1:{gear.ratio:g} | {gear.axle_torque:.0f} | {gear.axle_no_load_speed * P.wheel_radius:.2f} | "
            f"{2.0 * gear.axle_inertia / P.wheel_radius**2:.1f} | {slip:.2f} | {pull:.0f} | {slope:.1f}"
            for name, gear, slip, pull, slope in gear_rows()
        ),
        "tilts": _table(
            f"{wanted:.0f} | {pitch:.1f} | {x:+.1f} | {z:+.1f} | {rear:.1%}" for wanted, pitch, x, z, rear in tilts
        ),
    }
    return PAGE.with_suffix(".txt").read_text(encoding="utf-8").format(**values)


def _table(rows: Iterable[str]) -> str:
    return "\n".join(f"| {row} |" for row in rows)


def main(arguments: list[str] | None = None) -> int:
    """Write the page, or check it."""
    return page_script(__doc__, PAGE, page, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
