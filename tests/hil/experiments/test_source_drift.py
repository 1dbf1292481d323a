"""An instrument outside whose readings move while the rover stands is found to drift, and its run is not accepted."""

from __future__ import annotations

import numpy as np
import pytest

from hil.app.run import run
from hil.config import load_config
from hil.experiments.source_drift import drift_reasons, source_drift

DRIFT_MPS = 0.002
BARE = "telemetry.endpoint=''"


def rows_of(config, *, drift_mps=0.0, rest_s=3.0, seed=1):
    """Ticks of a drive of 5 s and a rest, with readings of a place that drifts all the time."""
    period_ns, random = round(1e9 / config.motion.rate_hz), np.random.default_rng(seed)
    t_ns = np.arange(0, round((5.0 + rest_s) * 1e9), 1_000_000)
    wheels = len(config.layout.wheels)
    rows = np.zeros(
        len(t_ns),
        [("t_ns", np.int64), ("cut", np.uint8), ("wheel_speed_radps", float, (wheels,)), ("motion_t_ns", np.int64),
         ("motion_reading", float, (3,)), ("pose", np.float32, (7,))],
    )  # fmt: skip
    rows["t_ns"], rows["motion_t_ns"] = t_ns, t_ns // period_ns * period_ns
    rows["pose"][:, 6] = 1.0
    drives = t_ns < 5_000_000_000
    rows["cut"] = ~drives
    rows["wheel_speed_radps"] = 0.3 * drives[:, None]
    read_s = np.unique(rows["motion_t_ns"]) * 1e-9
    places = config.motion.noise_m * random.standard_normal((len(read_s), 3))
    places[:, 0] += 0.08 * np.minimum(read_s, 5.0) + drift_mps * read_s
    rows["motion_reading"] = places[np.searchsorted(read_s, rows["motion_t_ns"] * 1e-9 - 1e-6)]
    return rows


def drift_of(config, rows, *, pulled=False, moved=False):
    return source_drift(config.motion, config.wheel_radii_m, rows, pulled=pulled, moved=moved)


@pytest.fixture(scope="module")
def config():
    return load_config("sim_follow", [BARE])


def test_a_drift_of_2_mm_a_second_is_found_by_the_readings_of_a_standing_rover(config):
    drift = drift_of(config, rows_of(config, drift_mps=DRIFT_MPS))
    assert abs(drift.rate_mps - DRIFT_MPS) < 3.0 * drift.sd_mps
    assert drift.sd_mps < 0.1 * DRIFT_MPS
    assert drift.sure
    source = {"left_out": False, "drift_mps": drift.rate_mps, "drift_sd_mps": drift.sd_mps, "drifts": True}
    assert "while the rover stood" in drift_reasons({"estimation": {"sources": {"motion": source}}})[0]
    assert drift_reasons({"estimation": {"sources": {"motion": source | {"left_out": True}}}}) == []


def test_none_of_100_sources_without_a_drift_is_taken_for_one(config):
    found = [drift_of(config, rows_of(config, seed=seed)) for seed in range(100)]
    assert not any(one.sure for one in found)
    assert np.mean([one.rate_mps**2 / (3.0 * one.sd_mps**2) for one in found]) < 1.2


def test_a_rest_that_is_too_short_says_nothing_of_a_drift(config):
    assert drift_of(config, rows_of(config, drift_mps=DRIFT_MPS, rest_s=0.7)) is None


def test_soil_that_gives_way_after_a_pull_is_no_drift(config):
    rows = rows_of(config)
    settling = 0.02 * np.exp(-np.maximum(rows["motion_t_ns"] * 1e-9 - 5.0, 0.0) / 0.2)
    rows["motion_reading"][:, 0] -= settling
    assert drift_of(config, rows).sure
    assert not drift_of(config, rows, pulled=True).sure


def test_a_body_that_still_settles_moves_the_measured_point_and_that_is_no_drift():
    config = load_config("sim_follow", [BARE, "motion.turn_deg=[0, 0, 0]", "motion.point_m=[0, 0, 0.4]"])
    rows = rows_of(config)
    moved = (rows["t_ns"] > 5_000_000_000) * np.exp(-np.maximum(rows["motion_t_ns"] * 1e-9 - 5.0, 0.0))
    rows["pose"][:, 4] = 0.01 * moved  # pitch of 20 mrad
    rows["motion_reading"][:, 0] += 0.02 * config.motion.point_m[2] * moved
    assert not drift_of(config, rows).sure
    rows["pose"][:, 4] = 0.0
    assert drift_of(config, rows).sure


def test_nothing_is_said_of_a_rover_whose_cylinders_give_way_after_the_cut(config):
    assert drift_of(config, rows_of(config, drift_mps=DRIFT_MPS), moved=True) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sim_follow", "sim_motion"])
def test_a_run_whose_instrument_drifts_is_not_accepted_and_says_why(name):
    fault = ["motion.errors.fault=biased", f"motion.errors.fault_size={DRIFT_MPS}"]
    summary = run(load_config(name, [BARE, *fault])).summary
    assert not summary["accepted"]
    assert any("while the rover stood" in reason for reason in summary["reasons"])


@pytest.mark.slow
def test_the_interval_of_a_followed_speed_holds_what_its_instrument_may_drift_by():
    summary = run(load_config("sim_follow", [BARE])).summary
    assert summary["accepted"]
    assert abs(summary["speed_mps"] - summary["true_speed_mps"]) < summary["speed_u95_mps"]
    assert summary["speed_u95_mps"] > 1.96 * summary["estimation"]["sources"]["motion"]["drift_sd_mps"]
