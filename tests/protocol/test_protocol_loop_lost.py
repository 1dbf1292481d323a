"""A loop process that hangs or dies in the middle of a trial: row 12 of the fault table."""

import pytest

from hil.analysis.fault_report import read_reports
from hil.analysis.recovery import recover
from hil.messages.fault import DEAD_MAN_NS, STOP_WRITTEN_NS, Fault
from hil.recording import read_trial
from hil.recording.recorder import PERIOD_S

pytestmark = pytest.mark.timeout(900)  # wall-clock seconds, of which a busy machine may need many
ADDRESSES = {0x80, 0x81, 0x82}
DEAD_MAN_MS, TRANSACTIONS_MS = DEAD_MAN_NS / 1e6, STOP_WRITTEN_NS / 1e6
TIMEOUT_MS, WAKE_MS = 100, 2


@pytest.mark.slow
def test_a_stopped_loop_is_cut_by_the_dead_man_and_does_not_drive_when_it_goes_on(injected):
    done = injected("loop", "stopped for 0.3 s")
    stops_ms = done.seen_ms("stops")
    assert set(stops_ms) == ADDRESSES
    assert DEAD_MAN_MS <= max(stops_ms.values()) <= DEAD_MAN_MS + 1 + TRANSACTIONS_MS
    assert done.seen_ms("starts") == {}
    assert done.faults  # of the loop that continues
    assert "loop_silent" in read_trial(done.folder).events["name"].astype(str)


@pytest.mark.slow
def test_a_loop_that_hangs_for_a_second_is_killed_by_the_watchdog(injected):
    done = injected("loop", "hangs for ever")
    assert done.run.loop.killed
    assert done.seen_ms("starts") == {}
    assert set(done.seen_ms("stops")) == ADDRESSES
    names = read_trial(done.folder).events["name"].astype(str).tolist()
    assert [name for name in names if name.startswith("loop_")] == ["loop_silent", "loop_hung", "loop_lost"]
    reports = read_reports(done.folder)
    assert [(report.row.number, report.event) for report in reports][-3:] == [
        (Fault.PROCESS_LOST, name) for name in ("loop_silent", "loop_hung", "loop_lost")
    ]
    lost = reports[-1]
    assert (lost.before.found, lost.before.missing) == (lost.tick - 1, 0)  # nothing before the hang is lost
    silent, hung = [text for _, text in lost.events if text.startswith("loop_")][-2:]
    assert silent.startswith("loop_silent: ")
    assert hung.startswith("loop_hung: ")  # 1000 ticks later


@pytest.mark.slow
def test_a_killed_loop_leaves_stopped_wheels_and_a_whole_record(injected):
    done = injected("loop", "killed")
    stops_ms = done.seen_ms("stops")
    assert set(stops_ms) == ADDRESSES
    assert max(stops_ms.values()) <= DEAD_MAN_MS + TRANSACTIONS_MS
    assert done.seen_ms("starts") == {}
    record = read_trial(done.folder)
    assert record.events["name"].astype(str)[-1] == "loop_lost"
    assert record.tick["t_ns"][-1] == pytest.approx(done.acted_ns - done.start_ns, abs=1_000_000)


@pytest.mark.slow
def test_a_killed_loop_is_named_in_the_record_even_if_the_recorder_is_killed_soon_after(trial):
    """On a busy machine the recorder may not end in the time that the watchdog gives it."""

    def act(run):
        run.kill_loop()
        run.host.sleep(2.5 * PERIOD_S)  # the rows of the loop are read, and the recorder still waits for others
        run.processes.by_name["recorder"].kill()
        run.host.sleep(0.2)

    done = trial(act)
    done.run.close()
    recover(done.folder)
    record = read_trial(done.folder)
    [lost] = record.events[record.events["id"] > 0]
    assert (lost["name"], lost["tick"]) == (b"loop_lost", record.tick["tick"][-1])


@pytest.mark.slow
def test_when_every_process_is_killed_the_controllers_stop_by_themselves(injected):
    done = injected("all processes", "killed")
    timeouts_ms = done.seen_ms("timeouts")
    assert set(timeouts_ms) == ADDRESSES
    assert max(timeouts_ms.values()) <= TIMEOUT_MS + WAKE_MS
    assert done.seen_ms("starts") == {}
