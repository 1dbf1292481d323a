"""Sweeps: any key, the product of the values, one table, every problem before anything is written."""

from __future__ import annotations

import csv

import pytest

from hil.campaign import workers
from hil.campaign.sweep import UNFINISHED, SweepRows, expand_sweep, run_sweep, sweep_head, write_table
from hil.cli import run
from hil.config import ConfigError
from hil.config.loading import shipped_files
from hil.config.text_io import range_values
from hil.recording.run_folder import FolderError

from .conftest import Lines, NeverStop, summary_of_job


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0:1:0.1", [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        ("1:5:2", [1, 3, 5]),
        ("0:1:0.4", [0.0, 0.4, 0.8, 1.0]),
        ("2:2:1", [2]),
        ("1e-10:5e-10:1e-10", [1e-10, 2e-10, 3e-10, 4e-10, 5e-10]),
        ("0:1e-11:4e-12", [0.0, 4e-12, 8e-12, 1e-11]),
        ("1e9:2e9:4e8", [1e9, 1.4e9, 1.8e9, 2e9]),
    ],
)
def test_the_end_of_a_range_is_included_and_whole_numbers_stay_whole(text, values) -> None:
    found = range_values(text, 100)
    assert found == values
    assert [type(one) for one in found] == [type(one) for one in values]


@pytest.mark.parametrize("text", ["1:0:1", "0:1:0", "0:1", "a:b:c", "0:1:0.001", "0:1:-1"])
def test_a_range_that_is_empty_too_long_or_none_is_refused(text) -> None:
    with pytest.raises(ValueError, match="FIRST:LAST:STEP"):
        range_values(text, 100)


def test_a_sweep_is_the_product_of_its_values_the_last_key_changing_first() -> None:
    runs = expand_sweep("sim_impact", ["trial.angle_deg=50,60:70:10", "ground.kind=soil,firm", "seed=1:2:1"], (), None)
    assert [tuple(run.values.values()) for run in runs[:3]] == [(50, "soil", 1), (50, "soil", 2), (50, "firm", 1)]
    assert len(runs) == 3 * 2 * 2
    assert runs[-1].config.trial.angle_deg == 70
    assert runs[-1].config.ground.kind == "firm"
    assert runs[-1].config.seed == 2


def test_lists_and_texts_are_values_too() -> None:
    runs = expand_sweep("sim_impact", ["realtime.cpus=[],[0, 1]", 'telemetry.endpoint=""'], (), None)
    assert [run.config.realtime.cpus for run in runs] == [(), (0, 1)]


def test_all_problems_of_a_sweep_are_reported_at_once_and_nothing_is_written(tmp_path, capfd) -> None:
    over = (
        "trial.angle=3",
        "trial.speed_mps=0.4:0.01:0.1",
        "a",
        "ground.kind=soil,mud",
        "trial.ramp_s=0.5,100",
        "seed=",
    )
    options = [part for text in over for part in ("--over", text)]
    assert run(["sweep", "sim_impact", *options, "--out", str(tmp_path / "s")]) == 2
    said = capfd.readouterr().err
    for part in (
        "did you mean angle_deg?",
        "FIRST:LAST:STEP",
        "--over a: found no key",
        "'mud'",
        "trial.ramp_s: found 100",
        "--over seed: found no values",
    ):
        assert part in said
    assert not (tmp_path / "s").exists()


def test_a_sweep_of_a_real_rig_is_refused() -> None:
    with pytest.raises(ConfigError, match="rig: found real; allowed: simulated or simulated_wire; set it"):
        expand_sweep("mars_dome", ["trial.angle_deg=50,60"], (), None)


@pytest.mark.slow
def test_a_stopped_sweep_has_the_rows_that_are_done_and_reports_each(pretend, here, tmp_path) -> None:
    stop, report = NeverStop(), Lines()

    def make(job):
        stop.wanted = len(jobs) == 150
        return summary_of_job(job)

    jobs = pretend(make)
    runs = expand_sweep("sim_impact", ["trial.angle_deg=50:60:1", "seed=1:20:1"], (), None)
    path = tmp_path / "sweep.csv"
    run_sweep(runs, path, "csv", here, report, stop.now)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert len(rows) == 150
    assert [int(row["number"]) for row in rows] == list(range(1, 151))
    assert rows[25]["trial.angle_deg"] == "51"
    assert rows[25]["seed"] == "6"
    assert report.counts[-1] == (150, 220)


@pytest.mark.slow
def test_csv_and_parquet_have_the_same_values(tmp_path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        {"number": 1, "a": 1, "peak_force_N": 0.1 + 0.2, "reasons": "", "accepted": True, "mixed": "soil", "list": [1]},
        {"number": 2, "a": 2.5, "peak_force_N": None, "reasons": "x; y", "accepted": False, "mixed": 3, "list": []},
    ]
    write_table(tmp_path / "t.csv", rows, "csv")
    write_table(tmp_path / "t.parquet", rows, "parquet")
    found = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert found[0]["peak_force_N"] == 0.1 + 0.2
    assert found[1]["peak_force_N"] is None
    assert [row["a"] for row in found] == [1.0, 2.5]
    text = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert float(text[0]["peak_force_N"]) == 0.1 + 0.2
    assert text[1]["peak_force_N"] == ""
    assert text[0]["accepted"] == "true"


