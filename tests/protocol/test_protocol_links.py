"""Faults of a link in the middle of a trial: rows 1, 6, 13, 14, 15, 18 and 29 of the fault table.

What must come of a fault, and within which time, is that of the case table. The stops recorded by the simulated
controllers are the proof.
"""

import json

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.faults.protocol_cases import press, wait
from hil.messages.fault import E_STOP_NS, WATCHDOG_STOP_WRITTEN_NS, WORKER_SILENT_NS, Fault
from hil.operator.telemetry import Publisher
from hil.recording import read_trial

pytestmark = pytest.mark.timeout(900)  # wall-clock seconds, of which a busy machine may need many
ADDRESSES = {0x80, 0x81, 0x82}
TIMEOUT_MS = 100  # devices.drives.timeout_ms
WAKE_MS = 2  # a simulated controller checks its time-out so often
PERIOD_MS = 20  # devices.drives.rate_hz: a lost port is noticed by the next transaction


def stopped_within(trial, within_ms, what="stops"):
    """Every controller has recorded a stop by then, and none runs again."""
    assert trial.error is None
    late_ms = trial.seen_ms(what)
    assert set(late_ms) == ADDRESSES, late_ms
    assert max(late_ms.values()) <= within_ms, late_ms
    assert trial.seen_ms("starts") == {}
    assert trial.runs_at_the_end() == set()


@pytest.mark.slow
def test_late_doubled_and_now_and_then_damaged_answers_are_counted_and_published_and_change_nothing(trial, monkeypatch):
    published = []
    monkeypatch.setattr(Publisher, "links", lambda _, healths: published.append(healths))

    def act(run):
        run.inject_fault("roboclaw", "delayed", ms=25.0)
        run.host.sleep(0.2)
        run.inject_fault("roboclaw", "duplicate", count=5, every=7)
        run.host.sleep(0.2)
        run.inject_fault("roboclaw", "garbage", count=3, every=11)

    done = trial(act)
    drives = done.healths["drives"]
    assert done.faults == []
    assert done.stopped_ns is not None
    assert drives["open"]
    assert 4 <= drives["retries"] <= 9  # one late answer, three damaged ones, and duplicates in between
    counted = [healths["drives"]["retries"] for healths in published if "drives" in healths]
    assert counted == sorted(counted)
    assert 0 < counted[-1] <= drives["retries"]
    run_s = 1e-9 * read_trial(done.folder, trusted=True).tick["t_ns"][-1]
    assert abs(len(published) - run_s) < 3  # one a second; there is a little before and after the run


@pytest.mark.slow
def test_three_damaged_answers_in_ten_are_a_fault_and_everything_stops(injected):
    done = injected("roboclaw", "garbage")
    stopped_within(done, 50)


@pytest.mark.slow
def test_an_unplugged_bus_stops_by_itself_and_never_runs_again_when_it_comes_back(injected):
    done = injected("roboclaw", "unplugged and plugged in")
    assert done.noticed_ms(Fault.LINK_LOST) <= PERIOD_MS + WAKE_MS
    stopped_within(done, TIMEOUT_MS + WAKE_MS, "timeouts")
    assert done.healths["drives"]["open"]  # reopened, to be stopped
    confirmed_ns = read_trial(done.folder, trusted=True).tick["drives_acknowledged_ns"]
    assert -1 in confirmed_ns[1:][np.diff(confirmed_ns) < 0]  # the link that is open again has confirmed nothing yet
    (order,) = (check for check in verify(done.folder) if check.item == "drives: order")
    assert order.ok, order.found


@pytest.mark.slow
def test_a_bus_that_falls_silent_is_noticed_within_the_bound_of_the_fault_table(injected):
    done = injected("roboclaw", "off")
    stopped_within(done, TIMEOUT_MS + WAKE_MS, "timeouts")


@pytest.mark.slow
def test_a_valve_board_that_dies_stops_the_wheels(injected):
    done = injected("modbus", "off")
    stopped_within(done, 100 + 2 * 60 + 10)  # polled ten times a second, two tries of 60 ms; then the cut


@pytest.mark.slow
def test_an_overrun_of_the_daq_stops_the_wheels(injected):
    done = injected("daq", "error -200279")
    stopped_within(done, 20)


@pytest.mark.slow
def test_samples_that_come_late_stop_the_wheels(injected):
    done = injected("daq", "delayed")
    stopped_within(done, 10 + 20)


@pytest.mark.slow
def test_samples_that_do_not_come_any_more_stop_the_wheels(injected):
    done = injected("daq", "off")
    stopped_within(done, 10 + 20)


@pytest.mark.slow
def test_an_emergency_stop_at_the_controllers_is_noticed_within_its_bound_and_outlasts_its_release(injected):
    done = injected("roboclaw", "emergency stop", wait(0.3), press("roboclaw", pressed=False))
    assert done.noticed_ms(Fault.STOP_BY_OPERATOR) <= E_STOP_NS / 1e6 + 1  # one tick
    assert done.seen_ms("starts") == {}


@pytest.mark.slow
def test_an_emergency_stop_on_the_line_stops_the_wheels(injected):
    done = injected("daq", "emergency stop line")
    stopped_within(done, 100)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["killed", "stopped"])
def test_the_watchdog_stops_the_wheels_of_a_drives_worker_that_is_gone(injected, way):
    """By the stop frames stored for the link, before the controllers' time-outs act."""
    done = injected("drives process", way)
    stopped_within(done, (WORKER_SILENT_NS + WATCHDOG_STOP_WRITTEN_NS) / 1e6)


@pytest.mark.ci_cases("killed-daq", "stopped-watchdog")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["daq", "valves", "watchdog"])
@pytest.mark.parametrize("way", ["killed", "stopped"])
def test_any_other_worker_that_is_gone_stops_the_wheels(injected, name, way):
    done = injected(f"{name} process", way)
    stopped_within(done, 50 + 20)


@pytest.mark.slow
def test_a_trial_in_which_a_controller_reports_a_driver_fault_is_not_accepted(trial):
    """The other wheels push on, and what the sensors see is no longer what was set."""
    done = trial(lambda run: run.inject_fault("roboclaw", "status", status="status", value=0x40, address=0x81))
    assert done.faults == [Fault.DEVICE_FAULT]
    assert done.noticed_ms(Fault.DEVICE_FAULT) <= E_STOP_NS * 1e-6
    stopped_within(done, E_STOP_NS * 1e-6 + PERIOD_MS)
    summary = json.loads((done.folder / "summary.json").read_text())
    assert summary["accepted"] is False
    (reason,) = (reason for reason in summary["reasons"] if reason.startswith("fault 41"))
    assert "M1 driver fault (status 0x40), address 0x81 on" in reason
    assert replay(done.folder).differences == []


@pytest.mark.slow
def test_a_warning_of_a_controller_marks_the_run_once_and_a_second_fault_is_in_the_record_too(trial):
    def act(run):
        run.inject_fault("roboclaw", "status", status="status", value=0x100000)
        run.host.sleep(0.2)
        run.inject_fault("roboclaw", "status", status="status", value=0x1000C0)

    done = trial(act)
    events = read_trial(done.folder, trusted=True).events
    reported = events[events["id"] == Fault.DEVICE_FAULT]
    words = [row["detail"].decode().partition(": ")[2].partition(" (")[0] for row in reported]
    assert words == ["temperature warning", "M1 driver fault", "M2 driver fault"]
    assert (reported["reaction_tick"] >= 0).tolist() == [False, True, False]
    assert [check for check in verify(done.folder) if not check.ok] == []
    assert replay(done.folder).differences == []
