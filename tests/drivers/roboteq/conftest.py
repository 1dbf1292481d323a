"""Three Roboteq controllers over simulated lines, with wheels that obey at once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from drivers.driver_type import RigSetup
from drivers.messages import DriveCommand
from drivers.roboteq import motor_layout
from drivers.roboteq.drives import RoboteqDrives
from drivers.roboteq.section import RoboteqDrivesSection
from drivers.roboteq.simulated import RoboteqDevice
from drivers.sim.protocol.line import LineFault

MAX_RPM, GEAR_RATIO = 3000, 100.0
WHEELS = ((0, 2), (5, 4), (1, 3))  # on purpose not in order
SIGN = (1, -1, 1, 1, -1, 1)
NAMES = tuple(f"wheel_{wheel}" for wheel in range(6))
REVERSED = tuple(name for name, sign in zip(NAMES, SIGN, strict=True) if sign < 0)


def section_of(
    ports: Sequence[str], wheels: Sequence[tuple[int, int]], identities: Sequence[str] = ("",) * 3, **keys: Any
) -> RoboteqDrivesSection:
    """A section of the config, with the wheels of its controllers by index; the ranges of its keys are not checked."""
    controllers = [
        {"port": port, "channel_1": NAMES[one], "channel_2": NAMES[two], "identity": identity}
        for port, (one, two), identity in zip(ports, wheels, identities, strict=False)
    ]
    plain = {"driver": "roboteq", "max_rpm": MAX_RPM, "gear_ratio": GEAR_RATIO, "controllers": controllers}
    checked = RoboteqDrivesSection.model_validate(plain)
    return checked.model_construct(**{**dict(checked), **keys})


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

    def drives(
        self,
        *,
        identities: Sequence[str] = ("",) * 3,
        answer_timeout_s: float = 0.25,
        open_loop: bool = False,
        **keys: Any,
    ) -> RoboteqDrives:
        ports = [str(line.path) for line in self.lines]
        section = section_of(ports, WHEELS, identities, **{"reversed": REVERSED, "watchdog_ms": 3000, **keys})
        with mock.patch.object(motor_layout, "ANSWER_TIMEOUT_S", answer_timeout_s):
            return RoboteqDrives(section, RigSetup(wheels=NAMES, open_loop=open_loop))

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
