"""The worker of one link, round by round, with a device controlled by the test."""

import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from drivers.host import HostComputer
from drivers.interfaces import DamagedError, DeviceError, Health, LinkLostError, SamplesLostError
from drivers.messages import DriveCommand, DriveSample
from drivers.reported import DeviceReport
from hil.app import driver_factory
from hil.ipc.shared_devices import shared_device
from hil.ipc.shared_types import FAULT_MESSAGE, NO_FAULT, START
from hil.messages.fault import DEAD_MAN_NS, HEALTH_EVERY_NS, Fault
from hil.messages.link_messages import HEALTH
from hil.processes import link
from hil.processes.link import LinkWorker, fault_of
from hil.processes.link_bridge import LinkBridge, feed_of

ZERO_SPEEDS = (0.0,) * 6  # the speeds of six wheels

NOW_NS = 7_000_000_000
SPEEDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
E_STOP_FREE = Health("wheel drives", True, 0, "battery 24.1 V", 3, 50.0, 4.0)


class Device:
    """Executes a command in its next step, and confirms it."""

    def __init__(self):
        self.log, self.wish, self.sample = [], None, None
        self.failures, self.cannot_open = [], 0
        self.state = E_STOP_FREE

    def open(self):
        self.log.append("open")
        if self.cannot_open:
            self.cannot_open -= 1
            raise LinkLostError("still gone")

    def close(self):
        self.log.append("close")

    def health(self):
        return self.state

    def write(self, command):
        self.wish = command

    def step(self):
        self.log.append("step")
        if self.failures:
            raise self.failures.pop(0)
        if self.wish:
            self.log.append("cut" if self.wish.cut else "drive")
            self.sample = DriveSample(len(self.log), NOW_NS + 5, SPEEDS, self.wish.t_ns, NOW_NS + 3)

    def read(self, t_ns):
        sample, self.sample = self.sample, None
        return sample


class StopFlag:
    ending = False

    def report(self, **message):
        """To nobody."""


class Rig:
    def __init__(self, shared):
        self.device, self.stop_flag, self.shared = Device(), StopFlag(), shared
        self.bridge = LinkBridge(shared, "drives", feed_of(shared, "drives", self.device))
        self.worker = LinkWorker("drives", shared, self.device, self.bridge, self.stop_flag)
        self.loop = shared_device(shared, "drives")

    def begin(self):
        start = np.zeros(1, START)
        start["start_ns"] = NOW_NS - 1_000_000_000
        self.shared.start.write(start)

    def hold(self):
        start = np.zeros(1, START)
        self.shared.start.read(start)
        start["over"] = 1
        self.shared.start.write(start)

    def drive(self, t_ns=1):
        self.loop.write(DriveCommand(t_ns, False, SPEEDS))

    def trouble(self, cause=Fault.LINK_LOST):
        row = np.zeros(1, FAULT_MESSAGE)
        return row[0] if self.shared.fault_mailboxes["drives"][cause].read(row) > 0 else None

    def reported(self):
        rows = [self.trouble(cause) for cause in self.shared.fault_mailboxes["drives"]]
        return {int(row["fault"]) for row in rows if row is not None and row["fault"] != NO_FAULT}


@pytest.fixture
def rig(shared, monkeypatch):
    monkeypatch.setattr(link, "SLICE_S", 0.0)
    rig = Rig(shared)
    shared.heartbeat.beat("loop", NOW_NS)
    return rig


def test_a_command_goes_out_in_the_same_round_and_its_confirmation_comes_back(rig):
    rig.begin()
    rig.drive(t_ns=42)
    rig.worker.round(NOW_NS)
    sample = rig.loop.read(0)
    assert rig.device.log == ["step", "drive"]
    assert (sample.acknowledged_ns, sample.speed_radps) == (42, SPEEDS)


