"""A trial with sensors in the rear links of the obstacle's frame, from the config to the files written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hil.app.run import run_experiment
from hil.cli import run
from hil.config import ConfigError, load_config
from hil.recording import read_trial
from hil.simulator.ground_truth import PLATE_PEAK

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

LINKS = "[{name: link_left, across_m: 0.254}, {name: link_right, across_m: -0.254}]"
REAR = ("daq.layout=rear", f"daq.channels={LINKS}", "telemetry.endpoint=''")
QUICK = ("trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5")
FRAME = ("trial.angle_deg=60", "ground.kind=firm")
CONFIG = load_config("sim_impact", [*REAR, *QUICK, *FRAME], seed=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rear")
    assert run_experiment(CONFIG, folder, progress=lambda _: None, figure=False).exit_code == 0
    return folder


def test_drive_is_cut_and_the_force_on_the_plate_recovered_within_its_interval(folder: Path) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["accepted"], summary["reasons"]
    assert summary["cut_latency_ms"] <= CONFIG.daq.block_ms + 1.0
    events = read_trial(folder, trusted=True).events
    true_N = float(events["value"][events["name"] == PLATE_PEAK.encode()][0])
    assert abs(summary["peak_force_N"] - true_N) <= summary["peak_force_u95_N"]


def test_links_read_the_share_of_the_force_that_the_statics_give(folder: Path) -> None:
    record, summary = read_trial(folder, trusted=True), json.loads((folder / "summary.json").read_text())
    in_links_N = (record.raw.max(axis=0) / np.array(CONFIG.sensitivities_mVpN) * 1e3).sum()
    assert in_links_N == pytest.approx(0.206 * summary["sum_of_peaks_N"], rel=0.06)  # the readings droop


def test_load_point_is_known_across_and_not_up(folder: Path) -> None:
    across_m, up_m = json.loads((folder / "summary.json").read_text())["load_point_m"]
    assert abs(across_m) < 0.02
    assert up_m is None


@pytest.mark.parametrize("command", ["verify", "replay"])
def test_the_record_is_whole_and_replays_to_the_same_bits(command: str, folder: Path) -> None:
    assert run([command, str(folder)]) == 0


def test_interval_widens_where_the_lever_is_short() -> None:
    shallow, steep = (load_config("sim_impact", [*REAR, f"trial.angle_deg={angle}"]) for angle in (40, 90))
    assert shallow.hit_place_u95 == pytest.approx(0.005 / (0.175 * np.tan(np.radians(20.0))))
    assert steep.hit_place_u95 == pytest.approx(0.005 / 0.175)
    assert shallow.plate_sensitivities_mVpN[0] < steep.plate_sensitivities_mVpN[0] < steep.sensitivities_mVpN[0]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ("daq.channels=[{name: link_left}, {name: link_right, across_m: 0}]", "across_m"),
        ("daq.channels=[{name: link_left, across_m: 0}, {name: link_right, across_m: 0}]", "to port of"),
        ("daq.channels=[{name: top, across_m: 0, up_m: 0}, {name: link_right, across_m: 0}]", "link_left, link_right"),
    ],
)
def test_links_that_cannot_be_are_refused_with_what_is_allowed(wrong: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        load_config("sim_impact", [*REAR, wrong])


def test_a_wheel_that_sinks_in_hits_lower_and_one_that_sinks_in_too_far_is_refused() -> None:
    firm, soft = (load_config("sim_impact", [*REAR, f"daq.sinkage_m={m}", "trial.angle_deg=90"]) for m in (0, 0.01))
    lower = soft.plate_sensitivities_mVpN[0] / firm.plate_sensitivities_mVpN[0]
    assert lower == pytest.approx(1.0 - 0.01 / 0.175)
    with pytest.raises(ConfigError, match=r"daq.sinkage_m: found 0.05; allowed: below 0.04094"):
        load_config("sim_impact", [*REAR, "daq.sinkage_m=0.05", "trial.angle_deg=40"])


def test_links_need_no_list_where_the_config_has_none() -> None:
    config = load_config("bumper", ["daq.layout=rear", "rig=simulated", "devices=null"])
    assert [channel.name for channel in config.daq.channels] == ["link_left", "link_right"]
