"""The sections of the impact trial, and of a line that a rover is held on by the speeds of its wheels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar, Literal

from hil.config.problems import Problem
from hil.config.schema.base import Section, bounded, key, positive
from hil.config.schema.experiment_section import SLIP_MARGIN, ExperimentSection, WholeConfig
from hil.config.schema.walk import fits

# Instrument that knows where the rover is, and what of its readings says so.
NEEDED = "motion"
PLACES = ("pose", "position")
# The corner of the loop times its delay, at most [rad]: with it the phase margin is 48 degrees.
_LARGEST_DELAY = 0.35
# The corner is so many times speed over length_m, that of the integral so many times (hil.control.wheel_speed).
CORNER, INTEGRAL = 8.0, 2.0
# From a set-point to the turning of the rover, and the loop's own ticks [s]: servo of the drives, a tick each way.
DRIVES_S = 0.01


class HoldLineConfig(Section):
    """How a rover is held on a line by its wheel speeds, where the instrument `motion` says where it is."""

    length_m: float = bounded(0.1, 0.02, 10, "way on which an offset falls to about a third; shorter: it steers harder")
    share: float = bounded(0.3, 0.01, 0.9, "largest difference of a side's rim speed from the mean, as a share of it")
    align_m: float = bounded(
        0.2, 0, 5, "nearer to the obstacle than this it turns to the line's direction, and leaves offsets"
    )
    free_m: float = bounded(
        0.02, 0, 1, "nearer to the obstacle than this it does not steer, so that the hit is straight"
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

    release: Literal["automatic", "operator", "timed"] = key(
        "automatic",
        "what cuts the drives: the detector, an operator whose reaction takes a random time after the "
        "impact (simulated rigs), or the end of drive_time_s",
    )
    release_delay_s: float = positive(0.25, 10, "operator: mean time from the impact to the release, lognormal")
    release_spread_s: float = bounded(0.05, 0, 10, "operator: standard deviation of that time")
    drive_time_s: float = bounded(5.0, 0.1, 2000, "timed: from the start of the run-up to the cut")
    destress_m: float = bounded(
        0.0, 0, 0.2, "way back and forth before the run-up, which de-stresses the legs; 0: none"
    )

    posture: Literal["as_started", "least_energy"] = key(
        "as_started",
        "of driven legs in the run-up: as at the start; or that of least T_c with a level body, which they take before",
    )
    angle_deg: float = bounded(60.0, 10, 90, "inclination of the obstacle to the ground")
    speed_mps: float = bounded(0.07, 0.005, 2, "set forward speed at impact")
    start_distance_m: float = bounded(0.3, 0.01, 5, "distance from the front wheels to the obstacle at the start")
    ramp_s: float = bounded(0.5, 0.05, 10, "time from rest to the set speed")
    settle_s: float = bounded(2.0, 0.5, 20, "length of the trial after the impact, drives cut")
    timeout_s: float = bounded(30.0, 1, 2000, "the trial is aborted if there is no impact by then")
    hold_line: HoldLineConfig | None = key(
        None, "the run-up is held on the rig's x axis, by the measured place; null: all wheels turn alike"
    )

    def needs_instruments(self, rig: str) -> tuple[str, ...]:  # noqa: ARG002
        """What says where the rover is, if it is held on a line."""
        return () if self.hold_line is None else (NEEDED,)

    def problems(self, config: WholeConfig) -> Iterator[Problem]:
        """Start, ramp and times against distance, speed and the limits; a release and instruments that the rig has."""
        yield from _trial_problems(self, config)
        if self.hold_line is not None:
            yield from self.hold_line.problems("trial.hold_line", self.speed_mps, config)
        if self.posture != "as_started" and not any(fits("walking", name) for name in config.layout.servos):
            allowed = "with servos on walking joints (servos.joints), or as_started"
            yield Problem("trial.posture", self.posture, allowed, ("servos", "rover"))


class QualityConfig(Section):
    """Limits of the rules that decide which trials are accepted."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    contact_s: float = bounded(0.6, 0.01, 20, "longest contact that still counts as an impact")
    first_hit_share: float = bounded(
        0.03, 0, 0.3, "least share of the first hit on each sensor of the triangle; less: outside"
    )
    snap_back_share: float = bounded(
        0.2,
        0,
        10,
        "deepest pull on the sensors after the contact, or push within the shield's period after it, as a "
        "share of the peak",
    )
    double_hit_share: float = bounded(
        0.5,
        0,
        10,
        "largest push on the sensors after the contact, less that of snap_back_share, as a share of the peak",
    )
    speed_share: float = bounded(
        0.15, 0, 10, "largest deviation of the measured impact speed from trial.speed_mps, relative"
    )
    cut_ms: float = bounded(50.0, 0, 10000, "longest time from the impact to the sent cut, with the automatic release")
    droop_share: float = bounded(
        0.03,
        0,
        10,
        "largest force that the channels have after the contact, over what a wheel may lean with, as a "
        "share of the peak",
    )
    sensor_share: float = bounded(
        0.01, 0, 0.3, "least peak of each sensor, as a share of the peak of the sum; less: dead"
    )
    veer_m: float = bounded(
        0.02,
        0,
        1,
        "largest distance of the hit from the wheel's line, measured by instruments of motion; without "
        "them of the first hit across the plate, or of one bumper ahead of the other",
    )
    approach_deg: float = bounded(
        0.2, 0, 90, "largest angle of the measured heading to the obstacle's normal, seen from above"
    )