def test_times_of_the_device_become_times_of_the_run(rig):
    rig.begin()
    rig.drive()
    rig.worker.round(NOW_NS)
    sample = rig.loop.read(0)
    assert (sample.t_ns, sample.stopped_ns) == (1_000_000_005, 1_000_000_003)


def test_nothing_is_handed_on_before_the_run_begins(rig):
    rig.drive()
    rig.worker.round(NOW_NS)
    assert rig.loop.read(0) is None


def test_each_round_of_a_run_says_that_the_worker_lives(rig, shared):
    """Before the run, opening and starting may take long: no process is watched."""
    rig.worker.round(NOW_NS)
    assert shared.heartbeat.last_ns("drives") == 0
    rig.begin()
    rig.worker.round(NOW_NS)
    assert shared.heartbeat.last_ns("drives") == NOW_NS


def test_a_silent_loop_is_answered_by_a_cut_and_then_by_silence(rig):
    """A device that is still polled would consider its host alive, and its time-out would never act."""
    rig.begin()
    rig.drive()
    rig.worker.round(NOW_NS)
    for i in range(10):
        rig.worker.round(NOW_NS + DEAD_MAN_NS + 1 + i)
    assert rig.device.log == ["step", "drive", "step", "cut"]


def test_a_lost_link_is_told_once_and_in_the_words_of_the_device(rig):
    rig.device.failures = [LinkLostError("RoboClaw: /dev/ttyACM0 is gone"), LinkLostError("again")]
    for i in range(5):
        rig.worker.round(NOW_NS + i)
    trouble = rig.trouble()
    assert (trouble["fault"], trouble["detail"]) == (Fault.LINK_LOST, b"RoboClaw: /dev/ttyACM0 is gone")


def test_a_link_that_comes_back_is_stopped_and_never_driven_again(rig):
    rig.begin()
    rig.drive()
    rig.worker.round(NOW_NS)
    rig.device.failures = [LinkLostError("gone")]
    rig.worker.round(NOW_NS + 1)
    for i in range(2, 6):
        rig.drive(t_ns=i)
        rig.worker.round(NOW_NS + i)
    after = rig.device.log[rig.device.log.index("open") :]
    assert after == ["open", "step", "cut"]


def test_trying_again_takes_growing_pauses(rig):
    rig.device.failures, rig.device.cannot_open = [LinkLostError("gone")], 10**6
    now_ns = NOW_NS
    rig.worker.round(now_ns)
    tries = []
    for _ in range(400):
        now_ns += 10_000_000
        before = rig.device.log.count("open")
        rig.worker._again_ns = min(rig.worker._again_ns, now_ns + round(rig.worker._pause_s / 2 * 1e9))
        rig.worker.round(now_ns)
        if rig.device.log.count("open") > before:
            tries.append(now_ns)
    assert len(tries) < 40
    assert rig.worker._pause_s == link.LONGEST_PAUSE_S


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (LinkLostError("x"), Fault.LINK_LOST),
        (DamagedError("x"), Fault.FRAMES_DAMAGED),
        (SamplesLostError("x"), Fault.SAMPLES_LOST),
        (DeviceError("x"), Fault.LINK_LOST),
    ],
)
def test_each_kind_of_failure_is_its_row_of_the_fault_table(error, fault):
    assert fault_of(error) is fault


def test_a_pressed_emergency_stop_is_told(rig):
    rig.device.state = Health("wheel drives", True, 0, "", e_stop=True)
    rig.worker.round(NOW_NS)
    assert rig.trouble(Fault.STOP_BY_OPERATOR)["detail"] == b"wheel drives: the emergency stop is pressed"


PRESSED = Health("wheel drives", True, 0, "", e_stop=True)
MS = 1_000_000


