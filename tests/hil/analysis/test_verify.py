"""`hil verify` passes the record of a run, and names the only error of a changed one."""

from __future__ import annotations

import json
import shutil

import h5py
import numpy as np
import pytest

from hil.analysis.verify import verify
from hil.cli import run as hil
from hil.ipc.run_memory import FOLDER
from hil.messages.fault import Check
from hil.messages.link_messages import event_row
from hil.recording.run_folder import FolderError
from hil.recording.sample_writer import GROWING

EVERY_ITEM = [
    "file", "file digest", "content digest", "summary digest", "config checksum", "summary", "replay",
    "tick order", "ticks missing", "tick times", "timing",
    "blocks missing", "block length", "sample times",
    "drives: order", "drives: confirmed", "valves: order", "valves: confirmed",
    "cut in Safe", "Safe after a fault", "cut at the impact",
]  # fmt: skip
GOOD = ("good", "delayed", "burst", "stopped", "silent", "not_finite", "skipping", "late", "refused")


def failed(folder):
    """The failed checks by item."""
    return {check.item: check for check in verify(folder) if not check.ok}


def failed_in_rows(folder):
    """The same, without those of what the changed rows give: summary and ticks."""
    return set(failed(folder)) - {"summary", "replay"}


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD)
def test_every_check_passes_on_what_a_run_has_left(recorded, name):
    checks = verify(recorded(name))
    assert [check.item for check in checks] == EVERY_ITEM
    assert [check for check in checks if not check.ok] == []
    assert all(check.found and check.allowed for check in checks)


@pytest.mark.slow
def test_periods_that_the_clock_skipped_are_listed_and_allowed(recorded):
    found = {check.item: check.found for check in verify(recorded("skipping"))}
    assert "36 missing: 51..53, 151..153, 251..253," in found["ticks missing"]


@pytest.mark.slow
def test_what_was_commanded_and_what_came_of_it_is_counted(recorded):
    found = {check.item: check.found for check in verify(recorded("delayed"))}
    assert found["drives: confirmed"].endswith("longest lag 30 ms, tick 1")
    assert found["valves: confirmed"] == "1 commands, longest lag 1 ms, tick 1"
    ended = {check.item: check.found for check in verify(recorded("stopped"))}
    assert ended["cut in Safe"] == "1001 ticks in Safe"
    assert ended["Safe after a fault"] == "stop_by_operator in tick 400"


def swap_ticks(edit):
    rows = edit["tick"][()]
    rows[[500, 501]] = rows[[501, 500]]
    edit.rows("tick", rows)


def drop_the_last_ticks(edit):
    for name in ("tick", "timing"):
        edit.keep(name, edit[name]["tick"] < 1100)


def step_the_clock(edit):
    """Step by 100 us, between two blocks."""
    edit.cells("daq/blocks", "t_ns", slice(200, None), lambda t_ns: t_ns + 100_000)
    edit["daq/t_ns"][200 * 60 :] += 100_000


def shift_a_sample(edit, ns):
    edit["daq/t_ns"][12_030] += ns


def hold_confirmations(edit, device, ticks):
    """The newest confirmed command stays the same for some ticks of the run-up."""
    start = edit.tick(400)
    edit.cells("tick", f"{device}_acknowledged_ns", slice(start, start + ticks), lambda ns: ns[0])


def set_tick(number, field, value):
    return lambda edit: edit.cells("tick", field, edit.tick(number), lambda _: value)


def move_faults(edit, ticks):
    edit.cells("events", "tick", edit["events"]["id"] > 0, lambda tick: tick + ticks)


def add_empty_rows(edit, name):
    edit[name].resize(len(edit[name]) + 3, axis=0)


