"""Angles of driven joints through the shared memory of the loop and a worker."""

import pytest

from drivers.messages import JointCommand, JointSample
from hil.config import load_config
from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_devices import shared_device
from hil.processes.link_bridge import LinkBridge, feed_of

WALKING = ["servos={joints: {walking: {}}}"]
ANGLES = (0.1, -0.2, 0.3, 0.0, 0.5, -0.5)
START_NS = 1_000_000


class Device:
    def __init__(self):
        self.commands, self.sample = [], None

    def write(self, command):
        self.commands.append(command)

    def read(self, _):
        sample, self.sample = self.sample, None
        return sample


@pytest.fixture
def ends(tmp_path):
    """The loop's view with the wake-ups that it made, the worker's feed, its device, and the memory."""
    shared, wakes = RunMemory(tmp_path, load_config("sim_impact", WALKING), {}), []
    device = Device()
    yield (
        shared_device(shared, "servos", lambda: wakes.append(1)),
        wakes,
        feed_of(shared, "servos", device),
        device,
        shared,
    )
    shared.close()


def test_angles_and_a_cut_reach_the_device_in_its_own_time(ends):
    loop, wakes, feed, device, _ = ends
    loop.write(JointCommand(7, False, ANGLES))
    feed.apply_commands(START_NS)
    loop.write(JointCommand(8, True, ANGLES))
    feed.apply_commands(START_NS)
    assert device.commands == [JointCommand(START_NS + 7, False, ANGLES), JointCommand(START_NS + 8, True, ANGLES)]
    assert len(wakes) == 1  # the cut cannot wait for the worker's next round


def test_a_sample_reaches_the_loop_once_in_the_time_of_the_run(ends):
    loop, _, feed, device, _ = ends
    device.sample = JointSample(3, START_NS + 50, ANGLES, START_NS + 40, -1)
    feed.publish_samples(0, START_NS)
    assert loop.read(0) == JointSample(3, 50, ANGLES, 40, -1)
    assert loop.read(0) is None


def test_a_loop_without_a_heartbeat_has_its_servos_cut_and_no_command_accepted(ends):
    loop, _, feed, device, shared = ends
    bridge = LinkBridge(shared, "servos", feed)
    shared.heartbeat.beat("loop", 1_000)
    loop.write(JointCommand(7, False, ANGLES))
    bridge.apply_commands(10, 1_000)
    bridge.apply_commands(99, 1_000_000_000)
    loop.write(JointCommand(8, False, ANGLES))
    bridge.apply_commands(100, 1_000_000_000)
    assert [command.cut for command in device.commands] == [False, True]
    device.sample = JointSample(4, 120, ANGLES, 99, 110)
    bridge.publish_samples(120)
    assert bridge.stopped