def test_an_emergency_stop_that_also_cuts_the_power_hides_no_lost_link_and_takes_no_report_back(rig):
    """One report a cause: the next run must not begin with controllers that are dead."""
    rig.begin()
    rig.drive()
    rig.worker.round(NOW_NS)
    rig.device.state = PRESSED
    rig.shared.heartbeat.beat("loop", NOW_NS + 60 * MS)
    rig.worker.round(NOW_NS + 20 * MS)
    assert rig.reported() == {Fault.STOP_BY_OPERATOR}
    rig.device.failures, rig.device.cannot_open = [LinkLostError("no answer")] * 2, 10**6
    rig.worker.round(NOW_NS + 25 * MS)
    assert rig.reported() == {Fault.STOP_BY_OPERATOR, Fault.LINK_LOST}
    rig.device.state = E_STOP_FREE  # a device that is not read says nothing about its emergency stop
    rig.worker.round(NOW_NS + 60 * MS)
    assert rig.reported() == {Fault.STOP_BY_OPERATOR, Fault.LINK_LOST}


def test_a_released_emergency_stop_takes_back_its_own_report_only(rig):
    rig.device.state, rig.device.failures = PRESSED, [LinkLostError("gone")]
    rig.worker.round(NOW_NS)
    rig.device.state = E_STOP_FREE
    for i in range(1, 4):  # opened again in the second round
        rig.worker.round(NOW_NS + i * 30 * MS)
    assert rig.reported() == {Fault.LINK_LOST}
    rig.begin()
    rig.hold()
    for i in range(4, 8):
        rig.worker.round(NOW_NS + i * 30 * MS)
    assert rig.reported() == set()


def test_a_dead_man_that_acts_is_reported_at_once_until_the_run_is_over(rig):
    """A stall of 21 ms, which at 100 Hz makes no tick late: the loop would go on commanding a link that has stopped."""
    rig.begin()
    rig.drive()
    rig.worker.round(NOW_NS)
    rig.worker.round(NOW_NS + DEAD_MAN_NS)
    assert rig.reported() == set()
    rig.worker.round(NOW_NS + DEAD_MAN_NS + MS)
    row = rig.trouble(Fault.DEAD_MAN_ACTED)
    detail = b"drives: stopped, for the loop ended no tick for 21.0 ms, allowed: 20 ms"
    assert (row["fault"], row["detail"], row["value"], row["limit"]) == (43, detail, 21.0, 20.0)
    rig.shared.heartbeat.beat("loop", NOW_NS + DEAD_MAN_NS + 2 * MS)
    rig.worker.round(NOW_NS + DEAD_MAN_NS + 3 * MS)
    assert rig.reported() == {Fault.DEAD_MAN_ACTED}
    rig.hold()
    rig.worker.round(NOW_NS + DEAD_MAN_NS + 4 * MS)
    assert rig.reported() == set()


OFF, WARM = DeviceReport(True, "M1 driver fault (status 0x40), port"), DeviceReport(False, "warm (status 0x1), port")


def test_what_a_device_reports_leads_to_safe_with_its_words_and_a_warning_does_not(rig):
    rig.device.state = Health("wheel drives", True, 0, "", reports=(WARM,))
    rig.worker.round(NOW_NS)
    assert rig.reported() == set()
    rig.device.state = Health("wheel drives", True, 0, "", reports=(WARM, OFF))
    rig.worker.round(NOW_NS + HEALTH_EVERY_NS)
    assert rig.reported() == {Fault.DEVICE_FAULT}
    assert rig.trouble(Fault.DEVICE_FAULT)["detail"].decode() == f"wheel drives: {OFF.words}"


def test_a_report_is_taken_back_when_the_device_has_taken_it_back(rig):
    rig.device.state = Health("wheel drives", True, 0, "", reports=(OFF,))
    rig.worker.round(NOW_NS)
    assert rig.reported() == {Fault.DEVICE_FAULT}
    rig.device.state = Health("wheel drives", True, 0, "")
    rig.worker.round(NOW_NS + HEALTH_EVERY_NS)
    assert rig.reported() == set()


