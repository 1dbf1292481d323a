"""RoboClaw controllers in position mode over simulated lines, with joints that obey at once."""

from pathlib import Path
from typing import Any
from unittest import mock

import msgspec

from drivers.driver_type import RigSetup, ServoSetup
from drivers.messages import JointCommand
from drivers.roboclaw import motor_layout
from drivers.roboclaw.motor_layout import RoboClawController
from drivers.roboclaw.section import RoboClawServosSection
from drivers.roboclaw.servos import RoboClawServos
from drivers.roboclaw.simulated_servos import RoboClawServoBus
from drivers.servo_section import HOME, CountedServosSection, JointScale
from drivers.sim.protocol.line import LineFault

COUNTS = 36_000.0
NAMES = ("left_arm", "right_arm", "mast")
SERVOS = tuple(ServoSetup(name, 0.25, -1.0, 1.0, 0.5, 2.0) for name in NAMES)


def with_scales(scales: tuple[JointScale, ...]) -> Any:
    """While it lasts, the scales of all joints are these whatever the section says."""
    return mock.patch.object(CountedServosSection, "scales", return_value=scales)


def scale(name: str, **changes: Any) -> JointScale:
    plain = JointScale(name, COUNTS, 1, False, HOME, -1.0, 1.0, 0.5, 2.0, 0.25)
    return msgspec.structs.replace(plain, **changes)


def cut(t_ns: int) -> JointCommand:
    return JointCommand(t_ns, True, (0.0,) * len(NAMES))


def go(t_ns: int, *angles: float) -> JointCommand:
    return JointCommand(t_ns, False, angles)


class InstantJoints:
    """Joints without inertia: `held` is the newest command of each, None for a cut."""

    def __init__(self) -> None:
        self.angle = [0.0] * len(NAMES)
        self.rate = [0.0] * len(NAMES)
        self.current = [0.0] * len(NAMES)
        self.held: list[float | None] = [None] * len(NAMES)

    def angle_rad(self, joint: int) -> float:
        return self.angle[joint]

    def speed_radps(self, joint: int) -> float:
        return self.rate[joint]

    def current_A(self, joint: int) -> float:
        return self.current[joint]

    def hold(self, joint: int, angle_rad: float) -> None:
        self.angle[joint] = self.held[joint] = angle_rad

    def cut(self, joint: int) -> None:
        self.held[joint] = None


class ServoRig:
    """Two controllers on one simulated line in virtual time: two arms on the first, a mast on M1 of the second."""

    controllers = (RoboClawController(0, 0x80, 0, 1), RoboClawController(0, 0x81, 2, None))

    def __init__(self, folder: Path, line_time: Any, **changes: Any) -> None:
        self.time, self.joints = line_time, InstantJoints()
        self.joints.angle[:] = [0.25] * len(NAMES)
        self.scales = tuple(scale(name, **changes) for name in NAMES)
        self.bus = RoboClawServoBus(self.joints, self.controllers, self.scales)
        self.line, self.recorder = line_time.connect(folder / "servos", self.bus, 115200)

    def servos(
        self,
        scales: tuple[JointScale, ...] = (),
        *,
        answer_timeout_s: float = 0.15,
        slow_hz: float = 1.0,
        timeout_ms: int = 20000,
    ) -> RoboClawServos:
        name = dict(enumerate(NAMES))
        places = [{"address": one.address, "m1": name.get(one.m1), "m2": name.get(one.m2)} for one in self.controllers]
        checked = RoboClawServosSection.model_validate(
            {"driver": "roboclaw", "ports": [str(self.line.path)], "counts_per_turn": COUNTS, "controllers": places}
        )
        section = checked.model_construct(**{**dict(checked), "timeout_ms": timeout_ms})
        with with_scales(scales or self.scales), mock.patch.object(motor_layout, "ANSWER_TIMEOUT_S", answer_timeout_s):
            return RoboClawServos(section, RigSetup(servos=SERVOS, power_hz=slow_hz))

    def inject_fault(self, kind: Any, **how: Any) -> None:
        self.line.inject_fault(LineFault(kind, **how))

    def sent(self, command: int) -> list[bytes]:
        """Everything received with that command."""
        return [data for _, _, data in self.recorder.received if data[1] == command]
