"""Wheel speeds, or duties, by which a measured speed or slip follows what is wanted: one outer loop, or one a wheel."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hil.config.rig import Rig
from hil.config.schema.experiment_section import SLIP_MARGIN
from hil.config.schema.follow import LEAST_DUTY, FollowConfig
from hil.control.outer_loop import OuterLoop
from hil.messages.layout import INSTRUMENTS
from hil.messages.stages import SOURCE_STATES, Estimate, Goal, Prediction, Samples, SetPoints

# Part of the acceleration that the limiter allows: a loop that has lost ticks can catch up before the limiter clamps.
OF_ACCELERATION = 0.5
# States of the source in which the rover's speed is measured: one reading that was rejected leaves the others.
MEASURED = frozenset((SOURCE_STATES.index("used"), SOURCE_STATES.index("rejected")))


class Following:
    """Follows `Goal.forward_mps` with the quantity of section `follow`; all values of the loop are at the rim, in m/s.

    - wheel_speed by speed: the drives close the loop. By duty: a loop for each wheel.
    - throttle: no loop; the duty is v_wanted over the speed at the full one.
    - forward_speed: error v_wanted - v, feed-forward v_wanted, as if no wheel slipped.
    - slip: error v / (1 - s) - R omega, feed-forward v_expected / (1 - s), with the wanted slip s. Multiplied by 1 - s
      this is v - (1 - s) R omega, and nothing is divided by a small speed.

    While the instrument's readings are not used, the correction stays as it was.

    Args:
        rig: with section `follow`.
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