def test_health_is_told(rig, shared):
    rig.worker.round(NOW_NS)
    row = np.zeros(1, HEALTH)
    assert shared.healths["drives"].read(row) == 1
    [found] = row.tolist()
    assert found == (NOW_NS, 1, 0, 0, 3, 50.0, 4.0, b"battery 24.1 V", b"")


def test_a_worker_that_is_told_to_end_stops_its_device_first(rig):
    rig.stop_flag.ending = True
    rig.worker.run()
    assert rig.device.log == ["step", "cut"]
    assert rig.device.wish == DriveCommand(rig.device.wish.t_ns, True, ZERO_SPEEDS)


def test_a_device_that_never_confirms_does_not_hold_up_the_end(rig):
    rig.stop_flag.ending = True
    rig.device.failures = [LinkLostError("gone"), LinkLostError("gone")]
    rig.device.cannot_open = 10**6
    rig.worker.run()
    assert rig.device.log == ["step", "step"]


def test_what_can_still_hear_a_stop_gets_one_before_the_link_is_opened_again(rig):
    """One controller of several is lost: the others must not keep running until it is given up."""
    rig.begin()
    rig.drive()
    rig.worker.round(NOW_NS)
    rig.device.failures, rig.device.cannot_open = [LinkLostError("no answer")], 10**6
    rig.worker.round(NOW_NS + 1)
    assert rig.device.log == ["step", "drive", "step", "step", "cut"]


class Connection:
    """As those of nidaqmx: only a collection removes it, because it refers to itself."""

    def __init__(self):
        self.itself = self


@pytest.mark.slow
def test_connections_that_were_lost_are_removed_although_no_automatic_collection_runs(rig, monkeypatch):
    made, alive = [], []

    def open():
        alive.append(sum(one() is not None for one in made))
        rig.device.connection = Connection()
        made.append(weakref.ref(rig.device.connection))

    monkeypatch.setattr(rig.device, "open", open)
    gc.disable()
    try:
        for i in range(4):
            rig.device.failures = [LinkLostError("gone")] * 2
            rig.worker.round(NOW_NS + 2 * i)
            rig.worker.round(NOW_NS + 2 * i + 1)
    finally:
        gc.enable()
    assert alive == [0, 1, 1, 1]  # the device itself still has the last one


def test_a_device_that_never_confirms_its_stop_is_given_up_after_a_second(rig, monkeypatch):
    """If it were polled for ever, the time-outs of the other controllers on the bus would never act."""
    monkeypatch.setattr(rig.device, "read", lambda t_ns: None)
    rig.begin()
    rig.drive()
    rig.worker.round(NOW_NS)
    for i in range(1, 301):
        rig.worker.round(NOW_NS + i * 10_000_000)
    steps = rig.device.log.count("step")
    assert steps == 3 + link.GIVE_UP_NS // 10_000_000 + 1  # one per round: 3 before the dead-man, then for a second
    assert rig.device.log[-1] == "cut"


def test_a_sign_of_life_while_a_lost_device_is_opened_takes_no_time_from_it(shared, monkeypatch):
    """Kernel calls that open and close a port may keep a worker waiting for longer than it may be silent."""
    given = {}

    def open_link(name, shared, alive, host):
        given["alive"] = alive
        raise LinkLostError("gone")

    monkeypatch.setattr(driver_factory, "open_link", open_link)
    host = HostComputer()
    monkeypatch.setattr(host, "now_ns", lambda: NOW_NS)
    driver_factory.serve("drives", shared, SimpleNamespace(report=lambda **_: None), host=host)
    heartbeat = shared.heartbeat
    given["alive"]()
    assert heartbeat.last_ns("drives") == 0  # not watched yet
    for last_ns, wanted_ns in ((NOW_NS - 1, NOW_NS), (NOW_NS + link.LEAVE_NS, NOW_NS + link.LEAVE_NS)):
        heartbeat.beat("drives", last_ns)
        given["alive"]()
        assert heartbeat.last_ns("drives") == wanted_ns
