"""RoboClaw controllers in position mode on a simulated serial bus, by their manual."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from drivers.roboclaw import protocol
from drivers.roboclaw.motor_layout import RoboClawController
from drivers.roboclaw.protocol import FULL_DUTY, PositionPid
from drivers.roboclaw.simulated import ControllersOnBus, SimMotor
from drivers.servo_section import JointScale
from drivers.sim.protocol.plant_ports import Servos
from drivers.sim.protocol.servo_faults import FaultyServos, PositionProfile

# Supply of simulated servos [V]: the plant does not know it. An assumption.
SUPPLY_V = 24.0
# A tuned position loop at power-up, as stored in the controller: gains in 1/1024, and no ends.
TUNED = PositionPid(204_800, 0, 0, 0, 2, -(2**31), 2**31 - 1)


class _SimServo(SimMotor):
    """One channel in position mode: its set-point follows the controller's profile, the plant's joint the set-point.

    An incremental encoder counts from 0 at power-up. A duty or a speed moves the set-point of the position at that
    share of the joint's largest rate, or at that speed.

    Args:
        servos: of the rig.
        joint: which of them; None: nothing is connected.
        scale: of the joint.
    """

    def __init__(self, servos: Servos, joint: int | None, scale: JointScale | None) -> None:
        self._servos, self._joint, self._scale = servos, joint, scale
        self._counts_per_rad = scale.sign * scale.counts_per_turn / math.tau if scale else 1.0
        self._offset = -scale.zero if scale and scale.absolute else 0
        self.encoder_mode = protocol.ABSOLUTE if scale and scale.absolute else 0
        self.pid = TUNED
        self._profile = PositionProfile()
        self.duty, self.running = 0, False
        if not self.encoder_mode & protocol.ABSOLUTE:
            self.set_count(0)

    @override
    def count(self) -> int:
        return math.floor(self._angle_rad() * self._counts_per_rad + 0.5) - self._offset

    @override
    def power_up(self) -> None:
        """An absolute encoder keeps its count."""
        self.stop()
        self.pid = TUNED
        if not self.encoder_mode & protocol.ABSOLUTE:
            self.set_count(0)

    @override
    def speed_qpps(self) -> float:
        return 0.0 if self._joint is None else self._servos.speed_radps(self._joint) * self._counts_per_rad

    @override
    def current_A(self) -> float:
        """0 with the output off."""
        if self._joint is None or not self.running:
            return 0.0
        return math.copysign(1.0, self._counts_per_rad) * self._servos.current_A(self._joint)

    @override
    def supply_V(self) -> float:
        return SUPPLY_V

    @override
    def stop(self) -> None:
        self.running, self.duty = False, 0
        if self._joint is not None:
            self._servos.cut(self._joint)

    @override
    def go(self, acceleration: int, speed: int, deceleration: int, position: int) -> None:
        """A loop without gains does not move, and no position is beyond its ends."""
        if self.pid.p == self.pid.i == self.pid.d == 0:
            return
        self._begin()
        target = min(max(position, self.pid.lowest), self.pid.highest)
        self._profile.go(target, speed, acceleration or math.inf, deceleration or math.inf)
        self._hold()

    @override
    def run(self, qpps: float, ramp_qpps2: float) -> None:
        self._begin()
        far = self.pid.highest if qpps > 0 else self.pid.lowest
        self._profile.go(far if qpps else self._profile.position, abs(qpps), ramp_qpps2, ramp_qpps2)

    @override
    def give_duty(self, duty: int) -> None:
        if duty == 0:
            self.stop()
        elif self._scale is not None:
            speed, acceleration = self._scale.profile
            self.run(speed * duty / FULL_DUTY, float(acceleration))

    @override
    def ramp(self, passed_ns: int) -> bool:
        if not self.running:
            return False
        before = self._profile.position
        moves = self._profile.advance(passed_ns * 1e-9)
        if self._profile.position != before:
            self._hold()
        return moves

    def _begin(self) -> None:
        if not self.running:
            self._profile.start(self.count())
            self.running = True

    def _hold(self) -> None:
        if self._joint is not None:
            self._servos.hold(self._joint, (self._profile.position + self._offset) / self._counts_per_rad)

    def _angle_rad(self) -> float:
        return 0.0 if self._joint is None else self._servos.angle_rad(self._joint)


class RoboClawServoBus(ControllersOnBus):
    """Controllers of driven joints on one bus, which has its own faults.

    Args:
        servos: that they drive.
        controllers: address and joints of each.
        joints: scales of all joints.
        **options: see `ControllersOnBus`.

    Attributes:
        kinds: of faults, see `FaultyServos` and `ControllersOnBus`.
    """

    kinds = (*FaultyServos.kinds, *ControllersOnBus.kinds)

    def __init__(
        self,
        servos: Servos,
        controllers: Sequence[RoboClawController],
        joints: Sequence[JointScale],
        **options: Any,
    ) -> None:
        own = [joint for controller in controllers for joint in controller.motors]
        faulty = self._faulty = FaultyServos(servos, {joints[joint].name: joint for joint in own})

        def motor(joint: int | None) -> _SimServo:
            return _SimServo(faulty, joint, None if joint is None else joints[joint])

        pairs = {controller: (motor(controller.m1), motor(controller.m2)) for controller in controllers}
        super().__init__(pairs, **options)

    @override
    def inject_fault(self, kind: str, how: Mapping[str, Any]) -> None:
        if kind in ControllersOnBus.kinds:
            super().inject_fault(kind, how)
        else:
            self._faulty.inject_fault(kind, how)
