"""Servos with encoders in a rig config: scales and zeros of the joints, common to the makers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from drivers.checks import each_once, repeated
from drivers.device_sections import ServosSection
from drivers.driver_type import RigSetup
from drivers.joint_scale import HOME, KNOWN_WITHIN, JointScale
from drivers.section import Listed, Problem, Section

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
