"""`hil.Result`: the same of a run that was just made and of a recorded one, and a saved run is a run like any other."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import hil
from hil.analysis.dataset import MissingPackageError, UnverifiedRunError
from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.recording.run_folder import FolderError

JOG = {"experiment": "jog", "jog.seconds": 0.3, "telemetry.endpoint": ""}


def test_a_run_has_a_summary_ticks_and_an_exit_status(jog):
    assert (jog.exit_code, jog.accepted, jog.summary["experiment"]) == (0, True, "jog")
    assert len(jog.ticks) == jog.summary["loop"]["ticks"]
    assert jog.config.sha256() == jog.summary["config_sha256"]


def test_a_dataset_is_the_same_of_a_run_and_of_its_record(tmp_path):
    result = hil.run(hil.load("sim_impact", JOG))
    made = result.to_xarray()
    recorded = hil.open(result.save(tmp_path / "a")).to_xarray()
    assert made.identical(recorded)
    assert made["wheel_speed_radps"].attrs["units"] == "rad/s"
    assert "front_left" in made["wheel"].values


def test_flags_are_true_or_false(jog):
    data = jog.to_xarray()
    assert data.attrs["summary_accepted"] is True
    assert data.attrs["attended"] is False
    assert {data[name].dtype for name in ("safe", "cut", "impact", "valves")} == {np.dtype(bool)}
    assert jog.to_dataframe()["cut"].dtype == bool


def test_a_dataframe_has_a_row_a_tick_and_units(jog):
    frame = jog.to_dataframe()
    assert len(frame) == len(jog.ticks)
    assert frame.index.name == "time"
    assert frame.index[-1] == pytest.approx(jog.ticks["t_ns"][-1] * 1e-9)
    assert np.array_equal(frame["wheel_speed_radps.front_left"], jog.ticks["wheel_speed_radps"][:, 0])
    assert frame.attrs["units"]["wheel_speed_radps.front_left"] == "rad/s"


def test_without_pandas_it_says_what_to_install(jog, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingPackageError, match="pandas"):
        jog.to_dataframe()


@pytest.mark.slow
def test_a_saved_run_is_verified_and_replayed_as_one_of_the_command(saved):
    assert all(check.ok for check in verify(saved))
    assert not replay(saved).differences
    assert sorted(file.name for file in saved.iterdir()) == ["summary.json", "trial.h5"]  # a jog has no figure


def test_save_refuses_a_folder_that_holds_something_and_changes_nothing(jog, tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(FolderError, match=r"is not empty \(mine.txt\): give another"):
        jog.save(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]
    assert len(jog.to_xarray()["time"]) == len(jog.ticks)


def test_a_run_that_nothing_saves_leaves_nothing():
    result = hil.run(hil.load("sim_impact", JOG))
    folder = result.folder
    assert folder.is_dir()
    del result
    gc.collect()
    assert not folder.exists()


def test_a_run_is_saved_twice_into_two_folders(saved, tmp_path):
    again = hil.open(saved)
    assert again.save(tmp_path / "copy") == tmp_path / "copy"
    assert again.folder == tmp_path / "copy"
    assert (saved / "trial.h5").read_bytes() == (tmp_path / "copy" / "trial.h5").read_bytes()


def test_a_run_that_was_changed_is_opened_only_unverified(saved, tmp_path):
    folder = hil.open(saved).save(tmp_path / "changed")
    text = (folder / "summary.json").read_text(encoding="utf-8")
    (folder / "summary.json").write_text(text.replace('"accepted": true', '"accepted": false'), encoding="utf-8")
    with pytest.raises(UnverifiedRunError):
        hil.open(folder)
    assert "unverified" in hil.open(folder, unverified=True).to_xarray().attrs


def test_progress_goes_to_a_function_or_to_standard_error_or_nowhere(capsys):
    config, lines = hil.load("sim_impact", JOG), []
    hil.run(config, progress=lines.append)
    assert [line for line in lines if line.startswith("running: jog")]
    assert capsys.readouterr() == ("", "")
    hil.run(config, progress=True)
    assert "running: jog" in capsys.readouterr().err


def test_a_run_that_is_refused_ends_with_3_also_once_it_is_opened_again(tmp_path):
    result = hil.run(hil.load("sim_impact", JOG | {"limits.noise_V": 0.0}))
    assert (result.exit_code, result.accepted) == (3, False)
    assert repr(result).startswith("<Result of jog: not accepted: not armed")
    assert hil.open(result.save(tmp_path / "refused")).exit_code == 3


def test_a_result_is_shown_in_a_line_and_as_a_table_in_a_notebook(jog, saved):
    assert repr(jog) == "<Result of jog: accepted; not saved>"
    assert repr(hil.open(saved)) == f"<Result of jog: accepted; {saved}>"
    assert jog._repr_html_().startswith("<table><caption>jog</caption>")


def test_an_experiment_without_a_figure_says_so(jog):
    with pytest.raises(ValueError, match="the experiment jog has no figure; to_dataframe"):
        jog.plot()


@pytest.mark.slow
def test_the_figure_of_a_trial_is_the_one_that_is_saved(tmp_path):
    result = hil.run(hil.load("sim_impact", {"trial.start_distance_m": 0.15, "telemetry.endpoint": ""}))
    figure = result.plot()
    assert len(figure.axes) >= 6
    assert figure.get_label().startswith("Impact")
    assert (result.save(tmp_path / "a") / "trial.png").is_file()
