"""A record that is read by blocks gives what it gives read at once, and no more than a block is in memory.

The records are short ones, and the blocks shorter.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hil.analysis.export import tables
from hil.analysis.export.run import export
from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.recording import child_reader, open_trial, read_trial
from hil.recording.content import StoredRows, in_blocks

BLOCK = 300


def doubled(edit):
    edit.rows("tick", np.insert(edit["tick"][()], 700, edit["tick"][500]))


def without_a_part(name, first, last):
    return lambda edit: edit.rows(name, np.delete(edit[name][()], slice(first, last), axis=0))


def changed(field, value, first, last):
    def change(edit):
        rows = edit["tick"][()]
        rows[field][first:last] = value
        edit.rows("tick", rows)

    return change


def stepped(edit):
    times = edit["daq/t_ns"][()]
    times[2001:] += 500_000
    edit.rows("daq/t_ns", times)


EDITS = {
    "a good run": lambda _: None,
    "ticks out of order": doubled,
    "ticks missing": without_a_part("tick", 450, 612),
    "timing missing": without_a_part("timing", 299, 301),
    "blocks missing": without_a_part("daq/blocks", 310, 320),
    "samples missing": without_a_part("daq/raw", 4000, 4010),
    "a clock that steps": stepped,
    "a command never confirmed": changed("drives_acknowledged_ns", -1, 250, None),
    "a command confirmed too soon": changed("drives_acknowledged_ns", 2**60, 640, 641),
    "times off the grid": lambda edit: edit.cells("tick", "t_ns", slice(598, 605), lambda t_ns: t_ns + 123),
    "drives not cut in Safe": changed("safe", 1, 310, 900),
    "another output": changed("force_sum_N", 1.5, 299, 305),
}


# Of a good run, of rows that are missing and of rows that differ at once.
AT_ONCE = ("a good run", "ticks missing", "samples missing", "another output")


@pytest.mark.slow
@pytest.mark.parametrize(
    "edit",
    [pytest.param(edit, id=name, marks=() if name in AT_ONCE else pytest.mark.slow) for name, edit in EDITS.items()],
)
def test_verify_says_of_a_record_in_blocks_what_it_says_of_a_whole_one(edited, small_blocks, edit):
    folder = edited("good", edit)
    at_once = verify(folder)
    small_blocks(BLOCK)
    assert verify(folder) == at_once


@pytest.mark.slow
def test_verify_reads_a_record_in_blocks(recorded, small_blocks, slices_read, monkeypatch):
    folder = recorded("good")
    small_blocks(BLOCK)
    monkeypatch.setattr(child_reader, "_BYTES", 25_000)
    slices_read.clear()  # what was read to make the record, if no test before had made it
    assert all(check.ok for check in verify(folder))
    for name in ("/tick", "/timing"):
        read = [rows for dataset, rows in slices_read if dataset == name]
        assert max(read) <= BLOCK + 1  # one more, where rows are compared with those before
        assert sum(read) > 4 * BLOCK


@pytest.mark.slow
def test_replay_reads_a_record_in_blocks_and_finds_the_same(edited, small_blocks):
    folder = edited("good", EDITS["another output"])
    at_once = replay(folder)
    small_blocks(BLOCK)
    said = []
    in_parts = replay(folder, progress=lambda done, total: said.append((done, total)))
    assert in_parts == at_once
    assert [difference.field for difference in in_parts.differences] == ["force_sum_N"]
    assert in_parts.differences[0].ticks == 6
    total = in_parts.ticks
    assert said == [(min(done, total), total) for done in range(BLOCK, total + BLOCK, BLOCK)]


@pytest.mark.slow
@pytest.mark.parametrize("to", ["csv", "mcap", "parquet", "tdms"])
def test_an_export_in_blocks_has_the_same_bytes(recorded, small_blocks, slices_read, tmp_path, monkeypatch, to):
    pytest.importorskip({"csv": "csv", "mcap": "mcap", "parquet": "pyarrow", "tdms": "nptdms"}[to])
    at_once, in_parts = tmp_path / "at_once", tmp_path / "in_parts"
    export(recorded("good"), to, at_once)
    small_blocks(BLOCK)
    monkeypatch.setattr(tables, "ROWS_A_BLOCK", BLOCK)
    slices_read.clear()
    export(recorded("good"), to, in_parts)
    longest = max(rows for name, rows in slices_read if name == "/tick")
    assert longest <= BLOCK + 1 or to in ("parquet", "tdms")  # whose blocks are longer than this record
    files = sorted(at_once.rglob("*")) if at_once.is_dir() else [at_once]
    for file in files:
        assert (in_parts / file.relative_to(at_once)).read_bytes() == file.read_bytes()


@pytest.mark.slow
def test_an_open_record_is_the_one_that_is_read_whole(recorded, small_blocks):
    whole = read_trial(recorded("good"))
    small_blocks(BLOCK)
    with open_trial(recorded("good")) as record:
        for name in ("tick", "timing", "blocks", "raw", "daq_t_ns"):
            assert isinstance(getattr(record, name), StoredRows)
            joined = np.concatenate([*in_blocks(getattr(record, name))])
            assert joined.tobytes() == getattr(whole, name).tobytes()
    assert read_trial(recorded("good")).tick.tobytes() == whole.tick.tobytes()


def test_the_lines_for_a_long_record_in_the_docs_run(recorded, small_blocks, tmp_path, monkeypatch, capsys):
    text = (Path(__file__).parents[3] / "docs/how-to/read-a-record.md").read_text()
    lines = text.split("## A record of an hour")[1].split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "RUN").symlink_to(recorded("good"))
    small_blocks(BLOCK)
    exec(compile(lines, "read-a-record.md", "exec"), {})
    ticks = read_trial(recorded("good")).tick
    assert capsys.readouterr().out == f"{ticks['speed_mps'].max()} m/s; ended at {ticks['t_ns'][-1] * 1e-9} s\n"
