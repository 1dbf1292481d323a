"""Simulated motor controllers, in speed mode on wheels and in position mode on driven joints."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import override

from drivers.roboclaw.motor_layout import RoboClawController
from drivers.roboclaw.simulated import RoboClawBus, SimMotor, SimRoboClaw
from drivers.roboclaw.simulated_servos import RoboClawServoBus
from drivers.roboteq.simulated import RoboteqDevice
from drivers.servo_section import HOME, JointScale
from hil.testing.bench import LineDevice, Place
from hil.testing.wheels import TurnedParts, Turning, Wheel, Wheels

# A joint follows the angle that its servo holds with this time constant [s].
FOLLOW_S = 0.02
# Two joints on each controller, and eight controllers on a bus.
MOST_JOINTS = 16
# Ends, largest rate [rad/s] and acceleration [rad/s^2] of a joint at its controller.
_REACH_RAD, _RATE_RADPS, _ACCELERATION_RADPS2 = math.pi, 1.0, 10.0


class _RoboClawMotor:
    """One channel of a controller.

    Attributes:
        wheel: that it turns.
    """

    def __init__(self, motor: SimMotor, wheel: Wheel, counts_per_rad: float) -> None:
        self._motor, self.wheel, self._counts_per_rad = motor, wheel, counts_per_rad

    @property
    def count(self) -> int:
        """Encoder count; set it, and the axle's angle follows."""
        return self._motor.count()

    @count.setter
    def count(self, count: int) -> None:
        self.wheel.angle_rad += (count - self._motor.count() + 0.5) / self._counts_per_rad

    @property
    def qpps(self) -> float:
        """Speed [counts/s]; set it to start from there."""
        return self._motor.speed_qpps()

    @qpps.setter
    def qpps(self, qpps: float) -> None:
        self.wheel.speed_radps = qpps / self._counts_per_rad

    @property
    def duty(self) -> int:
        """Duty as the controller reports it, -32767 to 32767."""
        return self._motor.duty

    @property
    def running(self) -> bool:
        """It is powered."""
        return self._motor.running


class _RoboClawController:
    """One dual controller.

    Attributes:
        address: on the bus.
        m1, m2: its motors.
    """

    def __init__(self, address: int, controller: SimRoboClaw, m1: _RoboClawMotor, m2: _RoboClawMotor) -> None:
        self.address, self._controller, self.m1, self.m2 = address, controller, m1, m2

    @property
    def e_stop(self) -> bool:
        """Its emergency stop is pressed: motors are off; set it."""
        return self._controller.e_stop

    @e_stop.setter
    def e_stop(self, pressed: bool) -> None:
        self._controller.e_stop = pressed

    @property
    def status(self) -> int:
        """Bits of command 90 besides that of the emergency stop; set them."""
        return self._controller.status

    @status.setter
    def status(self, bits: int) -> None:
        self._controller.status = bits

    @property
    def timeout_ms(self) -> int:
        """Serial time-out [ms], 0 for none."""
        return self._controller.timeout_steps * 100


class RoboClaw(LineDevice):
    """Simulated RoboClaw controllers on one serial line, with two wheels each.

    Attributes:
        controllers: by address.
        wheels: M1 and M2 of the first controller, then of the second, ...
        counts_per_rev: encoder counts of one turn of an axle.
    """

    name = "roboclaw"

    def __init__(
        self, addresses: Sequence[int], baud: int, counts_per_rev: float, wheel: dict[str, Any], bench: Place | None
    ) -> None:
        super().__init__(baud, bench)
        if not addresses or len(set(addresses)) != len(addresses) or not set(addresses) <= set(range(0x80, 0x88)):
            raise ValueError(
                f"roboclaw: addresses {', '.join(map(hex, addresses)) or 'none'} found; "
                "allowed: one to eight different ones, 0x80 to 0x87"
            )
        self.counts_per_rev = counts_per_rev
        self.wheels = Wheels([Wheel(self._bench.now_ns, **wheel) for _ in range(2 * len(addresses))])
        settings = [RoboClawController(0, address, 2 * place, 2 * place + 1) for place, address in enumerate(addresses)]
        count = len(self.wheels)
        no_load = self.wheels[0].no_load_radps
        self._bus = RoboClawBus(self.wheels, settings, counts_per_rev, sign=(1,) * count, no_load_radps=no_load)
        self.controllers = {}
        for place, (address, controller) in enumerate(self._bus.controllers.items()):
            motors = [
                _RoboClawMotor(motor, self.wheels[2 * place + channel], counts_per_rev / math.tau)
                for channel, motor in enumerate(controller.motors)
            ]
            self.controllers[address] = _RoboClawController(address, controller, *motors)
        self._connect(self._bus, self.wheels)

    def __getitem__(self, address: int) -> _RoboClawController:
        """The controller at an address."""
        return self.controllers[address]

    def press_e_stop(self, pressed: bool = True) -> None:
        """Press the emergency stop that all of them read, or release it."""
        self._bus.press(pressed)


