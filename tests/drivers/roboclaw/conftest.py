"""RoboClaw controllers over simulated lines, with wheels that obey at once."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from drivers.driver_type import RigSetup
from drivers.messages import DriveCommand
from drivers.roboclaw import motor_layout
from drivers.roboclaw.drives import RoboClawDrives
from drivers.roboclaw.motor_layout import RoboClawController
from drivers.roboclaw.section import RoboClawDrivesSection
from drivers.roboclaw.simulated import RoboClawBus
from drivers.sim.protocol.line import LineFault

COUNTS = 8192.0
WHEELS = tuple(f"wheel_{wheel}" for wheel in range(6))


def section_of(ports: Sequence[str], controllers: Sequence[RoboClawController], **keys: Any) -> RoboClawDrivesSection:
    """A section of the config, with its controllers by index; the ranges of its keys are not checked."""
    places = [
        {"bus": one.bus, "address": one.address, "m1": WHEELS[one.m1], "m2": WHEELS[one.m2], "identity": one.identity}
        for one in controllers
    ]
    plain = {"driver": "roboclaw", "ports": tuple(ports), "counts_per_rev": COUNTS, "controllers": places}
    checked = RoboClawDrivesSection.model_validate(plain)
    return checked.model_construct(**{**dict(checked), **keys})


def cut(t_ns: int) -> DriveCommand:
    """The cut of all six drives."""
    return DriveCommand(t_ns, True, (0.0,) * 6)


def run(t_ns: int, speed: float = 1.0) -> DriveCommand:
    """One speed for all six [rad/s]."""
    return DriveCommand(t_ns, False, (speed,) * 6)


class InstantWheels:
    """Wheels without inertia: `commanded` is the newest command of each, None for a cut; `duty` those by duty."""

    def __init__(self) -> None:
        self.speed = [0.0] * 6
        self.current = [0.0] * 6
        self.supply = 24.0
        self.angle = [0.0] * 6
        self.commanded: list[float | None] = [None] * 6
        self.duty: dict[int, float] = {}

    def speed_radps(self, wheel: int) -> float:
        return self.speed[wheel]

    def angle_rad(self, wheel: int) -> float:
        return self.angle[wheel]

    def current_A(self, wheel: int) -> float:
        return self.current[wheel]

    def supply_V(self) -> float:
        return self.supply

    def hold(self, wheel: int, speed_radps: float) -> None:
        self.speed[wheel] = speed_radps
        self.commanded[wheel] = speed_radps

    def drive(self, wheel: int, duty: float) -> None:
        self.duty[wheel] = self.commanded[wheel] = duty

    def cut(self, wheel: int) -> None:
        self.speed[wheel] = 0.0
        self.commanded[wheel] = None


class Rig:
    """Controllers on one simulated line or several, in virtual time."""

    def __init__(
        self, folder: Path, line_time: Any, layout: list[list[RoboClawController]], **bus_options: Any
    ) -> None:
        self.time = line_time
        self.wheels = InstantWheels()
        self.controllers = tuple(controller for bus in layout for controller in bus)
        self.buses = [RoboClawBus(self.wheels, bus, COUNTS, **bus_options) for bus in layout]
        made = [line_time.connect(folder / f"bus{place}", bus, 115200) for place, bus in enumerate(self.buses)]
        self.lines, self.recorders = zip(*made, strict=True)

    def drives(
        self,
        *,
        controllers: Sequence[RoboClawController] = (),
        ports: Sequence[str] = (),
        answer_timeout_s: float = 0.15,
        slow_hz: float = 1.0,
        alive: Any = lambda: None,
        **keys: Any,
    ) -> RoboClawDrives:
        section = section_of(
            ports or [str(line.path) for line in self.lines],
            controllers or self.controllers,
            **{"timeout_ms": 20000, **keys},
        )
        with mock.patch.object(motor_layout, "ANSWER_TIMEOUT_S", answer_timeout_s):
            return RoboClawDrives(section, RigSetup(wheels=WHEELS, power_hz=slow_hz), alive=alive)

    def inject_fault(self, kind: Any, bus: int = 0, **how: Any) -> None:
        self.lines[bus].inject_fault(LineFault(kind, **how))

    def commands(self, bus: int = 0) -> list[int]:
        """Second byte of everything received: the command, where requests come one by one."""
        return [data[1] for _, _, data in self.recorders[bus].received]


def one_bus() -> list[list[RoboClawController]]:
    return [
        [
            RoboClawController(0, 0x80, 0, 1),
            RoboClawController(0, 0x81, 2, 3),
            RoboClawController(0, 0x82, 4, 5),
        ]
    ]


def three_buses() -> list[list[RoboClawController]]:
    return [[RoboClawController(place, 0x80, 2 * place, 2 * place + 1)] for place in range(3)]


MakeRig = Callable[..., Rig]


@pytest.fixture
def make_rig(tmp_path: Path, line_time: Any) -> MakeRig:
    def make(layout: list[list[RoboClawController]] | None = None, **bus_options: Any) -> Rig:
        return Rig(tmp_path, line_time, layout or one_bus(), **bus_options)

    return make


@pytest.fixture
def rig(make_rig: MakeRig) -> Rig:
    return make_rig()


@pytest.fixture
def three(make_rig: MakeRig) -> Rig:
    return make_rig(three_buses())


@pytest.fixture
def wheels() -> InstantWheels:
    return InstantWheels()
