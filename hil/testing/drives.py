"""Simulated motor controllers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from drivers.roboclaw.settings import RoboClawControllerSettings
from drivers.roboclaw.simulated import RoboClawBus, SimMotor, SimRoboClaw
from drivers.roboteq.simulated import RoboteqDevice
from hil.testing.bench import LineDevice, Place
from hil.testing.wheels import Wheel, Wheels


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
        """Bits of command 90 beside that of the emergency stop; set them."""
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
        settings = [
            RoboClawControllerSettings(0, address, 2 * place, 2 * place + 1) for place, address in enumerate(addresses)
        ]
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
