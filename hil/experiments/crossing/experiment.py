"""Drives over the shape of the ground: approach, contact, crossing, end; the drives are not cut at the contact."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from hil.config import Config
from hil.config.rig import Rig
from hil.config.schema.crossing import CrossingConfig
from hil.config.schema.ground_and_obstacle import GroundConfig
from hil.experiments.base import ArmingChecks, Experiment, FinishedRun, Summary
from hil.experiments.claim import Claim
from hil.experiments.crossing.drop_force import drop_checks
from hil.experiments.crossing.judgement import RESULTS, Course, judged
from hil.experiments.drive.experiment import OF_ACCELERATION
from hil.experiments.motion_claims import motion_claims
from hil.experiments.summary_table import quantity
from hil.messages.check import Check
from hil.messages.stages import Estimate, Goal, Prediction, Samples

# State of a crossing; numbers as for the states of other experiments where they are alike.
_CrossingState = IntEnum("_CrossingState", {
    "IDLE": 0, "ARMED": 1, "APPROACH": 2, "CONTACT": 3, "SETTLE": 4, "DONE": 5, "ABORTED": 6, "CROSS": 9,
})  # fmt: skip
# faster in a tick, see hil.experiments.base
IDLE, ARMED, APPROACH, CONTACT, SETTLE, DONE, ABORTED, CROSS = _CrossingState
DRIVING = (APPROACH, CONTACT, CROSS)


class CrossingExperiment(Experiment):
    """Idle until armed; approach, until front wheels touch the shape; contact, until they are on it; then the rest.

    Where the rover is says the rover twin.
    """

    name = "crossing"
    section = CrossingConfig
    states = _CrossingState
    figure = "crossing.png"
    plotter = "hil.experiments.crossing.figure:plot_crossing"
    results = RESULTS

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(rig, checks, attended=attended)
        section = self.config.crossing
        self._course = Course(rig.nominal)
        self._timeout_ns, self._settle_ns = round(section.timeout_s * 1e9), round(section.settle_s * 1e9)
        self._wanted = tuple(section.speed_mps / radius_m for radius_m in rig.config.wheel_radii_m)
        self._ramp_s = max(self._wanted) / (OF_ACCELERATION * rig.limits.wheel_acceleration_radps2)
        self._zeros = rig.layout.zero_speeds
        self._began_ns = 0

    def headline(self) -> str:
        """Shape and speed."""
        return f"{shape_words(self.config.ground)} at {self.config.crossing.speed_mps:g} m/s"

    @classmethod
    def label(cls, config: Config) -> str:
        """The shape."""
        profile = config.ground.profile
        return f"{cls.name}_{profile.shape}" if profile else cls.name

    def drive_speeds_mps(self) -> Sequence[float]:
        """That of the approach."""
        return (self.config.crossing.speed_mps,)

    def own_checks(self) -> Sequence[Check]:
        """What falls on sensors below a ledge, they can bear."""
        return drop_checks(self.rig)

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:
        """The goal of this tick."""
        t_ns = samples.t_ns
        if self._begin_or_end(samples, estimate, safe):
            pass
        elif self.state == ARMED and self._may_start(samples):
            self._enter(APPROACH, t_ns)
            self._began_ns = t_ns
        elif self.state in DRIVING:
            self._go_on(prediction.pose, t_ns)
        elif self.state == SETTLE and t_ns - self._since_ns >= self._settle_ns:
            self._enter(DONE, t_ns)
        if self.state not in DRIVING:
            return Goal(self.state, True, speed_radps=self._zeros)
        share = min((t_ns - self._began_ns) * 1e-9 / self._ramp_s, 1.0)
        return Goal(
            self.state,
            False,
            speed_radps=tuple([share * speed for speed in self._wanted]),
            pushing=self.state != APPROACH,
        )

    def _go_on(self, pose: Sequence[float], t_ns: int) -> None:
        course = self._course
        front_m, rear_m = course.axles_m(pose)
        if t_ns - self._began_ns >= self._timeout_ns or rear_m >= course.ends_m + self.config.crossing.past_m:
            self._enter(SETTLE, t_ns)
        elif self.state == APPROACH and front_m >= course.touches_m:
            self._enter(CONTACT, t_ns)
        elif self.state == CONTACT and front_m >= course.on_m:
            self._enter(CROSS, t_ns)

    def summarise(self, run: FinishedRun) -> Summary:
        """Keys as docs/reference/summary.md lists them."""
        found = judged(run.config, self._course, run.ticks, run.ground_truth.motion)
        return {**found, **self.verdict(run, self._own_reasons(found))}

    def claims(self, run: FinishedRun, summary: Summary) -> Sequence[Claim]:
        """The way, and where the rover came to; its loads are the largest of hits, which the truth does not have."""
        found = motion_claims(run, loads=False)
        known = summary["wheels_across_true"], summary["rise_true_m"]
        if found and run.ground_truth.motion is not None and None not in known:
            found += [
                Claim("wheels across", "", summary["wheels_across"], known[0], 0.0),
                Claim("rise of the body", "m", summary["rise_m"], known[1], found[0].allowed),
            ]
        return found

    def _own_reasons(self, found: Summary) -> list[str]:
        """Why a run that went through would not be accepted."""
        section, reasons = self.config.crossing, []
        if not found["crossed"]:
            reasons.append(
                f"the {found['shape']} was not crossed: {found['wheels_across']} of {len(found['wheels'])} wheels are "
                f"across after {quantity(found['drive_s'], 's', 1)} (crossing.timeout_s {section.timeout_s:g})"
            )
        if found["clearance_m"] is not None and found["clearance_m"] < 0.0:
            reasons.append(
                f"the body was {-found['clearance_m']:.3f} m in the ground, which this model does not hold; needed: a "
                "lower shape, or a higher body"
            )
        limit_N, load_N = section.most_load_N, found["largest_load_N"]
        if limit_N is not None and load_N is not None and load_N > limit_N:
            reasons.append(f"a wheel bore {load_N:.0f} N, allowed: {limit_N:g} N (crossing.most_load_N)")
        return reasons


def shape_words(ground: GroundConfig) -> str:
    """The shape in a few words."""
    profile = ground.profile
    if profile is None:
        return "level ground"
    if profile.shape in ("step", "ledge"):
        return f"{profile.shape} of {profile.height_m:g} m"
    return "compound slope" if profile.shape == "slope" else "line of points"
