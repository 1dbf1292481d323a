"""Each rule of quality on a whole simulated trial in which the fault that it is for happens."""

from __future__ import annotations

import pytest

from hil.app.run import run
from hil.config import load_config
from hil.experiments.impact.acceptance import RULES

pytestmark = pytest.mark.slow

SHORT = [
    "telemetry.endpoint=''", "trial.start_distance_m=0.1", "trial.ramp_s=0.3", "trial.settle_s=1.2",
    "record.after_s=1",
]  # fmt: skip
SLIP = ["trial.angle_deg=40", "trial.release=operator"]
PLATE = "obstacle.plate={centre_up_m: 0.262, snap_share: %s}"

# What is set, and words of the reason. docs/explanation/trials-that-go-wrong.md has the same table.
BREAKS = {
    "first_hit": (["obstacle.plate={}", "plant.veer.across_m=-0.2"], "outside the sensing triangle"),
    "contact_ended": (
        ["trial.angle_deg=15", "trial.speed_mps=0.03", "trial.release=operator", "trial.release_delay_s=1.5"],
        "did not end",
    ),
    "contact_s": (["trial.angle_deg=20", "trial.settle_s=2"], "the wheel stayed on"),
    "weight": (
        [*SLIP, "wheel.grousers=22", "wheel.grouser_offset_deg=-3", "trial.release_delay_s=0.5", PLATE % 0],
        "weight on the obstacle or a push of the drives",
    ),
    "snap_back": (
        [*SLIP, "wheel.grousers=22", "wheel.grouser_offset_deg=-3", "trial.release_delay_s=0.5", PLATE % 1],
        "the shield snapped back",
    ),
    "double_hit": (
        [*SLIP, "wheel.grousers=12", "trial.release_delay_s=0.8", PLATE % 0],
        "the rover came again",
    ),
    "saturated": (["daq.channels.0.fault=saturated"], "end of its range"),
    "speed": (["trial.ramp_s=2.8", "plant.spread.start_m=0.04"], "impact at 57.6 mm/s"),
    "cut_late": (["links.daq_delay_ms=60", "limits.daq_age_ms=100"], "ms after the impact, allowed: 50 ms"),
    "droop": (["plant.spread.droop=0.2"], "cannot be inverted"),
    "sensor_dead": (["daq.channels.0.fault=dead"], "the sensor top has no signal"),
    "veer": (["plant.veer.heading_deg=3"], "the rover veered"),
    "approach": (["motion={}", "plant.veer.heading_deg=0.5"], "deg to port of the obstacle's normal"),
}
GOOD = ([], ["trial.angle_deg=80", "ground.kind=firm"], ["wheel.grousers=22", "wheel.grouser_offset_deg=4"])


@pytest.fixture(scope="session")
def trial():
    """Summary of a trial with the settings given; each is run once."""
    known: dict[tuple[str, ...], dict] = {}

    def summary(*settings: str):
        if settings not in known:
            known[settings] = run(load_config("sim_impact", [*SHORT, *settings], seed=1)).summary
        return known[settings]

    return summary


def quality(summary):
    return {row["rule"]: row for row in summary["quality"]}


def test_there_is_a_trial_for_each_rule():
    assert set(BREAKS) == set(RULES)


@pytest.mark.parametrize("rule", BREAKS)
def test_trial_with_a_fault_is_refused_by_the_rule_for_it(trial, rule):
    settings, words = BREAKS[rule]
    summary = trial(*settings)
    row = quality(summary)[rule]
    assert row["ok"] is False
    assert row["value"] is not None
    assert any(words in reason for reason in summary["reasons"]), summary["reasons"]
    assert not summary["accepted"]


@pytest.mark.parametrize("settings", GOOD, ids=["soil", "firm", "grousers"])
def test_trial_without_a_fault_breaks_no_rule(trial, settings):
    summary = trial(*settings)
    assert summary["reasons"] == []
    assert summary["accepted"]
    # without instruments nobody knows the angle of approach
    assert {row["rule"] for row in summary["quality"] if not row["ok"]} == {"approach"}
    assert quality(summary)["approach"]["ok"] is None


def test_shield_that_snaps_back_is_not_called_a_second_hit(trial):
    found = quality(trial(*BREAKS["snap_back"][0]))
    assert found["double_hit"]["ok"]
    assert quality(trial(*BREAKS["double_hit"][0]))["snap_back"]["ok"]


def test_slow_hand_of_an_operator_is_shown_but_not_judged(trial):
    row = quality(trial("trial.release=operator"))["cut_late"]
    assert row["ok"] is None
    assert row["value"] > row["limit"]


def test_time_constants_known_to_a_percent_are_good_enough(trial):
    row = quality(trial("plant.spread.droop=0.01"))["droop"]
    assert row["ok"]
    assert row["value"] < 0.2 * row["limit"]
