"""Ground of a rig: soil, firm ground, rigid ground, or none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from models.contact.compliant import CompliantGround
from models.contact.constraints import RigidGround, make_rigid_ground
from models.contact.friction import Bristles
from models.contact.ground import Ground
from models.contact.legs import make_grousers
from models.contact.linear_stresses import LinearStresses
from models.contact.nonsmooth import HardContacts, make_hard_contacts
from models.contact.profile_contact import SensedFace, make_profile_contact
from models.contact.ruts import SoilRegion, make_regions, make_ruts
from models.gravity import GRAVITY_MPS2
from models.kernels.compiled import FloatArray
from models.rover.rover import Rover
from models.rover.tree import WheelMount
from models.terrain import HeightMap, Terrain, ground_from_outside, make_given_contacts, slope_of, uneven_ground
from models.terrain.mesh import TriangleMesh
from models.terrain.profile import Profile, make_profile
from models.terrain.shapes import LEVEL
from models.wheel import CrownedWheel, FlexibleWheel, RigidWheel, Ring, Soil
from models.wheel.soil import sheared_by_grousers, sheared_by_rim

MessageKind = Literal["soil", "firm", "rigid", "nonsmooth", "none"]


class Impacts(NamedTuple):
    """How wheels meet nonsmooth ground, see models.contact.nonsmooth.

    Attributes:
        friction: Coulomb's coefficient.
        restitution: of an impact.
        law: of an impact, see models.contact.rebound.
    """

    friction: float
    restitution: float
    law: str


class _GroundModels(NamedTuple):
    """The ground of `models.vehicle.VehicleModel`, one of them or none."""

    soil: Ground | None = None
    compliant: CompliantGround | None = None
    rigid: RigidGround | None = None
    hard: HardContacts | None = None


class SensedPlate(NamedTuple):
    """A plate on force sensors in a face of the profile.

    Attributes:
        face: which, from 1 after the level ground.
        first: where it begins along the face [m].
        length: of it [m]; infinite: to the face's end.
        side: whose wheels pass over it: port, starboard or both.
    """

    face: int
    first: float = 0.0
    length: float = math.inf
    side: str = "starboard"


class WheelKind(NamedTuple):
    """How the soil's force on a wheel is computed.

    Attributes:
        variant: of models.wheel.RigidWheel, or flexible.
        ring: rim of the variant flexible.
        thrust_height: [m] of grousers that also shear the soil at their sides (models.wheel.sheared_by_grousers).
        rim_friction: of the soil on a smooth rim over that within the soil (models.wheel.soil.sheared_by_rim).
    """

    variant: str
    ring: Ring | None = None
    thrust_height: float = 0.0
    rim_friction: float = 1.0


@dataclass(frozen=True)
class GroundParameters:
    """Ground of a rig; fields of other kinds are ignored.

    Attributes:
        kind: soil; firm, which deforms by a contact law; rigid, unilateral constraints; nonsmooth, hard with friction
            and impacts; none, and then no weight either: the impact runs without ground of MacMahon 2016, chapter 5.
        soil: of the bed.
        wheel: the wheel-soil model of all wheels but those of `own_wheels`.
        soil_damping: [s/m], see models.contact.ground.
        slip_speed, shear_displacement, shear_damping: [m/s], [m], [s], see models.contact.ground.
        ruts: whether soil keeps the ruts of wheels that have passed; variants "exact" and flexible only.
        compliant: firm ground, see models.contact.compliant.
        rolling: whether wheels roll on rigid ground without slip; if not, it has no friction.
        pitch: of the slope [rad], positive where the ground rises ahead; see models.terrain.slope_of.
        roll: of the slope [rad], positive where it rises to port.
        wheel_height: [m] of the ground under each wheel over the slope; empty: even.
        relief: uneven ground in place of a slope; None: none.
        profile: hard ground in place of a slope, kinds firm and nonsmooth; its level ground ends at x = 0 and the shape
            begins. On soil a body of firm ground that stands in it: its first face lies below. None: none.
        mesh: triangles in place of a slope, kind firm; None: none.
        impacts: of kind nonsmooth.
        bristles: of friction that holds, on a profile, and on other firm ground if `holds`.
        holds: whether friction of firm ground without a profile holds a wheel; not on a mesh.
        plate: on force sensors, in a face of the profile, kind firm; None: none.
        regions: of other soil, kind soil; not with ruts, and not under flexible wheels.
        gravity: downwards [m/s^2].
        own_wheels: by name of a wheel, the model of those that differ.
        grousers: of each wheel, how many and how high [m], where it stands on tips or rim, kind firm and on a profile;
            empty: on a circle through the tips.
        first_grouser: angle of grouser 0 on its wheel [rad], see models.contact.legs.next_grouser.
    """

    kind: MessageKind
    soil: Soil
    wheel: WheelKind
    soil_damping: float
    slip_speed: float
    shear_displacement: float
    shear_damping: float
    ruts: bool
    compliant: CompliantGround
    rolling: bool
    pitch: float = 0.0
    roll: float = 0.0
    wheel_height: tuple[float, ...] = ()
    relief: HeightMap | None = None
    regions: tuple[SoilRegion, ...] = ()
    gravity: float = GRAVITY_MPS2
    own_wheels: Mapping[str, WheelKind] = field(default_factory=dict)
    profile: Profile | None = None
    mesh: TriangleMesh | None = None
    impacts: Impacts | None = None
    bristles: Bristles | None = None
    holds: bool = False
    plate: SensedPlate | None = None
    grousers: tuple[tuple[int, float], ...] = ()
    first_grouser: float = 0.0

    def terrain_under(self, wheels: int) -> Terrain:
        """Shape of this ground, with the contacts of so many wheels where it is a mesh; raises as `terrain` does."""
        if self.mesh is None:
            return self.terrain
        self._stands_alone()
        return ground_from_outside(make_given_contacts(wheels, self.mesh))

    @property
    def terrain(self) -> Terrain:
        """Shape of this ground; of a mesh the level plane from which its heights count.

        Raises:
            ValueError: too steep, too high under a wheel, or uneven and a slope as well.
        """
        if self.relief is not None:
            if self.pitch or self.roll or any(self.wheel_height):
                raise ValueError("ground: pitch, roll or wheel_height is given, allowed with a height map: 0")
            return uneven_ground(self.relief)
        return slope_of(self.pitch, self.roll, self.wheel_height)

    def under(self, rover: Rover) -> _GroundModels:
        """The ground of `models.vehicle.VehicleModel` under a rover.

        Raises:
            ValueError: a wheel-soil model that does not exist, or has no memory where `ruts` asks for one; not one
                height for each wheel.
        """
        if self.wheel_height and len(self.wheel_height) != len(rover.wheel_names):
            raise ValueError(
                f"ground: {len(self.wheel_height)} wheel heights, allowed: none, or one for each of "
                f"{len(rover.wheel_names)} wheels"
            )
        if self.kind == "soil":
            return _GroundModels(self._soil(rover), None if self.profile is None else self._firm(rover))
        if self.kind == "firm":
            return _GroundModels(compliant=self._firm(rover))
        if self.kind == "nonsmooth":
            return _GroundModels(hard=self._hard(rover))
        return (
            _GroundModels(rigid=make_rigid_ground(rover, rolling=self.rolling))
            if self.kind == "rigid"
            else _GroundModels()
        )

    def _hard(self, rover: Rover) -> HardContacts:
        if self.impacts is None:
            raise ValueError("ground: impacts is None, allowed with kind nonsmooth: how wheels meet the ground")
        self._stands_alone()
        profile = self.profile or make_profile(
            [(-LEVEL, 0.0), (LEVEL, 0.0)], self.impacts.friction, self.impacts.restitution
        )
        return make_hard_contacts(rover, profile, law=self.impacts.law)

    def _firm(self, rover: Rover) -> CompliantGround:
        grousers = make_grousers(self.grousers, self.first_grouser) if self.grousers else None
        if self.profile is None:
            return self.compliant._replace(bristles=self.bristles if self.holds else None, grousers=grousers)
        if self.bristles is None:
            raise ValueError("ground: bristles is None, allowed with a profile: those of its friction")
        in_soil = self.kind == "soil"
        if not in_soil or self.relief is None:
            self._stands_alone()
        sensed = self.sensed_under(rover)
        held = make_profile_contact(rover, self.profile, self.bristles, sensed, in_soil, grousers)
        return self.compliant._replace(profile=held)

    def sensed_under(self, rover: Rover) -> SensedFace | None:
        """The plate on force sensors under a rover's wheels; None: there is none.

        Raises:
            ValueError: the profile has no such face, the plate does not lie on it, or no wheel passes over it.
        """
        if self.plate is None or self.profile is None:
            return None
        (face, first, length, side), lengths = self.plate, self.profile.length.tolist()
        left = rover.wheel_positions(rover.neutral())[:, 1]
        under = {"port": left > 0.0, "starboard": left < 0.0}.get(side, np.ones(len(left), bool))
        if not (1 <= face < len(lengths) and 0.0 <= first < lengths[face] and length > 0.0 and under.any()):
            raise ValueError(
                f"ground: plate is {self.plate}, allowed: on one of {len(lengths) - 1} faces, under wheels"
            )
        last, (along, up) = min(first + length, lengths[face]), self.profile.along[face].tolist()
        middle = np.array([left[under].mean(), 0.5 * (first + last)])
        return SensedFace(face, first, last, under.astype(np.int64), middle, math.atan2(up, along))

    @property
    def shaped(self) -> bool:
        """Whether it is hard ground with a shape, a profile or a mesh."""
        return self.profile is not None or self.mesh is not None

    def _stands_alone(self) -> None:
        if self.pitch or self.roll or any(self.wheel_height) or self.relief is not None:
            raise ValueError(
                "ground: pitch, roll, wheel_height or a map is given, allowed with a profile or mesh: none"
            )

    def wheel_of(self, mount: WheelMount, soil: Soil | None = None) -> RigidWheel | CrownedWheel | FlexibleWheel:
        """The wheel-soil model of a wheel on the soil, or another. ValueError: no such, or a number is out of range."""
        variant, ring, height, friction = self.own_wheels.get(mount.name, self.wheel)
        soil = sheared_by_grousers(sheared_by_rim(soil or self.soil, friction), height, mount.width)
        if mount.crown is not None:
            if variant not in ("exact", "tire_3"):
                raise ValueError(f"variant of wheel {mount.name} is {variant!r}, allowed with a crown: 'exact'")
            return CrownedWheel(mount.radius, mount.width, soil, mount.crown)
        if variant != "flexible":
            return RigidWheel(mount.radius, mount.width, soil, variant)
        if ring is None:
            raise ValueError(f"ring of wheel {mount.name} is None, allowed with variant 'flexible': a Ring")
        return FlexibleWheel(mount.radius, mount.width, soil, ring, self.ruts)

    def _soil(self, rover: Rover) -> Ground:
        mounts = rover.tree.wheels
        if strangers := sorted(self.own_wheels.keys() - {mount.name for mount in mounts}):
            raise ValueError(
                f"ground: own_wheels of {', '.join(strangers)}, allowed: {', '.join(mount.name for mount in mounts)}"
            )
        wheels = [self.wheel_of(mount) for mount in mounts]
        variants = {wheel.variant for wheel in wheels}
        if self.ruts and variants - {"exact", "flexible"}:
            raise ValueError(f"variants of the wheels are {sorted(variants)}, allowed with ruts: 'exact', 'flexible'")
        if self.regions and (self.ruts or {"flexible", "xu"} & variants):
            raise ValueError("ground: regions of soil are given, allowed: without ruts, flexible and xu wheels")
        first, each = _rows([wheel.parameters for wheel in wheels])
        return Ground(
            first,
            self.soil_damping,
            self.slip_speed,
            self.shear_displacement,
            self.shear_damping,
            make_ruts(rover) if self.ruts else None,
            make_regions(
                self.regions,
                [[self.wheel_of(mount, one.soil).parameters for mount in mounts] for one in self.regions],
            ),
            self._linear() if "xu" in variants else None,
            each,
            first if self.soil.slip_modulus_exponent else None,
        )

    def _linear(self) -> LinearStresses:
        """Xu's whole wheel. Raises ValueError: his lateral force lacks its parameter."""
        if self.soil.lateral_rate is None or self.soil.shear_modulus is None:
            raise ValueError(
                "soil.lateral_rate or shear_modulus is None, allowed with variant 'xu' on a rover: numbers"
            )
        return LinearStresses(self.soil.shear_modulus, self.shear_damping)


def _rows(packed: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray | None]:
    """Parameters of the first wheel, and those of each where they differ: the longest row gives the length of all."""
    each = np.full((len(packed), max(len(one) for one in packed)), np.nan)
    for row, one in zip(each, packed, strict=True):
        row[: len(one)] = one
    first = np.array(packed[0])
    if (each.shape[1] == first.size) and all(np.array_equal(row, first, equal_nan=True) for row in each):
        return first, None
    return first, each
