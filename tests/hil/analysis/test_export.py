"""Exports are read back by the formats' own readers: names, units, times, and every value."""

from __future__ import annotations

import csv
import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from drivers.extensions import install_command
from hil.analysis import open_run
from hil.analysis.campaign import other_cell, table_text
from hil.analysis.dataset import MissingPackageError
from hil.analysis.export.run import FORMATS, write_csv
from hil.cli import run as hil
from hil.recording import read_trial

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def good(recorded):
    return recorded("good")


@pytest.fixture
def export(good, tmp_path):
    def make(to):
        path = tmp_path / f"made.{to}"
        assert hil(["export", str(good), "--to", to, "--out", str(path)]) == 0
        return path

    return make


@pytest.fixture(scope="module")
def record(good):
    return read_trial(good, trusted=True)


def test_tdms_opens_as_waveforms_with_the_right_time_axis(export, record):
    nptdms = pytest.importorskip("nptdms")
    file = nptdms.TdmsFile.read(export("tdms"))
    volts = file["samples"]["raw_V.top"]
    np.testing.assert_array_equal(volts[:], record.raw[:, 0])
    assert volts.properties["unit_string"] == "V"
    assert volts.properties["wf_samples"] == len(record.raw)
    np.testing.assert_allclose(volts.time_track(), record.daq_t_ns * 1e-9, atol=1e-6)
    force = file["tick"]["force_sum_N"]
    assert force.properties["unit_string"] == "N"
    np.testing.assert_array_equal(force[:], record.tick["force_sum_N"])
    np.testing.assert_allclose(force.time_track(), record.tick["t_ns"] * 1e-9, atol=1e-9)
    assert "wf_increment" not in file["events"]["t_ns"].properties
    assert file.properties["config_sha256"] == record.meta["config_sha256"]


def test_parquet_keeps_types_units_and_every_value(export, record):
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = export("parquet")
    table = parquet.read_table(folder / "tick.parquet")
    np.testing.assert_array_equal(table["normal_force_N.front_left"], record.tick["normal_force_N"][:, 0])
    assert table.schema.field("normal_force_N.front_left").metadata[b"unit"] == b"N"
    about = json.loads(table.schema.metadata[b"run"])
    assert about["summary_accepted"] == 1.0
    samples = parquet.read_table(folder / "samples.parquet")
    np.testing.assert_array_equal(samples["t_ns"], record.daq_t_ns)
    names = parquet.read_table(folder / "events.parquet")["name"].to_pylist()
    assert names == [item.decode() for item in record.events["name"]]


