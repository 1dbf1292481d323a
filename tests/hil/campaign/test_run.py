"""A campaign: attempts, stopping and resuming, whole files at any time, the same bytes wherever it runs."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from hil.analysis.campaign import own_digest, read_campaign
from hil.campaign import workers
from hil.campaign.folder import locked
from hil.campaign.run import run_campaign
from hil.campaign.workers import SchedulerLostError
from hil.config import ConfigError
from hil.recording.run_folder import FolderError

from .conftest import QUICK, Lines, NeverStop, summary_of_job

pytestmark = pytest.mark.slow

FOUR = "name: four\nangles_deg: [50, 90]\nrepeats: 2\n"


def bytes_of(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "campaign.csv").read_bytes(), (folder / "campaign.json").read_bytes()


def folder_of(path: Path) -> Path:
    path.mkdir()
    return path


def test_a_trial_that_faults_is_kept_marked_and_repeated_as_often_as_the_plan_says(
    wanted, here, pretend, tmp_path
) -> None:
    campaign = wanted(f"{FOUR}attempts: 3\n", folders=False)
    bad = {campaign.trials[1].attempt(1)[1].seed, *(campaign.trials[2].attempt(one)[1].seed for one in (1, 2, 3))}

    def make(job):
        summary = summary_of_job(job)
        return (
            summary_of_job(job, accepted=False, aborted=True, reasons=["a fault"])
            if summary["seed"] in bad
            else summary
        )

    pretend(make)
    trials = run_campaign(campaign, folder_of(tmp_path / "c"), here, Lines(), NeverStop())
    found = [(trial["number"], trial["attempt"], trial["status"]) for trial in trials]
    assert found == [
        (1, 1, "kept"), (2, 1, "faulted"), (2, 2, "kept"),
        (3, 1, "faulted"), (3, 2, "faulted"), (3, 3, "faulted"), (4, 1, "kept"),
    ]  # fmt: skip
    rows = list(csv.DictReader((tmp_path / "c" / "campaign.csv").read_text().splitlines()))
    assert [(int(row["number"]), int(row["attempt"]), row["status"]) for row in rows] == found
    assert rows[1]["reasons"] == "a fault"


@pytest.mark.parametrize(("repeat", "attempts"), [("false", 1), ("true", 2)])
def test_a_trial_that_is_not_accepted_is_dropped_and_repeated_only_if_the_plan_says_so(
    repeat, attempts, wanted, here, pretend, tmp_path
) -> None:
    campaign = wanted(f"name: one\nangles_deg: [50]\nattempts: 2\nrepeat_dropped: {repeat}\n", folders=False)
    pretend(lambda job: summary_of_job(job, accepted=False, reasons=["too long", "veer"]))
    trials = run_campaign(campaign, folder_of(tmp_path / "c"), here, Lines(), NeverStop())
    assert [trial["status"] for trial in trials] == ["dropped"] * attempts
    assert read_campaign(tmp_path / "c").rows[0]["reasons"] == "too long; veer"


def test_a_campaign_that_was_stopped_is_resumed_to_the_same_bytes_and_makes_no_trial_twice(
    wanted, here, pretend, tmp_path
) -> None:
    campaign = wanted(FOUR, folders=False)
    pretend(summary_of_job)
    whole, parts = folder_of(tmp_path / "whole"), folder_of(tmp_path / "parts")
    run_campaign(campaign, whole, here, Lines(), NeverStop())
    stop = NeverStop()

    def make(job):
        stop.wanted = len(jobs) == 2
        return summary_of_job(job)

    jobs = pretend(make)
    assert len(run_campaign(campaign, parts, here, Lines(), stop)) == 2
    assert len(read_campaign(parts).rows) == 2
    stop.wanted = False
    report = Lines()
    run_campaign(campaign, parts, here, report, stop, resume=True)
    assert bytes_of(parts) == bytes_of(whole)
    assert len(jobs) == 4
    assert "2 of 4 trials are there already" in report.lines


def test_a_campaign_of_summaries_that_contradicts_itself_is_not_resumed_from_them(wanted, here, pretend, tmp_path):
    campaign, folder = wanted(FOUR, folders=False), folder_of(tmp_path / "c")
    pretend(summary_of_job)
    run_campaign(campaign, folder, here, Lines(), NeverStop())
    whole, content = bytes_of(folder), json.loads((folder / "campaign.json").read_text())
    content["trials"][1]["status"] = "dropped"
    content["digests"]["campaign"] = own_digest(content)
    (folder / "campaign.json").write_text(json.dumps(content))
    report, jobs = Lines(), pretend(summary_of_job)
    run_campaign(campaign, folder, here, report, NeverStop(), resume=True)
    assert "trial 2, attempt 1 is dropped, its summary says kept; all trials are run again" in "".join(report.lines)
    assert len(jobs) == 4
    assert bytes_of(folder) == whole


def test_resuming_another_campaign_says_all_that_differs_and_changes_nothing(
    wanted, here, pretend, tmp_path, monkeypatch
):
    pretend(summary_of_job)
    folder = folder_of(tmp_path / "c")
    run_campaign(wanted(FOUR, folders=False), folder, here, Lines(), NeverStop())
    before = bytes_of(folder)
    other = wanted(f"{FOUR}attempts: 2\n", seed=5, folders=False)
    monkeypatch.setattr("hil.campaign.run.running_version", lambda: "9.9")
    with pytest.raises(ConfigError) as error:
        run_campaign(other, folder, here, Lines(), NeverStop(), resume=True)
    assert {problem.key for problem in error.value.problems} == {
        "rover-hil", "--plan", "CONFIG", "--seed", "configs of the trials",
    }  # fmt: skip
    assert bytes_of(folder) == before


@pytest.mark.parametrize("folders", [True, False])
def test_a_campaign_is_not_resumed_after_the_content_of_what_its_plan_names_has_changed(
    wanted, here, pretend, tmp_path, folders
):
    """Plan and config are the same by their names: the files that the plan names are in the trials' configs only."""
    pretend(summary_of_job)
    campaign, folder = wanted(FOUR, folders=folders), folder_of(tmp_path / "c")
    run_campaign(campaign, folder, here, Lines(), NeverStop())
    last = campaign.trials[-1]
    other = replace(last, config=last.config.replace({"soil.stiffness": 1e6}))
    with pytest.raises(ConfigError, match="configs of the trials"):
        run_campaign(
            replace(campaign, trials=[*campaign.trials[:-1], other]), folder, here, Lines(), NeverStop(), resume=True
        )


