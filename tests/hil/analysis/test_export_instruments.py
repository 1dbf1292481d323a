"""Exports of a record with instruments of motion: channels by name, each with its unit, and every value."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hil.analysis import open_run
from hil.app import run as app
from hil.cli import run as hil
from hil.config import load_config
from hil.recording import read_trial

pytestmark = pytest.mark.slow
SETTINGS = (
    "experiment=drive", "drive.steps=[{for_s: 0.5, speed_mps: 0.05}]", "motion={}", "imu={}",
    "joints={encoders: [{joint: left_bogie}]}", "telemetry.endpoint=''", "loop.rate_hz=250",
)  # fmt: skip
UNITS = {
    "motion_reading.x_m": "m", "motion_reading.qw": "1", "imu_reading.ax_mps2": "m/s^2",
    "imu_reading.wz_radps": "rad/s",
    "joints_reading.left_bogie": "rad", "pose_sd.yaw": "rad", "pose_sd.z": "m", "speed_sd_mps": "m/s",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("measured") / "run"
    place.mkdir()
    app.run_experiment(load_config("sim_impact", SETTINGS), place, lambda _: None, figure=False)
    return place


@pytest.fixture(scope="module")
def tick(folder):
    return read_trial(folder, trusted=True).tick


def column(tick, name):
    """The numbers of a column of an export."""
    elements = {"x_m": 0, "qw": 6, "ax_mps2": 0, "wz_radps": 5, "left_bogie": 0, "yaw": 5, "z": 2}
    field, _, element = name.partition(".")
    return tick[field][:, elements[element]] if element else tick[field]


def made(folder, tmp_path, to):
    path = tmp_path / f"made.{to}"
    assert hil(["export", str(folder), "--to", to, "--out", str(path)]) == 0
    return path


def test_parquet_has_each_channel_with_its_unit_and_every_value(folder, tick, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = made(folder, tmp_path, "parquet")
    (file,) = [path] if path.is_file() else [one for one in path.rglob("*.parquet") if one.stem.endswith("tick")]
    table = parquet.read_table(file)
    for name, unit in UNITS.items():
        assert table.schema.field(name).metadata[b"unit"].decode() == unit
        np.testing.assert_array_equal(table[name].to_numpy(), column(tick, name))


def test_tdms_has_each_channel_with_its_unit_and_every_value(folder, tick, tmp_path):
    nptdms = pytest.importorskip("nptdms")
    file = nptdms.TdmsFile.read(made(folder, tmp_path, "tdms"))
    for name, unit in UNITS.items():
        assert file["tick"][name].properties["unit_string"] == unit
        np.testing.assert_array_equal(file["tick"][name][:], column(tick, name))


def test_mcap_has_the_readings_by_channel(folder, tick, tmp_path):
    reader = pytest.importorskip("mcap.reader")
    with made(folder, tmp_path, "mcap").open("rb") as file:
        messages = [json.loads(one.data) for _, _, one in reader.make_reader(file).iter_messages(topics=["tick"])]
    assert messages[-1]["motion_reading"]["x_m"] == tick["motion_reading"][-1, 0]
    assert messages[-1]["imu_reading"]["wz_radps"] == tick["imu_reading"][-1, 5]


def test_mat_and_csv_name_each_channel(folder, tick, tmp_path):
    scipy_io = pytest.importorskip("scipy.io")
    content = scipy_io.loadmat(made(folder, tmp_path, "mat"), simplify_cells=True)
    assert "motion_reading" in json.dumps(sorted(map(str, _keys(content))))
    path = made(folder, tmp_path, "csv")
    text = "\n".join(
        one.read_text(encoding="utf-8")[:20000] for one in ([path] if path.is_file() else path.rglob("*.csv"))
    )
    assert all(name in text for name in UNITS)


def _keys(content):
    for key, value in content.items():
        yield key
        if isinstance(value, dict):
            yield from _keys(value)


def test_a_dataset_names_instruments_and_channels(folder, tick):
    pytest.importorskip("xarray")
    run = open_run(folder)
    assert list(run["instrument"].values) == ["motion", "imu", "joints"]
    assert run["source"].dims == ("time", "instrument")
    reading = run["motion_reading"]
    np.testing.assert_array_equal(reading.sel(motion_reading_element="x_m"), tick["motion_reading"][:, 0])


def test_a_record_with_instruments_is_verified_and_replayed_bit_for_bit(folder):
    assert hil(["verify", str(folder)]) == 0
    assert hil(["replay", str(folder)]) == 0