class Roboteq(LineDevice):
    """A simulated dual-channel Roboteq controller, with a wheel on each channel.

    Attributes:
        wheels: of channels 1 and 2.
    """

    name = "roboteq"

    def __init__(
        self,
        max_rpm: int,
        gear_ratio: float,
        *,
        open_loop: bool,
        baud: int,
        wheel: dict[str, Any],
        bench: Place | None,
    ) -> None:
        super().__init__(baud, bench)
        self.wheels = Wheels([Wheel(self._bench.now_ns, **wheel) for _ in range(2)])
        self._controller = RoboteqDevice(
            self.wheels, (0, 1), max_rpm=max_rpm, gear_ratio=gear_ratio, open_loop=open_loop
        )
        self._connect(self._controller, self.wheels)

    def press_e_stop(self, pressed: bool = True) -> None:
        """Press its emergency stop, or release it; motors stay off until `!MG` after the release."""
        self._controller.press(pressed)

    @property
    def watchdog_ms(self) -> int:
        """How long it runs without a command [ms]; 0: for ever."""
        return self._controller.watchdog_ms

    @property
    def timed_out(self) -> bool:
        """Its watchdog has stopped the motors."""
        return self._controller.timed_out


def roboclaw(
    addresses: Sequence[int] = (0x80,),
    *,
    baud: int = 115200,
    counts_per_rev: float = 8192.0,
    bench: Place | None = None,
    **wheel: float,
) -> RoboClaw:
    """A simulated RoboClaw, or several on one bus, until it is closed.

    Args:
        addresses: of the controllers, 0x80 to 0x87.
        baud: of the line.
        counts_per_rev: encoder counts of one turn of an axle.
        bench: where it is; None: this computer, in real time.
        **wheel: of each wheel, as of `Wheel`: inertia_kgm2, friction_Nm, no_load_radps, stall_Nm, torque_per_A.

    Raises:
        ValueError: an address is not possible.

    Example:
        >>> with roboclaw((0x80, 0x81)) as bus:
        ...     bus[0x81].m2.count = 1234
        ...     [wheel.speed_radps for wheel in bus.wheels]
        [0.0, 0.0, 0.0, 0.0]
    """
    return RoboClaw(addresses, baud, counts_per_rev, wheel, bench)


def roboteq(
    *,
    max_rpm: int = 3000,
    gear_ratio: float = 100.0,
    open_loop: bool = False,
    baud: int = 115200,
    bench: Place | None = None,
    **wheel: float,
) -> Roboteq:
    """A simulated Roboteq controller, until it is closed.

    Args:
        max_rpm: MXRPM, speed of the motor at command 1000 [1/min].
        gear_ratio: turns of the motor for one of the axle.
        open_loop: set up for it: a command is a duty in thousandths.
        baud: of the line.
        bench: where it is; None: this computer, in real time.
        **wheel: of each wheel, as of `roboclaw`.
    """
    return Roboteq(max_rpm, gear_ratio, open_loop=open_loop, baud=baud, wheel=wheel, bench=bench)


class _Joint(Turning):
    """One driven joint: it follows the angle that its servo holds, and stays where it is when the servo is cut.

    Attributes:
        held_rad: angle that its servo holds; None: it is cut.
        blocked: it does not turn, whatever its servo holds.
        load_Nm: torque that the servo has to give to hold it, positive where the angle grows; set it.
        torque_per_A: torque at the joint for each ampere of the motor [N m/A].
    """

    def __init__(self, now_ns: Callable[[], int], torque_per_A: float) -> None:
        super().__init__(now_ns)
        self.torque_per_A, self.load_Nm, self.blocked = torque_per_A, 0.0, False
        self.held_rad: float | None = None

    @property
    @override
    def speed_radps(self) -> float:
        with self._lock:
            self._advance()
            far = 0.0 if self.held_rad is None or self.blocked else self.held_rad - self._angle_rad
            return far / FOLLOW_S

    @property
    @override
    def current_A(self) -> float:
        return 0.0 if self.held_rad is None else self.load_Nm / self.torque_per_A

    @override
    def hold(self, target: float, /) -> None:
        with self._lock:
            self._advance()
            self.held_rad = target

    @override
    def cut(self) -> None:
        with self._lock:
            self._advance()
            self.held_rad = None

    @override
    def _advance(self) -> None:
        now_ns = self._now_ns()
        passed_s, self._t_ns = (now_ns - self._t_ns) * 1e-9, now_ns
        if self.held_rad is not None and not self.blocked:
            self._angle_rad += (self.held_rad - self._angle_rad) * -math.expm1(-passed_s / FOLLOW_S)


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
        self.joints = TurnedParts([_Joint(self._bench.now_ns, torque_per_A) for _ in range(joints)])
        self.scales = tuple(_scale(place, counts_per_turn, absolute=absolute) for place in range(joints))
        self.controllers = tuple(
            RoboClawController(0, 0x80 + first // 2, first, first + 1 if first + 1 < joints else None)
            for first in range(0, joints, 2)
        )
        self.addresses = tuple(controller.address for controller in self.controllers)
        self._bus = RoboClawServoBus(self.joints, self.controllers, self.scales)
        self._connect(self._bus, self.joints)

    def count(self, place: int) -> int:
        """Encoder count of a joint, as its controller has it."""
        return int(self._bus.controllers[0x80 + place // 2].motors[place % 2].count())

    def power_up(self) -> None:
        """The power of all controllers was off and is on again: incremental encoders count from 0."""
        for controller in self._bus.controllers.values():
            controller.power_up()

    def press_e_stop(self, pressed: bool = True) -> None:
        """Press the emergency stop that all of them read, or release it."""
        self._bus.press(pressed)


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
