"""A simulated rig that is held before its first run says so, once: an operator may begin with any config."""

from __future__ import annotations

import numpy as np

from hil.ipc.shared_types import START
from hil.simulator.simulated_rig import _Runs


class Lifecycle:
    """Keeps what is reported; asks to end after some looks."""

    def __init__(self, looks=20):
        self.said, self._looks = [], looks

    @property
    def ending(self):
        self._looks -= 1
        return self._looks < 0

    def report(self, **message):
        self.said.append(message)


def write_start(shared, over, start_ns=0):
    row = np.zeros(1, START)
    row["over"], row["start_ns"] = over, start_ns
    return shared.start.write(row)


def test_held_without_a_run_it_reports_once_that_it_holds_and_is_placed(shared):
    lifecycle = Lifecycle()
    version = write_start(shared, over=1)
    assert _Runs(shared, lifecycle).next_start_ns() is None
    assert lifecycle.said == [{"held": version}, {"placed": True}]


def test_before_anything_is_said_to_it_it_reports_nothing(shared):
    lifecycle = Lifecycle()
    assert _Runs(shared, lifecycle).next_start_ns() is None
    assert lifecycle.said == []


def test_after_a_run_it_is_the_run_that_reports(shared):
    lifecycle = Lifecycle()
    runs = _Runs(shared, lifecycle)
    write_start(shared, over=0, start_ns=1)
    assert runs.next_start_ns() == 1
    version = write_start(shared, over=1, start_ns=1)
    assert runs.over
    runs.report_held()
    write_start(shared, over=1, start_ns=1)  # as the memory moves to the folder of the next run
    assert runs.next_start_ns() is None
    assert lifecycle.said == [{"held": version}]
