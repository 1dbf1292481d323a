"""The impact trial's part of a rig config: how it is driven, and which trials count.

Holding a line: the part of an experiment's section that steers a rover back by the speeds of its wheels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from hil.config.gait_table import fits
from hil.config.problems import Problem
from hil.config.schema.base import Section
from hil.config.schema.experiment_section import SLIP_MARGIN, ExperimentSection, WholeConfig

# Instrument that knows where the rover is, and what of its readings says so.
NEEDED = "motion"
PLACES = ("pose", "position")
# The corner of the loop times its delay, at most [rad]: with it the phase margin is 48 degrees.
_LARGEST_DELAY = 0.35
# The corner is so many times speed over length_m, that of the integral so many times (hil.control.hold_line).
CORNER, INTEGRAL = 8.0, 2.0
# From a set-point to the turning of the rover, and the loop's own ticks [s]: servo of the drives, a tick each way.
DRIVES_S = 0.01


class HoldLineConfig(Section):
    """How a rover is held on a line by its wheel speeds, where the instrument `motion` says where it is."""

    length_m: float = Field(
        0.1, ge=0.02, le=10, description="way on which an offset falls to about a third; shorter: it steers harder"
    )
    share: float = Field(
        0.3, ge=0.01, le=0.9, description="largest difference of a side's rim speed from the mean, as a share of it"
    )
    align_m: float = Field(
        0.2,
        ge=0,
        le=5,
        description="nearer to the obstacle than this it turns to the line's direction, and leaves offsets",
    )
    free_m: float = Field(
        0.02, ge=0, le=1, description="nearer to the obstacle than this it does not steer, so that the hit is straight"
    )

    def problems(self, path: str, speed_mps: float, config: WholeConfig) -> Iterator[Problem]:
        """What speaks against holding a line with this rig.

        Args:
            path: of the section.
            speed_mps: fastest straight drive.
            config: the rest.
        """
        motion = config.motion
        if motion is None or motion.measures not in PLACES:
            found = "no motion" if motion is None else f"motion.measures {motion.measures}"
            allowed = f"null, or an instrument motion that measures {' or '.join(PLACES)}: else no place is known"
            yield Problem(path, found, allowed, ("motion",))
            return
        delay_s = delay_of_loop_s(motion.rate_hz, motion.delay_ms * 1e-3)
        least_m = least_length_m(speed_mps, delay_s)
        if self.length_m < least_m:
            allowed = f"at least {least_m:.3g} at {abs(speed_mps):g} m/s: readings are {1e3 * delay_s:.0f} ms late"
            yield Problem(f"{path}.length_m", f"{self.length_m:g}", allowed, ("motion.rate_hz", "motion.delay_ms"))


def least_length_m(speed_mps: float, delay_s: float) -> float:
    """The shortest length_m [m] with which the loop has its margins, at a speed [m/s] and with a delay [s]."""
    return CORNER * abs(speed_mps) * delay_s / _LARGEST_DELAY


def delay_of_loop_s(rate_hz: float, delay_s: float) -> float:
    """From a motion of the rover to the answer of its wheels [s]: a reading is half a period old on the average."""
    return 0.5 / rate_hz + delay_s + DRIVES_S


class TrialConfig(ExperimentSection):
    """One impact trial: drive straight into the obstacle at constant speed, cut at the impact."""

    between_runs: ClassVar[tuple[str, ...]] = (
        "angle_deg",
        "speed_mps",
        "start_distance_m",
        "destress_m",
        "ramp_s",
        "settle_s",
        "timeout_s",
    )

    obstacle: ClassVar[bool] = True
    impact: ClassVar[bool] = True

    release: Literal["automatic", "operator", "timed"] = Field(
        "automatic",
        description="what cuts the drives: the detector, an operator whose reaction takes a random time after the "
        "impact (simulated rigs), or the end of drive_time_s",
    )
    release_delay_s: float = Field(
        0.25, gt=0, le=10, description="operator: mean time from the impact to the release, lognormal"
    )
    release_spread_s: float = Field(0.05, ge=0, le=10, description="operator: standard deviation of that time")
    drive_time_s: float = Field(5.0, ge=0.1, le=2000, description="timed: from the start of the run-up to the cut")
    destress_m: float = Field(
        0.0, ge=0, le=0.2, description="way back and forth before the run-up, which de-stresses the legs; 0: none"
    )

    posture: Literal["as_started", "least_energy"] = Field(
        "as_started",
        description="of driven legs in the run-up: as at the start; or that of least T_c with a level body, which they "
        "take before",
    )
    angle_deg: float = Field(60.0, ge=10, le=90, description="inclination of the obstacle to the ground")
    speed_mps: float = Field(0.07, ge=0.005, le=2, description="set forward speed at impact")
    start_distance_m: float = Field(
        0.3, ge=0.01, le=5, description="distance from the front wheels to the obstacle at the start"
    )
    ramp_s: float = Field(0.5, ge=0.05, le=10, description="time from rest to the set speed")
    settle_s: float = Field(2.0, ge=0.5, le=20, description="length of the trial after the impact, drives cut")
    timeout_s: float = Field(30.0, ge=1, le=2000, description="the trial is aborted if there is no impact by then")
    hold_line: HoldLineConfig | None = Field(
        None, description="the run-up is held on the rig's x axis, by the measured place; null: all wheels turn alike"
    )

    def needs_instruments(self, rig: str) -> tuple[str, ...]:  # noqa: ARG002
        """What says where the rover is, if it is held on a line."""
        return () if self.hold_line is None else (NEEDED,)

    def problems(self, config: WholeConfig) -> list[Problem]:
        """Start, ramp and times against distance, speed and the limits; a release and instruments that the rig has."""
        line = self.hold_line
        held = () if line is None else line.problems("trial.hold_line", self.speed_mps, config)
        return [*_trial_problems(self, config), *held, *self._posture_problems(config)]

    def _posture_problems(self, config: WholeConfig) -> list[Problem]:
        if self.posture == "as_started" or any(fits("walking", name) for name in config.layout.servos):
            return []
        allowed = "with servos on walking joints (servos.joints), or as_started"
        return [Problem("trial.posture", self.posture, allowed, ("servos", "rover"))]


class QualityConfig(Section):
    """Limits of the rules that decide which trials are accepted."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    contact_s: float = Field(0.6, ge=0.01, le=20, description="longest contact that still counts as an impact")
    first_hit_share: float = Field(
        0.03, ge=0, le=0.3, description="least share of the first hit on each sensor of the triangle; less: outside"
    )
    snap_back_share: float = Field(
        0.2,
        ge=0,
        le=10,
        description="deepest pull on the sensors after the contact, or push within the shield's period after it, as a "
        "share of the peak",
    )
    double_hit_share: float = Field(
        0.5,
        ge=0,
        le=10,
        description="largest push on the sensors after the contact, less that of snap_back_share, as a share of the "
        "peak",
    )
    speed_share: float = Field(
        0.15, ge=0, le=10, description="largest deviation of the measured impact speed from trial.speed_mps, relative"
    )
    cut_ms: float = Field(
        50.0, ge=0, le=10000, description="longest time from the impact to the sent cut, with the automatic release"
    )
    droop_share: float = Field(
        0.03,
        ge=0,
        le=10,
        description="largest force that the channels have after the contact, over what a wheel may lean with, as a "
        "share of the peak",
    )
    sensor_share: float = Field(
        0.01, ge=0, le=0.3, description="least peak of each sensor, as a share of the peak of the sum; less: dead"
    )
    veer_m: float = Field(
        0.02,
        ge=0,
        le=1,
        description="largest distance of the hit from the wheel's line, measured by instruments of motion; without "
        "them of the first hit across the plate, or of one bumper ahead of the other",
    )
    approach_deg: float = Field(
        0.2,
        ge=0,
        le=90,
        description="largest angle of the measured heading to the obstacle's normal, seen from above",
    )


