"""A trial with strain gauges on the obstacle's frame, from the config to the files."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from hil.app.run import run_experiment
from hil.cli import run as command
from hil.config import ConfigError, load_config
from hil.config.schema.loads import FRAME
from hil.messages.layout import Layout
from hil.recording import read_trial
from hil.simulator.ground_truth import PLATE_PEAK

QUICK = (
    "trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5", "ground.kind=firm",
    "telemetry.endpoint=''",
)  # fmt: skip
GAUGES = "loads={strain_gauges: {}}"
KEYS = {"strain_peak_N", "strain_peak_u95_N"}


def trial(folder: Path, *settings: str) -> Path:
    given = load_config("sim_impact", [*QUICK, GAUGES, *settings], seed=3)
    assert run_experiment(given, folder, progress=lambda _: None, figure=False).exit_code == 0
    return folder


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trial(tmp_path_factory.mktemp("simulated"))


def summary(folder: Path) -> dict:
    return json.loads((folder / "summary.json").read_text())


def test_the_peak_by_strain_gauges_is_the_true_force_within_its_interval(simulated: Path) -> None:
    said, events = summary(simulated), read_trial(simulated, trusted=True).events
    assert said["accepted"], said["reasons"]
    true_N = float(events["value"][events["name"] == PLATE_PEAK.encode()][0])
    assert abs(said["strain_peak_N"] - true_N) <= said["strain_peak_u95_N"] < 0.12 * true_N
    assert abs(said["strain_peak_N"] - said["peak_force_N"]) <= said["strain_peak_u95_N"] + said["peak_force_u95_N"]


@pytest.mark.slow
@pytest.mark.parametrize("done", ["verify", "replay"])
def test_the_record_is_whole_and_replays_to_the_same_bits(done: str, simulated: Path) -> None:
    assert command([done, str(simulated)]) == 0


def test_the_samples_are_in_the_record_under_the_name_of_the_channel(simulated: Path) -> None:
    record = read_trial(simulated, trusted=True)
    assert Layout.from_json(record.meta["layout"]).loads == (FRAME,)
    assert record.loads.raw.shape == (len(record.loads.t_ns), 1)
    assert {"pull_N", "wheel_load_N"}.isdisjoint(record.tick.dtype.names)


@pytest.mark.slow
def test_verify_notices_another_peak_in_the_summary(simulated: Path, tmp_path: Path) -> None:
    copy = copytree(simulated, tmp_path / "copy")
    said = summary(copy)
    (copy / "summary.json").write_text(json.dumps(said | {"strain_peak_N": said["strain_peak_N"] + 5.0}))
    assert command(["verify", str(copy)]) == 1


@pytest.mark.slow
def test_a_rig_without_gauges_has_neither_channel_nor_keys(tmp_path: Path) -> None:
    config = load_config("sim_impact", [*QUICK, "loads=null"])
    assert config.layout.loads == ()
    assert run_experiment(config, tmp_path, progress=lambda _: None, figure=False).exit_code == 0
    assert KEYS.isdisjoint(summary(tmp_path))


@pytest.mark.slow
def test_a_calibration_sheet_goes_before_full_scale(tmp_path: Path) -> None:
    sheet = "{frame: {load_per_V: [25], offset_V: 0.3}}"
    folder = trial(tmp_path, f"loads.calibration={sheet}", "loads.strain_gauges.noise_V=0.01")
    record, said = read_trial(folder, trusted=True), summary(folder)
    # 0.206 of the force at 60 degrees, with 25 N a volt
    assert np.ptp(record.loads.raw) == pytest.approx(0.206 * said["peak_force_N"] / 25.0, rel=0.1)
    assert said["strain_peak_N"] == pytest.approx(said["peak_force_N"], abs=said["strain_peak_u95_N"])


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (["loads.strain_gauges.bandwidth_hz=501"], r"loads\.strain_gauges\.bandwidth_hz: found 501; allowed: .*500"),
        (["loads={}"], r"loads: found no channels; allowed: leg_sensors, load_cell or strain_gauges"),
        (["daq.sinkage_m=0.09"], r"daq\.sinkage_m: found 0\.09; allowed: below 0\.08"),
        (["loads.calibration={frame: {load_per_V: [1, 2]}}"], r"load_per_V: found 2 numbers; allowed: 1, for frame"),
        (["loads.calibration={pull: {}}"], r"loads\.calibration\.pull: .*allowed: channels of the rig: frame"),
    ],
)
def test_gauges_that_cannot_measure_are_refused_with_what_is_allowed(settings: list[str], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        load_config("sim_impact", [GAUGES, *settings])


def test_gauges_beside_a_bumper_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"loads\.strain_gauges: .*daq\.layout triangle, rear or bottom"):
        load_config("bumper", ["rig=simulated", "devices=null", GAUGES])
