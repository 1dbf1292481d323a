"""The nominal ground, soil and obstacle: the rover twin uses these numbers, the simulated rig perturbed ones."""

from __future__ import annotations

import math
from operator import not_
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from hil.config.schema.base import Section, bounded, is_none, key, positive

Place = Annotated[tuple[float, float], Field(strict=False)]
_Coordinate = Annotated[float, Field(ge=-100, le=100)]
_ProfileCorner = Annotated[tuple[_Coordinate, _Coordinate], Field(strict=False)]


class _FaceConfig(Section):
    """One face of a compound slope."""

    length_m: float = bounded(0.5, 0.01, 100, "along the face")
    angle_deg: float = bounded(15.0, -89, 89, "to the horizontal, positive if it rises ahead")


class _SensedPlateConfig(Section):
    """A plate on the three force sensors of `daq`, flush with a face; their `across_m`, `up_m` are from its middle."""

    between_runs: ClassVar[tuple[str, ...]] = ()

    face: int = bounded(
        1, 1, 60, "which, counted from the level ground: 1 is the face of a step or ledge, 2 its top or foot"
    )
    from_m: float = bounded(0.0, 0, 100, "where it begins along the face")
    length_m: float | None = bounded(None, 0.01, 5, "of the plate; null: to the face's end")
    side: Literal["starboard", "port", "both"] = key("starboard", "whose wheels pass over it")


class ProfileConfig(Section):
    """A line in the vertical plane ahead, the same across the whole width; the rover starts on level ground before it.

    A shape reads only the keys that are its own.
    """

    between_runs: ClassVar[tuple[str, ...]] = ()

    shape: Literal["step", "ledge", "slope", "points"] = key(
        "step",
        "step: a face that rises; ledge: an upright face down, with a plate at its foot; slope: faces, one "
        "after the other; points: any line",
    )
    start_m: float = bounded(
        0.15, 0.001, 50, "level ground before the front wheels' rims, up to where the shape begins"
    )
    height_m: float = bounded(0.1, 0.001, 2, "of a step or ledge")
    angle_deg: float = bounded(90.0, 5, 90, "of the face of a step to the horizontal; 90: upright")
    plate_deg: float = bounded(0.0, 0, 80, "of a ledge: inclination of the plate at its foot, which rises ahead")
    plate_m: float = bounded(0.5, 0.01, 100, "of a ledge: length of that plate")
    faces: Annotated[tuple[_FaceConfig, ...], Field(strict=False, min_length=1, max_length=20)] = key(
        (_FaceConfig(angle_deg=15.0), _FaceConfig(angle_deg=30.0)), "of a slope, in the order of the drive"
    )
    points_m: Annotated[tuple[_ProfileCorner, ...], Field(strict=False, min_length=1, max_length=50)] = key(
        ((0.5, 0.1), (1.0, 0.1)), "of points: corners after the level ground, x ahead and z up from its end"
    )
    behind: Literal["plateau", "drop", "nothing"] = key(
        "plateau",
        "what lies behind the last corner: level ground; level ground and then a ledge; or level ground "
        "that ends, with nothing behind it",
    )
    top_m: float = bounded(0.6, 0, 100, "drop, nothing: length of the level ground behind the shape")
    drop_m: float = bounded(0.1, 0.001, 2, "drop: height of the ledge behind it")
    plate: _SensedPlateConfig | None = key(None, "a plate on the force sensors; null: none", exclude_if=is_none)


class ScanConfig(Section):
    """A file of points or triangles, read once when the config is loaded; `map` then has the ground that came of it.

    With ground.kind mesh it has the triangles themselves; spacing, outliers and holes do not count then.
    """

    between_runs: ClassVar[tuple[str, ...]] = ()

    file: str = Field(
        min_length=1,
        max_length=500,
        description="CSV (x,y,z), PLY, OBJ, STL, LAS, LAZ, ASC or GeoTIFF, seen from the config's folder",
    )
    units: Literal["m", "cm", "mm", "ft"] = Field(description="unit of all coordinates in the file")
    height_units: Literal["m", "cm", "mm", "ft"] | None = key(
        None, "unit of the coordinate that points up, if it is another one; null: as units"
    )
    classes: Annotated[tuple[Annotated[int, Field(ge=0, le=255)], ...], Field(strict=False, min_length=1)] | None = key(
        None, "classes of the points of a LAS or LAZ file that are ground, as [2]; null: all points"
    )
    up: Literal["x", "y", "z"] = Field(
        description="coordinate of the file that points up; the other two follow it cyclically (z up: x, y)"
    )
    start_m: Place = Field(description="where the rover starts, both level coordinates of the file, in m")
    heading_deg: float = bounded(
        0.0, -360, 360, "heading of the rover at the start, from the first level axis to the second"
    )
    spacing_m: float = bounded(0.1, 0.01, 1, "spacing of the height map's nodes; a coarser one smooths a rough scan")
    outlier_m: float = bounded(0.15, 0.01, 10, "a point this far above or below the ground around it is left out")
    hole_m: float = bounded(0.5, 0, 5, "widest hole that is filled, by interpolation")
    map: str | None = key(
        None,
        "the height map or mesh, with the digest of the file; written by the program that reads it",
        max_length=160_000,
    )


