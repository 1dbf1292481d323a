"""Trapezoidal profile by which a motor controller in position mode moves its set-point to a position."""

from __future__ import annotations

import math


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
