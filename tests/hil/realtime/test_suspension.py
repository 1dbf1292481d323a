"""A suspended computer is noticed in the first tick after, an interrupted process is not taken for one."""

import pytest

from hil.messages.fault import SUSPENDED_NS, Fault
from hil.realtime.clock import SuspensionMonitor

MS = 1_000_000


class Clocks:
    """Both clocks; `interrupted_ns` passes after the next reading, of whichever is read."""

    def __init__(self):
        self.now_ns, self.suspended_ns, self.interrupted_ns = 5_000_000_000, 7_000_000_000, 0

    def now(self):
        return self._read(self.now_ns)

    def boottime(self):
        return self._read(self.now_ns + self.suspended_ns)

    def _read(self, value_ns):
        self.now_ns, self.interrupted_ns = self.now_ns + self.interrupted_ns, 0
        return value_ns


@pytest.fixture
def clocks():
    return Clocks()


def test_a_suspension_is_an_alarm_once_in_the_first_tick_after_it(clocks):
    monitor = SuspensionMonitor(clocks.now, clocks.boottime)
    assert monitor.alarm() is None
    clocks.suspended_ns += 3_000_000_000
    alarm = monitor.alarm()
    assert (alarm.fault, alarm.value) == (Fault.COMPUTER_SUSPENDED, 3000.0)
    assert alarm.detail == "computer: was suspended for 3.000 s, in which no device had a command"
    assert monitor.alarm() is None


@pytest.mark.parametrize(("slept_ns", "noticed"), [(SUSPENDED_NS, False), (SUSPENDED_NS + 1, True)])
def test_the_limit_of_a_suspension(clocks, slept_ns, noticed):
    monitor = SuspensionMonitor(clocks.now, clocks.boottime)
    clocks.suspended_ns += slept_ns
    assert bool(monitor.alarm()) is noticed


def test_an_interruption_between_the_two_readings_is_no_suspension(clocks):
    clocks.interrupted_ns = 400 * MS
    monitor = SuspensionMonitor(clocks.now, clocks.boottime)
    for interrupted_ms in (0, 30, 0, 2000, 0):
        clocks.interrupted_ns = interrupted_ms * MS
        assert monitor.alarm() is None
