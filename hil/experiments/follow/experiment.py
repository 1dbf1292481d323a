"""Experiment `follow`: a measured speed, slip or torque follows what is wanted; how the run is judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.config import Config
from hil.config.rig import Rig
from hil.config.schema.equipment import DrivesConfig
from hil.config.schema.experiments import FollowConfig
from hil.control.following import (
    FollowingTorque,
    Margins,
    SpeedFollower,
    TorqueLine,
    full_duties_mps,
    loop_margins,
    moved_inertia,
    torque_margins,
)
from hil.control.wheel_speed import Controller
from hil.experiments.base import ArmingChecks, Experiment, FinishedRun, Summary
from hil.experiments.source_check import Drift, rest_ns
from hil.experiments.summary import MeasuredWindow, finite, measurement_reasons
from hil.experiments.summary_table import SummaryKey
from hil.messages.fault import Check
from hil.messages.stages import Estimate, Goal, Prediction, Samples
from hil.recording.content import in_blocks
from models.plant.motion_history import TIME, X, Y, Z

# A set speed within this share of a limit is at it.
_AT_LIMIT = 1e-6

# In the order of the terminal; errors, means and shares are those of the window.
RESULTS = (
    SummaryKey("quantity", "what is followed (`follow.quantity`)", "followed"),
    SummaryKey("slip_wanted", "the slip that is held, or null"),
    SummaryKey("window_s", "begin and end, from the begin of the profile", "window", 1, "s"),
    SummaryKey("error_rms_mps", "root mean square and largest error: wanted less mean speed of the rims, or less "
        "observed speed of the rover; of a held slip, speed of the rover less that of the rims times 1 - slip; of a "
        "throttle null", "error, root mean square", 4, "m/s", main="error"),
    SummaryKey("error_largest_mps", "", "error, largest", 4, "m/s"),
    SummaryKey("speed_mps, speed_u95_mps", "of the rover, and half-width of its 95 % interval; null without `motion`",
        "speed, measured", 4, "m/s", main="speed"),
    SummaryKey("slip, slip_u95", "likewise", "slip, measured", 3, main="slip"),
    SummaryKey("pull_N, pull_u95_N", "likewise; only with a load cell", "drawbar pull", 1, "N"),
    SummaryKey("measured, unmeasured_share", "readings of `motion` were used throughout; share in which they were not"),
    SummaryKey("wheel_speed_radps", "mean of the wheels, measured"),
    SummaryKey("true_speed_mps", "of the simulated rig, the slip with the measured speed of the rims; null on a real "
        "one", "speed of the simulated rig", 4, "m/s"),
    SummaryKey("true_slip", "", "slip of the simulated rig", 3),
    SummaryKey("torque_Nm", "mean torque of the motors at the axle, of their duty and speed; null where they are "
        "driven by speed", "torque of a motor, mean", 1, "N m"),
    SummaryKey("saturated_share", "share of the ticks in which the set speed of a wheel, or the torque of a motor, is "
        "at a limit", "at a limit", 1, "%", 100.0),
    SummaryKey("phase_margin_deg", "of the outer loop, with `delay_ms`; null where there is none", "phase margin", 0,
        "degrees"),
    SummaryKey("gain_margin", ""),
    SummaryKey("delay_ms", "median delay of a reading until it was there; null without `motion`", "delay", 1, "ms"),
)  # fmt: skip


class _Judgement:
    """Takes the rows of the followed profile, in order, block by block."""

    def __init__(self, config: Config, drift: Drift | None = None) -> None:
        self._config, self._section = config, config.follow
        self._times, self._speeds = np.array(config.follow.profile).T
        self._kept = 1.0 - config.follow.slip if config.follow.quantity == "slip" else 1.0
        self._following = SpeedFollower(Rig(config))
        self._motion = MeasuredWindow(config, drift) if config.motion else None
        self._began_ns = self._ended_ns = -1
        self._sum = self._largest = self._rims = self._turned = self._torque_Nm = 0.0
        self._count = self._at_limit = 0
        self._delays: list[NDArray[np.int64]] = []
        self._window_ns = (0, 0)

    def add(self, ticks: NDArray[np.void]) -> None:
        """Take in rows."""
        if not len(ticks):
            return
        section = self._section
        if self._began_ns < 0:
            self._began_ns = int(ticks["t_ns"][0])
            from_ns = self._began_ns + round(section.window_from_s * 1e9)
            self._window_ns = from_ns, from_ns + round(section.window_s * 1e9)
        inside = (ticks["t_ns"] >= self._window_ns[0]) & (ticks["t_ns"] < self._window_ns[1])
        rows = ticks[inside]
        if not len(rows):
            return
        forward = np.interp((rows["t_ns"] - self._began_ns) * 1e-9, self._times, self._speeds)
        error = self._errors(rows, forward)
        self._sum += float(error @ error)
        self._largest = max(self._largest, float(np.abs(error).max()))
        self._count += len(rows)
        self._rims += float((rows["wheel_speed_radps"] * self._config.wheel_radii_m).mean(axis=1).sum())
        self._turned += float(rows["wheel_speed_radps"].mean(axis=1).sum())
        self._at_limit += int(self._limited(rows, forward).sum())
        if self._section.by_duty:
            self._torque_Nm += float(motor_torques_Nm(self._config.drives, rows).mean(axis=1).sum())
        if self._motion is not None:
            self._motion.add(rows)
            known = rows["motion_t_ns"] >= 0
            self._delays.append((rows["motion_arrived_ns"] - rows["motion_t_ns"])[known])

    def _errors(self, rows: NDArray[np.void], forward: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of each row [m/s]: of the rims' mean, of the rover, or of the rims against the speed of the wanted slip."""
        rims = (rows["wheel_speed_radps"] * self._config.wheel_radii_m).mean(axis=1)
        if self._section.quantity == "wheel_speed":
            error = forward - rims
        elif self._section.quantity == "slip":
            error = rows["speed_mps"] - self._kept * rims
        else:
            error = forward - rows["speed_mps"]
        result: NDArray[np.float64] = error
        return result

    def _limited(self, rows: NDArray[np.void], forward: NDArray[np.float64]) -> Any:
        """Rows in which a set speed of the rims, or a torque, is at a limit."""
        if self._section.torque is not None:
            torques, most_Nm = np.abs(motor_torques_Nm(self._config.drives, rows)), self._section.torque.limit_Nm
            return np.any((torques >= (1.0 - _AT_LIMIT) * most_Nm) | (np.abs(rows["duty"]) >= 1.0), axis=1)
        if self._section.full_duty_mps is None:
            rims = rows["set_speed_radps"] * self._config.wheel_radii_m
        else:
            rims = rows["duty"] * full_duties_mps(self._section, self._config.wheel_radii_m)
        most = np.array([self._following.most_mps(one / self._kept) for one in forward])
        above = rims >= ((1.0 - _AT_LIMIT) * most)[:, None]
        below = (rims <= _AT_LIMIT * most[:, None]) & (forward > 0.0)[:, None]
        return np.any(above | below, axis=1)

    @property
    def delay_s(self) -> float | None:
        """Median delay of a reading until it was there [s]; None: there was none."""
        delays = np.concatenate(self._delays) if self._delays else np.zeros(0)
        return float(np.median(delays)) * 1e-9 if delays.size else None

    def summary(self, motion: NDArray[np.float64] | None) -> Summary:
        """Keys as docs/reference/summary.md lists them."""
        section, count = self._section, self._count
        found: Summary = {"measured": False, "slip": None, "slip_u95": None, "speed_mps": None, "speed_u95_mps": None}
        if self._motion is not None:
            found = self._motion.summary()
        known = count > 0 and math.isfinite(self._sum) and section.quantity != "throttle"
        speed, rims = math.nan, self._rims / count if count else math.nan
        if motion is not None and count and len(motion):  # a row each 100 ms: the way between is straight enough
            ends = np.array(
                [np.interp(np.array(self._window_ns) * 1e-9, motion[:, TIME], motion[:, i]) for i in (X, Y, Z)]
            )
            speed = float(np.linalg.norm(ends[:, 1] - ends[:, 0])) / section.window_s
        return {
            "quantity": section.quantity,
            "slip_wanted": section.slip if section.quantity == "slip" else None,
            "window_s": [section.window_from_s, section.window_from_s + section.window_s],
            "error_rms_mps": math.sqrt(self._sum / count) if known else None,
            "error_largest_mps": finite(self._largest) if known else None,
            "wheel_speed_radps": finite(self._turned / count) if count else None,
            **found,
            "torque_Nm": finite(self._torque_Nm / count) if count and section.by_duty else None,
            "saturated_share": self._at_limit / count if count else None,
            "true_speed_mps": finite(speed),
            "true_slip": finite(1.0 - speed / rims) if rims > 0.0 else None,
        }

    def reasons(self, found: Summary) -> list[str]:
        """Why a run that went through would not be accepted."""
        section, reasons = self._section, list[str]()
        reasons += measurement_reasons(found) if section.measures_motion else []
        error, saturated = found["error_rms_mps"], found["saturated_share"]
        if section.quantity not in ("slip", "throttle") and (error is None or error > section.error_limit_mps):
            shown = "not known" if error is None else f"{error:.4f} m/s"
            reasons.append(f"error is {shown}, root mean square; allowed: {section.error_limit_mps:g} m/s")
        if saturated is not None and saturated > section.most_saturated:
            reasons.append(
                f"the wheels were at a limit in {saturated:.0%} of the window; allowed: {section.most_saturated:.0%}"
            )
        if section.quantity == "slip":
            slip = found["slip"]
            low, high = section.slip - section.slip_tolerance, section.slip + section.slip_tolerance
            if slip is None or not low <= slip <= high:
                shown = "not known" if slip is None else f"{slip:.3f}"
                reasons.append(f"slip is {shown}, allowed: {low:.3g} to {high:.3g}")
        return reasons