def _trial_problems(trial: TrialConfig, config: WholeConfig) -> Iterator[Problem]:
    limits, radius = config.limits, config.least_wheel_radius_m
    needed_s = trial.start_distance_m / trial.speed_mps + 0.5 * trial.ramp_s
    longest_s, wheel_speed = 2 * trial.start_distance_m / trial.speed_mps, trial.speed_mps / radius
    if config.daq is None:
        yield Problem("daq", "null", "a section: force sensors detect the impact", ("experiment",))
    yield from _release_problems(trial, config)
    if trial.timeout_s <= needed_s:
        allowed = f"above {needed_s:.4g}, the time trial.start_distance_m takes at trial.speed_mps"
        depends_on: tuple[str, ...] = ("trial.start_distance_m", "trial.speed_mps", "trial.ramp_s")
        yield Problem("trial.timeout_s", f"{trial.timeout_s:g}", allowed, depends_on)
    if 0.5 * trial.speed_mps * trial.ramp_s >= trial.start_distance_m:
        allowed = f"below {longest_s:.4g}, or the rover hits before its full speed"
        yield Problem("trial.ramp_s", f"{trial.ramp_s:g}", allowed, ("trial.start_distance_m", "trial.speed_mps"))
    if wheel_speed > SLIP_MARGIN * limits.wheel_speed_radps:
        most = f"at most {SLIP_MARGIN * limits.wheel_speed_radps * radius:.4g}, {SLIP_MARGIN:g} of"
        allowed = f"{most} limits.wheel_speed_radps times {radius:g} m, because wheels turn faster than they roll"
        yield Problem("trial.speed_mps", f"{trial.speed_mps:g}", allowed, ("limits.wheel_speed_radps",))
    shortest_s = wheel_speed / (SLIP_MARGIN * limits.wheel_acceleration_radps2)
    if trial.ramp_s < shortest_s:
        allowed = f"at least {shortest_s:.4g}, by {SLIP_MARGIN:g} of limits.wheel_acceleration_radps2"
        depends_on = ("trial.speed_mps", "limits.wheel_acceleration_radps2")
        yield Problem("trial.ramp_s", f"{trial.ramp_s:g}", allowed, depends_on)
    if trial.settle_s < config.record.after_s:
        allowed = f"at least {config.record.after_s:g}, record.after_s"
        yield Problem("trial.settle_s", f"{trial.settle_s:g}", allowed, ("record.after_s",))


def _release_problems(trial: TrialConfig, config: WholeConfig) -> Iterator[Problem]:
    if trial.release == "operator" and config.rig == "real":
        allowed = "automatic or timed with rig: real; a reaction time is drawn only for a simulated rig"
        yield Problem("trial.release", "operator", allowed, ("rig",))
    if trial.release == "timed" and trial.drive_time_s <= trial.ramp_s:
        allowed = f"above {trial.ramp_s:g}, trial.ramp_s, with trial.release timed"
        yield Problem("trial.drive_time_s", f"{trial.drive_time_s:g}", allowed, ("trial.ramp_s", "trial.release"))
    if trial.destress_m > 0.0:
        # amplitude of the speed's sine over its period (hil.experiments.impact.experiment.destress_s)
        fastest = 0.5 * (0.5 * math.pi * trial.speed_mps) ** 2 / (trial.destress_m * config.least_wheel_radius_m)
        if fastest > config.limits.wheel_acceleration_radps2:
            least_m = trial.destress_m * fastest / config.limits.wheel_acceleration_radps2
            allowed = f"0, or at least {least_m:.3g} by limits.wheel_acceleration_radps2"
            depends_on = ("trial.speed_mps", "limits.wheel_acceleration_radps2")
            yield Problem("trial.destress_m", f"{trial.destress_m:g}", allowed, depends_on)
