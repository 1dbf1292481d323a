"""Follows the profile of the config; the outer loop is `hil.control.following`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from hil.config import Config
from hil.config.rig import Rig
from hil.config.schema.follow import FollowConfig
from hil.control.following import FollowingTorque, SpeedFollower, moved_inertia
from hil.control.loop_margins import Margins, TorqueLine, loop_margins, torque_margins
from hil.control.wheel_speed import Controller
from hil.experiments.base import ArmingChecks, Experiment, FinishedRun, Summary
from hil.experiments.follow.judgement import RESULTS, Judgement
from hil.experiments.source_check import rest_ns
from hil.experiments.summary import finite
from hil.messages.check import Check
from hil.messages.stages import Estimate, Goal, Prediction, Samples
from hil.recording.content import in_blocks

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
        judgement, section = Judgement(run.config, run.source.drift), run.config.follow
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
