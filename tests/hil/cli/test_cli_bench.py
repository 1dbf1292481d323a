"""`hil bench loop` from the command line to its JSON."""

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

import hil.app.run
from hil.bench import bench_loop
from hil.cli import run

pytestmark = pytest.mark.slow

FAKE = """#!/bin/sh
[ "$1" = --help ] && { echo "cyclictest V 9.87"; exit 0; }
echo "$@" >> "$(dirname "$0")/calls"
cat <<END
# /dev/cpu_dma_latency set to 0us
# Histogram
000003 000090
000007 000009
000099 000001
# Total: 000000100
# Max Latencies: 00099
# Histogram Overflows: 00000
END
"""


@pytest.fixture
def yardstick(tmp_path, monkeypatch):
    """A cyclictest that always prints the same."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "cyclictest"
    program.write_text(FAKE)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


@pytest.fixture
def _trials_in_virtual_time(monkeypatch):
    """The trials of the benchmark; their summary has the keys of a trial in real time."""
    run_experiment = hil.app.run.run

    def run_in_virtual_time(config):
        result = run_experiment(config.model_copy(update={"clock": "lockstep"}))
        loop, result.summary["machine"] = result.summary["loop"], {"count": 0}
        result.summary["loop"] = loop | {"wake_us": loop["work_us"], "far_end": {"ticks": 9, "late": 0, "skipped": 0}}
        return result

    monkeypatch.setattr(hil.app.run, "run", run_in_virtual_time)


@pytest.mark.usefixtures("_trials_in_virtual_time")
def test_the_json_has_the_contracts_shape_and_names(yardstick, tmp_path, capsys):
    file = tmp_path / "loop.json"
    assert run(["bench", "loop", "--seconds", "0.02", "--json", str(file)]) == 0
    result = json.loads(file.read_text())
    assert set(result) == {"machine", "peers", "rows", "left_out"}
    assert result["peers"] == {"cyclictest": "9.87"}
    assert {item["name"] for item in result["machine"]["rights"]} >= {"scheduler", "memory"}
    rows = {row["name"]: row for row in result["rows"]}
    assert len(rows) == len(result["rows"])
    assert {
        "wake_1khz_idle",
        "wake_1khz_spin",
        "cyclictest",
        "tick_1khz_work_idle",
        "tick_1khz_record_loaded",
    } <= set(rows)
    assert {f"wake_{rate}_{kind}" for rate in ("500hz", "2khz") for kind in ("idle", "spin_loaded")} <= set(rows)
    for row in rows.values():
        assert {"name", "unit", "p50", "p99", "p99_9", "max", "ratio_to", "ratio"} <= set(row)
        assert row["unit"] == "us"
        assert 0.0 <= row["p50"] <= row["p99"] <= row["p99_9"] <= row["max"]
    assert rows["cyclictest"]["p99"] == 7.5
    for name in ("wake_1khz_idle", "wake_1khz_spin"):
        assert rows[name]["ratio_to"] == "cyclictest"
        assert rows[name]["ratio"] == pytest.approx(rows[name]["p99"] / 7.5)
    assert rows["wake_1khz_loaded"]["ratio_to"] == "cyclictest_loaded"
    assert rows["wake_2khz_idle"]["ratio"] is None
    calls = (yardstick / "calls").read_text().splitlines()
    assert len(calls) == 3  # idle before and after ours, and loaded
    assert all("--interval=1000" in call and "--loops=20" in call for call in calls)
    assert "wake_1khz_spin_loaded" in capsys.readouterr().out


def test_without_cyclictest_the_bench_runs_and_says_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(bench_loop, "_tick_rows", lambda *_: [])
    assert run(["bench", "loop", "--seconds", "0.01"]) == 0
    assert "rt-tests" in capsys.readouterr().out
    assert bench_loop.cyclictest(0.01, 0, False) is None


@pytest.mark.parametrize("place", ["no/such/folder/loop.json", "."])
def test_a_json_file_that_cannot_be_is_refused_before_measuring(place, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench_loop, "bench_loop", lambda *_, **__: pytest.fail("measured"))
    assert run(["bench", "loop", "--json", place]) == 2
    assert "--json" in capsys.readouterr().err


def test_what_is_beyond_the_yardsticks_last_bin_still_counts():
    text = "# Histogram\n000004 000099\n# Max Latencies: 25000\n# Histogram Overflows: 00001\n"
    counts = bench_loop.parse(text)
    assert counts == {4: 99, 25_000: 1}
    assert bench_loop.summary_us(counts) == {"p50": 4.5, "p99": 4.5, "p99_9": 25_000.5, "max": 25_000.5}
    assert bench_loop.parse("cyclictest: cannot run") is None


def test_the_busy_children_are_gone_afterwards_also_after_an_exception():
    with suppress(RuntimeError), bench_loop.busy_processors() as children:
        assert len(children) == len(os.sched_getaffinity(0))
        for pid in children:
            os.kill(pid, 0)  # raises if there is no such process
        raise RuntimeError("in the bench")

    for pid in children:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.usefixtures("_trials_in_virtual_time")
def test_one_rate_is_measured_alone_with_a_verdict(tmp_path, capsys):
    file = tmp_path / "loop.json"
    assert run(["bench", "loop", "--rate", "4000", "--seconds", "0.02", "--json", str(file)]) == 0
    names = {row["name"] for row in json.loads(file.read_text())["rows"]}
    assert names >= {"wake_4khz_idle", "tick_4khz_work_idle", "far_end_4khz_idle"}
    assert not any("1khz" in name or "loaded" in name for name in names)
    assert "4000 Hz: held for 0.02 s" in capsys.readouterr().out
    assert run(["bench", "loop", "--rate", "5000"]) == 2
