"""RoboClaw controllers over simulated lines, with wheels that obey at once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drivers.messages import DriveCommand
from drivers.roboclaw.drives import Bus, RoboClawControllerSettings, RoboClawDrives, RoboClawSettings
from drivers.roboclaw.simulated import RoboClawBus
from drivers.sim.protocol.line import LineFault

COUNTS = 8192.0


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
        self, folder: Path, line_time: Any, layout: list[list[RoboClawControllerSettings]], **bus_options: Any
    ) -> None:
        self.time = line_time
        self.wheels = InstantWheels()
        self.controllers = tuple(controller for bus in layout for controller in bus)
        self.buses = [RoboClawBus(self.wheels, bus, COUNTS, **bus_options) for bus in layout]
        made = [line_time.connect(folder / f"bus{place}", bus, 115200) for place, bus in enumerate(self.buses)]
        self.lines, self.recorders = zip(*made, strict=True)

    def settings(self, **changes: Any) -> RoboClawSettings:
        plain = {
            "buses": tuple(Bus(str(line.path)) for line in self.lines),
            "controllers": self.controllers,
            "counts_per_rev": COUNTS,
            "timeout_ms": 20000,
            "answer_timeout_ms": 150.0,
        }
        return RoboClawSettings(**{**plain, **changes})

    def drives(self, **changes: Any) -> RoboClawDrives:
        return RoboClawDrives(self.settings(**changes))

    def inject_fault(self, kind: Any, bus: int = 0, **how: Any) -> None:
        self.lines[bus].inject_fault(LineFault(kind, **how))

    def commands(self, bus: int = 0) -> list[int]:
        """Second byte of everything received: the command, where requests come one by one."""
        return [data[1] for _, _, data in self.recorders[bus].received]


def one_bus() -> list[list[RoboClawControllerSettings]]:
    return [
        [
            RoboClawControllerSettings(0, 0x80, 0, 1),
            RoboClawControllerSettings(0, 0x81, 2, 3),
            RoboClawControllerSettings(0, 0x82, 4, 5),
        ]
    ]


def three_buses() -> list[list[RoboClawControllerSettings]]:
    return [[RoboClawControllerSettings(place, 0x80, 2 * place, 2 * place + 1)] for place in range(3)]


MakeRig = Callable[..., Rig]


@pytest.fixture
def make_rig(tmp_path: Path, line_time: Any) -> MakeRig:
    def make(layout: list[list[RoboClawControllerSettings]] | None = None, **bus_options: Any) -> Rig:
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
