"""The pytest plug-in: a fixture for each simulated device. It imports nothing but pytest until a fixture is used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from hil import testing

if TYPE_CHECKING:
    from hil.testing.bench import VirtualBench
    from hil.testing.instruments import StreamingInstrument
    from hil.testing.modbus import JointEncoders, LoadAmplifier, ModbusRelayBoard, PressureRegulators
    from hil.testing.motor_controllers import RoboClaw, RoboClawServos, Roboteq
    from hil.testing.ni import NiChassis
    from hil.testing.whole_rig import SimulatedRig


@pytest.fixture
def virtual_bench() -> Iterator[VirtualBench]:
    """A computer in virtual time, for drivers of rover-hil: `hil.testing.roboclaw(bench=virtual_bench)`."""
    with testing.VirtualBench() as bench:
        yield bench


@pytest.fixture
def simulated_roboclaw() -> Iterator[RoboClaw]:
    """A RoboClaw at address 0x80 on a pseudo-terminal; for several, use `hil.testing.roboclaw((0x80, 0x81))`."""
    with testing.roboclaw() as device:
        yield device


@pytest.fixture
def simulated_roboclaw_servos() -> Iterator[RoboClawServos]:
    """A RoboClaw in position mode at address 0x80 on a pseudo-terminal, with a driven joint on each channel."""
    with testing.roboclaw_servos() as device:
        yield device


@pytest.fixture
def simulated_roboteq() -> Iterator[Roboteq]:
    """A dual-channel Roboteq controller in closed-loop speed mode on a pseudo-terminal."""
    with testing.roboteq() as device:
        yield device


@pytest.fixture
def simulated_relay_board() -> Iterator[ModbusRelayBoard]:
    """A Modbus RTU relay board with 8 coils at address 1, 9600 baud, on a pseudo-terminal."""
    with testing.relay_board() as device:
        yield device


@pytest.fixture
def simulated_regulators() -> Iterator[PressureRegulators]:
    """Two pressure regulators on Modbus RTU, holding registers 0 and 1, address 1, 9600 baud, on a pseudo-terminal."""
    with testing.regulators() as device:
        yield device


@pytest.fixture
def simulated_amplifier() -> Iterator[LoadAmplifier]:
    """A two-channel amplifier of load cells on Modbus RTU, address 1, 115200 baud, on a pseudo-terminal."""
    with testing.amplifier() as device:
        yield device


@pytest.fixture
def simulated_encoders() -> Iterator[JointEncoders]:
    """Two absolute encoders on Modbus RTU, addresses 1 and 2, 115200 baud, on a pseudo-terminal."""
    with testing.encoders() as device:
        yield device


@pytest.fixture
def simulated_ni_chassis() -> Iterator[NiChassis]:
    """An NI chassis behind a gRPC device server; needs the extra `ni`."""
    from drivers.extensions import install_command

    pytest.importorskip("nidaqmx", reason=f"simulated_ni_chassis needs nidaqmx: {install_command('ni')}")
    with testing.ni_chassis() as device:
        yield device


@pytest.fixture
def simulated_distance_sensor() -> Iterator[StreamingInstrument]:
    """A Dimetix laser distance sensor on a pseudo-terminal, 8N1."""
    with testing.distance_sensor() as device:
        yield device


@pytest.fixture
def simulated_imu() -> Iterator[StreamingInstrument]:
    """A VectorNav VN-100 on a pseudo-terminal."""
    with testing.imu() as device:
        yield device


@pytest.fixture
def simulated_motion_capture() -> Iterator[StreamingInstrument]:
    """A NatNet server on a UDP port of this computer."""
    with testing.motion_capture() as device:
        yield device


@pytest.fixture(scope="session")
def simulated_rig() -> Iterator[SimulatedRig]:
    """The whole rig of the config sim_wire, with its rover, once for all tests of the session."""
    with testing.rig() as whole:
        yield whole
