"""A wheel drive: motor, speed controller, power stage and gearbox, as seen at the motor's shaft and at the axle."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Workspace


class Motor(NamedTuple):
    """A direct-current motor behind its gearbox, at full duty: its torque falls in proportion to the speed.

    Attributes:
        stall_torque: at rest [N m].
        no_load_speed: without friction and load [rad/s].
    """

    stall_torque: float
    no_load_speed: float


class Drive(NamedTuple):
    """One drive; all of a rover are alike. Values are assumptions of this project, at the wheel axle.

    Attributes:
        gain: proportional gain of the drive's speed controller [N m s/rad].
        integral_gain: [N m/rad].
        torque_limit: [N m].
        gear_friction: Coulomb friction of the gearbox [N m].
        friction_speed: [rad/s] below which that friction grows in proportion.
        coast_damping: with the bridge open [N m s/rad].
        brake_damping: with the motor shorted [N m s/rad].
        brakes_on_cut: 1.0 where a cut shorts the motor, 0.0 where it opens the bridge.
        motor: of a drive that is also driven by duty, or None. Fixed when a step is compiled.
        rotor_inertia: of the rotor [kg m^2], which turns ratio times as fast: its own by the square of the ratio.
    """

    gain: float
    integral_gain: float
    torque_limit: float
    gear_friction: float
    friction_speed: float
    coast_damping: float
    brake_damping: float
    brakes_on_cut: float
    motor: Motor | None = None
    rotor_inertia: float = 0.0


def check_drive(drive: Drive) -> None:
    """Raises ValueError with everything that is out of range."""
    allowed = {
        "friction_speed": Range(0.0, math.inf, "rad/s", open_low=True),
        "brakes_on_cut": Range(0.0, 1.0, ""),
    }
    numbers = drive._asdict()
    motor: Motor | None = numbers.pop("motor")
    above = Range(0.0, math.inf, "", open_low=True)
    refuse(
        "drive",
        [
            *(problem(name, value, allowed.get(name, Range(0.0, math.inf, ""))) for name, value in numbers.items()),
            *(problem(f"motor.{name}", value, above) for name, value in (motor._asdict() if motor else {}).items()),
        ],
    )


class DriveState(NamedTuple):
    """By wheel (wheels,): set speed [rad/s], cut (1.0) or powered (0.0), wound-up torque [N m], axle torque [N m].

    `duty`: share of the supply voltage, -1 to 1, in place of the set speed; NaN: the set speed holds.
    Only those with a motor are read and written (models.rover.reduction.Chain.motor_wheel).
    """

    set_speed: FloatArray
    cut: FloatArray
    wound: FloatArray
    torque: FloatArray
    duty: FloatArray


def make_drives(wheels: int) -> DriveState:
    """Allocate the state of `wheels` drives, all cut."""
    return DriveState(np.zeros(wheels), np.ones(wheels), np.zeros(wheels), np.zeros(wheels), np.full(wheels, np.nan))


# From here on tanh is 1 in double precision, and a driving wheel skips its evaluation.
ONE_FROM = 20.0


@kernel
def friction_damping(friction: float, friction_speed: float, speed: float) -> float:
    """Coulomb friction [N m] as a damping [N m s/rad] at a speed [rad/s]; in proportion below `friction_speed`."""
    share = abs(speed) / friction_speed
    # tanh(share)/share tends to 1: the gearbox must also hold a standing axle
    damping = friction / friction_speed
    if share > ONE_FROM:
        damping /= share
    elif share > 1e-6:
        damping *= np.tanh(share) / share
    return damping


@kernel
def gear_damping(drive: Drive, speed: float) -> float:
    """Friction torque of the gearbox over the axle's speed [N m s/rad], at a speed [rad/s]."""
    return friction_damping(drive.gear_friction, drive.friction_speed, speed)


@kernel
def drive_axle(
    drive: Drive, state: DriveState, wheel: int, speed_number: int, v: FloatArray, dt: float, work: Workspace
) -> None:
    """Add one drive's torque to work.rhs, and its slope over speed to work.mass_matrix (implicitly)."""
    speed = v[speed_number]
    friction = gear_damping(drive, speed)
    if state.cut[wheel] > 0.0:
        state.wound[wheel] = 0.0
        damping = drive.brake_damping if drive.brakes_on_cut > 0.0 else drive.coast_damping
        torque = -damping * speed
    else:
        torque, damping = _powered(drive.motor, drive, state, wheel, speed)
    state.torque[wheel] = torque
    work.rhs[speed_number] += torque - friction * speed
    work.mass_matrix[speed_number, speed_number] += drive.rotor_inertia
    work.mass_matrix[speed_number, speed_number] += (damping + friction) * dt


@kernel
def _powered(motor: Motor | None, drive: Drive, state: DriveState, wheel: int, speed: float) -> tuple[float, float]:
    """Torque [N m] of a powered drive, and its slope over speed [N m s/rad]."""
    if motor is not None:
        duty = state.duty[wheel]
        if not math.isnan(duty):
            state.wound[wheel] = 0.0
            slope = motor.stall_torque / motor.no_load_speed
            wished = motor.stall_torque * duty - slope * speed
            torque = min(max(wished, -drive.torque_limit), drive.torque_limit)
            return torque, slope if torque == wished else 0.0
    error = state.set_speed[wheel] - speed
    wished = drive.gain * error + state.wound[wheel]
    torque = min(max(wished, -drive.torque_limit), drive.torque_limit)
    damping = drive.gain if torque == wished else 0.0
    return torque, damping


@kernel
def wind_up(drive: Drive, state: DriveState, wheel: int, speed: float, dt: float) -> None:
    """Integrate a drive's error by its speed [rad/s] at the end of a step: so the distance does not depend on dt.

    With the error at the beginning the distance of a start would be too long by dt times the speed.
    """
    by_speed = state.cut[wheel] == 0.0 and (drive.motor is None or math.isnan(state.duty[wheel]))
    if by_speed and abs(state.torque[wheel]) < drive.torque_limit:
        state.wound[wheel] += drive.integral_gain * (state.set_speed[wheel] - speed) * dt
