"""A device that streams where one is polled: every wait ends in time, in bytes, and in memory."""

import pytest

from drivers.cia402.drives import Cia402Drives
from drivers.cia402.section import Cia402DrivesSection
from drivers.driver_type import RigSetup
from drivers.interfaces import DamagedError, LinkLostError
from drivers.roboclaw.drives import RoboClawDrives
from drivers.roboclaw.section import RoboClawDrivesSection
from drivers.roboteq.drives import RoboteqDrives
from drivers.roboteq.section import RoboteqDrivesSection
from drivers.serial.link import MOST_BYTES, SerialLink
from drivers.vectornav import protocol
from drivers.vectornav.simulated import VectorNavDevice

PORT, CHANNELS = "/dev/streams", ("ax", "ay", "az", "wx", "wy", "wz")
RIG = RigSetup(wheels=("left", "right"))
TEQ = RoboteqDrivesSection.model_validate(
    {
        "driver": "roboteq",
        "max_rpm": 3000.0,
        "gear_ratio": 100.0,
        "controllers": [{"port": PORT, "channel_1": "left", "channel_2": "right"}],
    }
)
CLAW = RoboClawDrivesSection.model_validate(
    {
        "driver": "roboclaw",
        "ports": [PORT],
        "counts_per_rev": 8192.0,
        "controllers": [{"address": 0x80, "m1": "left", "m2": "right"}],
    }
)

CAN = Cia402DrivesSection.model_validate(
    {
        "driver": "cia402",
        "port": PORT,
        "counts_per_turn": 4096.0,
        "gear_ratio": 100.0,
        "controllers": [{"node": 1, "wheel": "left"}, {"node": 2, "wheel": "right"}],
    }
)


@pytest.fixture
def host(streams):
    device = VectorNavDevice(streams.instrument(CHANNELS, 200), 115200, 0)
    device.registers[protocol.RATE] = "100"  # more than its line bears: there is always another byte
    streams.connect(device, 115200)
    return streams.host


@pytest.mark.parametrize(("drives", "section"), [(RoboteqDrives, TEQ), (RoboClawDrives, CLAW), (Cia402Drives, CAN)])
def test_opening_ends_and_says_that_this_is_no_device_that_answers(host, drives, section):
    began_ns = host.now_ns()
    with pytest.raises((LinkLostError, DamagedError), match=r"/dev/streams: .*check cable, power, address and baud"):
        drives(section, RIG, host).open()
    assert host.now_ns() - began_ns < 500_000_000


class Flood:
    """A host in virtual time and its port, in which there is always another byte."""

    def __init__(self, byte_ns):
        self.t_ns, self._byte_ns, self.given = 0, byte_ns, 0
        self.in_waiting = int(byte_ns == 0)

    def now_ns(self):
        return self.t_ns

    def sleep(self, seconds):
        self.t_ns += round(seconds * 1e9)

    def open_serial(self, port, baud, characters):
        return self

    def write(self, data):
        return len(data)

    def read(self, count):
        self.t_ns += count * self._byte_ns
        self.given += count
        self.t_ns += 1_000  # of the call itself
        return b"x" * count

    def close(self):
        pass


@pytest.mark.parametrize("byte_ns", [0, 87_000, 1_042_000], ids=["at once", "115200", "9600"])
def test_bytes_that_never_end_are_no_answer_within_time_and_memory(byte_ns):
    port = Flood(byte_ns)
    longest = []

    def missing(answer):
        longest.append(len(answer))
        return 1

    link = SerialLink("thing", "/nowhere", 115200, timeout_s=0.03, host=port)
    link.open()
    with pytest.raises(LinkLostError, match="twice"):
        link.ask(b"what", missing, bytes)
    assert max(longest) <= MOST_BYTES
    assert port.t_ns <= 2 * 40_000_000
