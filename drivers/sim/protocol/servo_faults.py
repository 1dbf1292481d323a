"""Driven joints of a simulated rig that can fail: what their controllers do and measure is then not so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from drivers.sim.protocol.plant_ports import Servos

# How far an encoder slips if not told [deg].
SLIP_DEG = 45.0


class FaultyServos(Servos):
    """The driven joints as their controllers see them; a `Servos`.

    Args:
        servos: of the rig.
        places: of the joints that can fail, by name.

    Attributes:
        kinds: of faults. blocked: a joint stays where it is, whatever its servo is told; frozen: its encoder repeats
            one angle; slipped: its encoder is off by `deg`; freed: it has no fault any more.
    """

    kinds = ("blocked", "frozen", "slipped", "freed")

    def __init__(self, servos: Servos, places: Mapping[str, int]) -> None:
        self._servos, self._places = servos, places
        self._blocked: dict[int, float] = {}
        self._frozen: dict[int, float] = {}
        self._slipped: dict[int, float] = {}

    @override
    def angle_rad(self, joint: int) -> float:
        if (frozen := self._frozen.get(joint)) is not None:
            return frozen
        return self._servos.angle_rad(joint) + self._slipped.get(joint, 0.0)

    @override
    def speed_radps(self, joint: int) -> float:
        return 0.0 if joint in self._frozen else self._servos.speed_radps(joint)

    @override
    def hold(self, joint: int, angle_rad: float) -> None:
        self._servos.hold(joint, self._blocked.get(joint, angle_rad))

    @override
    def cut(self, joint: int) -> None:
        self._servos.cut(joint)

    @override
    def current_A(self, joint: int) -> float:
        return self._servos.current_A(joint)

    def inject_fault(self, kind: str, how: Mapping[str, Any]) -> None:
        """Start a fault of one joint, or end those of it.

        Args:
            kind: one of `kinds`.
            how: `joint`, its name, the first one if not given; `deg` that it slips by, 45 if not given.

        Raises:
            ValueError: there is no such joint, or it cannot slip by that.
        """
        name = how.get("joint", next(iter(self._places)))
        if (joint := self._places.get(name)) is None:
            raise ValueError(f"joint is one of {', '.join(self._places)}, found {name!r}")
        if kind == "slipped":
            slip_rad = math.radians(float(how.get("deg", SLIP_DEG)))
            if not math.isfinite(slip_rad):
                raise ValueError(f"deg of {name}: {how['deg']}, allowed: a finite number")
            self._slipped[joint] = self._slipped.get(joint, 0.0) + slip_rad
        elif kind == "frozen":
            self._frozen[joint] = self.angle_rad(joint)
        elif kind == "blocked":
            self._blocked[joint] = angle = self._servos.angle_rad(joint)
            self._servos.hold(joint, angle)
        else:
            for faults in (self._blocked, self._frozen, self._slipped):
                faults.pop(joint, None)


class PositionProfile:
    """Set-point of a position loop; positions are in counts.

    Attributes:
        position: the set-point.
        speed: its rate [counts/s].
    """

    def __init__(self) -> None:
        self.position = self.speed = 0.0
        self._target = 0.0
        self._most, self._acceleration, self._deceleration = 0.0, 0.0, 0.0
        self._arrived = True

    def start(self, position: float) -> None:
        """Stand at a position."""
        self.position = self._target = position
        self.speed, self._arrived = 0.0, True

    def go(self, target: float, speed: float, acceleration: float, deceleration: float) -> None:
        """Move to another position, from where the set-point is and as fast as it is."""
        self._target, self._most = target, speed
        self._acceleration, self._deceleration = acceleration, deceleration
        self._arrived = False

    def advance(self, seconds: float) -> bool:
        """Advance; whether it moves on. In a step that would pass the target, it arrives."""
        if self._arrived or seconds <= 0.0:
            return not self._arrived
        far = self._target - self.position
        wanted = math.copysign(min(self._most, math.sqrt(2.0 * self._deceleration * abs(far))), far)
        slows = wanted * self.speed < 0.0 or abs(wanted) < abs(self.speed)
        most = (self._deceleration if slows else self._acceleration) * seconds
        before, self.speed = self.speed, self.speed + min(max(wanted - self.speed, -most), most)
        moved = 0.5 * (before + self.speed) * seconds
        if moved * far >= 0.0 and abs(moved) >= abs(far):
            self.start(self._target)
        else:
            self.position += moved
        return not self._arrived
