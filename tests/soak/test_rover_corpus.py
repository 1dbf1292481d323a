"""A corpus of rovers after public ones: each is imported, tried, verified, reported, exported and drawn.

`pytest -m soak tests/soak/test_rover_corpus.py -n 0 -s` takes half an hour on a quiet machine: each kind is compiled.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.cli import run
from hil.recording.run_folder import summary_of
from tests.rover_files import CORPUS, REFUSED

LEAST_SHARE = 0.95  # of readable rovers end with a summary
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
        # a trial that is not accepted ends with a summary, too
        if status and not (step == "trial" and "accepted" in (summary_of(record) or {})):
            return f"{step} ended with {status}: {said.strip()[-300:]}"
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_a_rover_of_a_file_passes_from_its_import_to_its_film(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert passes(name, tmp_path / "rover", capsys) == ""


@pytest.mark.soak
def test_nineteen_of_twenty_rovers_end_with_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(CORPUS) >= 25
    failed = {}
    for number, name in enumerate(CORPUS):
        if words := passes(name, tmp_path / str(number), capsys):
            failed[name] = words
        with capsys.disabled():
            print(f"{name}: {words or 'passes'}")
    assert len(failed) <= (1.0 - LEAST_SHARE) * len(CORPUS), failed


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