def motor_torques_Nm(drives: DrivesConfig, rows: NDArray[np.void]) -> NDArray[np.float64]:
    """(rows, wheels) torque of each wheel's motor at the axle, of its duty and measured speed; NaN where it is cut."""
    motor = drives.axle_motor
    duty = np.where(rows["duty"] == 0.0, np.nan, rows["duty"])
    found: NDArray[np.float64] = motor.stall_torque_Nm * (duty - rows["wheel_speed_radps"] / motor.no_load_radps)
    return found


# Least margins with which a rig is armed.
LEAST_PHASE_DEG, LEAST_GAIN = 45.0, 2.0


# State of a followed profile; numbers as for the states of an impact trial where they are alike.
_FollowState = IntEnum("_FollowState", {"IDLE": 0, "ARMED": 1, "FOLLOW": 2, "STOPPING": 4, "DONE": 5, "ABORTED": 6})
IDLE, ARMED, FOLLOW, STOPPING, DONE, ABORTED = _FollowState  # faster in a tick, see hil.experiments.base


class FollowExperiment(Experiment):
    """Idle until armed, then the profile to its end, and a cut."""

    name = "follow"
    section = FollowConfig
    states = _FollowState
    figure = "follow.png"
    plotter = "hil.experiments.follow.figure:plot_follow"
    results = RESULTS

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(rig, checks, attended=attended)
        self._profile = rig.config.follow.profile
        self._zeros, self._next = rig.layout.zero_speeds, 1
        self._pass_through({FOLLOW: round(self._profile[-1][0] * 1e9), STOPPING: rest_ns(rig.config.motion)})

    def headline(self) -> str:
        """What is followed."""
        section = self.config.follow
        what = section.quantity.replace("_", " ")
        wanted = f"slip {section.slip:g} held" if what == "slip" else f"{what} followed"
        if what == "throttle":
            wanted = "a throttle"
        elif section.torque is not None:
            wanted += " by torque"
        return f"{wanted}, up to {section.most_mps:g} m/s, for {section.profile[-1][0]:g} s"

    @classmethod
    def label(cls, config: Config) -> str:
        """What is followed."""
        return f"follow_{config.follow.quantity}"

    def controller(self) -> Controller:
        """The outer loop."""
        return SpeedFollower(self.rig) if self.config.follow.torque is None else FollowingTorque(self.rig)

    def drive_speeds_mps(self) -> Sequence[float]:
        """The fastest of the profile."""
        return (self.config.follow.most_mps,) if self.config.follow.most_mps > 0.0 else ()

    def own_checks(self) -> Sequence[Check]:
        """Margins of the outer loop, with the delays of the config."""
        if not self.config.follow.closes_loop:
            return ()
        margins = margins_at(self.rig, delay_s(self.config))
        found = f"phase {margins.phase_deg:.0f} degrees, gain {margins.gain:.2g}"
        ok = margins.phase_deg >= LEAST_PHASE_DEG and margins.gain >= LEAST_GAIN
        allowed = f"at least {LEAST_PHASE_DEG:g} degrees and {LEAST_GAIN:g}"
        by_torque = self.config.follow.torque is not None
        to_do = f"lower {'the gains of follow.torque' if by_torque else 'follow.loop.integral_per_s or gain'}"
        return (Check("margins of the outer loop", ok, found, allowed, to_do),)

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """The goal of this tick."""
        self._advance(samples, estimate, safe)
        if self.state != FOLLOW:
            return Goal(self.state, True, speed_radps=self._zeros)
        forward_mps = self._wanted_mps((samples.t_ns - self._since_ns) * 1e-9)
        return Goal(self.state, False, forward_mps=forward_mps, speed_radps=self._zeros)

    def _wanted_mps(self, t_s: float) -> float:
        """Of the profile at a time that does not go back [s]."""
        profile, last = self._profile, len(self._profile) - 1
        while self._next < last and profile[self._next][0] <= t_s:
            self._next += 1
        (t0, v0), (t1, v1) = profile[self._next - 1], profile[self._next]
        return v0 + (v1 - v0) * min(max((t_s - t0) / (t1 - t0), 0.0), 1.0)

    def summarise(self, run: FinishedRun) -> Summary:
        """Keys as docs/reference/summary.md lists them."""
        judgement, section = _Judgement(run.config, run.source.drift), run.config.follow
        for rows in in_blocks(run.ticks):
            judgement.add(rows[rows["state"] == FOLLOW])
        found = judgement.summary(run.ground_truth.motion)
        delay = judgement.delay_s
        margins = margins_at(self.rig, delay_s(run.config, delay)) if section.closes_loop else None
        return {
            **found,
            "delay_ms": None if delay is None else delay * 1e3,
            "phase_margin_deg": margins and margins.phase_deg,
            "gain_margin": margins and finite(margins.gain),
            **self.verdict(run, judgement.reasons(found)),
        }


