"""Motion capture and joint encoders of a rig at the protocol level, from config to reading, in virtual time."""

from __future__ import annotations

import math

import pytest

from drivers.interfaces import DeviceError
from drivers.sim.protocol.plant_ports import PlantPorts
from drivers.sim.virtual.host import VirtualHost
from drivers.sim.virtual.schedule import VirtualTime
from hil.app.driver_factory import DriverFactory, at_endpoints
from hil.app.virtual import VirtualRig
from hil.config import load_config
from hil.config.rig import Rig
from hil.config.rig_setup import rig_setup
from hil.simulator import serial_process

pytestmark = pytest.mark.slow  # it makes a whole simulated rig
JOINTS = ("left_bogie", "right_bogie", "rear_bogie")
ENCODERS = ", ".join(
    f"{{joint: {name}, address: {number}, register_number: 1}}" for number, name in enumerate(JOINTS, 11)
)
INSTRUMENTS = [
    "motion={rate_hz: 50}",
    "devices.motion={driver: natnet, body: 4}",
    "joints={rate_hz: 50}",
    f"devices.joints={{driver: modbus, encoders: [{ENCODERS}]}}",
]
POSE = (0.25, -1.5, 0.3, 0.0, 0.0, math.sin(0.2), math.cos(0.2))
ANGLES = (0.1, -0.2, 0.3)


class FixedReadings:
    """An instrument that does not move."""

    def __init__(self, host, channels, values):
        self._host, self.channels, self.rate_hz, self._values = host, channels, 50.0, values

    def since(self, sequence):
        newest = self._host.now_ns() // 20_000_000
        first = max(sequence + 1, newest - 50)
        return [(number, number * 20_000_000, self._values) for number in range(first, newest + 1)]


class Wired:
    """The rig, and the config with its endpoints."""

    def __init__(self, folder, host):
        config = load_config("sim_wire", ["clock=lockstep", *INSTRUMENTS])
        self.host, self.rig = host, VirtualRig(Rig(config), folder, host)
        self.config = at_endpoints(config, self.rig.endpoints)

    def instrument(self, role):
        return DriverFactory(self.config.devices, rig_setup(self.config), host=self.host).device(role)

    def readings(self, device, seconds):
        until_ns, found = self.host.now_ns() + round(seconds * 1e9), []
        while self.host.now_ns() < until_ns:
            device.step()
            if (reading := device.read(0)) is not None:
                found.append(reading)
        return found


@pytest.fixture
def wired(tmp_path, monkeypatch):
    time = VirtualTime()
    host = VirtualHost(time)

    def ports(wheels, cylinders, readings, _of_plant, _servos):
        config = load_config("sim_wire", INSTRUMENTS)
        channels = config.layout.parts
        values = {"motion": POSE, "joints": ANGLES}
        instruments = {role: FixedReadings(host, channels(role), of) for role, of in values.items()}
        return PlantPorts(wheels, cylinders, readings, instruments)

    monkeypatch.setattr(serial_process, "PlantPorts", ports)
    wired = Wired(tmp_path, host)
    yield wired
    time.close()
    wired.rig.close()


def test_the_endpoints_of_a_rig_are_an_address_and_a_path(wired):
    assert wired.rig.endpoints["natnet"].startswith("127.0.0.1:")
    assert wired.config.devices.motion.address == wired.rig.endpoints["natnet"]
    assert wired.config.devices.joints.port == wired.rig.endpoints["encoders"]


def test_poses_and_angles_arrive_at_their_rate_while_the_plant_runs(wired):
    for role, values in (("motion", POSE), ("joints", ANGLES)):
        device = wired.instrument(role)
        device.open()
        found = wired.readings(device, 1.0)
        assert len(found) == pytest.approx(50, abs=2)
        assert found[-1].value == pytest.approx(values, abs=1e-3)
        device.close()


def test_faults_of_line_and_encoder_are_injected_by_the_rig_s_control(wired):
    motion, joints = wired.instrument("motion"), wired.instrument("joints")
    motion.open()
    joints.open()
    wired.rig.ask("inject_fault", device="encoders", kind="slipped", address=12, counts=1024)
    assert wired.readings(joints, 0.2)[-1].value[1] == pytest.approx(ANGLES[1] + math.pi / 2, abs=1e-3)
    wired.rig.ask("inject_fault", device="natnet", kind="intermittent", count=10)
    numbers = [reading.sequence for reading in wired.readings(motion, 0.5)]
    assert len(numbers) == pytest.approx(15, abs=2)
    assert numbers[-1] - numbers[0] >= 14
    with pytest.raises(DeviceError, match="address is one of 11, 12, 13"):
        wired.rig.ask("inject_fault", device="encoders", kind="silent", address=1)
