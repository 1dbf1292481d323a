"""Wheel speeds, or duties, by which a measured speed or slip follows what is wanted, and the margins of that loop."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hil.config.rig import Rig
from hil.config.schema.experiment_section import SLIP_MARGIN
from hil.config.schema.experiments import LEAST_DUTY, FollowConfig, TorqueLoop
from hil.config.schema.instruments import MotorConfig
from hil.messages.layout import INSTRUMENTS
from hil.messages.stages import SOURCE_STATES, Estimate, Goal, Prediction, Samples, SetPoints


class Margins(NamedTuple):
    """Of a loop."""

    phase_deg: float  #: phase margin
    crossover_radps: float  #: frequency at which the loop's gain is 1 [rad/s]
    gain: float  #: gain margin, a factor; infinity: no gain makes it unstable
    delay_s: float  #: further delay that makes it unstable [s]


class TorqueLine(NamedTuple):
    """What a loop on torque works on."""

    inertia: float  #: J that one motor moves [kg m^2]
    slope: float  #: k, stall torque over no-load speed of the motor [N m s/rad]
    speed_delay_s: float  #: T_k, of the speed with which the motor's slope is made up for
    lag_s: float  #: of the first-order lag of what is measured
    delay_s: float  #: T around the loop


# Frequencies at which a loop on torque is looked at [rad/s]: neighbours are 0.4 % apart.
_LOW, _HIGH, _COUNT = 1e-3, 1e4, 4000


def torque_margins(gain: float, integral: float, derivative: float, filter_s: float, line: TorqueLine) -> Margins:
    """Margins of a loop on torque, above the frequency from which on its gain stays below 1.

    Args:
        gain: P [N m s/rad].
        integral: I [N m/rad].
        derivative: D [N m s^2/rad].
        filter_s: f.
        line: what it works on.
    """
    w = np.geomspace(_LOW, _HIGH, _COUNT)
    s = 1j * w
    pid = gain + integral / s + derivative * s / (1.0 + filter_s * s)
    moved = line.inertia * s + line.slope * (1.0 - np.exp(-s * line.speed_delay_s))
    response = pid * np.exp(-s * line.delay_s) / ((1.0 + line.lag_s * s) * moved)
    size, phase = np.abs(response), np.unwrap(np.angle(response))
    phase -= 2.0 * math.pi * np.round((phase[0] + math.pi) / (2.0 * math.pi))  # it begins near -pi, or at -pi/2
    above = np.flatnonzero(size >= 1.0)
    if not above.size or above[-1] == _COUNT - 1:
        return Margins(math.degrees(math.pi), _LOW, math.inf, math.inf) if not above.size else Margins(0, _HIGH, 0, 0)
    last = int(above[-1])
    margin = math.pi + float(phase[last])
    turned = np.flatnonzero(phase[last:] < -math.pi)
    largest = 1.0 / float(size[last + turned[0]]) if turned.size else math.inf
    return Margins(math.degrees(margin), float(w[last]), largest, margin / float(w[last]))


def loop_margins(gain: float, integral_per_s: float, lag_s: float, delay_s: float, share: float = 1.0) -> Margins:
    """Margins of the loop.

    Args:
        gain: P, below 1.
        integral_per_s: I [1/s], above 0.
        lag_s: of the first-order lag [s].
        delay_s: T [s].
        share: a, what of the output the controlled quantity follows with.
    """
    p, i = share * gain, share * integral_per_s
    # |L| = 1: lag^2 x^2 + (1 - P^2) x - I^2 = 0 with x = w^2
    b, c = 1.0 - p * p, i * i
    square = c / b if lag_s == 0.0 else 2.0 * c / (b + math.sqrt(b * b + 4.0 * lag_s * lag_s * c))
    crossover = math.sqrt(square)
    phase = math.pi + _phase(gain, integral_per_s, lag_s, delay_s, crossover)
    turned = _phase_crossing(gain, integral_per_s, lag_s, delay_s)
    magnitude = 0.0
    if turned is not None:
        magnitude = abs(complex(p, -i / turned)) / abs(complex(1.0, lag_s * turned))
    return Margins(math.degrees(phase), crossover, 1.0 / magnitude if magnitude else math.inf, phase / crossover)


def _phase(gain: float, integral_per_s: float, lag_s: float, delay_s: float, frequency: float) -> float:
    """Of L [rad], from -pi/2 downwards."""
    pi_part = cmath.phase(complex(gain, -integral_per_s / frequency))
    return pi_part - math.atan(lag_s * frequency) - delay_s * frequency


def _phase_crossing(gain: float, integral_per_s: float, lag_s: float, delay_s: float) -> float | None:
    """Lowest frequency at which the phase of L is -pi [rad/s]; None: nowhere."""
    low = high = 1e-3
    while _phase(gain, integral_per_s, lag_s, delay_s, high) > -math.pi:
        low, high = high, 1.25 * high
        if high > 1e6:
            return None
    for _ in range(80):
        middle = 0.5 * (low + high)
        if _phase(gain, integral_per_s, lag_s, delay_s, middle) > -math.pi:
            low = middle
        else:
            high = middle
    return high


class OuterLoop:
    """A PI controller whose output is bounded, and changes no faster than it may.

    The integral stands still while the output is at a limit that its error drives it into: it does not wind up. With
    an error that is not known the correction stays as it is.

    Args:
        gain: output over error.
        integral_per_s: growth of the output in a second over the error [1/s].
        period_s: time between ticks.
        change: largest change of the output in a tick.
    """

    def __init__(self, gain: float, integral_per_s: float, period_s: float, change: float) -> None:
        self._gain, self._integral_per_tick, self._change = gain, integral_per_s * period_s, change
        self._correction = self._integral = self.output = 0.0

    def step(self, forward: float, error: float, most: float) -> float:
        """The output of this tick.

        Args:
            forward: feed-forward.
            error: wanted less measured; NaN: it is not known.
            most: largest output; the least is 0.
        """
        known = not math.isnan(error)
        if known:
            self._correction = self._gain * error + self._integral
        wished = forward + self._correction
        low, high = max(self.output - self._change, 0.0), min(self.output + self._change, most)
        self.output = min(max(wished, low), max(high, 0.0))
        if known and not (wished > self.output and error > 0.0) and not (wished < self.output and error < 0.0):
            self._integral += self._integral_per_tick * error
        return self.output

    def reset(self) -> None:
        """Start again from rest."""
        self._correction = self._integral = self.output = 0.0


# Part of the acceleration that the limiter allows: a loop that has lost ticks can catch up before the limiter clamps.
OF_ACCELERATION = 0.5
# States of the source in which the rover's speed is measured: one reading that was rejected leaves the others.
MEASURED = frozenset((SOURCE_STATES.index("used"), SOURCE_STATES.index("rejected")))


class SpeedFollower:
    """Follows `Goal.forward_mps` with the quantity of section `follow`; all values of the loop are at the rim, in m/s.

    - wheel_speed by speed: the drives close the loop. By duty: a loop for each wheel.
    - throttle: no loop; the duty is v_wanted over the speed at the full one.
    - forward_speed: error v_wanted - v, feed-forward v_wanted, as if no wheel slipped.
    - slip: error v / (1 - s) - R omega, feed-forward v_expected / (1 - s), with the wanted slip s. Multiplied by 1 - s
      this is v - (1 - s) R omega, and nothing is divided by a small speed.

    While the instrument's readings are not used, the correction stays as it was.
    """

    def __init__(self, rig: Rig) -> None:
        section = rig.section
        assert isinstance(section, FollowConfig)
        self._section, self._radii_m, self._wheels = section, rig.config.wheel_radii_m, len(rig.layout.wheels)
        least_m = rig.config.least_wheel_radius_m
        instruments = rig.layout.instruments
        self._source = instruments.index(INSTRUMENTS[0]) if INSTRUMENTS[0] in instruments else -1
        self._full_mps, self._full_of = section.full_duty_mps, full_duties_mps(section, self._radii_m)
        self._apart, self._closed = not section.measures_motion, section.closes_loop
        self._kept = 1.0 - section.slip if section.quantity == "slip" else 1.0
        self._most_mps = self._full_mps or SLIP_MARGIN * rig.limits.wheel_speed_radps * least_m
        change = OF_ACCELERATION * rig.limits.wheel_acceleration_radps2 * least_m / rig.rate_hz
        gains = section.loop
        self._loops = tuple(
            OuterLoop(gains.gain, gains.integral_per_s, 1.0 / rig.rate_hz, change)
            for _ in range(self._wheels if self._apart else 1)
        )

    def control(self, goal: Goal, samples: Samples, estimate: Estimate, prediction: Prediction) -> SetPoints:  # noqa: ARG002
        """The set-points of this tick."""
        if goal.cut:
            for loop in self._loops:
                loop.reset()
            return SetPoints(goal.state, True, goal.speed_radps)
        forward_mps = goal.forward_mps / self._kept
        most_mps = self.most_mps(forward_mps)
        if not self._closed:
            return self._set_points(goal, (min(forward_mps, most_mps),) * self._wheels)
        speeds = estimate.wheel_speed_radps
        if self._apart:
            rims = [
                loop.step(forward_mps, forward_mps - radius_m * speed, most_mps)
                for loop, radius_m, speed in zip(self._loops, self._radii_m, speeds, strict=True)
            ]
            return self._set_points(goal, tuple(rims))
        error = math.nan
        observed = prediction.observed
        if observed is not None and observed.source[self._source] in MEASURED:
            if self._section.quantity == "slip":
                each = zip(self._radii_m, speeds, strict=True)
                mean_mps = sum([radius_m * speed for radius_m, speed in each]) / self._wheels
                error = prediction.speed_mps / self._kept - mean_mps
            else:
                error = forward_mps - prediction.speed_mps
        return self._set_points(goal, (self._loops[0].step(forward_mps, error, most_mps),) * self._wheels)

    def most_mps(self, forward_mps: float) -> float:
        """Largest speed of the rims that the loop sets [m/s], by what it would set without slip [m/s]."""
        if self._apart:
            return self._most_mps
        return min(forward_mps * self._kept / (1.0 - self._section.most_slip), self._most_mps)

    def _set_points(self, goal: Goal, rims_mps: tuple[float, ...]) -> SetPoints:
        """Wheel speeds, or duties, of these speeds of the rims."""
        if self._full_mps is None:
            return SetPoints(
                goal.state,
                False,
                tuple([rim / radius_m for rim, radius_m in zip(rims_mps, self._radii_m, strict=True)]),
            )
        each = zip(rims_mps, self._full_of, strict=True)
        duty = tuple([min(max(rim / full_mps, LEAST_DUTY), 1.0) for rim, full_mps in each])
        return SetPoints(goal.state, False, goal.speed_radps, duty=duty)


def full_duties_mps(section: FollowConfig, radii_m: Sequence[float]) -> tuple[float, ...]:
    """Speed of each wheel's rim at full duty [m/s]: equal motors turn a larger wheel's rim faster; none: no duties."""
    full_mps = section.full_duty_mps
    return () if full_mps is None else tuple(full_mps * (radius_m / radii_m[0]) for radius_m in radii_m)


class TorquePid:
    """A PID whose output is a torque; its integral begins with one, and stands still at a limit that it is driven into.

    The derivative part is of the measured speed alone, filtered. While the speed is not known, the output stays as it
    is.
    """

    def __init__(self, gains: TorqueLoop, period_s: float) -> None:
        self._gains, self._period_s = gains, period_s
        self._share = period_s / (gains.filter_s + period_s)
        self.reset()

    def reset(self) -> None:
        """Start again with the first torque."""
        self._integral = self._output = self._gains.begin_Nm
        self._rate, self._last = 0.0, math.nan

    def step(self, wanted_radps: float, measured_radps: float, low_Nm: float, high_Nm: float) -> float:
        """The torque [N m] of this tick.

        Args:
            wanted_radps: speed.
            measured_radps: speed; NaN: not known.
            low_Nm: smallest torque that the motor can give at its speed; with the gains' own limit.
            high_Nm: likewise, the largest.
        """
        gains = self._gains
        low, high = max(low_Nm, -gains.limit_Nm), min(high_Nm, gains.limit_Nm)
        if math.isnan(measured_radps):
            self._last = math.nan
            return min(max(self._output, low), high)
        if not math.isnan(self._last):
            self._rate += self._share * ((measured_radps - self._last) / self._period_s - self._rate)
        self._last = measured_radps
        error = wanted_radps - measured_radps
        wished = gains.gain * error + self._integral - gains.derivative_gain * self._rate
        self._output = min(max(wished, low), high)
        if not (wished > self._output and error > 0.0) and not (wished < self._output and error < 0.0):
            self._integral += gains.integral_gain * error * self._period_s
        return self._output


class FollowingTorque:
    """Follows `Goal.forward_mps` by the motors' torque, with the speed of each wheel or of the rover."""

    def __init__(self, rig: Rig) -> None:
        section = rig.section
        assert isinstance(section, FollowConfig)
        assert section.torque is not None
        # a loop on the rover's speed takes it over the first wheel's radius, which is no more than a unit of its gains
        self._radii_m, self._motor = rig.config.wheel_radii_m, rig.config.drives.axle_motor
        self._apart, instruments = not section.measures_motion, rig.layout.instruments
        self._source = instruments.index(INSTRUMENTS[0]) if INSTRUMENTS[0] in instruments else -1
        count = len(rig.layout.wheels) if self._apart else 1
        self._loops = tuple(TorquePid(section.torque, 1.0 / rig.rate_hz) for _ in range(count))

    def control(self, goal: Goal, samples: Samples, estimate: Estimate, prediction: Prediction) -> SetPoints:  # noqa: ARG002
        """The set-points of this tick."""
        if goal.cut:
            for loop in self._loops:
                loop.reset()
            return SetPoints(goal.state, True, goal.speed_radps)
        speeds, motor = estimate.wheel_speed_radps, self._motor
        if self._apart:
            torques = [
                loop.step(
                    goal.forward_mps / radius_m, speed, torque_at(motor, -1.0, speed), torque_at(motor, 1.0, speed)
                )
                for loop, radius_m, speed in zip(self._loops, self._radii_m, speeds, strict=True)
            ]
        else:
            observed, measured, radius_m = prediction.observed, math.nan, self._radii_m[0]
            if observed is not None and observed.source[self._source] in MEASURED:
                measured = prediction.speed_mps / radius_m
            # what every motor can give
            low, high = torque_at(motor, -1.0, min(speeds)), torque_at(motor, 1.0, max(speeds))
            torques = [self._loops[0].step(goal.forward_mps / radius_m, measured, low, high)] * len(speeds)
        duties = [duty_of(motor, torque, speed) for torque, speed in zip(torques, speeds, strict=True)]
        return SetPoints(goal.state, False, goal.speed_radps, duty=tuple(duties))


