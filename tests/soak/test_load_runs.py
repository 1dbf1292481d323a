"""What counts as a good run of the script of controlled wheel loads."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from hil.ipc.run_memory import LateAction
from hil.processes.disturbances import late_words, stall_event
from hil.realtime.clock import Stall

SCRIPT = runpy.run_path(str(Path(__file__).with_name("load_runs.py")), run_name="imported")
GOOD = {
    "normal_force": {
        "spread_before": 0.6, "spread_after": 0.165, "spread_best": 0.15, "settle_s": 1.7, "limits_met": True,
    },
    "links": {"valves": {"rate_hz": 8.0, "errors": 0, "retries": 0}},
}  # fmt: skip


@pytest.mark.parametrize("real_time", [True, False])
def test_a_stall_is_recognised_by_the_words_of_the_record(real_time):
    stall = bytes(stall_event(Stall(10**9, 30_000_000), 0, 1000, real_time=real_time)["detail"][0]).decode()
    assert SCRIPT["names_stall"](f"fault 11: a tick 25 ms late; at that time: {stall}")
    assert not SCRIPT["names_stall"]("fault 11: a tick 25 ms late")


def test_a_late_simulated_device_is_recognised_by_the_words_of_the_record():
    assert SCRIPT["names_stall"](late_words(LateAction(0, 9_000_000, "serial devices"), " at 2.000 s"))


def test_a_run_is_good_if_its_loads_settle_in_time_near_the_best_without_a_fault():
    assert not SCRIPT["judged"](GOOD, fault=False).wrong
    assert SCRIPT["judged"](GOOD, fault=True).wrong
    for key, value in (("settle_s", 4.1), ("settle_s", None), ("spread_after", 0.19), ("limits_met", False)):
        bad = GOOD | {"normal_force": GOOD["normal_force"] | {key: value}}
        assert SCRIPT["judged"](bad, fault=False).wrong
