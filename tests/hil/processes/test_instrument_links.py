"""Links of instruments of motion: they go on measuring after a failure, and a run that can do without goes on."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from drivers.interfaces import DamagedError, DeviceError, Health, LinkLostError
from drivers.messages import Reading
from hil.config import load_config
from hil.config.schema.trial import TrialConfig
from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_devices import shared_device
from hil.ipc.shared_types import FAULT_MESSAGE, NO_FAULT, START, fault_message
from hil.messages.fault import DEAD_MAN_NS, WORKER_SILENT_NS, Fault
from hil.processes import link, watchdog
from hil.processes.link import LinkWorker
from hil.processes.link_bridge import LinkBridge, feed_of
from hil.processes.supervisor import INSTRUMENT_BACK, INSTRUMENT_LOST, SILENT_NS, WorkerSupervisor

NOW_NS, MS = 7_000_000_000, 1_000_000


@pytest.fixture
def shared(tmp_path):
    settings = ["clock=realtime", "telemetry.endpoint=''", "motion={measures: position}", "imu={}"]
    return RunMemory(tmp_path, load_config("sim_impact", settings), {"version": "1"})


@pytest.fixture
def needed(monkeypatch):
    """The trial needs `motion`, and not `imu`."""
    monkeypatch.setattr(TrialConfig, "needs_instruments", lambda self, rig: ("motion",))


class Instrument:
    """Has a new reading in each step, unless it fails."""

    def __init__(self):
        self.log, self.failures, self.cannot_open, self.count = [], [], 0, 0

    def open(self):
        self.log.append("open")
        if self.cannot_open:
            self.cannot_open -= 1
            raise LinkLostError("still gone")

    def close(self):
        self.log.append("close")

    def health(self):
        return Health("camera", True, 0, "")

    def step(self):
        self.log.append("step")
        if self.failures:
            raise self.failures.pop(0)
        self.count += 1

    def read(self, t_ns):
        return Reading(self.count, NOW_NS + self.count, (0.1 * self.count, 0.0, 0.0), NOW_NS + self.count)


class Rig:
    def __init__(self, shared):
        self.device, self.shared = Instrument(), shared
        bridge = LinkBridge(shared, "motion", feed_of(shared, "motion", self.device))
        self.worker = LinkWorker("motion", shared, self.device, bridge, SimpleNamespace(ending=False))
        self.loop = shared_device(shared, "motion")
        start = np.zeros(1, START)
        start["start_ns"] = NOW_NS - 1_000_000_000
        shared.start.write(start)

    def round(self, after_ms):
        self.shared.heartbeat.beat("loop", NOW_NS + round(after_ms * MS))
        self.worker.round(NOW_NS + round(after_ms * MS))

    def trouble(self):
        row = np.zeros(1, FAULT_MESSAGE)
        self.shared.fault_mailboxes["motion"][Fault.LINK_LOST].read(row)
        return int(row["fault"][0]), row["detail"][0].decode()


@pytest.fixture
def rig(shared, monkeypatch):
    monkeypatch.setattr(link, "SLICE_S", 0.0)
    rig = Rig(shared)
    monkeypatch.setattr(rig.worker._host, "now_ns", lambda: NOW_NS)
    return rig


@pytest.mark.parametrize(
    ("error", "fault"), [(LinkLostError("camera: gone"), 13), (DamagedError("camera: damaged"), 14)]
)
def test_a_lost_instrument_is_reported_opened_again_and_measures_again(rig, error, fault):
    rig.round(0)
    rig.device.failures = [error]
    rig.round(1)
    assert rig.trouble() == (fault, str(error))
    assert rig.loop.read(0) is not None
    rig.round(100)  # its pause is not over
    assert rig.device.log == ["step", "step"]
    rig.round(102)
    assert rig.device.log == ["step", "step", "close", "open"]
    assert rig.trouble()[0] == NO_FAULT
    rig.round(103)
    assert rig.loop.read(0).value[0] == pytest.approx(0.2)


def test_an_instrument_that_stays_lost_is_tried_with_growing_pauses(rig):
    rig.device.failures, rig.device.cannot_open = [LinkLostError("gone")], 100
    rig.round(0)
    opened_ms = []
    for after_ms in range(1, 10_000, 10):
        before = rig.device.log.count("open")
        rig.worker._host.now_ns = lambda after_ms=after_ms: NOW_NS + after_ms * MS
        rig.round(after_ms)
        if rig.device.log.count("open") > before:
            opened_ms.append(after_ms)
    pauses = np.diff([0, *opened_ms])
    assert pauses[0] == pytest.approx(100, abs=10)
    assert (np.diff(pauses) >= -10).all()
    assert pauses[-1] == pytest.approx(1e3 * link.LONGEST_PAUSE_S, abs=10)


def test_an_instrument_that_fails_again_at_once_is_not_opened_in_each_round(rig):
    rig.device.failures = [LinkLostError("gone")] * 1000
    for after_ms in range(1, 3000):
        rig.round(after_ms)
    assert rig.device.log.count("open") <= 6  # after 0.1, 0.3, 0.7, 1.5 s ...


def test_a_silent_loop_ends_the_polling_of_an_instrument_too(rig):
    rig.round(0)
    rig.worker.round(NOW_NS + DEAD_MAN_NS + 1)
    assert rig.device.log == ["step"]


def events(ring):
    return [(int(row["id"]), row["name"].decode(), row["detail"].decode()) for row in ring.reader("test").read(10)]


def report(shared, role, fault, words):
    shared.fault_mailboxes[role][Fault.LINK_LOST].write(fault_message(fault, words))


def test_what_a_spared_instrument_reports_is_an_event_and_no_alarm(shared):
    supervisor = WorkerSupervisor(shared)
    report(shared, "motion", Fault.LINK_LOST, "camera: gone")
    assert [look() for look in (supervisor.alarm, *supervisor.reports, supervisor.alarm) if look()] == []
    report(shared, "motion", NO_FAULT, "")
    supervisor.alarm()
    assert events(shared.events) == [
        (0, INSTRUMENT_LOST, "camera: gone"), (0, INSTRUMENT_BACK, "motion: its link is open again"),
    ]  # fmt: skip


def test_what_a_needed_instrument_reports_is_an_alarm(shared, needed):
    supervisor = WorkerSupervisor(shared)
    report(shared, "motion", Fault.LINK_LOST, "camera: gone")
    report(shared, "imu", Fault.LINK_LOST, "imu: gone")
    alarms = [alarm for look in (supervisor.alarm, *supervisor.reports) if (alarm := look())]
    assert [(alarm.fault, alarm.detail) for alarm in alarms] == [(Fault.LINK_LOST, "camera: gone")]
    assert events(shared.events) == [(0, INSTRUMENT_LOST, "imu: gone")]


@pytest.mark.parametrize("role", ["motion", "imu"])
def test_a_silent_process_of_an_instrument_is_an_alarm_only_where_it_is_needed(shared, needed, role):
    supervisor = WorkerSupervisor(shared)
    supervisor._watched[role] = SILENT_NS[role]
    shared.heartbeat.beat(role, time.monotonic_ns() - 2 * SILENT_NS[role])
    alarms = [supervisor.alarm() for _ in range(2)]
    if role == "motion":
        assert [alarm.fault for alarm in alarms] == [Fault.PROCESS_LOST] * 2
        assert events(shared.events) == []
    else:
        assert alarms == [None, None]
        ((number, name, detail),) = events(shared.events)
        assert (number, name) == (0, INSTRUMENT_LOST)
        assert detail.startswith("imu: its process has been silent for ")


def test_an_instrument_that_does_not_answer_keeps_a_run_from_starting(shared):
    supervisor = WorkerSupervisor(shared)
    report(shared, "motion", Fault.LINK_LOST, "camera: gone")
    with pytest.raises(DeviceError, match="camera: gone"):
        supervisor.check_started()


@pytest.mark.parametrize(("role", "fault"), [("motion", 12), ("imu", 0)])
def test_the_watchdog_kills_a_silent_process_of_an_instrument_and_notes_a_fault_where_it_is_needed(
    shared, needed, monkeypatch, role, fault
):
    killed = []
    monkeypatch.setattr(watchdog, "_kill", killed.append)
    dog = watchdog.Watchdog(shared, 111, {role: 222}, {})
    shared.heartbeat.beat(role, NOW_NS - WORKER_SILENT_NS - 1)
    dog.look(NOW_NS)
    assert killed == [222]
    ((number, name, _),) = events(shared.watchdog_events)
    assert (number, name) == (fault, f"{role}_silent")