def torque_at(motor: MotorConfig, duty: float, speed_radps: float) -> float:
    """Torque [N m] of a motor at a duty and a speed, at the axle."""
    return motor.stall_torque_Nm * (duty - speed_radps / motor.no_load_radps)


def duty_of(motor: MotorConfig, torque_Nm: float, speed_radps: float) -> float:
    """Duty [-1, 1] at which a motor with that speed has a torque; never 0, which is a cut."""
    duty = min(max(torque_Nm / motor.stall_torque_Nm + speed_radps / motor.no_load_radps, -1.0), 1.0)
    return duty if abs(duty) >= LEAST_DUTY else math.copysign(LEAST_DUTY, duty)


def moved_inertia(rig: Rig) -> float:
    """What a motor moves, at the axle [kg m^2]: its wheels; to follow the rover's speed, its share of the rover too."""
    section, rover = rig.section, rig.nominal.make_rover()
    assert isinstance(section, FollowConfig)
    tree, motors = rover.tree, len(rover.chain.motor_wheel)
    wheels = sum(float(tree.body[one.body].inertia_matrix[1, 1]) for one in tree.wheels) / motors
    wheels += rig.nominal.drive.rotor_inertia
    if not section.measures_motion:
        return wheels
    # a torque on each wheel pushes the rover by the sum of it over the radii; its speed is over the first one
    first_m, *_ = radii_m = rig.config.wheel_radii_m
    return wheels + sum(body.mass for body in tree.bodies) * first_m / sum(1.0 / radius_m for radius_m in radii_m)