def test_resuming_where_there_is_no_campaign_is_refused(wanted, here, tmp_path) -> None:
    with pytest.raises(FolderError, match=r"holds no campaign\.json"):
        run_campaign(wanted(FOUR), folder_of(tmp_path / "c"), here, Lines(), NeverStop(), resume=True)


def test_a_process_that_is_lost_has_its_trials_run_again_but_not_for_ever(wanted, pretend, tmp_path) -> None:
    campaign = wanted(FOUR, folders=False)
    jobs = pretend(summary_of_job)
    losses = iter([True, True, False])

    class Losing(workers.InThisProcess):
        def __init__(self, loses: bool) -> None:
            self._loses = loses

        def submit(self, fn, /, *args, **kwargs):
            if self._loses and jobs:
                done = Future()
                done.set_exception(BrokenProcessPool("killed"))
                return done
            return super().submit(fn, *args, **kwargs)

    @contextmanager
    def place():
        yield workers.Workers(Losing(next(losses, True)), 2, shares_folders=True)

    assert len(run_campaign(campaign, folder_of(tmp_path / "c"), place, Lines(), NeverStop())) == 4
    assert len(jobs) == 4
    with pytest.raises(workers.WorkersError, match="were killed 4 times"):
        run_campaign(campaign, folder_of(tmp_path / "d"), place, Lines(), NeverStop())
    assert read_campaign(tmp_path / "d").rows == []


def test_what_a_lost_scheduler_had_is_run_again_and_what_it_had_given_back_is_not(wanted, pretend, tmp_path) -> None:
    campaign = wanted(FOUR, folders=False)
    jobs, report, opened = pretend(summary_of_job), Lines(), []

    class Lost(workers.InThisProcess):
        """Makes one trial, and loses the second and the third, as Dask's client says it: cancelled."""

        def submit(self, fn, /, *args, **kwargs):
            if len(opened) == 1 and jobs:
                lost = Future()
                lost.cancel()
                lost.set_running_or_notify_cancel()
                return lost
            return super().submit(fn, *args, **kwargs)

    @contextmanager
    def place():
        opened.append(True)
        try:
            yield workers.Workers(Lost(), 3, shares_folders=True)
        except CancelledError as error:
            raise SchedulerLostError from error

    taken = run_campaign(campaign, folder_of(tmp_path / "c"), place, report, NeverStop())
    assert [trial["number"] for trial in taken] == [1, 2, 3, 4]
    assert len(jobs) == 4
    assert len(opened) == 2
    assert report.counts == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_second_campaign_in_the_same_folder_is_refused(tmp_path) -> None:
    with locked(tmp_path), pytest.raises(FolderError, match="another process"), locked(tmp_path):
        pass