Corner = Annotated[
    tuple[Annotated[float, Field(ge=-1e4, le=1e4)], Annotated[float, Field(ge=-1e4, le=1e4)]], Field(strict=False)
]


class SoilRegionConfig(Section):
    """A polygon with another soil, or with rock below the soil around; a later region lies over earlier ones."""

    stiffness: float = Field(ge=1e3, le=1e12, description="k of p = k z^n [N/m^(2+n)]; rock: 1e9 and more")
    exponent: float = bounded(0.75, 0.3, 1.75, "n of p = k z^n")
    cohesion_Pa: float = bounded(0.0, 0, 1e6, "c of the shear limit")
    friction_angle_deg: float = bounded(30.0, 0, 60, "internal friction angle of the shear limit")
    rebound: float = positive(0.07, 1, "part of the sinkage that springs back behind the wheel")
    slip_modulus: float = bounded(0.185, 0.01, 10, "K of the traction's tanh(slip/K)")
    corners_m: Annotated[tuple[Corner, ...], Field(strict=False, min_length=3, max_length=64)] = Field(
        description="its corners, x ahead of the rover's start and y to port of it"
    )
    border_m: float = bounded(0.2, 0.02, 5, "width over which the soils change, about its edge")
    under_m: float = bounded(0.0, 0, 2, "depth at which its soil begins, below the soil around; 0: at the surface")
    slip_sinkage: float | None = bounded(None, 0, 10, "a of its slip sinkage, as soil.slip_sinkage", exclude_if=is_none)
    density_kgpm3: float | None = bounded(None, 100, 10000, "its density, as soil.density_kgpm3", exclude_if=is_none)


