"""Wheel speeds that give the rover the wanted forward speed and hold it on a line; cameras' trigger lines."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from msgspec.structs import replace

from hil.config.rig import Rig
from hil.config.schema.trial import CORNER, INTEGRAL, HoldLineConfig
from hil.messages.stages import Estimate, Goal, Prediction, Samples, SetPoints
from models.kernels.compiled import FloatArray


class Controller(Protocol):
    """Turns the goal of each tick into set-points."""

    def control(self, goal: Goal, samples: Samples, estimate: Estimate, prediction: Prediction) -> SetPoints:
        """The set-points of this tick."""


class DirectSetPoints:
    """Passes the wheel speeds or duties of the goal on unchanged."""

    def control(
        self,
        goal: Goal,
        samples: Samples,  # noqa: ARG002
        estimate: Estimate,  # noqa: ARG002
        prediction: Prediction,  # noqa: ARG002
    ) -> SetPoints:
        """The set-points of this tick."""
        return SetPoints(
            goal.state, goal.cut, goal.speed_radps, goal.valves, duty=goal.duty, joint_angle_rad=goal.joint_angle_rad
        )


# Slip is smoothed over this time [s]; it is capped, because at slip 1 no wheel speed moves the rover.
SMOOTHING_S = 0.1
LARGEST_SLIP = 0.6


class WheelSpeed:
    """Turns a forward speed into wheel speeds, omega = v / (R (1 - s)), with the slip that the rover twin predicts.

    All rims move at the same speed: the rover drives straight.
    """

    def __init__(self, radii_m: Sequence[float], period_s: float) -> None:
        self._radii_m = tuple(radii_m)
        self._share = min(period_s / SMOOTHING_S, 1.0)
        self._slip = 0.0

    def control(
        self,
        goal: Goal,
        samples: Samples,  # noqa: ARG002
        estimate: Estimate,  # noqa: ARG002
        prediction: Prediction,
    ) -> SetPoints:
        """The set-points of this tick. While the drives are cut, or push, the slip estimate is not updated.

        Speeds of the wheels that the goal has already pass unchanged: those of legs that swing differ.
        """
        if goal.cut:
            return SetPoints(goal.state, True, (), goal.valves, joint_angle_rad=goal.joint_angle_rad)
        if not goal.pushing:
            mean = sum(prediction.slip) / len(prediction.slip)
            self._slip += (min(max(mean, 0.0), LARGEST_SLIP) - self._slip) * self._share
        rolling, forward_mps = 1.0 - self._slip, goal.forward_mps
        speeds = goal.speed_radps or tuple([forward_mps / (radius_m * rolling) for radius_m in self._radii_m])
        return SetPoints(goal.state, False, speeds, goal.valves, joint_angle_rad=goal.joint_angle_rad)


# A place and a heading known no better than this are not steered by: the first is the veer that a trial may have.
LARGEST_SD_M = 0.02
LARGEST_SD_RAD = math.radians(1.5)
# Parts of the limiter's speed and acceleration that are used: a clamped command would be a command out of limit.
OF_LIMITS = 0.95
# Rims within this share of each other's speed drive straight: those of wheels of several sizes are rounded.
_STRAIGHT = 1e-9


class _LineLimits(NamedTuple):
    """What the wheels of a rig may do."""

    speed_radps: float
    step_radps: float


class HoldLine:
    """Adds the difference of the sides to the wheel speeds of another controller, while these are straight.

    The line is the rig's x axis; after a turn, the heading of the moment in which it ended. Without a known place, in a
    cut, and while the rover pushes on something, the speeds are left as they are.

    Args:
        drive: gives the wheel speeds.
        settings: section of the config.
        sides: (wheels,) 1 of a starboard wheel, -1 of a port wheel, 0 of one in the middle.
        turning_pm: k of the rover [1/m].
        limits: of its wheels.
        radii_m: of each wheel.
        period_s: time between ticks.
    """

    def __init__(
        self,
        drive: Controller,
        settings: HoldLineConfig,
        sides: tuple[float, ...],
        turning_pm: float,
        limits: _LineLimits,
        radii_m: Sequence[float],
        period_s: float,
    ) -> None:
        self._drive, self._settings, self._sides = drive, settings, sides
        self._turning_pm, self._limits, self._metre = turning_pm, limits, radii_m[0] * period_s
        self._larger = tuple(radius_m / radii_m[0] for radius_m in radii_m)  # than the first wheel
        self._line: tuple[float, float, float] | None = (0.0, 0.0, 0.0)
        self._bias = 0.0  # u that makes up for d
        self._last = (0.0,) * len(sides)

    def control(self, goal: Goal, samples: Samples, estimate: Estimate, prediction: Prediction) -> SetPoints:
        """The set-points of this tick."""
        drive = self._drive.control(goal, samples, estimate, prediction)
        if drive.cut or drive.duty:
            self._last = (0.0,) * len(self._sides)
            return drive
        speeds, step = drive.speed_radps, self._limits.step_radps
        turn = self._turn_radps(goal, speeds, prediction)
        self._last = tuple(
            [
                last + min(max(speed + side * turn / larger - last, -step), step)
                for speed, side, larger, last in zip(speeds, self._sides, self._larger, self._last, strict=True)
            ]
        )
        return SetPoints(
            drive.state, False, self._last, drive.valves, drive.regulators_Pa, drive.duty, loads=drive.loads,
            joint_angle_rad=drive.joint_angle_rad,
        )  # fmt: skip

    def _turn_radps(self, goal: Goal, speeds: tuple[float, ...], prediction: Prediction) -> float:
        """How much faster the starboard wheels are to turn than the mean, those as large as the first [rad/s]."""
        rims = [speed * larger for speed, larger in zip(speeds, self._larger, strict=True)]
        speed = rims[0]
        if max(rims) - min(rims) > _STRAIGHT * abs(speed):
            self._line = None
            return 0.0
        known = prediction.observed
        if known is None or not (known.pose_sd[1] <= LARGEST_SD_M and known.pose_sd[5] <= LARGEST_SD_RAD):
            return 0.0  # NaN compares false, too
        share = self._bias
        if not goal.pushing and not prediction.gap_m < self._settings.free_m:
            share = self._share(speed, prediction)
        fastest = max(map(abs, speeds))
        most = max((self._limits.speed_radps - fastest) * min(self._larger), 0.0)
        return min(max(share * abs(speed), -most), most)

    def _share(self, speed: float, prediction: Prediction) -> float:
        """The difference of a side as a share of the mean, u."""
        x, y, _, qx, qy, qz, qw = prediction.pose
        heading = math.atan2(2.0 * (qw * qz + qx * qy), 1.0 - 2.0 * (qy * qy + qz * qz))
        if self._line is None:
            self._line = x, y, heading
        x0, y0, heading0 = self._line
        length_m, most = self._settings.length_m, self._settings.share
        wanted = 0.0
        if not prediction.gap_m < self._settings.align_m:
            offset_m = (y - y0) * math.cos(heading0) - (x - x0) * math.sin(heading0)
            wanted = (
                math.copysign(offset_m, -offset_m * speed) / length_m
            )  # backward, a heading to port is the way back
        off = wanted - math.remainder(heading - heading0, math.tau)
        gain = CORNER / (length_m * self._turning_pm)
        share = gain * off + self._bias
        if abs(share) > most:
            return math.copysign(most, share)
        self._bias += gain * INTEGRAL / length_m * off * abs(speed) * self._metre
        return share


def hold_line(rig: Rig, drive: Controller, settings: HoldLineConfig | None) -> Controller:
    """The controller `drive` of a rig, held on a line; itself where none is to be held."""
    if settings is None:
        return drive
    rover = rig.nominal.make_rover()
    places = rover.wheel_positions(rover.neutral())
    limits = _LineLimits(
        OF_LIMITS * rig.limits.wheel_speed_radps, OF_LIMITS * rig.limits.wheel_acceleration_radps2 / rig.rate_hz
    )
    sides = tuple((-np.sign(places[:, 1])).tolist())
    return HoldLine(
        drive, settings, sides, turning_per_metre(places), limits, rig.config.wheel_radii_m, 1.0 / rig.rate_hz
    )


def turning_per_metre(places: FloatArray) -> float:
    """Curvature of the way [1/m] when the starboard rims are faster, the port ones slower than the mean by all of it.

    Each wheel's force is taken as proportional to its slip speed, alike along and across. At the yaw rate w and forward
    speed v the slip speed of a wheel at (x, y) is (u - v + w y, -w x), with u the speed of its rim; their moments about
    the vertical cancel where w = sum(|y|) d / sum(x^2 + y^2), with d the difference of a side from the mean.

    Args:
        places: (wheels, 3) of their centres, in the axes of the base [m].

    Example:
        >>> round(turning_per_metre(np.array([[0.0, 0.5, 0.2], [0.0, -0.5, 0.2]])), 3)  # two wheels: 1 / half the track
        2.0
    """
    ahead, across = places[:, 0] - places[:, 0].mean(), places[:, 1]
    return float(np.abs(across).sum() / (ahead * ahead + across * across).sum())


class TriggerLine:
    """When a trigger line is on; it is a level, so that a lost command loses no edge.

    Args:
        states: of the experiment in which it is on; None: it is on once the impact is detected.
        for_ns: it goes off after so long [ns]; None: it does not.
    """

    def __init__(self, states: Container[int] | None, for_ns: int | None = None) -> None:
        self._states, self._for_ns = states, math.inf if for_ns is None else for_ns
        self._since_ns: int | None = None

    def on(self, t_ns: int, state: int, impact_ns: int | None) -> bool:
        """Whether it is on at a time of the run [ns], in a state of the experiment."""
        if not (impact_ns is not None if self._states is None else state in self._states):
            self._since_ns = None
            return False
        if self._since_ns is None:
            self._since_ns = t_ns
        return t_ns - self._since_ns < self._for_ns


class CameraTriggers:
    """Adds the trigger lines to the set-points of a controller.

    Args:
        controller: of the drives and the valves.
        own: line of the camera; None: it has none.
        others: those with a name, in the order of `Layout.triggers`.
    """

    def __init__(self, controller: Controller, own: TriggerLine | None, others: Sequence[TriggerLine] = ()) -> None:
        self._controller, self._own, self._others = controller, own, others

    def control(self, goal: Goal, samples: Samples, estimate: Estimate, prediction: Prediction) -> SetPoints:
        """The set-points of this tick."""
        set_points = self._controller.control(goal, samples, estimate, prediction)
        now = samples.t_ns, goal.state, estimate.impact_ns
        own = self._own is not None and self._own.on(*now)
        others = tuple([line.on(*now) for line in self._others])
        return replace(set_points, trigger=own, triggers=others) if own or any(others) else set_points