TAMPERINGS = {
    "rows of ticks without content": ("good", lambda edit: add_empty_rows(edit, "tick"), "file"),
    "events without content": ("good", lambda edit: add_empty_rows(edit, "events"), "file"),
    "another threshold": ("good", lambda edit: edit.config("threshold_N: 10", "threshold_N: 11"), "config checksum"),
    "another seed": ("good", lambda edit: edit.config("seed: 3", "seed: 4"), "config checksum"),
    "another checksum": ("good", lambda edit: edit.meta("config_sha256", "0" * 64), "config checksum"),
    "two ticks swapped": ("good", swap_ticks, "tick order"),
    "a tick left out": ("good", lambda edit: edit.drop_tick(500), "ticks missing"),
    "the last ticks left out": ("good", drop_the_last_ticks, "ticks missing"),
    "a tick at another time": ("good", set_tick(500, "t_ns", 500_000_001), "tick times"),
    "a row of timing left out": ("good", lambda edit: edit.keep("timing", edit["timing"]["tick"] != 500), "timing"),
    "a block left out": ("good", lambda edit: edit.drop_blocks(201, 201), "blocks missing"),
    "the last blocks left out": ("good", lambda edit: edit.drop_blocks(580, 9999), "blocks missing"),
    "a block said to be shorter": (
        "good", lambda edit: edit.cells("daq/blocks", "samples", 300, lambda n: n - 1), "block length",
    ),
    "a step of the sample clock": ("good", step_the_clock, "sample times"),
    "one sample 2 % of a period late": ("good", lambda edit: shift_a_sample(edit, 667), "sample times"),
    "a command confirmed before it is given": (
        "good", set_tick(500, "drives_acknowledged_ns", 500_000_000), "drives: order",
    ),
    "a confirmation taken back": ("good", set_tick(500, "valves_acknowledged_ns", -1), "valves: order"),
    "drives that confirm late": ("good", lambda edit: hold_confirmations(edit, "drives", 22), "drives: confirmed"),
    "drives that never confirm": ("good", lambda edit: hold_confirmations(edit, "drives", 5000), "drives: confirmed"),
    "drives not cut in Safe": ("stopped", set_tick(700, "cut", 0), "cut in Safe"),
    "a valve on in Safe": ("stopped", set_tick(700, "valves", [[0, 0], [0, 1]]), "cut in Safe"),
    "Safe for a moment": ("good", set_tick(100, "safe", 1), "Safe after a fault"),
    "Safe left": ("stopped", set_tick(700, "safe", 0), "Safe after a fault"),
    "Safe for no reason": ("stopped", lambda edit: edit.rows("events", edit["events"][:0]), "Safe after a fault"),
    "a fault with no reaction": ("stopped", lambda edit: move_faults(edit, -10), "Safe after a fault"),
    "a reaction before its fault": ("stopped", lambda edit: move_faults(edit, 10), "Safe after a fault"),
    "no cut at the impact": (
        "good", lambda edit: set_tick(edit["events"]["reaction_tick"][0], "cut", 0)(edit), "cut at the impact",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_one_thing_changed_in_a_record_is_the_one_thing_found(edited, tampering):
    name, change, item = TAMPERINGS[tampering]
    assert failed_in_rows(edited(name, change)) == {item}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tampering", "item", "words"),
    [
        ("a tick left out", "ticks missing", " ticks, 1 missing: 500..500"),
        ("a block left out", "blocks missing", "missing: 201..201"),
        ("the last blocks left out", "blocks missing", "579 blocks, missing: 580.."),
        ("drives that confirm late", "drives: confirmed", "longest lag 22 ms, tick 400; 1 too late, 0 of them never"),
        (
            "drives not cut in Safe",
            "cut in Safe",
            "1001 ticks in Safe, not cut or an output on in 1 of them, first 700",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(edited, tampering, item, words):
    name, change, _ = TAMPERINGS[tampering]
    assert words in failed(edited(name, change))[item].found


@pytest.mark.slow
def test_a_config_that_cannot_be_used_is_told_key_by_key(edited):
    found = failed(edited("good", lambda edit: edit.config("threshold_N: 10.0", "threshold_N: .nan")))
    assert set(found) == {"config checksum", "config"}
    assert found["config"].found.startswith("detector.threshold_N: found nan")


@pytest.mark.slow
def test_just_within_the_limits_passes(edited):
    def change(edit):
        hold_confirmations(edit, "drives", 21)
        shift_a_sample(edit, 300)

    assert not failed_in_rows(edited("good", change))


@pytest.mark.slow
def test_valves_have_to_confirm_too(edited):
    def change(edit):
        edit.cells("tick", "valves", slice(edit.tick(400), None), lambda valves: valves | 1)
        hold_confirmations(edit, "valves", 22)

    assert failed_in_rows(edited("good", change)) == {"valves: confirmed"}


@pytest.mark.slow
def test_a_command_in_the_last_ticks_may_go_unconfirmed(edited):
    def change(edit):
        edit.cells("tick", "valves", slice(-20, None), lambda valves: valves | 1)
        edit.cells("tick", "valves_acknowledged_ns", slice(-20, None), lambda ns: ns[0])

    assert not failed_in_rows(edited("good", change))


@pytest.mark.slow
def test_without_a_summary_no_hole_is_taken_for_a_skip(edited):
    folder = edited("skipping")
    (folder / "summary.json").unlink()
    found = failed(folder)
    assert set(found) == {"ticks missing", "file digest", "summary digest", "summary", "replay"}
    assert "hil recover" in found["summary digest"].allowed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "item"),
    [
        (lambda summary: summary.update(config_sha256="0" * 64), "config checksum"),
        (lambda summary: summary["loop"].update(skipped=35), "ticks missing"),
        (lambda summary: summary["loop"].update(ticks=1151), "ticks missing"),
    ],
)
def test_a_summary_of_another_run_is_noticed(edited, change, item):
    folder = edited("skipping")
    summary = json.loads((folder / "summary.json").read_text())
    change(summary)
    (folder / "summary.json").write_text(json.dumps(summary))
    assert set(failed(folder)) == {item, "summary digest", "summary", "replay"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["raised", "raised_reading"])
def test_what_an_exception_kept_from_the_record_is_missing_in_it(recorded, name):
    found = failed(recorded(name))
    assert found["ticks missing"].found == "1401 ticks, 1 missing: 402..402"
    assert found["blocks missing"].found.endswith("missing: 201..201")
    assert found["summary"].found == found["replay"].found == "not worked out again: digests or ticks are not right"
    assert len(found) == 4


@pytest.mark.slow
def test_what_the_watchdog_notes_does_not_count_as_a_fault_of_the_loop(edited):
    def change(edit):
        edit.rows("events", np.concatenate([edit["events"][()], event_row(12, "loop_silent", 0, 0)]))

    assert not failed(edited("good", change))


@pytest.mark.slow
def test_the_file_of_a_killed_writer_is_checked_and_recover_named(edited, tmp_path):
    folder = edited("good")
    killed = tmp_path / "killed"
    killed.mkdir()
    with h5py.File(folder / "trial.h5", "r+", libver=GROWING["libver"]) as file:
        file.swmr_mode = True
        file.flush()
        shutil.copy(folder / "trial.h5", killed)  # as it stands while its writer is at it
    found = failed(killed)
    assert set(found) == {"file", "file digest", "summary digest", "summary", "replay"}
    check = found["file"]
    assert "was killed, or still writes" in check.found
    assert "hil recover" in check.found
    assert [check.item for check in verify(killed)] == EVERY_ITEM


@pytest.mark.slow
def test_a_run_whose_memory_is_left_is_to_be_recovered(edited):
    folder = edited("good")
    (folder / FOLDER).mkdir()
    assert "hil recover" in failed(folder)["file"].found


def test_a_file_that_cannot_be_read_is_one_failed_check(tmp_path):
    (tmp_path / "trial.h5").write_bytes(b"\0" * 5000)
    (check,) = verify(tmp_path)
    assert (check.item, check.ok) == ("file", False)


@pytest.mark.slow
def test_rows_of_another_version_are_told_and_not_read(edited):
    found = failed(edited("good", lambda edit: edit.fields("tick", ["tick", "t_ns", "cut"])))
    assert set(found) == {"version"}
    assert "/tick" in found["version"].found


@pytest.mark.slow
def test_an_empty_record_is_checked_too(edited):
    def change(edit):
        for name in ("tick", "timing", "events", "daq/blocks", "daq/raw", "daq/t_ns"):
            edit[name].resize(0, axis=0)

    assert set(failed(edited("good", change))) == {"ticks missing", "summary", "replay"}


def test_a_folder_without_a_record_is_refused(tmp_path):
    with pytest.raises(FolderError, match=r"holds no trial\.h5"):
        verify(tmp_path)


@pytest.mark.slow
def test_exit_status_and_json_say_what_was_found(recorded, edited, tmp_path, capsys):
    assert hil(["verify", str(recorded("good")), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["item"] for row in rows] == EVERY_ITEM
    assert all(set(row) == {"item", "ok", "found", "allowed", "to_do"} and row["ok"] is True for row in rows)
    assert hil(["verify", str(edited("good", lambda edit: edit.drop_tick(500)))]) == 1
    assert "NO" in capsys.readouterr().out
    assert hil(["verify", str(tmp_path)]) == 2
    assert "holds no trial.h5" in capsys.readouterr().err


@pytest.mark.parametrize(("ok", "title"), [(True, "run: verified"), (False, "run: NOT VERIFIED")])
def test_only_what_holds_is_headed_verified(monkeypatch, capsys, ok, title):
    found = [Check("digests", ok, "found", "allowed")]
    monkeypatch.setattr("hil.analysis.verify.verify", lambda *_: found)
    monkeypatch.setattr("hil.app.warm_up.report_compiling", lambda _: None)
    assert hil(["verify", "run"]) == (0 if ok else 1)
    assert title in capsys.readouterr().out
