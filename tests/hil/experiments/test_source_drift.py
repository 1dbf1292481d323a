"""An instrument outside whose readings move while the rover stands is found to drift, and its run is not accepted."""

from __future__ import annotations

import numpy as np
import pytest

from hil.app.run import run
from hil.config import load_config
from hil.experiments.source_drift import source_drift

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
         ("motion_reading", float, (3,))],
    )  # fmt: skip
    rows["t_ns"], rows["motion_t_ns"] = t_ns, t_ns // period_ns * period_ns
    drives = t_ns < 5_000_000_000
    rows["cut"] = ~drives
    rows["wheel_speed_radps"] = 0.3 * drives[:, None]
    read_s = np.unique(rows["motion_t_ns"]) * 1e-9
    places = config.motion.noise_m * random.standard_normal((len(read_s), 3))
    places[:, 0] += 0.08 * np.minimum(read_s, 5.0) + drift_mps * read_s
    rows["motion_reading"] = places[np.searchsorted(read_s, rows["motion_t_ns"] * 1e-9 - 1e-6)]
    return rows


def drift_of(config, rows, *, moved=False):
    return source_drift(config.motion, config.wheel_radii_m, rows, moved=moved)


@pytest.fixture(scope="module")
def config():
    return load_config("sim_follow", [BARE])


def test_a_drift_of_2_mm_a_second_is_found_by_the_readings_of_a_standing_rover(config):
    drift = drift_of(config, rows_of(config, drift_mps=DRIFT_MPS))
    assert abs(drift.rate_mps - DRIFT_MPS) < 3.0 * drift.sd_mps
    assert drift.sd_mps < 0.2 * DRIFT_MPS


def test_of_100_sources_without_a_drift_the_rates_scatter_as_their_standard_deviation_says(config):
    found = [drift_of(config, rows_of(config, seed=seed)) for seed in range(100)]
    assert 0.7 < np.mean([one.rate_mps**2 / (3.0 * one.sd_mps**2) for one in found]) < 1.2


def test_a_rest_that_is_too_short_says_nothing_of_a_drift(config):
    assert drift_of(config, rows_of(config, drift_mps=DRIFT_MPS, rest_s=0.7)) is None


def test_soil_that_gives_way_after_a_pull_is_no_drift(config):
    rows = rows_of(config)
    settling = 0.02 * np.exp(-np.maximum(rows["motion_t_ns"] * 1e-9 - 5.0, 0.0) / 0.2)
    rows["motion_reading"][:, 0] -= settling
    drift = drift_of(config, rows)
    assert drift.rate_mps < 3.0 * drift.sd_mps


def test_nothing_is_said_of_a_rover_whose_cylinders_give_way_after_the_cut(config):
    assert drift_of(config, rows_of(config, drift_mps=DRIFT_MPS), moved=True) is None


@pytest.mark.slow
@pytest.mark.parametrize("drift_mps", [0.0, DRIFT_MPS])
def test_the_interval_of_a_followed_speed_holds_the_truth_though_its_instrument_drifts(drift_mps):
    fault = ["motion.errors.fault=biased", f"motion.errors.fault_size={drift_mps}"] if drift_mps else []
    summary = run(load_config("sim_follow", [BARE, *fault])).summary
    source = summary["estimation"]["sources"]["motion"]
    assert abs(source["drift_mps"] - drift_mps) < 4.0 * source["drift_sd_mps"]
    assert abs(summary["speed_mps"] - summary["true_speed_mps"]) < summary["speed_u95_mps"]
    assert summary["speed_u95_mps"] > 1.96 * source["drift_sd_mps"]
