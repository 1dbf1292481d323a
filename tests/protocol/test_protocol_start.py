"""The order in which the processes of a run start."""

from __future__ import annotations

import pytest

from hil.processes.supervisor import WorkerSupervisor


@pytest.mark.slow
def test_serial_links_start_when_recorder_and_daq_have_done_their_imports(trial, monkeypatch):
    order = []
    start, wait_ready = WorkerSupervisor.start, WorkerSupervisor.wait_ready

    def noted_start(self, name, *arguments):
        order.append(f"start {name}")
        start(self, name, *arguments)

    def noted_ready(self, name):
        found = wait_ready(self, name)
        order.append(f"{name} ready")
        return found

    monkeypatch.setattr(WorkerSupervisor, "start", noted_start)
    monkeypatch.setattr(WorkerSupervisor, "wait_ready", noted_ready)
    trial(lambda run: run.kill_loop(), at_s=0.1)
    assert order[:4] == ["start recorder", "start daq", "recorder ready", "daq ready"]
    assert order[4:7] == ["start drives", "start valves", "start watchdog"]
    assert sorted(order[7:]) == ["drives ready", "valves ready", "watchdog ready"]
