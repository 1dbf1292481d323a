"""Ground of a rig: soil, firm ground, rigid ground, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from models.contact.active_set import RigidGround, make_rigid_ground
from models.contact.compliant import CompliantGround
from models.contact.ground import Ground
from models.contact.linear_stresses import LinearStresses
from models.contact.ruts import make_ruts
from models.gravity import GRAVITY_MPS2
from models.rover.rover import Rover
from models.rover.tree import WheelMount
from models.terrain import HeightMap, Terrain, slope_of, uneven_ground
from models.wheel import FlexibleWheel, RigidWheel, Ring, Soil

Kind = Literal["soil", "firm", "rigid", "none"]


@dataclass(frozen=True)
class GroundParameters:
    """Ground of a rig; fields of other kinds are ignored.

    Attributes:
        kind: soil; firm, which deforms by a contact law; rigid, unilateral constraints; none, and then no weight
            either: the impact runs without ground of MacMahon 2016, chapter 5.
        soil: of the bed.
        wheel_variant: of the wheel-soil model: one of models.wheel.RigidWheel, or flexible.
        soil_damping: [s/m], see models.contact.ground.
        slip_speed, shear_displacement, shear_damping: [m/s], [m], [s], see models.contact.ground.
        ruts: whether soil keeps the ruts of wheels that have passed; variant "exact" only.
        compliant: firm ground, see models.contact.compliant.
        rolling: whether wheels roll on rigid ground without slip; if not, it has no friction.
        pitch: of the slope [rad], positive where the ground rises ahead; see models.terrain.slope_of.
        roll: of the slope [rad], positive where it rises to port.
        wheel_height: [m] of the ground under each wheel over the slope; empty: even.
        ring: rim of the wheel variant flexible.
        relief: uneven ground in place of a slope; None: none.
        gravity: downwards [m/s^2].
    """

    kind: Kind
    soil: Soil
    wheel_variant: str
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
    ring: Ring | None = None
    relief: HeightMap | None = None
    gravity: float = GRAVITY_MPS2

    @property
    def terrain(self) -> Terrain:
        """Shape of this ground. Raises ValueError: too steep, too high under a wheel, or uneven and a slope as well."""
        if self.relief is not None:
            if self.pitch or self.roll or any(self.wheel_height):
                raise ValueError("ground: pitch, roll or wheel_height is given, allowed with a height map: 0")
            return uneven_ground(self.relief)
        return slope_of(self.pitch, self.roll, self.wheel_height)

    def under(self, rover: Rover) -> tuple[Ground | None, CompliantGround | None, RigidGround | None]:
        """The ground of `models.vehicle.VehicleModel` under a rover: soil, compliant, rigid.

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
            return self._soil(rover), None, None
        if self.kind == "firm":
            return None, self.compliant, None
        return None, None, make_rigid_ground(rover, rolling=self.rolling) if self.kind == "rigid" else None

    def wheel(self, mount: WheelMount) -> RigidWheel | FlexibleWheel:
        """The wheel-soil model of a wheel. ValueError: none of that name, or a number is out of range."""
        if self.wheel_variant != "flexible":
            return RigidWheel(mount.radius, mount.width, self.soil, self.wheel_variant)
        if self.ring is None:
            raise ValueError("ring is None, allowed with wheel_variant 'flexible': a Ring")
        return FlexibleWheel(mount.radius, mount.width, self.soil, self.ring)

    def _soil(self, rover: Rover) -> Ground:
        packed = self.wheel(rover.tree.wheels[0])
        if self.ruts and packed.variant != "exact":
            raise ValueError(f"wheel_variant is {self.wheel_variant!r}, allowed with ruts: 'exact'")
        return Ground(
            packed.parameters,
            self.soil_damping,
            self.slip_speed,
            self.shear_displacement,
            self.shear_damping,
            make_ruts(rover) if self.ruts else None,
            self._linear(packed.variant),
        )

    def _linear(self, variant: str) -> LinearStresses | None:
        """Xu's whole wheel, if the variant is his. Raises ValueError: his lateral force lacks its parameter."""
        if variant != "xu":
            return None
        if self.soil.lateral_rate is None or self.soil.shear_modulus is None:
            raise ValueError(
                "soil.lateral_rate or shear_modulus is None, allowed with variant 'xu' on a rover: numbers"
            )
        return LinearStresses(self.soil.shear_modulus, self.shear_damping)