def test_what_times_this_machine_is_in_neither_file(wanted, here, pretend, tmp_path) -> None:
    pretend(summary_of_job)
    run_campaign(wanted(FOUR, folders=False), folder_of(tmp_path / "c"), here, Lines(), NeverStop())
    found = read_campaign(tmp_path / "c")
    assert not found.wrong
    assert all("loop" not in trial["summary"] for trial in found.trials)
    assert {"load_point_m.0", "load_point_m.1", "peak_force_N"} <= set(found.rows[0])
    assert found.rows[0]["load_point_m.1"] is None
    assert found.meta["processor"] == "a processor"


def test_a_changed_campaign_json_is_seen(wanted, here, pretend, tmp_path) -> None:
    pretend(summary_of_job)
    run_campaign(wanted(FOUR, folders=False), folder_of(tmp_path / "c"), here, Lines(), NeverStop())
    path = tmp_path / "c" / "campaign.json"
    changed = json.loads(path.read_text())
    changed["trials"][0]["summary"]["peak_force_N"] = 999.0
    path.write_text(json.dumps(changed))
    assert "does not match its digest" in read_campaign(tmp_path / "c").wrong


def test_trials_have_folders_that_verify_and_damaged_foreign_or_unfinished_ones_are_set_aside_and_run_again(
    wanted, here, tmp_path
) -> None:
    campaign = wanted(f"{FOUR}{QUICK}")
    folder = folder_of(tmp_path / "c")
    run_campaign(campaign, folder, here, Lines(), NeverStop())
    before = bytes_of(folder)
    assert sorted(file.name for file in (folder / "trial_0001").iterdir()) == ["summary.json", "trial.h5"]
    with (folder / "trial_0001" / "trial.h5").open("r+b") as file:
        file.seek(5000)
        file.write(b"\xff" * 8)
    (folder / "trial_0002").rename(folder / "kept")
    (folder / "trial_0003").rename(folder / "trial_0002")
    (folder / "kept").rename(folder / "trial_0003")
    (folder / "trial_0004" / "summary.json").unlink()
    (folder / "trial_0009.unfinished").mkdir()
    report = Lines()
    run_campaign(campaign, folder, here, report, NeverStop(), resume=True)
    assert bytes_of(folder) == before
    assert sorted(place.name for place in folder.glob("*aside*")) == [f"trial_000{one}.aside_1" for one in (1, 2, 3, 4)]
    said = "\n".join(report.lines)
    for one, why in ((1, "digest"), (2, "another config"), (3, "another config"), (4, "no summary.json")):
        assert any(line.startswith(f"trial_000{one}: ") and why in line for line in report.lines), said
    assert not (folder / "trial_0009.unfinished").exists()


def test_the_same_bytes_with_one_worker_and_with_two_that_were_killed_at_half_way(plan_file, tmp_path) -> None:
    plan = plan_file(
        f"name: four\nangles_deg: [50, 90]\n{QUICK}soils: {{hard: {{set: {{ground.kind: firm}}}}, soft: {{}}}}\n"
    )
    command = [sys.executable, "-m", "hil.cli", "campaign", "sim_impact", "--plan", str(plan), "--out"]

    def run(*options: str) -> None:
        subprocess.run([*command, *options], check=True, capture_output=True)

    run(str(tmp_path / "one"), "--workers", "1")
    killed = tmp_path / "killed"
    process = subprocess.Popen([*command, str(killed), "--workers", "2"], stderr=subprocess.DEVNULL)
    while process.poll() is None and len(list(killed.glob("trial_????"))) < 2:
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
    run(str(killed), "--workers", "2", "--resume")
    assert bytes_of(killed) == bytes_of(tmp_path / "one")
    assert not list(killed.glob("*.unfinished"))


def test_ctrl_c_lets_the_running_trials_end_and_ends_with_130(plan_file, tmp_path) -> None:
    plan, folder = plan_file(f"name: many\nangles_deg: [50]\nrepeats: 200\n{QUICK}"), tmp_path / "c"
    command = [sys.executable, "-m", "hil.cli", "campaign", "sim_impact", "--plan", str(plan), "--out", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while process.poll() is None and not list(folder.glob("trial_????")):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[0]
    assert process.returncode == 130, said
    assert "--resume goes on from here" in said
    found = read_campaign(folder)
    assert 0 < len(found.rows) < 200
    assert {row["folder"] for row in found.rows} == {place.name for place in folder.glob("trial_*")}
