"""Servos with encoders in a rig config: scales, directions and zeros of the joints, common to the makers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import msgspec
from pydantic import Field

from drivers.checks import each_once, repeated
from drivers.device_sections import ServosSection
from drivers.driver_type import RigSetup
from drivers.interfaces import DeviceError
from drivers.section import Listed, Problem, Section

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


Joint = Annotated[str, Field(max_length=100, json_schema_extra={"note": "the name of a driven joint"})]
CountsPerTurn = Annotated[float, Field(ge=1, le=1e7)]
Gear = Annotated[float, Field(ge=0.01, le=1e5)]
_KEY = "devices.servos"


class _ServoJointSection(Section):
    """What is different at one joint, or at all of a kind."""

    counts_per_turn: CountsPerTurn | None = Field(None, description="as devices.servos.counts_per_turn; null: that")
    gear: Gear | None = Field(None, description="as devices.servos.gear; null: that")
    lead_mm: float | None = Field(
        None, ge=0.01, le=1000, description="of a joint that slides: travel in a turn of what gear drives, a spindle"
    )
    zero: int | None = Field(
        None, ge=-(2**31), le=2**31 - 1, description="count of an absolute encoder at the joint's angle 0"
    )


class CountedServosSection(ServosSection):
    """Servos whose controllers count the edges of encoders."""

    counts_per_turn: CountsPerTurn = Field(description="encoder counts, all four edges, in a turn of its shaft")
    gear: Gear = Field(1.0, description="turns of the encoder's shaft in a turn of the joint")
    encoder: Literal["incremental", "absolute"] = Field(
        "incremental", description="incremental: it has lost its count after its power was off; absolute: it has not"
    )
    reversed: Listed[Joint] = Field((), max_length=100, description="joints whose encoder counts down as they turn up")
    joints: dict[str, _ServoJointSection] = Field(
        default_factory=dict,
        max_length=100,
        description="what is different at some joints, by name or kind (steering, walking)",
        json_schema_extra={"note": "a section by the joint's name or kind"},
    )
    start: Literal["", "confirmed"] = Field(
        "",
        description="confirmed: the joints stand at servos.joints.NAME.start_deg where a controller has lost its count",
    )

    def scales(self, rig: RigSetup) -> tuple[JointScale, ...]:
        """Of all driven joints of the rig, in their order."""
        return tuple(self._scale(place, rig) for place in range(len(rig.servos)))

    def _scale(self, place: int, rig: RigSetup) -> JointScale:
        joint = rig.servos[place]
        one = self._one(joint.name)
        absolute = self.encoder == "absolute"
        gear = one.gear or self.gear
        if joint.slides:  # a turn is then 2 pi metres
            gear *= 2e3 * math.pi / (one.lead_mm or 1.0)
        return JointScale(
            name=joint.name,
            counts_per_turn=(one.counts_per_turn or self.counts_per_turn) * gear,
            sign=-1 if joint.name in self.reversed else 1,
            absolute=absolute,
            zero=(one.zero or 0) if absolute else HOME,
            lowest_rad=joint.lowest_rad,
            highest_rad=joint.highest_rad,
            rate_radps=joint.rate_radps,
            acceleration_radps2=joint.acceleration_radps2,
            start_rad=joint.start_rad if self.start else None,
            gear=gear,
            slides=joint.slides,
        )

    def _one(self, name: str) -> _ServoJointSection:
        return self.joints.get(name) or self.joints.get(_kind(name)) or _ServoJointSection()

    def joint_problems(self, connected: Sequence[str], key: str, rig: RigSetup) -> Iterator[Problem]:
        """Check that every driven joint is on exactly one channel, and that its scale and zero can be.

        Args:
            connected: joints, by channel.
            key: that connects them.
            rig: that they are part of.
        """
        names = tuple(joint.name for joint in rig.servos)
        yield from each_once(key, "driven joint", connected, names, ("servos", "rover.type"))
        known = {*names, *map(_kind, names)}
        for name in [name for name in self.joints if name not in known]:
            yield Problem(f"{_KEY}.joints.{name}", "an unknown key", _known(names), ("servos", "rover.type"))
        for name in [name for name in dict.fromkeys(self.reversed) if name not in names]:
            yield Problem(f"{_KEY}.reversed", name, _known(names), ("servos", "rover.type"))
        for name, _ in repeated(self.reversed):
            yield Problem(f"{_KEY}.reversed", f"{name} twice", "each joint once")
        absolute = self.encoder == "absolute"
        for name in names:
            given = self._one(name).zero is not None
            if given is not absolute:
                found = f"a zero of {name}" if given else f"no zero of {name}"
                allowed = f"the count at angle 0 with encoder: absolute; none with incremental, whose zero is {HOME}"
                yield Problem(f"{_KEY}.joints", found, allowed, (f"{_KEY}.encoder",))
        for joint in rig.servos:
            if joint.slides is not (self._one(joint.name).lead_mm is not None):
                found = f"{'no lead_mm' if joint.slides else 'lead_mm'} of {joint.name}"
                allowed = "lead_mm of each joint that slides [mm in a turn of its spindle], and of no other"
                yield Problem(f"{_KEY}.joints", found, allowed, ("servos",))
        for scale in self.scales(rig) if not absolute else ():
            most = max(abs(end - scale.zero) for end in scale.ends)
            if most > KNOWN_WITHIN:
                allowed = f"angles of at most {KNOWN_WITHIN} counts to each side, so that a lost count is seen"
                depends_on = (f"{_KEY}.gear", f"{_KEY}.joints", "servos.joints")
                found = f"{most} counts at an end of {scale.name}"
                yield Problem(f"{_KEY}.counts_per_turn", found, allowed, depends_on)


def _kind(name: str) -> str:
    return name.rsplit("_", 1)[-1]


def _known(names: Sequence[str]) -> str:
    return f"driven joints: {', '.join(names) or 'none'} (servos.joints)"
