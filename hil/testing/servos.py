"""Simulated motor controllers in position mode, and the driven joints that they turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from threading import RLock

from drivers.joint_scale import HOME, JointScale
from drivers.roboclaw.settings import RoboClawControllerSettings
from drivers.roboclaw.simulated import SimMotor
from drivers.roboclaw.simulated_servos import RoboClawServoBus
from hil.testing.bench import LineDevice, Place

# A joint follows the angle that its servo holds with this time constant [s].
FOLLOW_S = 0.02
# Two joints on each controller, and eight controllers on a bus.
MOST_JOINTS = 16
# Ends, largest rate [rad/s] and acceleration [rad/s^2] of a joint at its controller.
_REACH_RAD, _RATE_RADPS, _ACCELERATION_RADPS2 = math.pi, 1.0, 10.0


class _Joint:
    """One driven joint: it follows the angle that its servo holds, and stays where it is when the servo is cut.

    Attributes:
        held_rad: angle that its servo holds; None: it is cut.
        blocked: it does not turn, whatever its servo holds.
        load_Nm: torque that the servo has to give to hold it, positive where the angle grows; set it.
        torque_per_A: torque at the joint for each ampere of the motor [N m/A].
    """

    def __init__(self, now_ns: Callable[[], int], torque_per_A: float = 10.0) -> None:
        self.torque_per_A, self.load_Nm, self.blocked = torque_per_A, 0.0, False
        self.held_rad: float | None = None
        self._now_ns, self._t_ns = now_ns, now_ns()
        self._angle_rad = 0.0
        self._lock = RLock()  # a test and the thread that serves the device use it

    @property
    def angle_rad(self) -> float:
        """Angle of the joint [rad]; set it to put the joint there."""
        with self._lock:
            self._advance()
            return self._angle_rad

    @angle_rad.setter
    def angle_rad(self, angle: float) -> None:
        with self._lock:
            self._advance()
            self._angle_rad = float(angle)

    @property
    def speed_radps(self) -> float:
        """Its rate [rad/s]."""
        with self._lock:
            self._advance()
            far = 0.0 if self.held_rad is None or self.blocked else self.held_rad - self._angle_rad
            return far / FOLLOW_S

    @property
    def current_A(self) -> float:
        """Current of its motor for the load [A]; 0 when it is cut."""
        return 0.0 if self.held_rad is None else self.load_Nm / self.torque_per_A

    def hold(self, angle_rad: float) -> None:
        """Its servo holds an angle [rad]."""
        with self._lock:
            self._advance()
            self.held_rad = angle_rad

    def cut(self) -> None:
        """Its servo's output is zero."""
        with self._lock:
            self._advance()
            self.held_rad = None

    def _advance(self) -> None:
        now_ns = self._now_ns()
        passed_s, self._t_ns = (now_ns - self._t_ns) * 1e-9, now_ns
        if self.held_rad is not None and not self.blocked:
            self._angle_rad += (self.held_rad - self._angle_rad) * -math.expm1(-passed_s / FOLLOW_S)


class Joints(Sequence[_Joint]):
    """The joints of simulated servos; the `drivers.sim.protocol.plant_ports.Servos` of the device.

    Attributes:
        reading_error: added to each reading of an angle [rad] and of a speed [rad/s]: a wrong encoder.
    """

    def __init__(self, joints: Sequence[_Joint]) -> None:
        self._joints, self.reading_error = tuple(joints), 0.0

    def __getitem__(self, place: int) -> _Joint:  # type: ignore[override]
        return self._joints[place]

    def __len__(self) -> int:
        return len(self._joints)

    def __iter__(self) -> Iterator[_Joint]:
        return iter(self._joints)

    def angle_rad(self, joint: int) -> float:
        """Angle as read [rad]."""
        return self._joints[joint].angle_rad + self.reading_error

    def speed_radps(self, joint: int) -> float:
        """Speed as read [rad/s]."""
        return self._joints[joint].speed_radps + self.reading_error

    def hold(self, joint: int, angle_rad: float) -> None:
        """See Joint."""
        self._joints[joint].hold(angle_rad)

    def cut(self, joint: int) -> None:
        """See Joint."""
        self._joints[joint].cut()

    def current_A(self, joint: int) -> float:
        """Current of a motor [A]."""
        return self._joints[joint].current_A


