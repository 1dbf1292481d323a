"""Approach, latch, rigid hold, control after it: the phases of Cyril, Jaar and Misra 1993, sections 1 and 5."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import ClassVar

from hil.config.rig import Rig
from hil.config.schema.capture import CaptureConfig
from hil.config.schema.experiment_section import ExperimentSection
from hil.experiments.base import ArmingChecks, Experiment, FinishedRun, Summary
from hil.experiments.capture.judgement import (
    APPROACH,
    ARMED,
    CONTROL,
    DONE,
    HOLD,
    LATCH,
    MOVING,
    RESULTS,
    SETTLE,
    CaptureState,
    judged,
)  # fmt: skip
from hil.experiments.claim import Claim
from hil.experiments.summary_table import quantity
from hil.messages.stages import ByServo, Estimate, Goal, Prediction, Samples
from models.rover.space_arm import GRAPPLE, PAYLOAD

# Part of a servo's largest rate and acceleration at which its set angle moves: the limiter has nothing to clamp.
OF_RATE = 0.9
# The grapple is commanded so far beyond the way at which it acts [m]: its drive need not get there exactly.
BEYOND_M = 0.003


class CaptureExperiment(Experiment):
    """Idle until armed; approach until the payload is in the seat; latch; hold it rigidly; bring the arm to rest.

    Where the payload is says the twin, and where the grapple is its measured way. In latch and hold the joints give
    way: each is commanded to where it is, so that its servo brakes it and does not push it back. Then they return to
    their start angles.
    """

    name = "capture"
    section: ClassVar[type[ExperimentSection]] = CaptureConfig
    states = CaptureState
    figure = "capture.png"
    plotter = "hil.experiments.capture.figure:plot_capture"
    results = RESULTS

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(rig, checks, attended=attended)
        section, joints, rate_hz = self.config.capture, self.config.driven_joints, self.config.loop.rate_hz
        each_s = section.timeout_s, section.latch_s, section.hold_s, section.control_s, section.settle_s
        timeout_ns, latch_ns, hold_ns, control_ns, self._settle_ns = (round(1e9 * one) for one in each_s)
        self._timeout_ns, self._hold_ns = timeout_ns, hold_ns
        self._lasts_ns: dict[IntEnum, int] = {LATCH: latch_ns, CONTROL: control_ns}
        self._start: ByServo = tuple(joint.start_rad for joint in joints)
        self._grapple = [joint.name for joint in joints].index(GRAPPLE)
        highest = joints[self._grapple].high_rad
        self._hold_way = 1e-3 * section.hold_mm
        self._ways: dict[IntEnum, float] = {
            LATCH: min(1e-3 * section.latch_mm + BEYOND_M, 0.5e-3 * (section.latch_mm + section.hold_mm)),
            HOLD: min(self._hold_way + BEYOND_M, highest),
        }
        self._ranges = tuple((joint.low_rad, joint.high_rad) for joint in joints)
        self._steps = tuple(OF_RATE * joint.rate_radps / rate_hz for joint in joints)
        slow = math.radians(section.control_degps) / rate_hz
        slowly = tuple(min(slow, step) for step in self._steps)
        self._slowly = (*slowly[: self._grapple], self._steps[self._grapple], *slowly[self._grapple + 1 :])
        self._set, self._way, self._held_ns = self._start, self._start[self._grapple], -1

    def headline(self) -> str:
        """Payload and speed."""
        payload_kg = self.rig.nominal.make_rover().tree.body[PAYLOAD].mass
        return f"a payload of {payload_kg:g} kg comes with {self.config.capture.speed_mps:g} m/s"

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:
        """The goal of this tick."""
        t_ns = samples.t_ns
        measured = samples.servos.angle_rad if samples.servos is not None else self._start
        if self._begin_or_end(samples, estimate, safe):
            pass
        elif self.state == ARMED and self._may_start(samples):
            self._enter(APPROACH, t_ns)
        elif self.state in MOVING:
            self._go_on(t_ns, prediction.gap_m, measured[self._grapple])
        elif self.state == SETTLE and t_ns - self._since_ns >= self._settle_ns:
            self._enter(DONE, t_ns)
        if self.state in MOVING:
            self._move(measured)
        return Goal(self.state, self.state not in MOVING, joint_angle_rad=self._set)

    def _go_on(self, t_ns: int, gap_m: float, way_m: float) -> None:
        """To the next phase, if this one is over."""
        elapsed_ns = t_ns - self._since_ns
        if self.state == APPROACH:
            if gap_m <= 0.0:
                self._enter(LATCH, t_ns)
            elif elapsed_ns >= self._timeout_ns:
                self._enter(SETTLE, t_ns)
        elif self.state == HOLD:
            if self._held_ns < 0 and way_m >= self._hold_way:
                self._held_ns = t_ns
            if 0 <= self._held_ns <= t_ns - self._hold_ns:
                self._enter(CONTROL, t_ns)
            elif elapsed_ns >= self._timeout_ns + self._hold_ns:  # the drive does not get there
                self._enter(SETTLE, t_ns)
        elif elapsed_ns >= self._lasts_ns[self.state]:
            self._enter(HOLD if self.state == LATCH else SETTLE, t_ns)
        self._way = self._ways.get(self.state, self._way)

    def _move(self, measured: ByServo) -> None:
        """Set angles: the start, or where the joints are; and the grapple's way."""
        gives = self.state in (LATCH, HOLD)
        steps = self._slowly if self.state == CONTROL else self._steps
        out = []
        for i, (last, step, (low, high)) in enumerate(zip(self._set, steps, self._ranges, strict=True)):
            wish = measured[i] if gives else self._start[i]
            if i == self._grapple:
                wish = self._way
            wish = min(max(wish, low), high)
            out.append(last + min(max(wish - last, -step), step))
        self._set = tuple(out)

    def summarise(self, run: FinishedRun) -> Summary:
        """Keys as docs/reference/summary.md lists them."""
        found = judged(run)
        return {**found, **self.verdict(run, self._own_reasons(found))}

    def _own_reasons(self, found: Summary) -> list[str]:
        """Why a run that went through would not be accepted."""
        section, reasons = self.config.capture, []
        if found["contact_s"] is None:
            reasons.append(
                f"the payload did not come within {section.timeout_s:g} s (capture.timeout_s; gap_m over speed_mps)"
            )
        elif found["missed"]:
            reasons.append(
                f"the latch closed while the payload was out of its reach of {section.reach_m:g} m (capture.reach_m)"
            )
        elif not found["held"]:
            reasons.append("the payload was not held rigidly: the grapple's drive did not get to capture.hold_mm")
        for key, words, unit, limit, name in (
            ("turn_max_deg", "a joint turned by", "deg", section.most_turn_deg, "most_turn_deg"),
            ("rate_end_degps", "at the end a joint turned at", "deg/s", section.most_rate_degps, "most_rate_degps"),
            ("bend_max_mm", "a boom bent by", "mm", section.most_bend_mm, "most_bend_mm"),
            ("momentum_change", "momentum changed by a share of", "", section.most_momentum, "most_momentum"),
        ):
            if (value := found[key]) is not None and value > limit:
                shown = quantity(value, unit, 4)
                reasons.append(f"{words} {shown}, allowed: {limit:g} {unit}".rstrip() + f" (capture.{name})")
        return reasons

    def claims(self, run: FinishedRun, summary: Summary) -> Sequence[Claim]:  # noqa: ARG002
        """None: whether it held is asked of the simulated rig too."""
        return ()
