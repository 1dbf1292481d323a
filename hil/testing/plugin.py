"""The pytest plug-in: a fixture for each simulated device. It imports nothing but pytest until a fixture is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pytest

from hil import testing

if TYPE_CHECKING:
    from hil.testing.bench import StreamingInstrument, VirtualBench
    from hil.testing.modbus import JointEncoders, LoadAmplifier, ModbusRelayBoard, PressureRegulators
    from hil.testing.motor_controllers import RoboClaw, RoboClawServos, Roboteq
    from hil.testing.ni import NiChassis
    from hil.testing.whole_rig import SimulatedRig


@pytest.fixture
def virtual_bench() -> Iterator[VirtualBench]:
    """A computer in virtual time, for drivers of rover-hil: `hil.testing.roboclaw(bench=virtual_bench)`."""
    with testing.VirtualBench() as bench:
        yield bench


Device = TypeVar("Device")
Fixture: TypeAlias = Callable[[], Iterator[Device]]


def _device_fixture(name: str, words: str) -> Fixture[Any]:
    """A fixture that is the device of that name in `hil.testing`, with its own defaults."""

    def device() -> Iterator[Any]:
        with getattr(testing, name)() as made:
            yield made

    device.__doc__ = words
    return pytest.fixture(device, name=f"simulated_{name}")


simulated_roboclaw: Fixture[RoboClaw] = _device_fixture(
    "roboclaw",
    "A RoboClaw at address 0x80 on a pseudo-terminal; for several, use `hil.testing.roboclaw((0x80, 0x81))`.",
)
simulated_roboclaw_servos: Fixture[RoboClawServos] = _device_fixture(
    "roboclaw_servos",
    "A RoboClaw in position mode at address 0x80 on a pseudo-terminal, with a driven joint on each channel.",
)
simulated_roboteq: Fixture[Roboteq] = _device_fixture(
    "roboteq", "A dual-channel Roboteq controller in closed-loop speed mode on a pseudo-terminal."
)
simulated_relay_board: Fixture[ModbusRelayBoard] = _device_fixture(
    "relay_board", "A Modbus RTU relay board with 8 coils at address 1, 9600 baud, on a pseudo-terminal."
)
simulated_regulators: Fixture[PressureRegulators] = _device_fixture(
    "regulators",
    "Two pressure regulators on Modbus RTU, holding registers 0 and 1, address 1, 9600 baud, on a pseudo-terminal.",
)
simulated_amplifier: Fixture[LoadAmplifier] = _device_fixture(
    "amplifier", "A two-channel amplifier of load cells on Modbus RTU, address 1, 115200 baud, on a pseudo-terminal."
)
simulated_encoders: Fixture[JointEncoders] = _device_fixture(
    "encoders", "Two absolute encoders on Modbus RTU, addresses 1 and 2, 115200 baud, on a pseudo-terminal."
)
simulated_distance_sensor: Fixture[StreamingInstrument] = _device_fixture(
    "distance_sensor", "A Dimetix laser distance sensor on a pseudo-terminal, 8N1."
)
simulated_imu: Fixture[StreamingInstrument] = _device_fixture("imu", "A VectorNav VN-100 on a pseudo-terminal.")
simulated_motion_capture: Fixture[StreamingInstrument] = _device_fixture(
    "motion_capture", "A NatNet server on a UDP port of this computer."
)
simulated_total_station: Fixture[StreamingInstrument] = _device_fixture(
    "total_station", "A Leica total station that follows a prism, GeoCOM on a pseudo-terminal."
)


@pytest.fixture
def simulated_ni_chassis() -> Iterator[NiChassis]:
    """An NI chassis behind a gRPC device server; needs the extra `ni`."""
    from drivers.extensions import install_command

    pytest.importorskip("nidaqmx", reason=f"simulated_ni_chassis needs nidaqmx: {install_command('ni')}")
    with testing.ni_chassis() as device:
        yield device


@pytest.fixture(scope="session")
def simulated_rig() -> Iterator[SimulatedRig]:
    """The whole rig of the config sim_wire, with its rover, once for all tests of the session."""
    with testing.rig() as whole:
        yield whole
