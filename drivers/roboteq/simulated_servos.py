"""A dual-channel Roboteq controller in closed-loop count position mode, simulated at the protocol level."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from drivers.roboteq import protocol
from drivers.roboteq.motor_layout import RPM
from drivers.roboteq.simulated import SimRoboteq
from drivers.servo_section import JointScale
from drivers.sim.protocol.plant_ports import NEVER_NS, Servos
from drivers.sim.protocol.servo_faults import FaultyServos, PositionProfile

# Step of a move [ns].
STEP_NS = 2_000_000
# Speed [1/min] and accelerations [0.1/min/s] of the moves at power-up.
USUAL_RPM, USUAL_TENTHS = 1000, 20_000
_PROFILE = ("S", "AC", "DC")
_SUPPLY_TENTHS_V = 240


class _SimRoboteqServo:
    """One channel with its joint: the set-point follows the controller's profile, the plant's joint the set-point.

    Args:
        servos: of the rig.
        joint: which of them; None: nothing is connected.
        scale: of the joint.

    Attributes:
        profile: of the moves, in counts.
        numbers: speed and accelerations that are set, by command.
    """

    def __init__(self, servos: Servos, joint: int | None, scale: JointScale | None) -> None:
        self._servos, self._joint = servos, joint
        self._counts_per_rad = scale.sign * scale.counts_per_turn / math.tau if scale else 1.0
        self._shaft_counts = scale.shaft_counts if scale else 4.0
        self._offset = 0
        self.profile, self.holds = PositionProfile(), False
        self.numbers = {"S": USUAL_RPM, "AC": USUAL_TENTHS, "DC": USUAL_TENTHS}
        self._target = 0
        self.set_count(0)

    @property
    def pulses(self) -> int:
        """EPPR of its encoder."""
        return round(self._shaft_counts / 4.0)

    def count(self) -> int:
        """Of its encoder; at power-up it counts from 0."""
        angle = 0.0 if self._joint is None else self._servos.angle_rad(self._joint)
        return math.floor(angle * self._counts_per_rad + 0.5) - self._offset

    def set_count(self, count: int) -> None:
        """Count from there."""
        self._offset += self.count() - count

    def rpm(self) -> int:
        """Returns the speed of the encoder's shaft [1/min]."""
        speed = 0.0 if self._joint is None else self._servos.speed_radps(self._joint)
        return round(speed * self._counts_per_rad / self._shaft_counts * math.tau / RPM)

    def tenths_A(self) -> int:
        """Returns the current of its motor [0.1 A], with the sign of the encoder; 0 with the output off."""
        if self._joint is None or not self.holds:
            return 0
        return round(10.0 * math.copysign(1.0, self._counts_per_rad) * self._servos.current_A(self._joint))

    def go(self, count: int) -> None:
        """Go to a count as soon as the output is on."""
        self._target = count
        if self.holds:
            self._move()

    def power(self, on: bool) -> None:
        """Switch the output on, to go to the newest target, or off."""
        if on is self.holds:
            return
        self.holds = on
        if on:
            self.profile.start(self.count())
            self._move()
            self._hold()
        elif self._joint is not None:
            self._servos.cut(self._joint)

    def advance(self, seconds: float) -> bool:
        """Advance a move; whether it goes on."""
        if not self.holds:
            return False
        before = self.profile.position
        moves = self.profile.advance(seconds)
        if self.profile.position != before:
            self._hold()
        return moves

    def _move(self) -> None:
        speed, up, down = (self.numbers[name] * self._shaft_counts / 60.0 for name in _PROFILE)
        self.profile.go(self._target, speed, up / 10.0, down / 10.0)

    def _hold(self) -> None:
        if self._joint is not None:
            self._servos.hold(self._joint, (self.profile.position + self._offset) / self._counts_per_rad)


class RoboteqServoDevice(SimRoboteq):
    """A controller with one joint or two on its channels, which has its own faults.

    A position is held, and gone to, also after the watchdog's time, which does nothing in this mode. Only an emergency
    stop and a fault switch the output off. Positions are accepted meanwhile, and gone to when it is over.

    Args:
        servos: of the rig.
        channels: which of them are on its two channels.
        joints: scales of all joints.
        identity: see SimRoboteq.

    Attributes:
        motors: both channels.
        kinds: of faults, see `FaultyServos` and `SimRoboteq`.
    """

    kinds = (*FaultyServos.kinds, *SimRoboteq.kinds)

    def __init__(
        self, servos: Servos, channels: Sequence[int | None], joints: Sequence[JointScale], identity: str = ""
    ) -> None:
        own = [joint for joint in channels if joint is not None]
        faulty = self._faulty = FaultyServos(servos, {joints[joint].name: joint for joint in own})
        one, two = (_SimRoboteqServo(faulty, joint, None if joint is None else joints[joint]) for joint in channels)
        self.motors = one, two
        self._now_ns = 0
        configuration = {"MMOD": [protocol.COUNT_POSITION] * 2, "EPPR": [one.pulses, two.pulses]}
        super().__init__(
            configuration,
            {
                "S": lambda: (one.rpm(), two.rpm()),
                "C": lambda: (one.count(), two.count()),
                "A": lambda: (one.tenths_A(), two.tenths_A()),
                "V": lambda: (120, _SUPPLY_TENTHS_V, 4980),
            },
            identity,
        )
        self._stopped = True  # until it is first told where to go

    def power_up(self) -> None:
        """Its power was off and is on again: the encoders count from 0."""
        self._stopped, self._fed_ns = True, None
        self._settings["RWD"] = [1000]
        self._drive()
        for motor in self.motors:
            motor.set_count(0)

    @override
    def inject_fault(self, kind: str, how: Mapping[str, Any]) -> None:
        if kind in SimRoboteq.kinds:
            super().inject_fault(kind, how)
        else:
            self._faulty.inject_fault(kind, how)

    def _take(self, name: str, numbers: tuple[int, ...]) -> bool:
        if len(numbers) != 2 or numbers[0] not in protocol.CHANNELS:
            return False
        motor, value = self.motors[numbers[0] - 1], numbers[1]
        if name == "P":
            motor.go(value)
        elif name == "C":
            motor.set_count(value)
        elif name in _PROFILE and value > 0:
            motor.numbers[name] = value
        else:
            return False
        return True

    def _powered(self) -> bool:
        return any(motor.holds for motor in self.motors)

    def _drive(self) -> None:
        for motor in self.motors:
            motor.power(not self._off)

    def _later(self, now_ns: int) -> int:
        passed_ns = max(now_ns - self._now_ns, 0) if self._now_ns else 0
        self._now_ns = now_ns
        moves = [motor.advance(passed_ns * 1e-9) for motor in self.motors]
        return now_ns + STEP_NS if any(moves) else NEVER_NS
