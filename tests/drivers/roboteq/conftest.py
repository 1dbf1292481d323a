"""Three Roboteq controllers over simulated lines, with wheels that obey at once."""

from pathlib import Path
from typing import Any

import pytest

from drivers.messages import DriveCommand
from drivers.roboteq.drives import RoboteqControllerSettings, RoboteqDrives, RoboteqSettings
from drivers.roboteq.simulated import RoboteqDevice
from drivers.sim.protocol.line import LineFault

MAX_RPM, GEAR_RATIO = 3000, 100.0
WHEELS = ((0, 2), (5, 4), (1, 3))  # on purpose not in order
SIGN = (1, -1, 1, 1, -1, 1)


def cut(t_ns: int) -> DriveCommand:
    """The cut of all six drives."""
    return DriveCommand(t_ns, True, (0.0,) * 6)


class InstantWheels:
    """Wheels without inertia: `commanded` holds all commands of each, None for a cut; `duty` the newest of each."""

    def __init__(self) -> None:
        self.speed = [0.0] * 6
        self.current = [0.0] * 6
        self.supply = 24.0
        self.commanded: list[list[float | None]] = [[] for _ in range(6)]
        self.duty = [0.0] * 6

    def speed_radps(self, wheel: int) -> float:
        return self.speed[wheel]

    def angle_rad(self, wheel: int) -> float:
        return 0.0

    def current_A(self, wheel: int) -> float:
        return self.current[wheel]

    def supply_V(self) -> float:
        return self.supply

    def hold(self, wheel: int, speed_radps: float) -> None:
        self.speed[wheel] = speed_radps
        self.commanded[wheel].append(speed_radps)

    def drive(self, wheel: int, duty: float) -> None:
        self.duty[wheel] = duty
        self.commanded[wheel].append(duty)

    def cut(self, wheel: int) -> None:
        self.speed[wheel] = 0.0
        self.commanded[wheel].append(None)

    def ever_ran(self) -> bool:
        """Since `commanded` was cleared."""
        return any(commanded for wheel in self.commanded for commanded in wheel)

    def forget(self) -> None:
        for commanded in self.commanded:
            commanded.clear()


class Rig:
    """Three controllers, one line each, in virtual time."""

    def __init__(self, folder: Path, line_time: Any, *, open_loop: bool = False) -> None:
        self.time = line_time
        self.wheels = InstantWheels()
        self.devices = [device_on(self.wheels, *wheels, open_loop=open_loop) for wheels in WHEELS]
        made = [line_time.connect(folder / f"drive{place}", one, 115200) for place, one in enumerate(self.devices)]
        self.lines, self.recorders = zip(*made, strict=True)

    def settings(self, **changes: Any) -> RoboteqSettings:
        controllers = tuple(
            RoboteqControllerSettings(str(line.path), *wheels) for line, wheels in zip(self.lines, WHEELS, strict=True)
        )
        plain = {"controllers": controllers, "max_rpm": MAX_RPM, "gear_ratio": GEAR_RATIO, "sign": SIGN}
        return RoboteqSettings(**{**plain, "watchdog_ms": 3000, "answer_timeout_ms": 250.0, **changes})

    def drives(self, **changes: Any) -> RoboteqDrives:
        return RoboteqDrives(self.settings(**changes))

    def inject_fault(self, kind: Any, place: int = 0, **how: Any) -> None:
        self.lines[place].inject_fault(LineFault(kind, **how))

    def received(self, place: int = 0) -> bytes:
        return b"".join(data for _, _, data in self.recorders[place].received)


def device_on(wheels: InstantWheels, first: int, second: int, *, open_loop: bool = False) -> RoboteqDevice:
    sign = (SIGN[first], SIGN[second])
    return RoboteqDevice(
        wheels, (first, second), max_rpm=MAX_RPM, gear_ratio=GEAR_RATIO, sign=sign, open_loop=open_loop
    )


@pytest.fixture
def wheels() -> InstantWheels:
    return InstantWheels()


@pytest.fixture
def device(wheels: InstantWheels) -> RoboteqDevice:
    return RoboteqDevice(wheels, (0, 1), max_rpm=MAX_RPM, gear_ratio=GEAR_RATIO)


@pytest.fixture
def rig(tmp_path: Path, line_time: Any) -> Rig:
    return Rig(tmp_path, line_time)


@pytest.fixture
def rig_by_duty(tmp_path: Path, line_time: Any) -> Rig:
    """Controllers that are set up for open loop."""
    return Rig(tmp_path, line_time, open_loop=True)