class RoboClawServos(LineDevice):
    """Simulated RoboClaw controllers in position mode on one line, with a joint on each channel.

    Attributes:
        joints: M1 and M2 of the first controller, then of the second, ...
        addresses: of the controllers.
        scales: of the joints, for the settings of a driver of rover-hil: named joint_1, joint_2, ...
    """

    name = "roboclaw_servos"

    def __init__(
        self,
        joints: int,
        baud: int,
        counts_per_turn: float,
        torque_per_A: float,
        *,
        absolute: bool,
        bench: Place | None,
    ) -> None:
        super().__init__(baud, bench)
        if not 1 <= joints <= MOST_JOINTS:
            raise ValueError(f"roboclaw_servos: {joints} joints found; allowed: 1 to {MOST_JOINTS}")
        if not 0.0 < counts_per_turn < math.inf or not 0.0 < torque_per_A < math.inf:
            found = f"counts_per_turn {counts_per_turn:g}, torque_per_A {torque_per_A:g}"
            raise ValueError(f"roboclaw_servos: {found} found; allowed: above 0")
        self.joints = Joints([_Joint(self._bench.now_ns, torque_per_A) for _ in range(joints)])
        self.scales = tuple(_scale(place, counts_per_turn, absolute=absolute) for place in range(joints))
        self.controllers = tuple(
            RoboClawControllerSettings(0, 0x80 + first // 2, first, first + 1 if first + 1 < joints else None)
            for first in range(0, joints, 2)
        )
        self._bus = RoboClawServoBus(self.joints, self.controllers, self.scales)
        self._connect(self._bus, self.joints)

    @property
    def addresses(self) -> tuple[int, ...]:
        """See the class."""
        return tuple(controller.address for controller in self.controllers)

    def count(self, place: int) -> int:
        """Encoder count of a joint, as its controller has it."""
        return int(self._motor(place).count())

    def power_up(self) -> None:
        """The power of all controllers was off and is on again: incremental encoders count from 0."""
        for controller in self._bus.controllers.values():
            controller.power_up()

    def press_e_stop(self, pressed: bool = True) -> None:
        """Press the emergency stop that all of them read, or release it."""
        self._bus.press(pressed)

    def _motor(self, place: int) -> SimMotor:
        return self._bus.controllers[0x80 + place // 2].motors[place % 2]


def _scale(place: int, counts_per_turn: float, *, absolute: bool) -> JointScale:
    return JointScale(
        f"joint_{place + 1}",
        counts_per_turn,
        sign=1,
        absolute=absolute,
        zero=0 if absolute else HOME,
        lowest_rad=-_REACH_RAD,
        highest_rad=_REACH_RAD,
        rate_radps=_RATE_RADPS,
        acceleration_radps2=_ACCELERATION_RADPS2,
        start_rad=0.0,
    )


def roboclaw_servos(
    joints: int = 2,
    *,
    baud: int = 115200,
    counts_per_turn: float = 409_600.0,
    torque_per_A: float = 10.0,
    absolute: bool = False,
    bench: Place | None = None,
) -> RoboClawServos:
    """Simulated RoboClaws in position mode, from address 0x80 on, until they are closed.

    Args:
        joints: how many, 1 to 16; two on each controller.
        baud: of the line.
        counts_per_turn: encoder counts of one turn of a joint, gear included.
        torque_per_A: torque at a joint for each ampere of its motor [N m/A].
        absolute: the encoders know their count after a loss of power.
        bench: where they are; None: this computer, in real time.

    Raises:
        ValueError: a number is not possible.

    Example:
        >>> with roboclaw_servos(3) as bus:
        ...     bus.joints[2].angle_rad = 0.1
        ...     bus.addresses, bus.count(0)
        ((128, 129), 0)
    """
    return RoboClawServos(joints, baud, counts_per_turn, torque_per_A, absolute=absolute, bench=bench)
