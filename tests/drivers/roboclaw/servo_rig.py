"""RoboClaw controllers in position mode over simulated lines, with joints that obey at once."""

from pathlib import Path
from typing import Any

import msgspec

from drivers.joint_scale import HOME, JointScale
from drivers.messages import JointCommand
from drivers.roboclaw.servos import RoboClawServos
from drivers.roboclaw.settings import Bus, RoboClawControllerSettings, RoboClawServoSettings
from drivers.roboclaw.simulated_servos import RoboClawServoBus
from drivers.sim.protocol.line import LineFault

COUNTS = 36_000.0
NAMES = ("left_arm", "right_arm", "mast")


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

    controllers = (RoboClawControllerSettings(0, 0x80, 0, 1), RoboClawControllerSettings(0, 0x81, 2, None))

    def __init__(self, folder: Path, line_time: Any, **changes: Any) -> None:
        self.time, self.joints = line_time, InstantJoints()
        self.joints.angle[:] = [0.25] * len(NAMES)
        self.scales = tuple(scale(name, **changes) for name in NAMES)
        self.bus = RoboClawServoBus(self.joints, self.controllers, self.scales)
        self.line, self.recorder = line_time.connect(folder / "servos", self.bus, 115200)

    def servos(self, scales: tuple[JointScale, ...] = (), **changes: Any) -> RoboClawServos:
        plain = {"timeout_ms": 20000, "answer_timeout_ms": 150.0}
        joints = scales or self.scales
        places = (Bus(str(self.line.path)),), self.controllers, joints
        return RoboClawServos(RoboClawServoSettings(*places, **{**plain, **changes}))

    def inject_fault(self, kind: Any, **how: Any) -> None:
        self.line.inject_fault(LineFault(kind, **how))

    def sent(self, command: int) -> list[bytes]:
        """Everything received with that command."""
        return [data for _, _, data in self.recorder.received if data[1] == command]
