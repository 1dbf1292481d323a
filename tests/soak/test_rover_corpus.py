"""A corpus of rovers after public ones: each is imported, tried, verified, reported, exported and drawn.

`pytest -m soak tests/soak/test_rover_corpus.py -n 0 -s` takes eight minutes on a quiet machine: all share one kernel.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.cli import run
from hil.recording.run_folder import summary_of
from tests.rover_files import CORPUS, REFUSED

SAMPLE = ("tiny cart", "four steered", "odd names")


def passes(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What of the whole chain failed for a rover, with its words; "": nothing."""
    folder.mkdir()
    source, config, record = folder / "rover.urdf", folder / "mine.yaml", folder / "run"
    source.write_text(CORPUS[name], encoding="utf-8")
    steps = {
        "import": ["rover", "import", source, "--out", folder, "--name", "mine"],
        "trial": ["trial", config, "--set", "telemetry.endpoint=''", "--out", record],
        "verify": ["verify", record],
        "report": ["report", record],
        "export to csv": ["export", record, "--to", "csv", "--out", folder / "csv"],
        "export to mat": ["export", record, "--to", "mat", "--out", folder / "mat"],
        "render": ["render", record, "--to", "png", "--out", folder / "still.png"],
    }
    for step, arguments in steps.items():
        status = run([str(one) for one in arguments])
        said = capsys.readouterr().err
        if status:
            return f"{step} ended with {status}: {said.strip()[-300:]}"
    # what the import assumed fits the rover
    return "; ".join((summary_of(record) or {"reasons": ["no summary"]})["reasons"])


@pytest.mark.ci_cases("odd names")
@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_a_rover_of_a_file_passes_from_its_import_to_its_film(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert passes(name, tmp_path / "rover", capsys) == ""


@pytest.mark.soak
@pytest.mark.parametrize("name", CORPUS)
def test_the_trial_of_a_rover_of_a_file_is_accepted(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert passes(name, tmp_path / "rover", capsys) == ""


@pytest.mark.parametrize("name", REFUSED)
def test_an_import_that_is_refused_names_all_that_is_wrong_and_what_to_do(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, said = REFUSED[name]
    source = tmp_path / "rover.urdf"
    source.write_text(text, encoding="utf-8")
    assert run(["rover", "import", str(source), "--out", str(tmp_path / "out")]) == 2
    words = " ".join(capsys.readouterr().err.split())
    assert [one for one in (*said, "allowed: ") if one not in words] == []
