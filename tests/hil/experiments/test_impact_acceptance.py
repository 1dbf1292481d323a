"""Which trials are accepted: each rule alone, on a real estimator with synthetic forces."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from drivers.messages import DaqBlock, DriveSample, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.estimation.estimator import Estimator
from hil.experiments.impact.acceptance import Evidence, judge, refusals
from hil.experiments.impact.experiment import ImpactExperiment
from hil.messages.fault import Alarm, Check, Fault
from hil.messages.stages import Samples
from hil.safety.monitor import SafetyMonitor

ZERO_SPEEDS = (0.0,) * 6  # the speeds of six wheels

RATE = 10_000
CONFIG = load_config("sim_impact", [f"daq.rate_hz={RATE}", "daq.droop_s=1000"])
VOLT_PER_NEWTON = 11.24e-3
EVEN = (1 / 3, 1 / 3, 1 / 3)
LEAST_SHARE, SECOND_HIT = CONFIG.quality.first_hit_share, CONFIG.quality.double_hit_share


def estimator_after(forces_N=(), split=EVEN) -> Estimator:
    """An estimator after zeroing and these sums of forces, split over the channels."""
    volts = np.vstack([np.zeros((2000, 3)), np.outer(forces_N, split) * VOLT_PER_NEWTON])
    stamps = np.arange(len(volts), dtype=np.int64) * 1_000_000_000 // RATE
    drives, valves = DriveSample(0, 0, ZERO_SPEEDS, -1), ValveSample(0, 0, ((0.0, 0.0), (0.0, 0.0)), -1)
    estimator = Estimator(Rig(CONFIG))
    estimator.estimate(Samples(int(stamps[-1]), (DaqBlock(1, stamps, volts, (False,) * 3),), 0, 1, drives, valves))
    return estimator


def hit(again_N: float = 0.0):
    """100 N for 10 ms, a pause of 20 ms, then a second force."""
    return np.repeat([0.0, 100.0, 0.0, again_N, 0.0], [20, 100, 200, 50, 50])


class JudgedValue:
    """An accepted trial, until a test changes it."""

    def __init__(self) -> None:
        self.trial, self.safety = ImpactExperiment(Rig(CONFIG), lambda *_: ()), SafetyMonitor(Rig(CONFIG))
        self.trial.impact_tick_ns = 205_000_000
        self.trial.checks = (Check("disk space", True, "1 GB free", "at least 200 MB"),)

    def reasons(self, estimator: Estimator | None = None, saturated: bool = False) -> list[str]:
        evidence = Evidence(CONFIG, estimator or estimator_after(hit()), saturated)
        results = {} if self.trial.impact_tick_ns is None else judge(evidence)
        return [*self.trial.reasons(self.safety), *refusals(results)]


def test_a_clean_hit_counts():
    assert JudgedValue().reasons() == []


def test_each_arming_check_that_failed_is_a_reason_with_what_was_found_and_allowed():
    judged = JudgedValue()
    judged.trial.impact_tick_ns = None
    judged.trial.checks += (Check("sensor top bias", False, "1 V", "at most 0.05 V"), Check("x", False, "a", "b"))
    assert judged.reasons(estimator_after()) == [
        "not armed: sensor top bias is 1 V, allowed: at most 0.05 V",
        "not armed: x is a, allowed: b",
    ]


def test_each_fault_is_a_reason():
    judged = JudgedValue()
    judged.safety.report(Alarm(Fault.STOP_BY_OPERATOR, math.nan, math.nan, "E-stop"), 5, 0)
    judged.safety.report(Alarm(Fault.EXCEPTION, math.nan, math.nan, "ValueError: x"), 6, 0)
    assert judged.reasons() == ["fault 18: E-stop", "fault 27: ValueError: x"]


def test_no_impact_in_time_is_a_reason():
    judged = JudgedValue()
    judged.trial.impact_tick_ns, judged.trial.timed_out = None, True
    assert judged.reasons(estimator_after()) == ["no impact within trial.timeout_s, 30 s"]


def test_without_an_impact_nothing_is_said_of_forces():
    judged = JudgedValue()
    judged.trial.impact_tick_ns = None
    assert judged.reasons(estimator_after(), saturated=True) == []


@pytest.mark.parametrize("lifted", range(3))
@pytest.mark.parametrize(("share", "counts"), [(LEAST_SHARE + 0.002, True), (LEAST_SHARE - 0.002, False), (0.0, False)])
def test_a_first_hit_off_the_triangle_is_a_reason(lifted, share, counts):
    split = np.full(3, 0.5 * (1.0 - share))
    split[lifted] = share
    reasons = [reason.split(",")[0] for reason in JudgedValue().reasons(estimator_after(hit(), split))]
    assert ("first hit outside the sensing triangle" in reasons) != counts


def test_the_place_of_the_hit_is_given_in_millimetres():
    reason = JudgedValue().reasons(estimator_after(hit(), (0.0, 0.0, 1.0)))[0]  # all on the lower right sensor
    assert reason.endswith("-51 mm across, -34 mm up")


def test_a_saturated_sensor_is_a_reason():
    assert JudgedValue().reasons(saturated=True) == ["a sensor reached the end of its range"]


@pytest.mark.parametrize(("part", "counts"), [(SECOND_HIT - 0.02, True), (SECOND_HIT + 0.02, False)])
def test_a_second_hit_of_half_the_peak_is_a_reason(part, counts):
    reasons = JudgedValue().reasons(estimator_after(hit(100.0 * part)))
    assert [reason[:10] for reason in reasons] == ([] if counts else ["second hit"])


def settled(*steps: tuple[float, float]):
    """A force [N] for a time [s] each, and the release."""
    return np.concatenate([np.zeros(20), *(np.full(round(s * RATE), force) for force, s in steps), np.zeros(100)])


@pytest.mark.parametrize(("contact_s", "counts"), [(0.58, True), (0.62, False), (0.9, False)])
def test_a_contact_longer_than_the_config_allows_is_a_reason(contact_s, counts):
    reasons = JudgedValue().reasons(estimator_after(settled((100.0, contact_s))))
    allowed = "allowed: 0.6 s (quality.contact_s): the wheel stayed on"
    assert reasons == ([] if counts else [f"contact of {contact_s:g} s, {allowed}"])


def test_a_contact_that_does_not_end_is_a_reason():
    forces = settled((100.0, 0.05), (30.0, 0.2))[:-100]
    assert [reason[:24] for reason in JudgedValue().reasons(estimator_after(forces))] == ["the contact did not end,"]


def test_weight_that_grows_over_the_peak_of_the_impact_is_told_apart_from_it():
    estimator = estimator_after(settled((40.0, 0.05), (20.0, 0.05), (60.0, 0.01), (50.0, 0.29)))
    assert estimator.peaks_N[3] == pytest.approx(60.0, rel=1e-2)  # largest over time, as ever
    assert estimator.impact_peak_N == pytest.approx(40.0, rel=1e-2)
    (reason,) = JudgedValue().reasons(estimator)
    assert re.match(r"largest force of 60 N 0\.[1-4]\d s after the impact, whose own peak is 40 N", reason)


def test_weight_under_the_peak_of_the_impact_changes_nothing():
    estimator = estimator_after(settled((60.0, 0.05), (20.0, 0.05), (40.0, 0.3)))
    assert JudgedValue().reasons(estimator) == []
    assert estimator.impact_peak_N == estimator.peaks_N[3]


def test_a_force_that_only_pauses_on_its_way_up_is_one_impact():
    """The force of drives that are cut late belongs to the impact."""
    estimator = estimator_after(settled((40.0, 0.05), (35.0, 0.05), (60.0, 0.1)))
    assert JudgedValue().reasons(estimator) == []
    assert estimator.impact_peak_N == estimator.peaks_N[3]


def test_one_sample_that_drops_out_does_not_end_the_impact():
    forces = settled((40.0, 0.05), (60.0, 0.05))
    forces[300:303] = 11.0
    assert estimator_after(forces).impact_peak_N == pytest.approx(60.0, rel=1e-2)


def test_every_reason_there_is_is_given():
    judged = JudgedValue()
    judged.trial.checks += (Check("x", False, "a", "b"),)
    judged.trial.timed_out = True
    judged.safety.report(Alarm(Fault.EXCEPTION, math.nan, math.nan, "e"), 6, 0)
    reasons = judged.reasons(estimator_after(hit(90.0), (0.0, 0.5, 0.5)), saturated=True)
    assert len(reasons) == 7  # a sensor without load is one more than the place of the hit
