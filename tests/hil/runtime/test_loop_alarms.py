"""Causes outside the tick lead to Safe too: alarms, a full record ring, a full disk; and when the watchdog is fed."""

from __future__ import annotations

import errno
from types import SimpleNamespace

import pytest

from drivers.interfaces import DeviceError
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.fault import Alarm, Fault
from hil.messages.stages import Tick
from hil.recording.sinks import RecordBufferFull
from hil.runtime.loop import TICKS_AFTER_FAULT, Loop
from hil.runtime.rig_io import RigIO
from hil.safety.monitor import SafetyMonitor

VALVES_OFF = ((False, False), (False, False))

CONFIG = load_config("sim_impact")
FAULT_TICK = 7


class Clock:
    number, alarm = 0, None

    def next(self) -> Tick:
        self.number += 1
        return Tick(self.number, self.number * 1_000_000, 0, 0)


class Cycle:
    """Stores in which ticks Safe was latched; raises the given error in one of them."""

    def __init__(self, error: Exception | None = None) -> None:
        self.safety, self.error = SafetyMonitor(Rig(CONFIG)), error
        self.experiment = SimpleNamespace(over=False)
        self.rig_io = SimpleNamespace(stop=lambda t_ns: None)
        self.safe: dict[int, bool] = {}

    def run(self, tick: Tick) -> None:
        self.safe[tick.number] = self.safety.safe
        if self.error and tick.number == FAULT_TICK:
            raise self.error


def test_an_alarm_is_safe_in_the_tick_that_it_is_raised_in_and_told_once():
    clock, cycle = Clock(), Cycle()
    alarm = Alarm(Fault.PROCESS_LOST, 60.0, 50.0, "watchdog: silent")
    Loop(clock, cycle, [lambda: None, lambda: alarm if clock.number >= FAULT_TICK else None]).run()
    assert [number for number, safe in cycle.safe.items() if not safe] == list(range(1, FAULT_TICK))
    (event,) = cycle.safety.events
    assert (event.alarm.fault, event.tick, event.alarm.value, event.alarm.limit) == (
        Fault.PROCESS_LOST,
        FAULT_TICK,
        60.0,
        50.0,
    )


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (RecordBufferFull("record ring ticks is full"), Fault.RECORD_RING_FULL),
        (OSError(errno.ENOSPC, "No space left on device"), Fault.DISK_FULL),
        (OSError(errno.EIO, "Input/output error"), Fault.EXCEPTION),
        (ValueError("anything else"), Fault.EXCEPTION),
    ],
    ids=["ring", "disk", "other_os_error", "other"],
)
def test_an_exception_is_the_fault_that_it_stands_for(error, fault):
    cycle = Cycle(error)
    Loop(Clock(), cycle).run()
    (event,) = cycle.safety.events
    assert (event.alarm.fault, event.tick) == (fault, FAULT_TICK)
    assert len(cycle.safe) == FAULT_TICK + TICKS_AFTER_FAULT


def test_the_dead_man_is_fed_at_the_end_of_good_ticks_only():
    clock, fed = Clock(), []
    Loop(clock, Cycle(ValueError("once")), (), lambda: fed.append(clock.number)).run()
    assert fed == [number for number in range(1, clock.number + 1) if number != FAULT_TICK]


class Link:
    def __init__(self, reported: list, works: bool) -> None:
        self.reported, self.works, self.closed = reported, works, False

    def read(self, t_ns) -> None:
        pass

    def write(self, command) -> None:
        self.reported.append(command)
        if not self.works:
            raise DeviceError("unplugged")

    def close(self) -> None:
        self.closed = True
        if not self.works:
            raise DeviceError("unplugged")


def test_devices_are_stopped_before_they_are_closed_and_each_is_closed():
    reported: list = []
    daq, drives, valves = Link(reported, True), Link(reported, False), Link(reported, True)
    RigIO(CONFIG.layout, {"daq": daq, "drives": drives, "valves": valves}).close()
    assert reported[0].cut
    assert reported[1].powered == VALVES_OFF
    assert (daq.closed, drives.closed, valves.closed) == (True, True, True)
