"""Angle, place and height of a hit by instruments of motion: against geometry, drawn errors, and whole trials."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hil.analysis.recompute import Recomputed, disagreements
from hil.app.run import run
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.impact.approach import KEYS, approach_keys, measured_approach
from hil.experiments.impact.experiment import ImpactExperiment
from hil.messages.signals import tick_dtype
from hil.messages.stages import SOURCE_STATES
from hil.simulator.ground_truth import GroundTruth

ALL = ["motion={}", "imu={}", "joints={}"]
SHORT = ["telemetry.endpoint=''", "trial.ramp_s=0.3", "trial.settle_s=1.2", "record.after_s=1"]
SD = {"position": 1e-3, "turn": 2e-4, "joint": 3e-4}


def finished(settings=ALL, source="used", angles=(0.0, 0.0, 0.0), place=(0.3, 0.0, -0.01), turns=(0.0, 0.0, 0.0)):
    """A run whose tick before the impact has this state: roll, pitch, yaw [rad]."""
    config = load_config("sim_impact", settings)
    layout = config.layout
    ticks = np.zeros(3, tick_dtype(layout))
    ticks["t_ns"] = 1_000_000, 2_000_000, 3_000_000
    row = ticks[1]
    row["pose"] = (*place, *Rotation.from_euler("ZYX", turns[::-1]).as_quat())
    row["joint_angle_rad"] = angles
    if layout.instruments:
        row["source"] = SOURCE_STATES.index(source)
        row["pose_sd"] = (*3 * (SD["position"],), *3 * (SD["turn"],))
        row["joint_angle_sd_rad"], row["speed_sd_mps"] = SD["joint"], 4e-4
    logger = SimpleNamespace(impact_ns=2_500_000)
    return SimpleNamespace(config=config, rig=Rig(config), ticks=ticks, cycle=SimpleNamespace(tick_logger=logger))


def wheel(run_):
    rover = run_.rig.nominal.make_rover()
    return rover.wheel_positions(rover.neutral())[rover.wheel_names.index("front_right")]


def test_place_and_height_of_the_wheel_follow_from_the_pose():
    pitch, yaw = 0.02, 0.05
    known = finished(turns=(0.0, pitch, yaw), place=(0.3, 0.004, -0.01))
    x, y, z = wheel(known)
    found = measured_approach(known)
    forward = x * math.cos(pitch) + z * math.sin(pitch)
    assert found.angle_rad.value == pytest.approx(yaw, abs=1e-6)
    assert found.across_m.value == pytest.approx(0.004 + forward * math.sin(yaw) + y * (math.cos(yaw) - 1.0), abs=1e-6)
    height_m = -0.01 - x * math.sin(pitch) + z * math.cos(pitch) - z * math.cos(math.radians(60.0))
    assert found.height_m.value == pytest.approx(height_m, abs=1e-6)  # a smooth wheel's radius is its centre's height


def test_a_bogie_that_turns_moves_the_height_of_the_hit_and_nothing_else():
    at_rest, turned = (measured_approach(finished(angles=angles)) for angles in ((0.0,) * 3, (0.0, 0.03, 0.0)))
    apart = [getattr(turned, key).value - getattr(at_rest, key).value for key in ("angle_rad", "across_m", "height_m")]
    assert apart[:2] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert 0.005 < abs(apart[2]) < 0.02


@pytest.mark.slow
def test_the_standard_deviations_are_those_of_drawn_errors():
    known = finished(turns=(0.01, 0.02, 0.05))
    stated, chance, drawn = measured_approach(known), np.random.default_rng(1), []
    pose = known.ticks[1]["pose"].astype(float)
    for _ in range(600):
        row = known.ticks[1]
        turn = Rotation.from_rotvec(SD["turn"] * chance.standard_normal(3))
        row["pose"] = (
            *(pose[:3] + SD["position"] * chance.standard_normal(3)),
            *(Rotation.from_quat(pose[3:]) * turn).as_quat(),
        )
        row["joint_angle_rad"] = SD["joint"] * chance.standard_normal(3)
        found = measured_approach(known)
        drawn.append([found.angle_rad.value, found.across_m.value, found.height_m.value])
    expected = [stated.angle_rad.standard, stated.across_m.standard, stated.height_m.standard]
    assert np.std(drawn, axis=0) == pytest.approx(expected, rel=0.06)


def test_without_instruments_there_is_nothing_and_the_keys_are_null():
    assert measured_approach(finished([])) is None
    assert approach_keys(None) == dict.fromkeys(KEYS)


@pytest.mark.parametrize("state", SOURCE_STATES)
def test_a_source_that_corrects_nothing_is_named_and_the_place_is_not_known(state):
    found = measured_approach(finished(["motion={}"], source=state))
    corrects = state in ("used", "rejected")
    assert found.measured is corrects
    assert (found.angle_rad is not None) is corrects
    assert found.without == (() if corrects else (f"motion: {state.replace('_', ' ')} at the impact",))
    summary = approach_keys(found)
    assert summary["impact_speed_sd_mps"] == pytest.approx(4e-4)
    assert (summary["hit_across_m"] is not None) is corrects
    assert summary["judged_without"] == list(found.without)
    shown = {cell for column in ImpactExperiment.table(summary).columns for cell in column.cells}
    assert set(found.without) <= shown


def test_a_distance_tells_the_speed_and_no_place_across():
    found = measured_approach(finished(["motion={measures: distance}"]))
    assert found.measured
    assert (found.angle_rad, found.across_m, found.height_m) == (None, None, None)
    assert not measured_approach(finished(["imu={}", "joints={}"])).measured


def test_a_summary_from_before_these_keys_still_agrees_with_its_record():
    rules = [{"rule": "veer", "value": 0.001, "limit": 0.02, "ok": True}]
    unjudged = {"rule": "approach", "value": None, "limit": 0.2, "ok": None}
    old = {"reasons": [], "quality": rules, "residuals": None, "peak_force_N": 1.0, "corrected_peak_force_N": 1.0}
    new = {**old, "accepted": True, "quality": [*rules, unjudged], **dict.fromkeys(KEYS)}
    different, _, _ = disagreements({**old, "accepted": True}, Recomputed(new, (), "", 0, []))
    assert different == []
    judged = {**new, "hit_across_m": 0.01}
    assert disagreements({**old, "accepted": True}, Recomputed(judged, (), "", 0, []))[0]


@pytest.fixture(scope="module")
def askew():
    """A rover with 2 deg of heading and wheels that stand askew, held on its line and not: summary and ground_truth."""
    veer = "plant.veer={heading_deg: 2, track_error: 0.02, steering_deg: 1}"
    results = {
        held: run(load_config("sim_impact", [*SHORT, "motion={}", "imu={}", veer, f"trial.hold_line={held}"], seed=3))
        for held in ("null", "{}")
    }
    return {held: (one.summary, GroundTruth.recorded(one.events)) for held, one in results.items()}


@pytest.mark.slow
def test_a_rover_that_veers_misses_and_one_that_is_held_hits_straight(askew):
    (missed, _), (held, ground_truth) = askew["null"], askew["{}"]
    broken = {row["rule"] for row in missed["quality"] if row["ok"] is False}
    assert {"veer", "approach"} <= broken
    assert any("of the wheel's line, measured" in reason for reason in missed["reasons"])
    assert held["accepted"], held["reasons"]
    assert all(row["ok"] for row in held["quality"])
    heading, across = ground_truth.hit_heading, ground_truth.hit_across
    assert abs(math.degrees(heading)) < 0.1
    assert abs(across) < 0.015


@pytest.mark.slow
@pytest.mark.parametrize("held", ["null", "{}"])
def test_what_is_measured_at_the_hit_is_the_truth_within_its_errors(askew, held):
    summary, ground_truth = askew[held]
    heading, across = ground_truth.hit_heading, ground_truth.hit_across
    # the last reading is some ticks old, and the sensors' triangle stands a millimetre off
    assert summary["approach_angle_deg"] == pytest.approx(math.degrees(heading), abs=0.05)
    assert summary["hit_across_m"] == pytest.approx(across, abs=3e-3)
    assert summary["impact_speed_measured_mps"] == pytest.approx(ground_truth.hit_speed, abs=4e-4)
    energy = ground_truth.hit_energy
    assert abs(summary["effective_kinetic_energy_J"] - energy) < 3.0 * summary["effective_kinetic_energy_sd_J"]
    assert summary["judged_without"] == []


@pytest.mark.slow
def test_a_trial_whose_source_was_left_out_is_judged_without_it_and_says_so():
    settings = [*SHORT, "trial.start_distance_m=0.2", "motion={errors: {fault: frozen, fault_at_s: 1.5}}"]
    summary = run(load_config("sim_impact", settings)).summary
    assert summary["judged_without"], summary["reasons"]
    assert all(words.startswith("motion: ") for words in summary["judged_without"])
    rules = {row["rule"]: row for row in summary["quality"]}
    assert rules["approach"]["ok"] is None
    assert rules["veer"]["ok"] is True  # by the sensors
    assert rules["speed"]["value"] is not None  # by twin and wheels
