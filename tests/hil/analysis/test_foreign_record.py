"""An impact that another program recorded is measured as the rig's own loop has measured it."""

from __future__ import annotations

import csv
import json
import os

import numpy as np
import pytest
from scipy.io import savemat

from hil.analysis.foreign_impact import (
    ForeignRecordError,
    ForeignSamples,
    Map,
    SensorColumn,
    Time,
    impact_of,
    read_map,
    read_samples,
)
from hil.cli import run as hil
from hil.config import load_config, parse_config
from hil.config.rig import Rig
from hil.experiments.impact.sensing import sensor_channels
from hil.recording import read_trial

SENSORS = ("top", "lower_left", "lower_right")
# Of a loop in virtual time without a delay of the drives the cut is sent in the tick that decides it.
SAME = (
    "peak_force_N", "peak_force_u95_N", "corrected_peak_force_N", "sum_of_peaks_N", "onset_s", "impulse_Ns",
    "rise_time_s", "impact_time_s", "contact_duration_s", "load_point_m", "vibration_hz", "accepted", "reasons",
)  # fmt: skip


@pytest.fixture(scope="module")
def record(recorded):
    return read_trial(recorded("good"), trusted=True)


@pytest.fixture(scope="module")
def rig(record):
    return Rig(parse_config(str(record.meta["config"]), "config"))


def by_csv(path, t_s, forces):
    """As a German laboratory has it: a preamble, a row of units, decimal commas."""
    rows = [["Versuch 7"], ["Zeit", *SENSORS], ["s", "N", "N", "N"]]
    rows += [[repr(float(one)).replace(".", ",") for one in row] for row in np.column_stack([t_s, forces])]
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=";").writerows(rows)
    return Time("Zeit"), SENSORS, 1.0


def by_mat(path, t_s, forces):
    savemat(path, {"trial": {"t": 1e3 * t_s.reshape(-1, 1), "force": -1e-3 * forces}}, do_compression=True)
    return Time("trial.t", "ms"), ("trial.force:1", "trial.force:2", "trial.force:3"), -1e3


def by_tdms(path, t_s, forces):
    nptdms = pytest.importorskip("nptdms")
    with nptdms.TdmsWriter(path) as file:
        file.write_segment(
            [nptdms.ChannelObject("plate", name, one) for name, one in zip(SENSORS, forces.T, strict=True)]
        )
    return Time(rate_hz=1.0 / np.diff(t_s).mean()), tuple(f"plate/{name}" for name in SENSORS), 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("write", "suffix"), [(by_csv, "csv"), (by_mat, "mat"), (by_tdms, "tdms")])
def test_samples_of_another_program_give_the_impact_that_the_loop_has_measured(
    record, recorded, rig, tmp_path, write, suffix
):
    place = tmp_path / f"data.{suffix}"
    forces = record.raw * sensor_channels(rig.config).newton_per_volt
    time, columns, scale = write(place, record.daq_t_ns * 1e-9, forces)
    named = Map(time, {name: SensorColumn(one, "N", scale) for name, one in zip(SENSORS, columns, strict=True)})
    samples = read_samples(place, named, SENSORS, sensor_channels(rig.config))
    assert samples.notes == ()
    found, measured = impact_of(samples, rig)
    said = json.loads((recorded("good") / "summary.json").read_text())
    for key in SAME:
        assert found[key] == pytest.approx(said[key], rel=1e-6), key
    assert found["cut_tick_ms"] == pytest.approx(said["cut_latency_ms"], abs=1e-5)
    assert measured is not None
    assert [row["rule"] for row in found["quality"]] == [row["rule"] for row in said["quality"]]


def test_data_of_another_rate_are_interpolated_and_that_is_said(record, rig, tmp_path):
    time, columns, _ = by_mat(tmp_path / "data.mat", record.daq_t_ns[::3] * 1e-9, record.raw[::3])
    named = Map(time, {name: SensorColumn(one, "V", -1e3) for name, one in zip(SENSORS, columns, strict=True)})
    made = read_samples(tmp_path / "data.mat", named, SENSORS, sensor_channels(rig.config))
    assert made.notes == ("10000 samples a second, interpolated to those of daq.rate_hz, 30000",)
    every, third = (impact_of(one, rig)[0] for one in (ForeignSamples(record.daq_t_ns, record.raw, ()), made))
    assert third["peak_force_N"] == pytest.approx(every["peak_force_N"], rel=0.005)
    assert third["onset_s"] == pytest.approx(every["onset_s"], abs=2e-4)


FLAT = "t,a\n" + "".join(f"{0.0001 * i:.4f},0\n" for i in range(30))
COLUMN = "time: {column: t}\nchannels: {top: {column: a, unit: N}}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "text", "words"),
    [
        (FLAT, "time: {column: t}\n", "is no map of columns: Object missing required field `channels`"),
        (FLAT, COLUMN.replace("unit: N", "unit: kg"), "Invalid enum value 'kg'"),
        (FLAT, COLUMN.replace("column: t}", "column: t, rate_hz: 5}"), "a column or a rate_hz above 0, and not both"),
        (FLAT, COLUMN.replace("top", "bottom"), r"channels \['bottom'\], allowed: one or more of top, lower_left"),
        (FLAT, COLUMN.replace(": a,", ": b,"), "lines has all of the columns t, b"),
        (FLAT, COLUMN, "allowed: more than 0.2 s, for the zero"),
        (FLAT.replace("0.0003,0", "0.0003,x"), COLUMN, "could not convert string 'x'"),
        (FLAT.replace("0.0003,0", "0.0001,0"), COLUMN, "two or more, finite numbers, at rising times"),
        (FLAT.replace("0.0003,0", "0.0003,nan"), COLUMN, "allowed: two or more, finite numbers"),
        ("t,a\n0,0\n0.1,90\n1,0\n", COLUMN, "N in the first 0.2 s, in which the"),
        ("t,a\n0,0\n1e6,0\n", COLUMN, r"1e\+06 s, allowed: \d+ s of daq.rate_hz"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(tmp_path, data, text, words):
    (tmp_path / "data.csv").write_text(data)
    (tmp_path / "map.yaml").write_text(text)
    config = load_config("sim_impact")
    sensors = sensor_channels(config)

    def opened():
        columns = read_map(tmp_path / "map.yaml")
        return impact_of(read_samples(tmp_path / "data.csv", columns, config.layout.channels, sensors), Rig(config))

    with pytest.raises(ForeignRecordError, match=words):
        opened()


@pytest.mark.parametrize("name", ["data.mat", "data.tdms", "data.csv", "data.xls", "pipe.mat"])
def test_a_file_of_something_else_ends_the_command_with_a_sentence(tmp_path, capsys, name):
    if name == "pipe.mat":
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).write_bytes(bytes(range(256)) * 50)
    (tmp_path / "map.yaml").write_text(COLUMN)
    assert hil(["open", "sim_impact", str(tmp_path / name), "--map", str(tmp_path / "map.yaml")]) == 2
    assert f"{tmp_path / name} cannot be read: " in capsys.readouterr().err
