"""The impact trial: its states (MacMahon 2016, 6.2.4, with the cures of D.2), its checks and its summary."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import IntEnum

import numpy as np

from hil.config import Config
from hil.config.rig import Rig
from hil.config.schema.trial import TrialConfig
from hil.control.motions.timeline import Playback
from hil.control.wheel_speed import Controller, WheelSpeed, hold_line
from hil.experiments.base import ArmingChecks, Experiment, FinishedRun, Summary
from hil.experiments.impact.acceptance import Evidence, judge, quality_rows, refusals
from hil.experiments.impact.approach import (
    LARGEST_ANGLE_DEG,
    LEAST_ANGLE_DEG,
    Posture,
    approach_keys,
    least_energy_posture,
    measured_approach,
    posture_check,
    posture_timeline,
)
from hil.experiments.impact.predicted_force import Release, predicted_force
from hil.experiments.impact.sensing import (
    GROUSER_KEYS,
    PEAK_KEYS,
    RESULTS,
    grouser_keys,
    measured_impact,
    measured_keys,
    measured_speed_mps,
    peak_keys,
    strain_keys,
)
from hil.experiments.motion_claims import DEVIATIONS, motion_claims
from hil.experiments.summary import finite
from hil.experiments.summary_table import Claim
from hil.messages.fault import Check, Fault
from hil.messages.stages import Estimate, Goal, Prediction, Samples
from hil.recording.content import Recorded, in_blocks
from hil.safety.monitor import SafetyMonitor

_LOWER = "lower trial.speed_mps, or cut sooner"


def impact_checks(rig: Rig) -> list[Check]:
    """Speed, angle of a real obstacle, and the predicted force on each sensor and bumper."""
    config, trial, limits = rig.config, rig.config.trial, rig.limits
    allowed = f"at most {limits.impact_speed_mps:g} m/s (limits.impact_speed_mps)"
    ok, found = trial.speed_mps <= limits.impact_speed_mps, f"{trial.speed_mps:g} m/s"
    checks = [Check("impact speed", ok, found, allowed, "lower trial.speed_mps")]
    if config.rig == "real":
        allowed = f"{LEAST_ANGLE_DEG:g} to {LARGEST_ANGLE_DEG:g} deg: under that it meets a wheel too near the ground"
        ok, found = trial.angle_deg >= LEAST_ANGLE_DEG, f"{trial.angle_deg:g} deg"
        checks.append(Check("obstacle angle", ok, found, allowed, "raise the obstacle, and trial.angle_deg with it"))
    if config.daq is None:
        return checks
    force = predicted_force(rig)
    after = f"{1e3 * force.delay_s:.3g} ms" if force.delay_s < math.inf else "a set time"
    how = f"T_c {force.energy_J:.3g} J, drives cut after {after}"
    loads = [
        (f"predicted force on sensor {name}", load_N, limits.sensor_force_N, "limits.sensor_force_N")
        for name, load_N in zip(config.layout.channels, force.sensor_N, strict=True)
    ]
    if config.daq.layout == "bumper":
        loads.append(("predicted force on a bumper", force.wheel_N, limits.bumper_force_N, "limits.bumper_force_N"))
    for item, load_N, limit_N, key in loads:
        if limit_N is None:
            checks.append(Check(item, True, f"{load_N:.0f} N: {how}", f"not checked ({key} is null)"))
        else:
            allowed = f"at most {limit_N:g} N ({key})"
            checks.append(Check(item, load_N <= limit_N, f"{load_N:.0f} N: {how}", allowed, _LOWER))
    return checks


# Mean speed of the back-and-forth that de-stresses the legs, as a share of the trial's speed; then a rest [ns].
DESTRESS_SHARE = 0.5
REST_NS = 1_000_000_000


# Where a trial stands.
ImpactState = IntEnum("ImpactState", {
    "IDLE": 0, "ARMED": 1, "RUN_UP": 2, "IMPACT": 3, "SETTLE": 4,
    "DONE": 5, "ABORTED": 6, "DESTRESS": 7, "POSTURE": 8,
})  # fmt: skip
# faster in a tick, see hil.experiments.base
IDLE, ARMED, RUN_UP, IMPACT, SETTLE, DONE, ABORTED, DESTRESS, POSTURE = ImpactState


class ImpactExperiment(Experiment):
    """Idle until the sensors are zeroed, armed if every check passes, run up, cut at the impact, settle, done.

    The cut comes by `trial.release`; the drives of a release that is not automatic go on through the impact. With
    `trial.destress_m` the rover rolls back and forth before the run-up; with `trial.posture` driven legs take their
    posture before that.
    """

    name = "impact"
    section = TrialConfig
    states = ImpactState
    figure = "trial.png"
    plotter = "hil.experiments.impact.figure:plot_trial"
    results = RESULTS

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(rig, checks, attended=attended)
        self._trial, self._release = rig.config.trial, Release(rig.config.trial, rig.config.seed)
        self._began_ns = 0  # of the run-up
        self._destress_ns = round(destress_s(rig.config.trial) * 1e9)
        self._posture = least_energy_posture(rig) if rig.config.trial.posture == "least_energy" else None
        self._taking = Playback(posture_timeline(rig, self._posture)) if self._posture else None
        #: time of the tick that reacted to the impact [ns]; None: there was none
        self.impact_tick_ns: int | None = None
        #: time of the tick that cut the drives, by the release [ns]; None: none did
        self.released_ns: int | None = None
        self.timed_out = False  #: there was no impact in time
        self.hit_standing = False  #: it came before the run-up

    def headline(self) -> str:
        """Angle and speed."""
        return f"{self.config.trial.angle_deg:g} deg at {self.config.trial.speed_mps:g} m/s"

    @classmethod
    def label(cls, config: Config) -> str:
        """The obstacle's angle."""
        return f"{config.trial.angle_deg:g}"

    def drive_speeds_mps(self) -> Sequence[float]:
        """Of the run-up."""
        return (self._trial.speed_mps,)

    def own_checks(self) -> Sequence[Check]:
        """Speed, obstacle and predicted force, and room for the posture."""
        checks = impact_checks(self.rig)
        return [*checks, posture_check(self.rig, self._posture)] if self._posture else checks

    def controller(self) -> Controller:
        """Forward speed, slip made up for; on the line, if one is to be held."""
        straight = WheelSpeed(self.config.wheel_radii_m, 1.0 / self.config.loop.rate_hz)
        return hold_line(self.rig, straight, self._trial.hold_line)

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """What is wanted in this tick. With the automatic release, in the tick of an impact that is a cut."""
        t_ns = samples.t_ns
        if self._begin_or_end(samples, estimate, safe):
            pass
        elif estimate.impact_ns is not None and self.state in (ARMED, POSTURE, DESTRESS, RUN_UP):
            self.impact_tick_ns = t_ns
            self.hit_standing = self.state != RUN_UP
            self._enter(IMPACT, t_ns)
        elif self.state == ARMED and self._may_start(samples):
            self._enter(POSTURE if self._taking else DESTRESS if self._destress_ns else RUN_UP, t_ns)
            self._began_ns = t_ns
        elif self.state == POSTURE and self._taking and t_ns - self._since_ns >= self._taking.length_ns + REST_NS:
            self._enter(DESTRESS if self._destress_ns else RUN_UP, t_ns)
            self._began_ns = t_ns
        elif self.state == DESTRESS and t_ns - self._since_ns >= self._destress_ns + REST_NS:
            self._enter(RUN_UP, t_ns)
            self._began_ns = t_ns
        elif self.state == RUN_UP and t_ns - self._since_ns > self._trial.timeout_s * 1e9:
            self.timed_out = True
            self._enter(ABORTED, t_ns)
        elif self.state == IMPACT and self.released_ns is not None:
            self._enter(SETTLE, t_ns)
        elif self.state == SETTLE and t_ns - self._settling_from_ns >= self._trial.settle_s * 1e9:
            self._enter(DONE, t_ns)
        return self._goal(t_ns, estimate.impact_ns)

    @property
    def _settling_from_ns(self) -> int:
        """The impact or the release, whichever came later [ns]."""
        return max(self.impact_tick_ns or 0, self.released_ns or 0)

    def _goal(self, t_ns: int, impact_ns: int | None) -> Goal:
        """Drive in the run-up and, until the release, through the impact; cut in every other state."""
        if self.state == DESTRESS:
            return self._rock(t_ns)
        if self.state == POSTURE and self._taking:
            speeds, angles = self._taking.at(t_ns - self._since_ns)
            return Goal(self.state, False, speed_radps=speeds, pushing=True, joint_angle_rad=angles)
        if self.state not in (RUN_UP, IMPACT):
            return Goal(self.state, True)
        if self.released_ns is None:
            due_ns = self._release.due_ns(self._began_ns, impact_ns)
            if self.hit_standing or (due_ns is not None and t_ns >= due_ns):
                self.released_ns = t_ns
        if self.released_ns is not None:
            return Goal(self.state, True)
        ramp = min((t_ns - self._began_ns) * 1e-9 / self._trial.ramp_s, 1.0)
        return Goal(self.state, False, ramp * self._trial.speed_mps, pushing=self.state == IMPACT)

    def _rock(self, t_ns: int) -> Goal:
        """Back and forth along one period of a sine; then at rest, held."""
        phase = min((t_ns - self._since_ns) / self._destress_ns, 1.0)
        peak_mps = DESTRESS_SHARE * 0.5 * math.pi * self._trial.speed_mps
        return Goal(self.state, False, -peak_mps * math.sin(2.0 * math.pi * phase), pushing=True)

    def reasons(self, safety: SafetyMonitor, disturbance: Callable[[int], str] = lambda _: "") -> list[str]:
        """As of every experiment, and an impact that did not come, or too early."""
        reasons = super().reasons(safety, disturbance)
        if self.timed_out:
            reasons.append(f"no impact within trial.timeout_s, {self._trial.timeout_s:g} s")
        if self.hit_standing:
            reasons.append("the obstacle was hit before the run-up")
        return reasons

    def summarise(self, run: FinishedRun) -> Summary:
        """Forces, energies and times of the impact: keys as docs/reference/summary.md lists them."""
        config, cycle, ground_truth, estimator = run.config, run.cycle, run.ground_truth, run.cycle.estimator
        impact_ns = cycle.tick_logger.impact_ns
        *channel_peaks, peak, _ = estimator.peaks_N
        hit = ground_truth.hit_ns is not None
        impact = self.impact_tick_ns is not None and impact_ns is not None
        # then none of the latencies of a release exists
        cut_before = self.released_ns is not None and self.released_ns < (self.impact_tick_ns or 0)
        cut_ms, speed_mps = _span_ms(impact_ns, cycle.tick_logger.stopped_ns), measured_speed_mps(run)
        measured = measured_impact(run) if impact else None
        saturated = any(event.alarm.fault is Fault.ADC_SATURATED for event in cycle.safety.warnings)
        approach = measured_approach(run) if impact else None
        evidence = Evidence(
            config, estimator, cycle.tick_logger.saturated or saturated, cut_ms, speed_mps, measured,
            _largest(run.samples[1]) if run.samples and len(run.samples[1]) else None, approach,
        )  # fmt: skip
        results = judge(evidence) if impact else {}
        reasons = [*self.reasons(cycle.safety, run.disturbance), *refusals(results)]
        peaks = peak_keys(measured, (peak, sum(channel_peaks))) if impact else dict.fromkeys(PEAK_KEYS)
        return {
            "angle_deg": config.trial.angle_deg,
            "impact_speed_mps": finite(ground_truth.hit_speed) if hit else None,
            "contact_force_peak_N": finite(ground_truth.contact_force_peak) if hit else None,
            "impact_speed_measured_mps": speed_mps,
            **approach_keys(approach),
            **peaks,
            "impact_peak_force_N": finite(estimator.impact_peak_N) if impact else None,
            **strain_keys(run),
            **measured_keys(measured),
            **(grouser_keys(run) if impact else dict.fromkeys(GROUSER_KEYS)),
            "effective_kinetic_energy_J": finite(cycle.twin.energy_at_impact_J),
            "effective_kinetic_energy_sd_J": finite(cycle.twin.energy_at_impact_sd_J),
            "effective_kinetic_energy_plant_J": finite(ground_truth.hit_energy) if hit else None,
            "effective_kinetic_energy_on_ground_J": finite(cycle.twin.energy_on_ground_at_impact_J()),
            "effective_kinetic_energy_plant_on_ground_J": (finite(ground_truth.hit_energy_on_ground) if hit else None),
            "load_point_m": [finite(value) for value in estimator.load_points_m[1]]
            if impact and config.plate
            else None,
            "impact_time_s": impact_ns * 1e-9 if impact_ns is not None else None,
            "contact_duration_s": estimator.contact_duration_s,
            **_posture_key(config.layout.servos, self._posture),
            "release": config.trial.release,
            "cut_latency_ms": cut_ms,
            "cut_effective_ms": None if cut_before else _span_ms(impact_ns, ground_truth.cut_ns),
            "accepted": self.done and not reasons,
            "reasons": reasons,
            "quality": quality_rows(results),
        }

    def claims(self, run: FinishedRun, summary: Summary) -> Sequence[Claim]:
        """The motion until the hit, the hit itself, its speed, and its energy by wheels without grousers.

        A grouser touches above or below the point that T_c is of, and nobody knows which one hits.
        """
        found, ground_truth = motion_claims(run, loads=False), run.ground_truth
        if not found or ground_truth.motion is None or self.impact_tick_ns is None:  # real, or its truth was not noted
            return found
        hit = ground_truth.hit_ns is not None
        found.append(Claim("hits of the obstacle", "", 1.0, float(hit), 0.0))
        speed, energy = summary["impact_speed_measured_mps"], summary["effective_kinetic_energy_J"]
        if not hit or speed is None or energy is None:
            return found
        # a share of the way is one of a mean speed, and twice of its square
        off = found[0].allowed / found[0].claimed if found[0].claimed > 0.0 else math.inf
        found.append(Claim("speed at the impact", "m/s", speed, ground_truth.hit_speed, off * speed))
        if not any(wheel.grousers for wheel in run.config.wheels.values()):
            known_J = ground_truth.hit_energy
            of_mass = DEVIATIONS * run.config.plant.spread.mass
            found.append(Claim("energy of the impact", "J", energy, known_J, (2.0 * off + of_mass) * energy))
        return found


def _posture_key(servos: tuple[str, ...], posture: Posture | None) -> Summary:
    """Of a rig with driven joints: their angles in the posture [deg], by name; None: that of the start."""
    if not servos:
        return {}
    taken = posture and dict(zip(servos, np.degrees(posture.angles).round(3).tolist(), strict=True))
    return {"posture_deg": taken}


def destress_s(trial: TrialConfig) -> float:
    """Length of the back-and-forth before the run-up [s]; 0: there is none."""
    return 2.0 * trial.destress_m / (DESTRESS_SHARE * trial.speed_mps)


def _largest(volts: Recorded) -> float:
    """Largest reading of any sensor, either sign [V]."""
    return max(float(abs(block).max()) for block in in_blocks(volts))


def _span_ms(from_ns: int | None, to_ns: int | None) -> float | None:
    return (to_ns - from_ns) * 1e-6 if from_ns is not None and to_ns is not None else None
