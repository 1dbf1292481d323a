"""Encoder counts and the angle of a driven joint: scale, direction, zero, and whether the zero is lost."""

from __future__ import annotations

import math

import msgspec

from drivers.interfaces import DeviceError

# Count of an incremental encoder at the joint's angle 0, once its controller has been told where the joint stands. A
# controller that has lost its power counts from 0, which is far away: so the loss is seen.
HOME = 10_000_000
# A count further from HOME than this is one of a controller that does not know where the joint stands.
KNOWN_WITHIN = HOME // 2
# The controllers' own profile is so much faster than the limiter: what the limiter sends is what the joint does.
SPEED_OVER, ACCELERATION_OVER = 2.0, 10.0
# A joint that stands so far outside its angles at opening has a wrong zero [rad].
OUTSIDE_RAD = math.radians(2.0)
# Likewise of one that slides [m].
OUTSIDE_M = 0.002


class JointScale(msgspec.Struct, frozen=True):
    """A driven joint, as its motor controller sees it.

    Attributes:
        name: of the joint.
        counts_per_turn: encoder counts (all four edges) of a turn of the joint, gears included.
        sign: -1 where the encoder counts down while the angle grows; the motor is connected likewise.
        absolute: of the encoder: it knows its count after its power was off.
        zero: count at angle 0.
        lowest_rad: end of its angles.
        highest_rad: the other one.
        rate_radps: largest commanded rate.
        acceleration_radps2: largest commanded acceleration.
        gear: turns of the encoder's shaft in a turn of the joint.
        slides: the joint slides: every rad is a m, and a turn 2 pi metres.
        start_rad: where the joint stands if the controller does not know; None: nobody has confirmed it.

    Example:
        >>> arm = JointScale("arm", 40_000.0, -1, False, HOME, -1.0, 1.0, 0.2, 0.5)
        >>> arm.count(math.pi / 2), arm.angle_rad(HOME - 20_000) / math.pi, arm.lost(12)
        (9990000, 1.0, True)
    """

    name: str
    counts_per_turn: float
    sign: int
    absolute: bool
    zero: int
    lowest_rad: float
    highest_rad: float
    rate_radps: float
    acceleration_radps2: float
    start_rad: float | None = None
    gear: float = 1.0
    slides: bool = False

    def count(self, angle_rad: float) -> int:
        """Count at an angle."""
        return self.zero + self.sign * round(angle_rad * self.counts_per_turn / math.tau)

    def angle_rad(self, count: int) -> float:
        """Angle at a count."""
        return self.sign * (count - self.zero) * math.tau / self.counts_per_turn

    def lost(self, count: int) -> bool:
        """Returns whether the controller does not know where the joint stands: its power was off since it was told."""
        return not self.absolute and abs(count - self.zero) > KNOWN_WITHIN

    @property
    def ends(self) -> tuple[int, int]:
        """Lowest and highest count of its angles."""
        one, two = self.count(self.lowest_rad), self.count(self.highest_rad)
        return min(one, two), max(one, two)

    @property
    def profile(self) -> tuple[int, int]:
        """Speed [counts/s] and acceleration [counts/s^2] of the controller's own profile, at least 1 each."""
        per_rad = self.counts_per_turn / math.tau
        speed, acceleration = SPEED_OVER * self.rate_radps, ACCELERATION_OVER * self.acceleration_radps2
        return max(round(speed * per_rad), 1), max(round(acceleration * per_rad), 1)

    @property
    def shaft_counts(self) -> float:
        """Counts of a turn of the encoder's shaft."""
        return self.counts_per_turn / self.gear

    @property
    def shaft_profile(self) -> tuple[float, float]:
        """Speed [1/min] and acceleration [1/min/s] of the encoder's shaft in the controller's own profile."""
        return tuple(value * 60.0 / self.shaft_counts for value in self.profile)  # type: ignore[return-value]

    def check_command(self, angle_rad: float) -> int:
        """Returns the count of a commanded angle. Raises ValueError: it is no number, or beyond the joint's angles."""
        if not self.lowest_rad - 1e-6 <= angle_rad <= self.highest_rad + 1e-6:
            allowed = f"{self.lowest_rad:g} to {self.highest_rad:g}"
            raise ValueError(f"angle_rad: {angle_rad} of {self.name}, allowed: {allowed}")
        return self.count(angle_rad)

    def check_known(self, count: int, where: str) -> float:
        """The angle at a count that was read. Raises DeviceError: the controller does not know the angle."""
        if self.lost(count):
            raise DeviceError(
                f"{where}: count {count} of {self.name}, allowed: within {KNOWN_WITHIN} of {self.zero}; its controller "
                f"was without power and does not know where the joint stands: put the joint at its start_deg, and "
                f"confirm with devices.servos.start: confirmed"
            )
        return self.angle_rad(count)

    def check_start(self, angle_rad: float, where: str) -> None:
        """Check where a joint stands when its device is opened. Raises DeviceError."""
        outside, scale = (OUTSIDE_M, 1e3) if self.slides else (OUTSIDE_RAD, math.degrees(1.0))
        if not self.lowest_rad - outside <= angle_rad <= self.highest_rad + outside:
            unit, lead = ("mm", ", lead_mm") if self.slides else ("deg", "")
            found, low, high = (scale * one for one in (angle_rad, self.lowest_rad, self.highest_rad))
            raise DeviceError(
                f"{where}: {self.name} stands at {found:.1f} {unit}, allowed: {low:.1f} to {high:.1f}; check its "
                f"zero, counts_per_turn, gear{lead} and reversed, or move it by hand into its range"
            )
