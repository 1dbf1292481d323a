"""The folder of the runs: what is listed, and that nothing outside of it can be asked for."""

from __future__ import annotations

import json
import os
import sys

import pytest

from hil.operator.page.runs import RunFolder
from hil.recording.run_folder import annotate, annotation_of, frames_of

PRINTS = (sys.executable, "-c", "import sys; print(*sys.argv[1:])")
FAILS = (sys.executable, "-c", "import sys; sys.exit('no impact there')")


def runs_in(folder, read_record=PRINTS):
    return RunFolder(folder, read_record, annotation_of, annotate, frames_of)


def run_of(folder, age_s=0, **summary):
    folder.mkdir(parents=True)
    (folder / "trial.h5").touch()
    if summary:
        (folder / "summary.json").write_text(json.dumps(summary))
    for place in (*folder.iterdir(), folder):
        os.utime(place, (10**9 - age_s, 10**9 - age_s))
    return folder


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "out"
    run_of(folder / "run_1", age_s=100, experiment="impact", angle_deg=60.0, accepted=True, reasons=[], wheels=["a"])
    run_of(folder / "run_2", age_s=50)
    run_of(folder / "campaign_1" / "trial_0001", age_s=20, accepted=False, reasons=["veer"])
    (folder / "campaign_1" / "report.html").write_text("report")
    os.utime(folder / "campaign_1", (10**9, 10**9))
    (folder / "campaign_1" / "figures").mkdir()
    (folder / "campaign_1" / "figures" / "force.png").write_text("picture")
    (folder / ".opening").mkdir()
    (folder / "empty").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "summary.json").write_text("{}")
    (folder / "linked").symlink_to(tmp_path / "secret")
    return folder


def test_runs_and_campaigns_are_listed_newest_first(out):
    listed = runs_in(out).listed(str(out / "run_2"))
    assert [(one["name"], one["state"]) for one in listed] == [
        ("campaign_1", "campaign"), ("campaign_1/trial_0001", "done"), ("run_2", "running"), ("run_1", "done"),
    ]  # fmt: skip
    assert listed[0]["files"] == ["report.html"]
    assert listed[1]["reasons"] == ["veer"]
    assert listed[3]["numbers"] == {"experiment": "impact", "angle_deg": 60.0, "accepted": True}


def test_a_summary_that_is_written_later_is_shown_and_a_damaged_one_harms_nothing(out):
    folder = runs_in(out)
    states = {one["name"]: one["state"] for one in folder.listed("")}
    assert states["run_2"] == "no summary"
    (out / "run_2" / "summary.json").write_text('{"accepted": true}')
    (out / "run_1" / "summary.json").write_text("{")
    os.utime(out / "run_1" / "summary.json", (1, 1))
    states = {one["name"]: one["state"] for one in folder.listed("")}
    assert (states["run_2"], states["run_1"]) == ("done", "no summary")


@pytest.mark.parametrize(
    "name",
    [
        "", ".", "..", "../secret", "run_1/../../secret", "/etc", "run_1/", "//", "linked", ".opening", "no_such_run",
        "campaign_1/../run_1", "a/b/c", "run_1\0", "~", "%2e%2e",
    ],
)  # fmt: skip
def test_a_name_that_leads_elsewhere_is_no_run(out, name):
    folder = runs_in(out)
    for ask in (lambda: folder.file(name, "summary.json"), lambda: folder.read(name, "impact")):
        with pytest.raises(LookupError, match="no run"):
            ask()


@pytest.mark.parametrize("kind", ["trial.h5", "../run_2/summary.json", "figure.png", "", "report.html"])
def test_only_figure_summary_and_report_can_be_asked_for_and_only_if_there(out, kind):
    with pytest.raises(LookupError):
        runs_in(out).file("run_1", kind)


def test_a_file_that_is_a_link_is_not_served(out, tmp_path):
    (out / "run_1" / "report.html").symlink_to(tmp_path / "secret" / "summary.json")
    with pytest.raises(LookupError):
        runs_in(out).file("run_1", "report.html")


def test_a_record_is_read_by_another_process(out):
    found = runs_in(out).read("campaign_1/trial_0001", "traces", "speed_mps").decode().split()
    assert found[0].endswith("out/campaign_1/trial_0001")
    assert found[1:] == ["traces", "speed_mps"]
    with pytest.raises(LookupError, match="run_1: no impact there"):
        runs_in(out, FAILS).read("run_1", "impact")


def test_a_run_is_listed_with_its_note_and_tags_in_its_old_place(out):
    folder = runs_in(out)
    before = [(one["name"], one["time"]) for one in folder.listed("")]
    assert folder.annotate("run_1", "wheel slipped", ["good"], []) == ("wheel slipped", ("good",))
    listed = folder.listed("")
    assert [(one["name"], one["time"]) for one in listed] == before
    assert [(one["note"], one["tags"]) for one in listed if one["name"] == "run_1"] == [("wheel slipped", ("good",))]
    with pytest.raises(LookupError, match="no run"):
        folder.annotate("../secret", "x", [], [])


def test_a_note_that_cannot_be_read_hides_no_run(out):
    (out / "run_1" / "annotation.json").write_text("[]")
    assert "annotation.json cannot be read" in next(
        one["note"] for one in runs_in(out).listed("") if one["name"] == "run_1"
    )


@pytest.mark.parametrize("kind", ["pipe", "endless", "large"])
def test_a_summary_that_is_no_file_or_too_large_neither_stops_the_list_nor_fills_the_memory(out, kind):
    place = out / "run_1" / "summary.json"
    before = runs_in(out).listed("")
    place.unlink()
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "endless":
        place.symlink_to("/dev/zero")
    else:
        place.write_text(" " * 2**20 + "{}")
    assert len(runs_in(out).listed("")) == len(before)
