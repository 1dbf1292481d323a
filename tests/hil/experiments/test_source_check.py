"""An instrument outside that drifts bounds intervals; the run of one whose times are wrong is not accepted."""

from __future__ import annotations

import numpy as np
import pytest

from hil.app.run import run
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.source_check import source_check

DRIFT_MPS, LATE_S = 0.002, 0.05
BARE = "telemetry.endpoint=''"
# A rest, a drive and a rest, the instrument's axes being turned; the rover does 0.9 of the way of its rims.
STARTS_S, STOPS_S, RIMS_MPS, KEPT = 1.0, 6.0, 0.08, 0.9


def rows_of(config, *, drift_mps=0.0, late_s=0.0, rest_s=3.0, seed=1, starts_s=STARTS_S):
    """Ticks of a rest, a drive of 5 s and a rest, with readings of a place that drifts all the time."""
    period_ns, random = round(1e9 / config.motion.rate_hz), np.random.default_rng(seed)
    t_ns = np.arange(0, round((STOPS_S + rest_s) * 1e9), 1_000_000)
    count = len(config.motion.channels)
    rows = np.zeros(
        len(t_ns),
        [("t_ns", np.int64), ("cut", np.uint8), ("wheel_speed_radps", float, (len(config.layout.wheels),)),
         ("drives_t_ns", np.int64), ("motion_t_ns", np.int64), ("motion_reading", float, (count,)),
         ("pose", float, (7,))],
    )  # fmt: skip
    rows["t_ns"], rows["drives_t_ns"], rows["motion_t_ns"], rows["pose"][:, 6] = (
        t_ns,
        t_ns,
        t_ns // period_ns * period_ns,
        1.0,
    )
    drives = (t_ns >= starts_s * 1e9) & (t_ns < STOPS_S * 1e9)
    rows["cut"] = ~drives
    rows["wheel_speed_radps"] = RIMS_MPS * drives[:, None] / np.array(config.wheel_radii_m)
    read_s = np.unique(rows["motion_t_ns"]) * 1e-9
    ahead = KEPT * RIMS_MPS * np.clip(read_s - late_s - starts_s, 0.0, STOPS_S - starts_s) + drift_mps * read_s
    along = np.array(config.motion.direction) if count == 1 else np.array([0.6, 0.8, 0.0])
    places = config.motion.noise_m * random.standard_normal((len(read_s), count))
    places[:, : min(count, 3)] += ahead[:, None] * (along[:1] if count == 1 else along)
    rows["motion_reading"] = places[np.searchsorted(read_s, rows["motion_t_ns"] * 1e-9 - 1e-6)]
    return rows


def drift_of(config, rows):
    return source_check(Rig(config), rows).drift


@pytest.fixture(scope="module")
def config():
    return load_config("sim_follow", [BARE])


def test_a_drift_of_2_mm_a_second_is_found_by_the_readings_of_a_standing_rover(config):
    drift = drift_of(config, rows_of(config, drift_mps=DRIFT_MPS))
    assert abs(drift.rate_mps - DRIFT_MPS) < 3.0 * drift.sd_mps
    assert drift.sd_mps < 0.2 * DRIFT_MPS


@pytest.mark.slow
def test_of_100_sources_without_a_drift_the_rates_scatter_as_their_standard_deviation_says(config):
    found = [drift_of(config, rows_of(config, seed=seed)) for seed in range(100)]
    assert 0.7 < np.mean([one.rate_mps**2 / (3.0 * one.sd_mps**2) for one in found]) < 1.2


def test_a_rest_that_is_too_short_says_nothing_of_a_drift(config):
    assert drift_of(config, rows_of(config, drift_mps=DRIFT_MPS, rest_s=0.7)) is None


def test_soil_that_gives_way_after_a_pull_is_no_drift(config):
    rows = rows_of(config)
    settling = 0.02 * np.exp(-np.maximum(rows["motion_t_ns"] * 1e-9 - STOPS_S, 0.0) / 0.2)
    rows["motion_reading"][:, 0] -= settling
    drift = drift_of(config, rows)
    assert drift.rate_mps < 3.0 * drift.sd_mps