def delay_s(config: Config, reading_s: float | None = None) -> float:
    """Delay around the loop [s]: of a reading, the time until the next one, the drives', and a tick."""
    motion, links = config.motion, config.links
    around = links.drives_delay_ms * 1e-3 + 1.0 / config.loop.rate_hz
    if motion is None or not config.follow.measures_motion:
        return around
    return around + (motion.delay_ms * 1e-3 if reading_s is None else reading_s) + 1.0 / motion.rate_hz


def margins_at(rig: Rig, delay: float) -> Margins:
    """Margins of the loop of a rig with a delay [s], on ground where they are smallest.

    That is ground without slip; of the wheels' speed by torque, wheels that nothing brakes.
    """
    section = rig.config.follow
    loop = section.loop
    if section.torque is not None:
        gains, motor = section.torque, rig.config.drives.axle_motor
        line = TorqueLine(
            inertia=moved_inertia(rig),
            slope=motor.stall_torque_Nm / motor.no_load_radps,
            speed_delay_s=rig.config.links.drives_delay_ms * 1e-3 + 1.0 / rig.rate_hz,
            lag_s=loop.lag_s if section.measures_motion else 0.0,
            delay_s=delay,
        )
        return torque_margins(gains.gain, gains.integral_gain, gains.derivative_gain, gains.filter_s, line)
    return loop_margins(loop.gain, loop.integral_per_s, loop.lag_s, delay)
