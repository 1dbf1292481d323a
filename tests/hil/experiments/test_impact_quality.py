"""Each rule of quality on samples made to break it: the rule says no, with its number, and names the reason."""

from __future__ import annotations

import numpy as np
import pytest

from drivers.messages import DaqBlock, DriveSample, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.estimation.estimator import Estimator
from hil.experiments.impact.acceptance import RULES, Evidence, judge, quality_rows
from hil.experiments.impact.approach import Approach
from hil.experiments.impact.sensing import sensor_channels
from hil.messages.stages import Samples
from hil.signals.impact import UncertainValue, measure_impact

RATE = 10_000
CONFIG = load_config("sim_impact", [f"daq.rate_hz={RATE}"])
BUMPER = load_config("bumper", [f"daq.rate_hz={RATE}", "rig=simulated", "devices=null", "clock=lockstep"])
T_S = np.arange(3 * RATE) / RATE
SHARES = np.array([0.5, 0.25, 0.25])


ASKEW = Approach(1e-4, True, UncertainValue(0.02, 1e-4), None, None, ())


def half_sine(begin_s=1.2, length_s=0.15, peak_N=100.0):
    phase = (T_S - begin_s) / length_s
    return np.where((phase > 0.0) & (phase < 1.0), peak_N * np.sin(np.pi * phase), 0.0)


def evidence_of(forces, config=CONFIG, droop_s=0.5, **others):
    """What the rules judge after forces (n, channels) [N] went through the coupling, the estimator and the analysis."""
    kept, readings = np.zeros(forces.shape[1]), np.empty_like(forces)
    for place, value in enumerate(forces):
        kept += (value - kept) / (RATE * droop_s)
        readings[place] = value - kept
    noise = 0.045 * np.random.default_rng(1).standard_normal(forces.shape)
    volts = (readings + noise) * np.array(config.sensitivities_mVpN) * 1e-3
    t_ns = np.arange(len(volts), dtype=np.int64) * 1_000_000_000 // RATE
    estimator = Estimator(Rig(config))
    drives, valves = DriveSample(0, 0, (0.0,) * 6, -1), ValveSample(0, 0, ((0.0, 0.0), (0.0, 0.0)), -1)
    block = DaqBlock(1, t_ns, volts, (False,) * volts.shape[1])
    estimate = estimator.estimate(Samples(int(t_ns[-1]), (block,), 0, 1, drives, valves))
    assert estimate.impact_ns is not None
    impact = measure_impact(t_ns, volts, estimate.impact_ns, sensor_channels(config))
    assert impact is not None
    known = {"saturated": estimate.saturated, "cut_ms": 1.0, "speed_mps": 0.07, **others}
    return Evidence(config, estimator, impact=impact, largest_V=float(np.abs(volts).max()), **known)


def refused(evidence):
    return {name for name, found in judge(evidence).items() if found.ok is False}


def split(total, shares=SHARES):
    return np.outer(total, shares)


def snapping():
    """A shield that swings at 20 Hz after the contact, as far one way as the other."""
    after = np.maximum(T_S - 1.36, 0.0)
    return half_sine() + np.where(after > 0.0, 60.0 * np.exp(-3.0 * after) * np.sin(2.0 * np.pi * 20.0 * after), 0.0)


def on_bottom_corner():
    return split(half_sine(), np.array([0.005, 0.2, 0.795]))


BREAKS = {
    "first_hit": lambda: evidence_of(on_bottom_corner()),
    "contact_ended": lambda: evidence_of(split(np.where(T_S > 1.2, 60.0, 0.0))),
    "contact_s": lambda: evidence_of(split(half_sine(length_s=0.9))),
    "weight": lambda: evidence_of(split(half_sine(peak_N=40.0) + half_sine(begin_s=1.32, length_s=0.4, peak_N=80.0))),
    "snap_back": lambda: evidence_of(split(snapping())),
    "double_hit": lambda: evidence_of(split(half_sine() + half_sine(begin_s=1.9, peak_N=80.0))),
    "saturated": lambda: evidence_of(split(half_sine(peak_N=1100.0))),
    "speed": lambda: evidence_of(split(half_sine()), speed_mps=0.05),
    "cut_late": lambda: evidence_of(split(half_sine()), cut_ms=180.0),
    "droop": lambda: evidence_of(split(half_sine()), droop_s=0.2),
    "sensor_dead": lambda: evidence_of(split(half_sine(), np.array([0.0, 0.5, 0.5]))),
    "veer": lambda: evidence_of(split(half_sine(), np.array([0.49, 0.5, 0.01]))),
    "approach": lambda: evidence_of(split(half_sine()), approach=ASKEW),
}


def test_clean_impact_breaks_no_rule():
    verdicts = judge(evidence_of(split(half_sine())))
    # no later force, and no instrument that knows the angle: not judged
    assert {name for name, found in verdicts.items() if found.ok is not True} <= {"weight", "approach"}
    assert refused(evidence_of(split(half_sine()))) == set()


def test_there_is_a_trial_that_breaks_each_rule():
    assert set(BREAKS) == set(RULES)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_trial_made_to_break_a_rule_is_refused_by_it_with_its_number(rule):
    verdict = judge(BREAKS[rule]())[rule]
    assert verdict.ok is False
    assert verdict.reason
    assert verdict.value is not None
    if rule in ("first_hit", "contact_ended", "sensor_dead"):
        assert verdict.value < verdict.limit
    elif rule != "saturated":  # which the flag of any sensor decides
        assert verdict.value > verdict.limit


def test_swinging_shield_and_second_impact_are_told_apart():
    assert refused(BREAKS["snap_back"]()) == {"snap_back"}
    assert refused(BREAKS["double_hit"]()) == {"double_hit"}


def test_bumpers_hit_one_after_the_other_are_a_veering_rover():
    def pair(lag_s):
        return np.column_stack([half_sine(), half_sine(begin_s=1.2 + lag_s)])

    straight, veered = (judge(evidence_of(pair(lag_s), BUMPER))["veer"] for lag_s in (0.0, 0.6))
    assert straight.ok
    assert veered.ok is False
    assert veered.value == pytest.approx(0.6 * 0.07, rel=0.05)


def test_rows_of_the_summary_name_every_rule_once_with_plain_numbers():
    rows = quality_rows(judge(evidence_of(split(half_sine()))))
    assert [row["rule"] for row in rows] == list(RULES)
    assert all(set(row) == {"rule", "value", "limit", "ok"} for row in rows)