def _trial_problems(trial: TrialConfig, config: WholeConfig) -> list[Problem]:
    limits, radius = config.limits, config.least_wheel_radius_m
    needed_s = trial.start_distance_m / trial.speed_mps + 0.5 * trial.ramp_s
    ramp_m = 0.5 * trial.speed_mps * trial.ramp_s
    wheel_speed = trial.speed_mps / radius
    problems = []
    if config.daq is None:
        problems.append(Problem("daq", "null", "a section: force sensors detect the impact", ("experiment",)))
    problems += _release_problems(trial, config)
    if trial.timeout_s <= needed_s:
        problems.append(
            Problem(
                "trial.timeout_s",
                f"{trial.timeout_s:g}",
                f"above {needed_s:.4g}, the time trial.start_distance_m takes at trial.speed_mps",
                ("trial.start_distance_m", "trial.speed_mps", "trial.ramp_s"),
            )
        )
    if ramp_m >= trial.start_distance_m:
        problems.append(
            Problem(
                "trial.ramp_s",
                f"{trial.ramp_s:g}",
                f"below {2 * trial.start_distance_m / trial.speed_mps:.4g}, or the rover hits before its full speed",
                ("trial.start_distance_m", "trial.speed_mps"),
            )
        )
    if wheel_speed > SLIP_MARGIN * limits.wheel_speed_radps:
        problems.append(
            Problem(
                "trial.speed_mps",
                f"{trial.speed_mps:g}",
                f"at most {SLIP_MARGIN * limits.wheel_speed_radps * radius:.4g}, {SLIP_MARGIN:g} of "
                f"limits.wheel_speed_radps times {radius:g} m, because wheels turn faster than they roll",
                ("limits.wheel_speed_radps",),
            )
        )
    shortest_s = wheel_speed / (SLIP_MARGIN * limits.wheel_acceleration_radps2)
    if trial.ramp_s < shortest_s:
        problems.append(
            Problem(
                "trial.ramp_s",
                f"{trial.ramp_s:g}",
                f"at least {shortest_s:.4g}, by {SLIP_MARGIN:g} of limits.wheel_acceleration_radps2",
                ("trial.speed_mps", "limits.wheel_acceleration_radps2"),
            )
        )
    if trial.settle_s < config.record.after_s:
        problems.append(
            Problem(
                "trial.settle_s",
                f"{trial.settle_s:g}",
                f"at least {config.record.after_s:g}, record.after_s",
                ("record.after_s",),
            )
        )
    return problems


