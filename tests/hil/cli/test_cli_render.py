"""`hil render` makes a file, says which, and refuses in a sentence what it cannot make."""

from __future__ import annotations

import shutil

import pytest

from hil.cli import run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trial(short_trial):
    return short_trial()


def test_a_picture_is_made_in_the_folder_of_the_run(trial, capsys):
    assert run(["render", str(trial), "--to", "png"]) == 0
    assert capsys.readouterr().out == f"{trial / 'side.png'}: 6 pictures\n"
    assert (trial / "side.png").read_bytes().startswith(b"\x89PNG")


def test_a_film_of_a_part_is_made_where_it_is_wanted(trial, tmp_path, capsys):
    film = tmp_path / "film.gif"
    part = ("--from", "0.6", "--to-time", "0.8", "--fps", "10", "--view", "top", "--out", str(film))
    assert run(["render", str(trial), *part]) == 0
    assert capsys.readouterr().out.startswith(f"{film}: ")
    assert film.read_bytes().startswith(b"GIF8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--at", "0.5", "--to", "gif"), "allowed with --to png"),
        (("--from", "100"), "it has 0 to"),
        (("--to", "mp4"), "--to gif"),
        (("--speed", "0"), "0.0001"),
        (("--to", "png", "--out", "side"), "ends with .png"),
        (("--out", "side.png"), "ends with .gif"),
    ],
)
def test_what_cannot_be_made_is_refused_with_what_can(trial, monkeypatch, capsys, arguments, said):
    monkeypatch.setenv("PATH", str(trial))
    assert run(["render", str(trial), *arguments]) == 2
    assert said in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_a_folder_without_a_run_is_refused(tmp_path, capsys):
    assert run(["render", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_of_a_campaign_each_trial_gets_its_own_and_one_that_cannot_be_drawn_is_named(trial, tmp_path, capsys):
    (tmp_path / "campaign.json").write_text("{}")
    shutil.copytree(trial, tmp_path / "trial_0001")
    (tmp_path / "trial_0002").mkdir()
    (tmp_path / "trial_0002" / "trial.h5").write_text("no record")
    assert run(["render", str(tmp_path), "--to", "png", "--at", "0.5"]) == 2
    said = capsys.readouterr()
    assert said.out == f"{tmp_path / 'trial_0001' / 'side.png'}: 1 picture\n"
    assert "trial_0002: " in said.err
    assert run(["render", str(tmp_path), "--out", str(tmp_path / "one.gif")]) == 2
    assert "leave --out away" in capsys.readouterr().err
