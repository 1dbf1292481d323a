"""Frames of a run's camera beside the drawn rover and beside the forces: each at its own time, whatever its file is."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from PIL import Image

from hil.analysis.film.files import CameraFrames, FilmError
from hil.analysis.film.make import FilmRequest, render
from hil.analysis.report.trial_figures import draw_camera
from hil.experiments.figure_form import FigureForm
from hil.recording import open_trial
from hil.recording.run_folder import FOLDER, FolderError, RunFrame, frame_name, summary_of, write_frames

GREY = 225


def filmed(run, times_s, size=(64, 48)):
    """Give a run frames at these times, each of one shade: 10, 20, ..."""
    (run / FOLDER).mkdir(parents=True)
    frames = []
    for number, t_s in enumerate(times_s):
        Image.new("RGB", size, (10 * number + 10,) * 3).save(run / FOLDER / frame_name(number), "JPEG", quality=95)
        frames.append(RunFrame(round(t_s * 1e9), number, frame_name(number), "camera"))
    write_frames(run, frames)
    return run


def shade(picture):
    return round(float(np.median(picture)))


def test_beside_a_moment_is_the_newest_frame_of_its_time_and_before_the_first_none(tmp_path):
    camera = CameraFrames(filmed(tmp_path / "run", [0.1, 0.2, 0.3]))
    assert [shade(camera.panel(t_s, 240)) for t_s in (0.05, 0.1, 0.29, 0.3, 9.0)] == [GREY, 10, 20, 30, 30]
    panels = [camera.panel(t_s, 240).shape for t_s in (0.0, 0.2)]
    assert panels[0] == panels[1]
    assert [side % 2 for side in panels[0][:2]] == [0, 0]  # as a film needs it


def test_a_picture_has_the_frame_at_its_right(tmp_path):
    camera = CameraFrames(filmed(tmp_path / "run", [0.1, 0.2]))
    drawn = [np.full((100, 200, 3), 255, np.uint8)] * 2
    one, other = camera.with_frames(drawn, np.array([0.15, 0.25]))
    assert (one[:, :200] == 255).all()
    assert (shade(one[:, 200:]), shade(other[:, 200:])) == (10, 20)


@pytest.mark.parametrize(
    ("name", "content"), [("000000.jpg", b"no picture"), ("../000001.jpg", None), ("000009.jpg", None)]
)
def test_a_frame_that_is_damaged_missing_or_elsewhere_is_grey(tmp_path, name, content):
    run = filmed(tmp_path / "run", [0.1])
    shutil.copy(run / FOLDER / "000000.jpg", run / "000001.jpg")
    write_frames(run, [RunFrame(0, 0, name, "camera")])
    if content is not None:
        (run / FOLDER / name).write_bytes(content)
    camera = CameraFrames(run)
    assert shade(camera.picture(camera.frames[0])) == GREY


def test_a_frame_that_is_a_link_is_grey(tmp_path):
    run = filmed(tmp_path / "run", [0.1])
    (run / FOLDER / "000000.jpg").rename(tmp_path / "elsewhere.jpg")
    (run / FOLDER / "000000.jpg").symlink_to(tmp_path / "elsewhere.jpg")
    assert shade(CameraFrames(run).panel(0.1, 240)) == GREY


def test_frames_around_an_impact_have_the_newest_at_that_time_with_them(tmp_path):
    camera = CameraFrames(filmed(tmp_path / "run", np.arange(24) / 30))
    found = camera.around(0.35, 0.1, 0.6, 6)
    assert len(found) == 6
    assert found == sorted(found)
    assert camera.newest(0.35) in found
    assert [frame.sequence for frame in camera.around(0.35, 0.01, 0.01, 6)] == [10]


def test_a_run_that_was_not_filmed_has_no_film_of_its_camera(tmp_path):
    (tmp_path / "run").mkdir()
    with pytest.raises(FilmError, match="run has no frames of a camera"):
        CameraFrames(tmp_path / "run")


@pytest.fixture(scope="module")
def trial(recorded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("filmed") / "trial"
    shutil.copytree(recorded("good"), folder)
    return filmed(folder, np.arange(0.0, 5.0, 0.25), (160, 120))


@pytest.mark.slow
def test_a_picture_and_a_film_of_a_run_have_its_frames_beside_them(trial, tmp_path):
    for wanted in (
        FilmRequest("side", "png", at_s=0.6, camera=True),
        FilmRequest("top", "gif", 1.0, 5.0, 0.5, 0.9, camera=True),
    ):
        path, count = render(trial, wanted, tmp_path / f"out.{wanted.to}")
        with Image.open(path) as made:
            width, height = made.size
        assert count == (1 if wanted.at_s else 3)
        assert (width, height) == (960 + 690, 540)


@pytest.mark.slow
def test_a_report_has_the_frames_beside_the_forces_and_of_a_run_without_frames_nothing(trial, recorded):
    with open_trial(trial) as record:
        made = draw_camera(record, summary_of(trial), trial)
        stamped = draw_camera(record, summary_of(trial), trial, FigureForm("double", "changed", "pdf"))
    assert (made, stamped) == (trial / "camera.png", trial / "camera.double.unverified.pdf")
    pixels = np.asarray(Image.open(made).convert("L"))
    assert pixels.std() > 20.0
    with open_trial(recorded("good")) as record:
        assert draw_camera(record, summary_of(trial), recorded("good")) is None


def test_a_table_that_is_damaged_is_named(tmp_path):
    run = filmed(tmp_path / "run", [0.1])
    (run / FOLDER / "frames.csv").write_text("t_ns,file\n1,x\n")
    with pytest.raises(FolderError, match=r"frames\.csv cannot be read"):
        CameraFrames(run)