@pytest.mark.parametrize("measures", ["distance", "position", "pose"])
@pytest.mark.parametrize("late_s", [0.0, LATE_S, -LATE_S])
def test_readings_that_are_late_or_early_by_50_ms_are_found_and_only_their_run_is_not_accepted(measures, late_s):
    found = source_check(
        Rig(load_config("sim_follow", [BARE, f"motion.measures={measures}"])),
        rows_of(load_config("sim_follow", [BARE, f"motion.measures={measures}"]), late_s=late_s),
    )
    assert abs(found.late_s.value - late_s) < 2.0 * found.late_s.sd
    words = [f"ms {'later' if late_s > 0.0 else 'earlier'} than their times say"] if late_s else []
    reasons = found.reasons()
    assert [word in reason for word, reason in zip(words, reasons, strict=True)] == [True] * len(words)


@pytest.mark.slow
def test_of_100_right_sources_no_run_is_refused_and_95_intervals_of_the_delay_hold_it(config):
    rig = Rig(config)
    found = [source_check(rig, rows_of(config, seed=seed)) for seed in range(100)]
    assert sum(len(one.reasons()) for one in found) == 0
    assert sum(abs(one.late_s.value) < 1.96 * one.late_s.sd for one in found) >= 95


@pytest.mark.parametrize(
    ("given", "name", "overrides", "words"),
    [
        ({"starts_s": 0.0, "rest_s": 0.2}, "sim_follow", [], "did not start from a rest"),
        ({}, "sim_follow", ["follow.held_back={}", "loads.load_cell={}"], "pulls"),
        ({}, "sim_drawbar", ["motion={}"], "cylinders"),
        ({}, "sim_walk", ["motion={}"], "driven joints"),
    ],
)
def test_where_start_and_stop_say_nothing_of_the_delay_it_is_said_why(given, name, overrides, words):
    config = load_config(name, [BARE, *overrides])
    found = source_check(Rig(config), rows_of(config, late_s=LATE_S, **given))
    assert found.late_s is None
    assert words in found.unseen
    assert found.reasons() == []


def test_a_start_and_a_stop_that_contradict_each_other_refuse_no_run(config):
    """As of a rover that is pulled back when its wheels stop: what it does then is no delay."""
    rows = rows_of(config)
    rows["motion_reading"][rows["motion_t_ns"] > STOPS_S * 1e9] -= 0.005 * np.array([0.6, 0.8, 0.0])
    found = source_check(Rig(config), rows)
    assert found.reasons() == []
    assert abs(found.late_s.value) < 1.96 * found.late_s.sd


@pytest.mark.ci_cases("0.002")
@pytest.mark.slow
@pytest.mark.parametrize("drift_mps", [0.0, DRIFT_MPS])
def test_the_interval_of_a_followed_speed_holds_the_truth_though_its_instrument_drifts(drift_mps):
    fault = ["motion.errors.fault=biased", f"motion.errors.fault_size={drift_mps}"] if drift_mps else []
    summary = run(load_config("sim_follow", [BARE, *fault])).summary
    source = summary["estimation"]["sources"]["motion"]
    assert abs(source["drift_mps"] - drift_mps) < 4.0 * source["drift_sd_mps"]
    assert abs(summary["speed_mps"] - summary["true_speed_mps"]) < summary["speed_u95_mps"]
    assert summary["speed_u95_mps"] > 1.96 * source["drift_sd_mps"]


@pytest.mark.slow
def test_a_followed_speed_by_readings_that_are_late_by_50_ms_is_not_accepted_and_says_what_to_do():
    summary = run(load_config("sim_follow", [BARE, f"motion.errors.late_ms={1e3 * LATE_S:g}"])).summary
    source = summary["estimation"]["sources"]["motion"]
    assert abs(source["late_ms"] - 1e3 * LATE_S) < 2.0 * source["late_sd_ms"]
    assert not summary["accepted"]
    (reason,) = summary["reasons"]
    assert "hil calibrate motion" in reason
