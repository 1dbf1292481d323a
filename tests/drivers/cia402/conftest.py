"""Six CiA 402 drives on one simulated bus, with wheels that obey at once."""

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from drivers.cia402.drives import Cia402Drives
from drivers.cia402.entry import CIA402
from drivers.cia402.section import Cia402DrivesSection
from drivers.driver_type import RigSetup
from drivers.messages import DriveCommand
from drivers.sim.protocol.line import LineFault
from drivers.sim.protocol.plant_ports import PlantPorts
from tests.drivers.roboteq.conftest import NAMES, REVERSED, InstantWheels

COUNTS, GEAR = 4096, 100.0
NODES = (3, 1, 2, 6, 5, 4)  # on purpose not in order
RIG = RigSetup(wheels=NAMES)
UNITS = COUNTS * GEAR / math.tau  # at 1 rad/s


def section_of(
    port: str = "/dev/can", identities: Mapping[int, str] = MappingProxyType({}), **keys: Any
) -> Cia402DrivesSection:
    """A section of the config, with the wheels of its drives by node."""
    controllers = [
        {"node": node, "wheel": wheel, "identity": identities.get(node, "")}
        for node, wheel in zip(NODES, NAMES, strict=True)
    ]
    plain = {"driver": "cia402", "port": port, "counts_per_turn": COUNTS, "gear_ratio": GEAR, "reversed": REVERSED}
    return Cia402DrivesSection.model_validate({**plain, "controllers": controllers, **keys})


def cut(t_ns: int) -> DriveCommand:
    """The cut of all six drives."""
    return DriveCommand(t_ns, True, (0.0,) * 6)


class Rig:
    """Six drives on one bus, in virtual time."""

    def __init__(self, folder: Path, line_time: Any) -> None:
        self.time, self.wheels = line_time, InstantWheels()
        simulated = CIA402.simulated_ports(section_of(), RIG, PlantPorts(self.wheels, None))["cia402"]
        self.bus = simulated.device
        self.line, self.recorder = line_time.connect(folder / "can", self.bus, simulated.baud, simulated.turnaround_ns)

    def drives(self, **keys: Any) -> Cia402Drives:
        return Cia402Drives(section_of(str(self.line.path), **keys), RIG)

    def inject_fault(self, kind: Any, **how: Any) -> None:
        self.line.inject_fault(LineFault(kind, **how))

    def received(self) -> bytes:
        return b"".join(data for _, _, data in self.recorder.received)

    def node(self, wheel: int) -> Any:
        """The drive of a wheel."""
        return self.bus.drives[NODES[wheel]]


@pytest.fixture
def rig(tmp_path: Path, line_time: Any) -> Rig:
    return Rig(tmp_path, line_time)