class SoilConfig(Section):
    """The soil in the bed, as `models.wheel.Soil` takes it, and the plant's additions to it."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    stiffness: float = bounded(1.783e6, 1e3, 1e9, "k of p = k z^n [N/m^(2+n)]")
    exponent: float = bounded(0.75, 0.3, 1.75, "n of p = k z^n")
    cohesion_Pa: float = bounded(0.0, 0, 1e6, "c of the shear limit")
    friction_angle_deg: float = bounded(30.0, 0, 60, "internal friction angle of the shear limit")
    rebound: float = positive(0.07, 1, "part of the sinkage that springs back behind the wheel")
    slip_modulus: float = bounded(
        0.185, 0.01, 10, "K of the traction over slip; with shear oida or wong the slip of the peak"
    )
    shear: Literal["janosi_hanamoto", "exponential", "oida", "wong"] = key(
        "janosi_hanamoto",
        "shear stress over slip: nears its limit as tanh(slip/K), as 1 - exp(-slip/K), or (oida, wong) peaks and falls",
    )
    shear_residual: float = bounded(
        0.6,
        0.3,
        0.99,
        "shear stress far beyond the peak, over the limit; with shear oida or wong. Below 0.3 the lumped "
        "traction is too far from the stresses over the contact",
    )
    damping_spm: float = bounded(2.0, 0, 1000, "the normal force increases by this factor times the sinkage rate")
    slip_speed_mps: float = bounded(0.02, 1e-4, 1, "below this speed, slip is computed with this speed")
    shear_displacement_m: float = bounded(
        0.001, 1e-5, 0.1, "shear displacement of the soil at its shear limit; holds a standing wheel"
    )
    shear_damping_s: float = bounded(0.005, 0, 1, "retardation time of the shearing soil")
    rut: Literal["fresh", "remembered"] = key(
        "fresh", "soil under a wheel that follows another: fresh, or compacted by the wheels ahead"
    )
    peak_offset: float = bounded(0.4, 0, 1, "c_1 of the angle of largest stress, wheel.variant xu")
    regions: Annotated[tuple[SoilRegionConfig, ...], Field(strict=False, max_length=16)] = key(
        (), "regions of another soil, or of rock below the soil; empty: it is the same everywhere"
    )
    peak_slope: float = bounded(0.15, 0, 1, "c_2 of that angle: how it grows with slip, variant xu")
    lateral_rate: float = bounded(3.0, 0, 1000, "B of the lateral force, variant xu [1/rad]")
    slip_sinkage: float | None = bounded(
        None,
        0,
        10,
        "a of slip sinkage: a wheel that slips sinks further, about by exp(a |slip|); null, 0: it does not",
        exclude_if=is_none,
    )
    density_kgpm3: float | None = bounded(
        None,
        100,
        10000,
        "density of the soil that a wheel pushes ahead of it, against passive earth pressure; null: it pushes none",
        exclude_if=is_none,
    )
    slip_modulus_exponent: float | None = bounded(
        None, -2, 2, "m of K (v/v_0)^m, the slip modulus at a forward speed v; null: it is the same", exclude_if=is_none
    )
    slip_modulus_speed_mps: float | None = bounded(
        None, 1e-3, 10, "v_0 at which K is slip_modulus; with that exponent", exclude_if=is_none
    )

    @property
    def residual(self) -> float | None:
        """Shear stress far beyond the peak, over the limit; None: the shear law has no peak."""
        return self.shear_residual if self.shear in ("oida", "wong") else None


class GroundConfig(Section):
    """The ground under the rover; `soil` and `scan` are of the section soil, the others hard."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    kind: Literal["soil", "scan", "firm", "mesh", "rigid", "nonsmooth", "none"] = key(
        "soil",
        "soil, scan (soil with the shape of a scan), firm (visco-elastic), mesh (firm, the triangles of a "
        "scan), rigid (unilateral constraints), nonsmooth (hard, with friction and impacts), or none and no weight",
        json_schema_extra={"meant": {"hard": "firm", "concrete": "firm", "soft": "soil", "sand": "soil"}},
    )
    law: Literal["kelvin_voigt", "visco_elastic"] = key(
        "kelvin_voigt", "contact law of firm ground; kelvin_voigt is linear"
    )
    stiffness: float = bounded(1e6, 1e3, 1e10, "stiffness of firm ground under one wheel [N/m^exponent]")
    exponent: float = bounded(1.0, 1, 3, "exponent of the depth in firm ground; 1 with kelvin_voigt")
    damping_Nspm: float = bounded(5e3, 0, 1e8, "damping of firm ground under one wheel, kelvin_voigt")
    damping_spm: float = bounded(
        2.0, 0, 1000, "visco_elastic: the force increases by this factor times the rate of the depth"
    )
    friction: float = bounded(
        0.6, 0, 2, "Coulomb coefficient of firm and nonsmooth ground; 0: the rover slides without friction"
    )
    friction_speed_mps: float = bounded(0.005, 1e-4, 1, "below this speed, that friction is proportional to the speed")
    friction_holds: bool = key(
        False,
        "friction of firm ground holds a wheel that it stops, which otherwise creeps; with a profile it always does",
        exclude_if=not_,
    )
    hold_stiffness_Npm: float = bounded(
        8e5, 1e3, 1e10, "tangential stiffness of friction that holds a wheel, at each contact"
    )
    hold_damping_Nspm: float = bounded(4e3, 0, 1e8, "damping of that friction")
    restitution: float = bounded(0.1, 0, 1, "coefficient of restitution of wheels on nonsmooth ground")
    impact_law: Literal["newton", "poisson", "stronge"] = key(
        "stronge", "what that coefficient compares: speeds (may make energy with friction), impulses, or energies"
    )
    rolling: bool = key(True, "wheels do not slip on rigid ground; false: the rover slides without friction")
    gravity_mps2: float = bounded(9.81, 0.1, 30, "downwards; another than the Earth's is for simulated rigs")
    pitch_deg: float = bounded(0.0, -30, 30, "slope, positive if the ground rises ahead")
    roll_deg: float = bounded(0.0, -30, 30, "slope, positive if the ground rises to port")
    wheel_height_m: (
        Annotated[
            tuple[Annotated[float, Field(ge=-0.3, le=0.3)], ...], Field(strict=False, min_length=1, max_length=64)
        ]
        | None
    ) = key(None, "height of the ground under each wheel, over level or slope: a list; null: even")
    scan: ScanConfig | None = key(None, "shape of the ground, with kind scan or mesh; null: level or a slope")
    profile: ProfileConfig | None = key(
        None, "shape of firm or nonsmooth ground: step, ledge, compound slope or a line; null: level or a slope"
    )

    @property
    def on_soil(self) -> bool:
        """The wheels stand on soil, of whatever shape."""
        return self.kind in ("soil", "scan")

    @property
    def is_firm(self) -> bool:
        """It gives by the contact law `law`, of whatever shape."""
        return self.kind in ("firm", "mesh")

    @property
    def glides(self) -> bool:
        """The wheels cannot drive the rover: it has its speed from the start on."""
        smooth = self.friction == 0.0 if self.is_firm or self.kind == "nonsmooth" else not self.rolling
        return self.kind == "none" or (not self.on_soil and smooth)