@pytest.mark.slow
def test_a_sweep_runs_the_pure_function_and_leaves_one_file(tmp_path, monkeypatch) -> None:
    runs = expand_sweep(
        "sim_impact", ["trial.angle_deg=50,90"], ["trial.start_distance_m=0.03", "telemetry.endpoint=''"], None
    )
    run_sweep(
        runs, tmp_path / "sweep.csv", "csv", lambda: workers.this_process((), lambda _: None), Lines(), lambda: False
    )
    assert [file.name for file in tmp_path.iterdir()] == ["sweep.csv"]
    rows = list(csv.DictReader((tmp_path / "sweep.csv").read_text().splitlines()))
    assert all(row["accepted"] == "true" and float(row["peak_force_N"]) > 10 for row in rows)


OVER = ["trial.angle_deg=50:60:1", "seed=1:4:1"]


def stopped_after(count, pretend, here, path):
    """A sweep of `OVER` that is stopped after so many runs; the seeds of the runs that were made."""
    stop = NeverStop()

    def make(job):
        stop.wanted = len(jobs) == count
        return summary_of_job(job)

    jobs = pretend(make)
    run_sweep(expand_sweep("sim_impact", OVER, (), None), path, "csv", here, Lines(), stop.now)
    return jobs


@pytest.mark.slow
def test_a_resumed_sweep_makes_the_rest_and_its_table_is_that_of_one_that_ran_through(pretend, here, tmp_path) -> None:
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    whole, parts = tmp_path / "whole" / "sweep.csv", tmp_path / "parts" / "sweep.csv"
    runs = expand_sweep("sim_impact", OVER, (), None)
    pretend(summary_of_job)
    run_sweep(runs, whole, "csv", here, Lines(), lambda: False)
    stopped_after(30, pretend, here, parts)
    with (parts.parent / UNFINISHED).open("a") as file:
        file.write('{"number": 31, "trial.an')  # of a process that was killed while it wrote
    jobs = pretend(summary_of_job)
    run_sweep(runs, parts, "csv", here, Lines(), lambda: False, resume=True)
    assert len(jobs) == len(runs) - 30
    assert parts.read_bytes() == whole.read_bytes()
    assert [file.name for file in parts.parent.iterdir()] == ["sweep.csv"]


@pytest.mark.slow
def test_another_sweep_is_not_resumed_and_nothing_is_lost(pretend, here, tmp_path) -> None:
    path = tmp_path / "sweep.csv"
    stopped_after(10, pretend, here, path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    other = expand_sweep("sim_impact", ["trial.angle_deg=50:61:1", "seed=1:4:1"], (), None)
    with pytest.raises(ConfigError, match="--over"):
        run_sweep(other, path, "csv", here, Lines(), lambda: False, resume=True)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.slow
@pytest.mark.parametrize("head", ["", '{"version": "0.1', "{}", '{"number": 1}'])
def test_a_damaged_first_line_is_named_and_nothing_else_is_blamed(pretend, here, tmp_path, head) -> None:
    path = tmp_path / "sweep.csv"
    stopped_after(10, pretend, here, path)
    rows = tmp_path / UNFINISHED
    rows.write_text("\n".join([head, *rows.read_text().splitlines()[1:]]) + "\n")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    runs = expand_sweep("sim_impact", OVER, (), None)
    with pytest.raises(FolderError, match=r"sweep\.unfinished\.jsonl cannot be resumed: its first line"):
        run_sweep(runs, path, "csv", here, Lines(), lambda: False, resume=True)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_sweep_that_is_whole_has_nothing_to_resume(tmp_path, capfd) -> None:
    (tmp_path / "sweep.csv").write_text("number\n")
    options = ["--over", "seed=1,2", "--out", str(tmp_path), "--resume"]
    assert run(["sweep", "sim_impact", *options]) == 2
    assert "no sweep to resume" in capfd.readouterr().err
    assert (tmp_path / "sweep.csv").read_text() == "number\n"


@pytest.mark.slow
def test_a_sweep_over_files_is_not_resumed_after_the_content_of_one_has_changed(pretend, here, tmp_path) -> None:
    """By its values as typed it is the same sweep; the rows of both would stand in one table."""
    over = ["follow.profile=a.csv,b.csv", "seed=1:20:1"]
    for path, text in shipped_files("sim_follow").items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    profile = (tmp_path / "profiles" / "petersen_run_1.csv").read_text()
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(profile)
    before = sweep_head(expand_sweep(str(tmp_path / "sim_follow.yaml"), over, (), None))
    assert sweep_head(expand_sweep(str(tmp_path / "sim_follow.yaml"), over, (), None)) == before
    (tmp_path / "b.csv").write_text(profile.replace("0.08", "0.06"))
    runs = expand_sweep(str(tmp_path / "sim_follow.yaml"), over, (), None)
    with SweepRows(tmp_path, before, False):
        pass
    with pytest.raises(ConfigError, match="--over"):
        run_sweep(runs, tmp_path / "sweep.csv", "csv", here, Lines(), lambda: False, resume=True)