def _release_problems(trial: TrialConfig, config: WholeConfig) -> list[Problem]:
    problems = []
    if trial.release == "operator" and config.rig == "real":
        allowed = "automatic or timed with rig: real; a reaction time is drawn only for a simulated rig"
        problems.append(Problem("trial.release", "operator", allowed, ("rig",)))
    if trial.release == "timed" and trial.drive_time_s <= trial.ramp_s:
        allowed = f"above {trial.ramp_s:g}, trial.ramp_s, with trial.release timed"
        problems.append(
            Problem("trial.drive_time_s", f"{trial.drive_time_s:g}", allowed, ("trial.ramp_s", "trial.release"))
        )
    if trial.destress_m > 0.0:
        # amplitude of the speed's sine over its period (hil.experiments.impact.experiment.destress_s)
        fastest = 0.5 * (0.5 * math.pi * trial.speed_mps) ** 2 / (trial.destress_m * config.least_wheel_radius_m)
        if fastest > config.limits.wheel_acceleration_radps2:
            least_m = trial.destress_m * fastest / config.limits.wheel_acceleration_radps2
            depends_on = ("trial.speed_mps", "limits.wheel_acceleration_radps2")
            problems.append(
                Problem(
                    "trial.destress_m",
                    f"{trial.destress_m:g}",
                    f"0, or at least {least_m:.3g} by limits.wheel_acceleration_radps2",
                    depends_on,
                )
            )
    return problems