class PlateConfig(Section):
    """The shield before each front wheel: 18 x 16 in (MacMahon 2016, 6.2.3); which side is up is an assumption."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    width_m: float = bounded(0.4572, 0.01, 5, "across, 18 in")
    height_m: float = bounded(0.4064, 0.01, 5, "up the obstacle's plane, 16 in")
    centre_up_m: float = bounded(0.25, 0, 5, "its middle, up the plane from where that meets the ground")
    centre_across_m: float = bounded(
        0.0, -2, 2, "its middle, to port of where the wheel hits if the rover drives straight"
    )
    snap_share: float = bounded(1.0, 0, 1, "part of the force at a slip off an edge with which the shield snaps back")


class ObstacleConfig(Section):
    """Contact of a front wheel with the obstacle's plate, and the leg behind it."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    law: Literal["hunt_crossley", "lankarani_nikravesh", "lee_wang", "gonthier", "hertz", "kelvin_voigt"] = key(
        "hunt_crossley", "contact law"
    )
    legs: Literal["lumped", "each"] = key(
        "lumped", "legs and plate as one contact, or each leg with a separate spring in front of the plate"
    )
    leg_stiffness_Npm: float = bounded(
        5.5e4, 1e3, 1e8, "stiffness of each leg; lumped: of contact and leg [N/m^exponent]"
    )
    leg_stiffness_up_Npm: float | None = bounded(
        None, 1e3, 1e8, "upward stiffness of each leg, with legs each; null: as leg_stiffness_Npm"
    )
    leg_backlash_m: float = bounded(0.0, 0, 0.02, "free play of each leg before its spring bites, with legs each")
    leg_damping_Nspm: float = bounded(70.0, 0, 1e6, "damping of each leg's spring, with legs each")
    plate_stiffness: float = bounded(1e9, 1e3, 1e12, "stiffness of the plate, with legs each [N/m^exponent]")
    exponent: float = bounded(1.0, 1, 3, "exponent of the depth in the contact law; 1 with kelvin_voigt")
    restitution: float = positive(0.9, 1, "restitution, as the law uses it; hertz and kelvin_voigt do not")
    damping_Nspm: float = bounded(70.0, 0, 1e6, "damping of the contact, kelvin_voigt")
    plate: PlateConfig | None = key(None, "the simulated rig's plate and its edges; null: the plane has no end")
    friction: float = bounded(0.1, 0, 2, "Coulomb coefficient of wheel on plate")
    friction_speed_mps: float = bounded(0.005, 1e-4, 1, "below this speed, friction is proportional to the speed")
    hold_stiffness_Npm: float | None = bounded(
        None,
        1e3,
        1e10,
        "tangential stiffness of friction that holds a wheel on the plate, at each contact; null: such a wheel creeps",
        exclude_if=is_none,
    )

    def leg_compliance_mpN(self, angle_deg: float) -> float:
        """Compliance of a leg along the normal of a plate at this angle [m/N]; legs alike in all directions by default.

        A force along the normal deflects a leg by its parts forward and up; their parts along the normal add up.
        """
        if self.leg_stiffness_up_Npm is None:
            return 1.0 / self.leg_stiffness_Npm
        forward, up = math.sin(math.radians(angle_deg)), math.cos(math.radians(angle_deg))
        return forward * forward / self.leg_stiffness_Npm + up * up / self.leg_stiffness_up_Npm
