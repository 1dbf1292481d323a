"""The wrapper that injects faults: the effect of each kind on the samples and commands of a device."""

from __future__ import annotations

import math

import numpy as np
import pytest

from drivers.interfaces import Health
from drivers.messages import DaqBlock, DriveCommand, DriveSample, Reading
from hil.app.faults.faulty_device import KINDS, DeviceFault, FaultyDevice

MS = 1_000_000


class Drives:
    """One sample per millisecond, with its time as speed; records its commands."""

    def __init__(self) -> None:
        self.open_ = False
        self.commands: list[DriveCommand] = []

    def open(self) -> None:
        self.open_ = True

    def close(self) -> None:
        self.open_ = False

    def health(self) -> Health:
        return Health("drives", self.open_, 0, "")

    def write(self, command: DriveCommand) -> None:
        self.commands.append(command)

    def read(self, t_ns: int) -> DriveSample:
        return DriveSample(t_ns // MS, t_ns, (t_ns / MS,), -1)


class Daq(Drives):
    def read(self, t_ns: int) -> DaqBlock | None:
        return DaqBlock(t_ns // MS, np.array([t_ns]), np.full((2, 3), t_ns / MS), (False,) * 3)


def given(device: FaultyDevice, first: int, last: int) -> list[int]:
    """In which milliseconds it returned a sample, and the sample's time: (in ms, of ms)."""
    found = []
    for ms in range(first, last + 1):
        if (sample := device.read(ms * MS)) is not None:
            found.append((ms, sample.sequence))
    return found


def faulty(kind: str, device: Drives | None = None, **how) -> FaultyDevice:
    wrapped = FaultyDevice(device or Drives())
    wrapped.open()
    assert given(wrapped, 1, 3) == [(1, 1), (2, 2), (3, 3)]
    wrapped.inject_fault(DeviceFault(kind, **how))
    return wrapped


def run(t_ns: int) -> DriveCommand:
    return DriveCommand(t_ns, False, (1.0,))


def test_without_a_fault_it_is_the_device():
    drives = Drives()
    device = FaultyDevice(drives)
    device.open()
    assert device.health() == Health("drives", True, 0, "")
    assert device.read(5 * MS) == drives.read(5 * MS)
    device.write(run(1))
    assert drives.commands == [run(1)]
    device.close()
    assert not drives.open_


def test_off_it_gives_nothing_and_obeys_nothing():
    drives = Drives()
    device = faulty("off", drives)
    device.write(run(1))
    assert (given(device, 4, 9), drives.commands) == ([], [])


def test_stuck_drives_answer_with_their_last_sample_and_obey_nothing():
    drives = Drives()
    device = faulty("stuck", drives)
    device.write(run(1))
    assert given(device, 4, 6) == [(4, 3), (5, 3), (6, 3)]
    assert drives.commands == []


def test_a_stuck_sensor_gives_its_last_volts_under_new_times():
    block = faulty("stuck", Daq()).read(9 * MS)
    assert (block.sequence, block.t_ns.tolist(), block.values.tolist()) == (9, [9 * MS], [[3.0] * 3] * 2)


def test_garbage_is_not_finite_and_wrong_is_off_by_a_factor():
    assert math.isnan(faulty("garbage").read(4 * MS).speed_radps[0])
    assert np.isnan(faulty("garbage", Daq()).read(4 * MS).values).all()
    assert faulty("wrong", factor=-2.0).read(4 * MS).speed_radps == (-8.0,)


def test_slow_gives_one_sample_of_so_many():
    assert given(faulty("slow", every=3), 4, 10) == [(6, 6), (9, 9)]


def test_delayed_samples_and_commands_come_at_their_time_even_once_it_is_over():
    drives = Drives()
    device = faulty("delayed", drives, ms=3)
    device.write(run(1))  # at 3 ms
    assert given(device, 4, 5) == []
    assert drives.commands == []
    assert given(device, 6, 8) == [(7, 4), (8, 5)]
    assert drives.commands == [run(1)]
    device.inject_fault(None)
    assert given(device, 9, 13)[:2] == [(9, 6), (10, 7)]


def test_intermittent_it_is_off_and_on_by_turns():
    assert given(faulty("intermittent", ms=2), 4, 10) == [(5, 5), (6, 6), (9, 9), (10, 10)]


def test_cleared_it_works_again():
    for kind in KINDS:
        device = faulty(kind, every=100)
        device.inject_fault(None)
        assert given(device, 4, 5) == [(4, 4), (5, 5)]


@pytest.mark.parametrize("how", [{"ms": 0}, {"ms": math.inf}, {"every": 0}, {"factor": math.nan}])
def test_a_fault_that_cannot_be_is_refused(how):
    with pytest.raises(ValueError, match="allowed: ms above 0, every from 1 on, factor finite"):
        DeviceFault("off", **how)


def test_a_kind_that_is_none_is_answered_with_those_there_are():
    with pytest.raises(ValueError, match="kind: 'dead', allowed: off, stuck, garbage, wrong, slow, delayed, inter"):
        DeviceFault("dead")


class Camera(Drives):
    """An instrument of motion, whose first channel is its time."""

    def read(self, t_ns: int) -> Reading:
        return Reading(t_ns // MS, t_ns, (t_ns / MS, 0.5, 0.25))


@pytest.mark.parametrize(
    ("kind", "how", "value"),
    [
        ("swapped", {}, (0.5, 4.0, 0.25)),
        ("swapped", {"channels": (0, 2)}, (0.25, 0.5, 4.0)),
        ("jump", {"offset": -3.0}, (1.0, 0.5, 0.25)),
        ("wrong", {"factor": 2.0}, (8.0, 1.0, 0.5)),
        ("stuck", {}, (3.0, 0.5, 0.25)),
    ],
)
def test_readings_of_an_instrument_are_spoiled_and_keep_their_time(kind, how, value):
    reading = faulty(kind, Camera(), **how).read(4 * MS)
    assert (reading.t_ns, reading.value) == (4 * MS, value)


def test_the_one_channel_of_a_distance_is_swapped_by_its_sign():
    class Laser(Camera):
        def read(self, t_ns: int) -> Reading:
            return Reading(t_ns // MS, t_ns, (2.5,))

    assert faulty("swapped", Laser()).read(4 * MS).value == (-2.5,)
