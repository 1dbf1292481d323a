"""The bridge between drivers and shared memory, with drivers that only store what they get."""

import numpy as np
import pytest

from drivers.messages import DaqBlock, DriveCommand, DriveSample, ValveCommand, ValveSample
from hil.config import load_config
from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_devices import shared_device
from hil.messages.fault import DEAD_MAN_NS
from hil.processes.link_bridge import LinkBridge, feed_of

ZERO_SPEEDS = (0.0,) * 6  # the speeds of six wheels

BEAT_NS = 5_000_000_000
SPEEDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


class Device:
    def __init__(self):
        self.samples, self.commands = [], []

    def read(self, t_ns):
        return self.samples.pop(0) if self.samples else None

    def write(self, command):
        self.commands.append(command)


class Rig:
    """A bridge between three devices and the loop's views."""

    def __init__(self, shared):
        self.daq, self.drives, self.valves = Device(), Device(), Device()
        self.bridge = LinkBridge(
            shared,
            "simulated_rig",
            feed_of(shared, "daq", self.daq),
            feed_of(shared, "drives", self.drives),
            feed_of(shared, "valves", self.valves),
        )
        self.beat = lambda t_ns: shared.heartbeat.beat("loop", t_ns)
        self.loop_daq, self.loop_drives, self.loop_valves = (
            shared_device(shared, "daq"),
            shared_device(shared, "drives"),
            shared_device(shared, "valves"),
        )

    def command(self, t_ns, cut=False, powered=((True, False), (False, True))):
        self.loop_drives.write(DriveCommand(t_ns, cut, ZERO_SPEEDS if cut else SPEEDS))
        self.loop_valves.write(ValveCommand(t_ns, powered))


@pytest.fixture
def rig(shared):
    return Rig(shared)


def test_a_command_reaches_the_devices_once_and_unchanged(rig):
    rig.beat(BEAT_NS)
    rig.command(7)
    for _ in range(3):
        rig.bridge.apply_commands(8, BEAT_NS)
    [drive], [valve] = rig.drives.commands, rig.valves.commands
    assert (drive.t_ns, drive.cut, drive.speed_radps) == (7, False, SPEEDS)
    assert (valve.t_ns, valve.powered) == (7, ((True, False), (False, True)))


class Regulated(Rig):
    """A rig of three one-way cylinders with a regulator each."""

    OUT = ((True, False), (False, False), (True, False))

    def command(self, t_ns, regulators_Pa):
        self.loop_valves.write(ValveCommand(t_ns, self.OUT, regulators_Pa))


@pytest.fixture
def regulated(tmp_path):
    joints = "cylinders.joints=[left_bogie, right_bogie, rear_bogie]"
    config = load_config("sim_impact", [joints, "cylinders.ways=extend", "cylinders.regulators=each"])
    shared = RunMemory(tmp_path, config, {})
    yield Regulated(shared)
    shared.close()


def test_a_command_to_regulators_reaches_the_device_unchanged_and_the_dead_man_closes_them(regulated):
    regulated.beat(BEAT_NS)
    regulated.command(7, (1e3, 2e5, 0.5))
    regulated.bridge.apply_commands(8, BEAT_NS)
    regulated.bridge.apply_commands(9, BEAT_NS + DEAD_MAN_NS + 1)
    sent, stopped = regulated.valves.commands
    assert (sent.t_ns, sent.powered, sent.regulators_Pa) == (7, Regulated.OUT, (1e3, 2e5, 0.5))
    assert (stopped.t_ns, stopped.regulators_Pa) == (9, (0.0, 0.0, 0.0))
    assert not any(map(any, stopped.powered))


def test_of_two_commands_the_newer_counts(rig):
    rig.beat(BEAT_NS)
    rig.command(7)
    rig.command(8, cut=True)
    rig.bridge.apply_commands(9, BEAT_NS)
    assert [(command.t_ns, command.cut) for command in rig.drives.commands] == [(8, True)]


