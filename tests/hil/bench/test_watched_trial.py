"""The processes of a trial are measured while it runs, and none is left out in silence."""

import sys

import hil.bench.bench_rig
from hil.bench import conditions as module
from hil.bench.bench_rig import _trial_rows
from hil.bench.conditions import ALLOWED_MB, FailedMeasurements, WatchedTrial, watched_trial
from hil.realtime.rights import Memory

BEGINS_AGAIN = """
import sys
for line in ("starting", "running: impact", "a device was late; starting again", "running: impact", "drawing"):
    print(line, file=sys.stderr, flush=True)
print('{"done": 1}')
"""
TIMES = dict.fromkeys(("p50", "p99", "p99_9", "max"), 1.0)
LOOP = {"ticks": 9, "late": 0, "skipped": 0, "work_us": TIMES, "wake_us": TIMES, "plant_us": TIMES}
SUMMARY = {"reasons": [], "links": {}, "loop": {**LOOP, "far_end": {"ticks": 9, "late": 0, "skipped": 0}}}


def test_a_trial_that_begins_again_is_measured_again(monkeypatch):
    measured = iter([{"loop": 0.1}, {"loop": 0.2, "daq worker": 0.3}])
    monkeypatch.setattr(module, "cpu_usage", lambda _root, _seconds: next(measured))
    monkeypatch.setattr(module, "memory_usage", lambda _root: {})
    found = watched_trial([sys.executable, "-c", BEGINS_AGAIN], 600.0, 1.0)
    assert found.said == '{"done": 1}\n'
    assert found.complaints[-1] == "drawing"
    assert found.shares == {"loop": 0.2, "daq worker": 0.3}


def table(monkeypatch, *names):
    memory = dict.fromkeys(names, Memory(1.0, 1.0, 1.0))
    found = WatchedTrial(hil.bench.bench_rig.json.dumps(SUMMARY), [], dict.fromkeys(names, 0.1), memory)
    monkeypatch.setattr(hil.bench.bench_rig, "watched_trial", lambda *_: found)
    left_out = FailedMeasurements(lambda _: None)
    return {row["name"] for row in _trial_rows(left_out)}, [item["what"] for item in left_out.items]


def test_each_process_has_its_rows(monkeypatch):
    rows, left_out = table(monkeypatch, *ALLOWED_MB)
    assert {f"processor_{name}" for name in ALLOWED_MB} | {f"memory_{name}" for name in ALLOWED_MB} <= rows
    assert left_out == []


def test_a_process_that_was_not_there_is_listed_as_left_out(monkeypatch):
    rows, left_out = table(monkeypatch, *set(ALLOWED_MB) - {"drives worker"})
    assert "processor_drives worker" not in rows
    assert left_out == ["processor and memory of drives worker"]
