"""Duties through the shared memory of the loop and a worker, of a rig whose wheels may be driven by duty."""

import pytest

from drivers.messages import DriveCommand
from hil.config import load_config
from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_devices import shared_device
from hil.processes.link_bridge import feed_of

SPEEDS, DUTY = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), (0.5, -0.5, 0.25, 0.0, 1.0, -1.0)


class Device:
    def __init__(self):
        self.commands = []

    def write(self, command):
        self.commands.append(command)


@pytest.fixture
def ends(tmp_path):
    """The loop's view, the worker's bridge and its device."""
    shared = RunMemory(tmp_path, load_config("sim_drawbar"), {})
    device = Device()
    yield shared_device(shared, "drives"), feed_of(shared, "drives", device), device
    shared.close()


@pytest.mark.parametrize("duty", [DUTY, ()])
def test_a_duty_or_its_absence_reaches_the_device_unchanged(ends, duty):
    loop, bridge, device = ends
    loop.write(DriveCommand(7, False, SPEEDS, duty))
    bridge.apply_commands(0)
    assert device.commands == [DriveCommand(7, False, SPEEDS, duty)]


def test_a_stop_needs_no_duty(ends):
    loop, bridge, device = ends
    loop.write(DriveCommand(7, True, (0.0,) * 6))
    bridge.apply_commands(0)
    [command] = device.commands
    assert command.cut
    bridge.stop(8)
    assert device.commands[-1] == DriveCommand(8, True, (0.0,) * 6)


def test_a_rig_that_is_driven_by_speed_has_no_field_for_duties(shared):
    assert shared.device_commands["drives"].dtype.names == ("t_ns", "cut", "speed_radps")