def test_a_loop_that_has_not_begun_is_not_taken_for_a_dead_one(rig):
    rig.bridge.apply_commands(0, BEAT_NS)
    assert not rig.bridge.released
    assert rig.drives.commands == []


def test_the_dead_man_waits_for_its_time_and_no_longer(rig):
    rig.beat(BEAT_NS)
    rig.bridge.apply_commands(1, BEAT_NS + DEAD_MAN_NS)
    assert rig.drives.commands == []
    rig.bridge.apply_commands(2, BEAT_NS + DEAD_MAN_NS + 1)
    [drive], [valve] = rig.drives.commands, rig.valves.commands
    assert (drive.t_ns, drive.cut, drive.speed_radps) == (2, True, ZERO_SPEEDS)
    assert valve.powered == ((False, False), (False, False))


def test_a_loop_that_comes_back_cannot_drive_again(rig):
    rig.beat(BEAT_NS)
    rig.bridge.apply_commands(1, BEAT_NS + DEAD_MAN_NS + 1)
    rig.beat(BEAT_NS + 2 * DEAD_MAN_NS)
    rig.command(3)
    for _ in range(3):
        rig.bridge.apply_commands(4, BEAT_NS + 2 * DEAD_MAN_NS)
    assert [command.cut for command in rig.drives.commands] == [True]
    assert len(rig.valves.commands) == 1


def test_what_the_loop_commanded_in_the_tick_it_died_in_is_not_obeyed_late(rig):
    rig.beat(BEAT_NS)
    rig.command(3)
    rig.bridge.apply_commands(4, BEAT_NS + DEAD_MAN_NS + 1)
    assert [command.cut for command in rig.drives.commands] == [True]


def test_samples_arrive_as_the_devices_gave_them(rig, shared):
    n = shared.config.daq.block_samples
    t_ns, volts = np.arange(n) * 33_333, np.random.default_rng(1).normal(size=(n, 3))
    rig.daq.samples = [DaqBlock(i, t_ns + i, volts * i, (False, i == 2, False)) for i in (1, 2, 3)]
    rig.drives.samples = [DriveSample(5, 6, SPEEDS, 4)]
    rig.valves.samples = [ValveSample(7, 8, ((1.0, 2.0), (3.0, 4.0)), 3)]
    rig.bridge.publish_samples(10)
    for i in (1, 2, 3):
        block = rig.loop_daq.read(0)
        assert (block.sequence, block.overload) == (i, (0, i == 2, 0))
        np.testing.assert_array_equal(block.t_ns, t_ns + i)
        np.testing.assert_array_equal(block.values, volts * i)
    assert rig.loop_daq.read(0) is None
    drive, valve = rig.loop_drives.read(0), rig.loop_valves.read(0)
    assert (drive.sequence, drive.t_ns, drive.speed_radps, drive.acknowledged_ns) == (5, 6, SPEEDS, 4)
    assert (valve.sequence, valve.t_ns, valve.pressure_Pa, valve.acknowledged_ns) == (7, 8, ((1.0, 2.0), (3.0, 4.0)), 3)


def test_a_sample_is_read_once(rig):
    rig.drives.samples = [DriveSample(5, 6, SPEEDS, 4)]
    rig.bridge.publish_samples(10)
    assert rig.loop_drives.read(0) is not None
    assert rig.loop_drives.read(0) is None
    assert rig.loop_valves.read(0) is None


def test_a_pump_without_room_loses_the_newest_blocks_and_shows_a_gap(rig, shared):
    n, capacity = shared.config.daq.block_samples, shared.blocks.capacity
    block = (np.zeros(n, np.int64), np.zeros((n, 3)), (False,) * 3)
    rig.daq.samples = [DaqBlock(i, *block) for i in range(1, capacity + 3)]
    rig.bridge.publish_samples(1)
    recorder = shared.blocks.reader("recorder")
    assert recorder.read(10**6)["sequence"].tolist() == list(range(1, capacity + 1))
    rig.daq.samples = [DaqBlock(capacity + 3, *block)]
    rig.bridge.publish_samples(2)
    assert recorder.read(10)["sequence"].tolist() == [capacity + 3]