def test_csv_reads_back_bit_for_bit(export, record):
    folder = export("csv")
    with (folder / "samples.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    back = np.array([[float(row[f"raw_V.{name}"]) for name in ("top", "lower_left", "lower_right")] for row in rows])
    np.testing.assert_array_equal(back, record.raw)
    with (folder / "columns.csv").open(newline="") as file:
        units = {(row["dataset"], row["column"]): row["unit"] for row in csv.DictReader(file)}
    assert units["tick", "speed_mps"] == "m/s"
    assert units["samples", "raw_V.top"] == "V"


def test_mat_opens_with_scipy_and_holds_no_time_of_day(export, record, good, tmp_path):
    from scipy.io import loadmat

    path = export("mat")
    content = loadmat(path, simplify_cells=True)
    np.testing.assert_array_equal(content["samples"]["raw_V_top"], record.raw[:, 0])
    np.testing.assert_array_equal(content["tick"]["set_speed_radps_front_right"], record.tick["set_speed_radps"][:, 1])
    assert content["units"]["tick"]["set_speed_radps_front_right"] == "rad/s"
    assert content["run"]["experiment"] == "impact"
    again = tmp_path / "again.mat"
    assert hil(["export", str(good), "--to", "mat", "--out", str(again)]) == 0
    assert again.read_bytes() == path.read_bytes()


def fits(value, schema):
    """Whether a value is as its schema says, in the part of JSON Schema that Foxglove reads: one type a field."""
    kinds = {"object": dict, "number": (int, float), "integer": int, "string": str}
    if not isinstance(value, kinds[schema["type"]]):
        return False
    return schema["type"] != "object" or all(fits(one, schema["properties"][key]) for key, one in value.items())


def test_mcap_has_a_channel_for_each_dataset_and_for_what_foxglove_shows_with_schemas_and_rising_times(export, record):
    reader = pytest.importorskip("mcap.reader")
    with export("mcap").open("rb") as file:
        made = reader.make_reader(file)
        channels, schemas = made.get_summary().channels.values(), made.get_summary().schemas.values()
        numbers = {(name, "json") for name in ("tick", "events", "samples", "trial")}
        shown = {(name, "protobuf") for name in ("/scene", "/tf", "/log")}
        assert {(one.topic, one.message_encoding) for one in channels} == numbers | shown
        assert {one.name for one in schemas if one.encoding == "protobuf"} == {
            "foxglove.SceneUpdate", "foxglove.FrameTransforms", "foxglove.Log",
        }  # fmt: skip
        schemas = [one for one in schemas if one.encoding == "jsonschema"]
        assert all(json.loads(one.data)["type"] == "object" for one in schemas)
        messages = [(channel.topic, message) for _, channel, message in made.iter_messages()]
    times = [message.log_time for _, message in messages]
    assert times == sorted(times)
    ticks = [json.loads(message.data) for topic, message in messages if topic == "tick"]
    assert [tick["t_ns"] for tick in ticks] == record.tick["t_ns"].tolist()
    assert [tick["slip"]["rear_left"] for tick in ticks] == record.tick["slip"][:, 4].tolist()
    shapes = {one.name.removeprefix("rover_hil."): json.loads(one.data) for one in schemas}
    some = [one for one in messages[:500] + messages[-500:] if one[0] in ("tick", "events", "samples")]
    assert all(fits(json.loads(message.data), shapes[topic]) for topic, message in some)
    volts = [json.loads(message.data)["raw_V"]["top"] for topic, message in messages if topic == "samples"]
    assert volts == record.raw[:, 0].tolist()


def test_open_run_has_time_wheels_and_channels_as_coordinates_and_units(good, record):
    pytest.importorskip("xarray")
    data = open_run(good)
    force = data["normal_force_N"].sel(wheel="rear_right")
    np.testing.assert_array_equal(force, record.tick["normal_force_N"][:, 5])
    assert force.attrs["units"] == "N"
    np.testing.assert_array_equal(data["time"], record.tick["t_ns"] * 1e-9)
    np.testing.assert_array_equal(data["raw_V"].sel(channel="lower_left"), record.raw[:, 1])
    assert data["raw_V"].dims == ("sample_time", "channel")
    assert data.attrs["summary_peak_force_N"] > 10.0


@pytest.mark.parametrize("to", FORMATS)
def test_a_changed_record_is_refused_and_stamped_if_wanted(edited, to, tmp_path, capsys):
    folder = edited("good", lambda edit: edit.rows("daq/raw", 2.0 * edit["daq/raw"][()]), sealed=False)
    path = tmp_path / "made"
    assert hil(["export", str(folder), "--to", to, "--out", str(path)]) == 2
    assert "trial.h5 does not match its digest" in capsys.readouterr().err
    assert not path.exists()
    if to == "csv":
        assert hil(["export", str(folder), "--to", to, "--out", str(path), "--unverified"]) == 0
        assert 'unverified,"trial.h5 does not match' in (path / "run.csv").read_text()


def test_without_the_extra_a_sentence_says_what_to_install(good, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert hil(["export", str(good), "--to", "tdms"]) == 2
    said = capsys.readouterr().err
    assert "npTDMS, which is not installed" in said
    assert install_command("export") in said


@pytest.fixture(scope="module")
def with_loads(recorded):
    return recorded("loads")


def test_samples_of_leg_sensors_and_load_cell_are_exported_like_those_of_force_sensors(with_loads, tmp_path):
    from scipy.io import loadmat

    loads, layout = (
        read_trial(with_loads, trusted=True).loads,
        json.loads(str(read_trial(with_loads, trusted=True).meta["layout"])),
    )
    assert len(loads.raw) > 100
    assert layout["loads"][-1] == "pull"
    for to in ("csv", "mat"):
        assert hil(["export", str(with_loads), "--to", to, "--out", str(tmp_path / f"made.{to}")]) == 0
    with (tmp_path / "made.csv" / "load_samples.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    back = np.array([[float(row[f"raw_V.{name}"]) for name in layout["loads"]] for row in rows])
    np.testing.assert_array_equal(back, loads.raw)
    assert [int(row["t_ns"]) for row in rows] == loads.t_ns.tolist()
    content = loadmat(tmp_path / "made.mat", simplify_cells=True)
    np.testing.assert_array_equal(content["load_samples"]["raw_V_pull"], loads.raw[:, -1])
    assert content["units"]["load_samples"]["raw_V_pull"] == "V"
    np.testing.assert_array_equal(content["load_blocks"]["sequence"], loads.blocks["sequence"])


def test_parquet_tdms_and_mcap_have_the_load_samples_too(with_loads, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    nptdms, reader = pytest.importorskip("nptdms"), pytest.importorskip("mcap.reader")
    pull_V = read_trial(with_loads, trusted=True).loads.raw[:, -1]
    for to in ("parquet", "tdms", "mcap"):
        assert hil(["export", str(with_loads), "--to", to, "--out", str(tmp_path / f"made.{to}")]) == 0
    table = parquet.read_table(tmp_path / "made.parquet" / "load_samples.parquet")
    np.testing.assert_array_equal(table["raw_V.pull"], pull_V)
    np.testing.assert_array_equal(nptdms.TdmsFile.read(tmp_path / "made.tdms")["load_samples"]["raw_V.pull"][:], pull_V)
    with (tmp_path / "made.mcap").open("rb") as file:
        messages = list(reader.make_reader(file).iter_messages(topics=["load_samples"]))
    assert [json.loads(message.data)["raw_V"]["pull"] for _, _, message in messages] == pull_V.tolist()


def test_open_run_has_the_load_samples_by_their_own_times_and_channels(with_loads):
    pytest.importorskip("xarray")
    loads, data = read_trial(with_loads, trusted=True).loads, open_run(with_loads)
    pull = data["load_raw_V"].sel(load_channel="pull")
    np.testing.assert_array_equal(pull, loads.raw[:, -1])
    np.testing.assert_allclose(pull["load_sample_time"], loads.t_ns * 1e-9)
    assert pull.attrs["units"] == "V"
    assert data["raw_V"].dims == ("sample_time", "channel")


def test_open_run_without_xarray_says_what_to_install(good, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "xarray", None)
    with pytest.raises(MissingPackageError, match=r"xarray.*\[export\]"):
        open_run(good)


def test_what_is_there_is_never_overwritten_and_nothing_half_written_is_left(good, tmp_path, capsys):
    path = tmp_path / "made.mat"
    path.write_bytes(b"mine")
    assert hil(["export", str(good), "--to", "mat", "--out", str(path)]) == 2
    assert "exists: remove it" in capsys.readouterr().err
    assert path.read_bytes() == b"mine"
    assert hil(["export", str(tmp_path), "--to", "csv"]) == 2
    assert "holds no trial.h5" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["made.mat"]


def test_a_campaign_exports_its_table_and_each_run(good, tmp_path, capsys):
    parquet = pytest.importorskip("pyarrow.parquet")
    campaign = tmp_path / "campaign"
    for name in ("trial_0001", "trial_0002"):
        shutil.copytree(good, campaign / name)
    (campaign / "campaign.csv").write_text("number,status,peak_force_N\n1,kept,87.5\n2,kept,\n")
    with (campaign / "trial_0002" / "summary.json").open("a") as file:
        file.write(" x")
    assert hil(["export", str(campaign), "--to", "parquet"]) == 0
    out, err = capsys.readouterr()
    assert "1 run: " in out
    assert "left out: trial_0002" in err
    made = campaign / "export_parquet"
    assert parquet.read_table(made / "campaign.parquet")["peak_force_N"].to_pylist() == [87.5, None]
    assert sorted(one.name for one in made.iterdir()) == ["campaign.parquet", "trial_0001"]
    assert (made / "trial_0001" / "samples.parquet").is_file()


def test_the_ten_lines_of_python_in_the_docs_run(good, tmp_path, monkeypatch, capsys):
    pytest.importorskip("xarray")
    text = (Path(__file__).parents[3] / "docs/how-to/read-a-record.md").read_text()
    lines = text.split("## Ten lines of Python")[1].split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "RUN").symlink_to(good)
    exec(compile(lines, "read-a-record.md", "exec"), {})
    said = capsys.readouterr().out
    assert "N normal force of the ground" in said
    assert (tmp_path / "force.csv").read_text().startswith("time,force_sum_N")


def test_the_table_of_a_campaign_behind_a_link_is_not_exported(tmp_path, capsys):
    """A link leads to any file, as a key of its reader."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign" / "campaign.csv").symlink_to(tmp_path / "secret")
    assert hil(["export", str(tmp_path / "campaign"), "--to", "csv"]) == 2
    assert "campaign.csv is a link" in capsys.readouterr().err
    assert not (tmp_path / "campaign" / "export_csv").exists()


@pytest.mark.parametrize("begins", "=@+-\t")
def test_names_and_texts_of_an_export_are_no_formulas_of_a_spreadsheet(tmp_path, begins):
    write_csv([], {f"{begins}key": f"{begins}cmd|'/c calc'!A0", "number": -1.5, "text": "-1.5", "none": "-"}, tmp_path)
    with (tmp_path / "run.csv").open(newline="") as file:
        rows = dict(csv.reader(file))
    assert rows[f"'{begins}key"] == f"'{begins}cmd|'/c calc'!A0"
    assert rows["number"] == rows["text"] == "-1.5"
    assert rows["none"] == "-"


def test_the_table_of_a_campaign_has_no_formulas_and_one_of_an_earlier_version_still_agrees():
    rows = [{"number": 1, "=name": "@SUM(1)", "height_m": -0.5}]
    text = table_text(rows)
    assert text.splitlines() == ["number,'=name,height_m", "1,'@SUM(1),-0.5"]
    for known in (text, "number,=name,height_m\n1,@SUM(1),-0.5\n"):
        assert other_cell(known, rows) == ""
