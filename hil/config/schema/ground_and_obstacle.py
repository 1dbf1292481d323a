"""The models' part of a rig config: ground, soil and obstacle.

These numbers are the nominal model: the rover twin uses them, the simulated rig uses perturbed ones.

The scan of uneven ground: a file of points, and what they mean.

Regions of another soil in the bed: polygons.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from hil.config.schema.base import Section, is_none
from hil.config.schema.profile import ProfileConfig

Place = Annotated[tuple[float, float], Field(strict=False)]


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
    height_units: Literal["m", "cm", "mm", "ft"] | None = Field(
        None, description="unit of the coordinate that points up, if it is another one; null: as units"
    )
    classes: Annotated[tuple[Annotated[int, Field(ge=0, le=255)], ...], Field(strict=False, min_length=1)] | None = (
        Field(None, description="classes of the points of a LAS or LAZ file that are ground, as [2]; null: all points")
    )
    up: Literal["x", "y", "z"] = Field(
        description="coordinate of the file that points up; the other two follow it cyclically (z up: x, y)"
    )
    start_m: Place = Field(description="where the rover starts, both level coordinates of the file, in m")
    heading_deg: float = Field(
        0.0, ge=-360, le=360, description="heading of the rover at the start, from the first level axis to the second"
    )
    spacing_m: float = Field(
        0.1, ge=0.01, le=1, description="spacing of the height map's nodes; a coarser one smooths a rough scan"
    )
    outlier_m: float = Field(
        0.15, ge=0.01, le=10, description="a point this far above or below the ground around it is left out"
    )
    hole_m: float = Field(0.5, ge=0, le=5, description="widest hole that is filled, by interpolation")
    map: str | None = Field(
        None,
        max_length=160_000,
        description="the height map or mesh, with the digest of the file; written by the program that reads it",
    )


Corner = Annotated[
    tuple[Annotated[float, Field(ge=-1e4, le=1e4)], Annotated[float, Field(ge=-1e4, le=1e4)]], Field(strict=False)
]


class SoilRegionConfig(Section):
    """A polygon with a soil of its own, or with rock below the soil around; a later region lies over earlier ones."""

    stiffness: float = Field(ge=1e3, le=1e12, description="k of p = k z^n [N/m^(2+n)]; rock: 1e9 and more")
    exponent: float = Field(0.75, ge=0.3, le=1.75, description="n of p = k z^n")
    cohesion_Pa: float = Field(0.0, ge=0, le=1e6, description="c of the shear limit")
    friction_angle_deg: float = Field(30.0, ge=0, le=60, description="internal friction angle of the shear limit")
    rebound: float = Field(0.07, gt=0, le=1, description="part of the sinkage that springs back behind the wheel")
    slip_modulus: float = Field(0.185, ge=0.01, le=10, description="K of the traction's tanh(slip/K)")
    corners_m: Annotated[tuple[Corner, ...], Field(strict=False, min_length=3, max_length=64)] = Field(
        description="its corners, x ahead of the rover's start and y to port of it"
    )
    border_m: float = Field(0.2, ge=0.02, le=5, description="width over which the soils change, about its edge")
    under_m: float = Field(
        0.0, ge=0, le=2, description="depth at which its soil begins, below the soil around; 0: at the surface"
    )


class SoilConfig(Section):
    """The soil in the bed, as `models.wheel.Soil` takes it, and the plant's additions to it."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    stiffness: float = Field(1.783e6, ge=1e3, le=1e9, description="k of p = k z^n [N/m^(2+n)]")
    exponent: float = Field(0.75, ge=0.3, le=1.75, description="n of p = k z^n")
    cohesion_Pa: float = Field(0.0, ge=0, le=1e6, description="c of the shear limit")
    friction_angle_deg: float = Field(30.0, ge=0, le=60, description="internal friction angle of the shear limit")
    rebound: float = Field(0.07, gt=0, le=1, description="part of the sinkage that springs back behind the wheel")
    slip_modulus: float = Field(
        0.185,
        ge=0.01,
        le=10,
        description="K of the traction's tanh(slip/K); with shear oida or wong the slip of the peak",
    )
    shear: Literal["janosi_hanamoto", "oida", "wong"] = Field(
        "janosi_hanamoto", description="shear stress over slip: nears its limit, or (oida, wong) peaks and falls"
    )
    shear_residual: float = Field(
        0.6,
        ge=0.3,
        le=0.99,
        description="shear stress far beyond the peak, over the limit; with shear oida or wong. Below 0.3 the lumped "
        "traction is too far from the stresses over the contact",
    )
    damping_spm: float = Field(
        2.0, ge=0, le=1000, description="the normal force increases by this factor times the sinkage rate"
    )
    slip_speed_mps: float = Field(0.02, ge=1e-4, le=1, description="below this speed, slip is computed with this speed")
    shear_displacement_m: float = Field(
        0.001, ge=1e-5, le=0.1, description="shear displacement of the soil at its shear limit; holds a standing wheel"
    )
    shear_damping_s: float = Field(0.005, ge=0, le=1, description="retardation time of the shearing soil")
    rut: Literal["fresh", "remembered"] = Field(
        "fresh", description="soil under a wheel that follows another: fresh, or compacted by the wheels ahead"
    )
    peak_offset: float = Field(0.4, ge=0, le=1, description="c_1 of the angle of largest stress, wheel.variant xu")
    regions: Annotated[tuple[SoilRegionConfig, ...], Field(strict=False, max_length=16)] = Field(
        (), description="regions of another soil, or of rock below the soil; empty: it is the same everywhere"
    )
    peak_slope: float = Field(0.15, ge=0, le=1, description="c_2 of that angle: how it grows with slip, variant xu")
    lateral_rate: float = Field(3.0, ge=0, le=1000, description="B of the lateral force, variant xu [1/rad]")
    slip_sinkage: float | None = Field(
        None,
        ge=0,
        le=10,
        exclude_if=is_none,
        description="a of slip sinkage: a wheel that slips sinks further, about by exp(a |slip|); null, 0: it does not",
    )

    @property
    def residual(self) -> float | None:
        """Shear stress far beyond the peak, over the limit; None: the shear law has no peak."""
        return None if self.shear == "janosi_hanamoto" else self.shear_residual


class GroundConfig(Section):
    """The ground under the rover; `soil` and `scan` are of the section soil, the others hard."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    kind: Literal["soil", "scan", "firm", "mesh", "rigid", "nonsmooth", "none"] = Field(
        "soil",
        description="soil, scan (soil with the shape of a scan), firm (visco-elastic), mesh (firm, the triangles of a "
        "scan), rigid (unilateral constraints), nonsmooth (hard, with friction and impacts), or none and no weight",
    )
    law: Literal["kelvin_voigt", "visco_elastic"] = Field(
        "kelvin_voigt", description="contact law of firm ground; kelvin_voigt is linear"
    )
    stiffness: float = Field(
        1e6, ge=1e3, le=1e10, description="stiffness of firm ground under one wheel [N/m^exponent]"
    )
    exponent: float = Field(1.0, ge=1, le=3, description="exponent of the depth in firm ground; 1 with kelvin_voigt")
    damping_Nspm: float = Field(5e3, ge=0, le=1e8, description="damping of firm ground under one wheel, kelvin_voigt")
    damping_spm: float = Field(
        2.0, ge=0, le=1000, description="visco_elastic: the force increases by this factor times the rate of the depth"
    )
    friction: float = Field(
        0.6,
        ge=0,
        le=2,
        description="Coulomb coefficient of firm and nonsmooth ground; 0: the rover slides without friction",
    )
    friction_speed_mps: float = Field(
        0.005, ge=1e-4, le=1, description="below this speed, that friction is proportional to the speed"
    )
    hold_stiffness_Npm: float = Field(
        8e5,
        ge=1e3,
        le=1e10,
        description="with a profile: tangential stiffness of friction that holds a wheel, at each contact",
    )
    hold_damping_Nspm: float = Field(4e3, ge=0, le=1e8, description="with a profile: damping of that friction")
    restitution: float = Field(0.1, ge=0, le=1, description="coefficient of restitution of wheels on nonsmooth ground")
    impact_law: Literal["newton", "poisson", "stronge"] = Field(
        "stronge",
        description="what that coefficient compares: speeds (may make energy with friction), impulses, or energies",
    )
    rolling: bool = Field(
        True, description="wheels do not slip on rigid ground; false: the rover slides without friction"
    )
    gravity_mps2: float = Field(
        9.81, ge=0.1, le=30, description="downwards; another than the Earth's is for simulated rigs"
    )
    pitch_deg: float = Field(0.0, ge=-30, le=30, description="slope, positive if the ground rises ahead")
    roll_deg: float = Field(0.0, ge=-30, le=30, description="slope, positive if the ground rises to port")
    wheel_height_m: (
        Annotated[
            tuple[Annotated[float, Field(ge=-0.3, le=0.3)], ...], Field(strict=False, min_length=1, max_length=64)
        ]
        | None
    ) = Field(None, description="height of the ground under each wheel, over level or slope: a list; null: even")
    scan: ScanConfig | None = Field(
        None, description="shape of the ground, with kind scan or mesh; null: level or a slope"
    )
    profile: ProfileConfig | None = Field(
        None,
        description="shape of firm or nonsmooth ground: step, ledge, compound slope or a line; null: level or a slope",
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

    width_m: float = Field(0.4572, ge=0.01, le=5, description="across, 18 in")
    height_m: float = Field(0.4064, ge=0.01, le=5, description="up the obstacle's plane, 16 in")
    centre_up_m: float = Field(
        0.25, ge=0, le=5, description="its middle, up the plane from where that meets the ground"
    )
    centre_across_m: float = Field(
        0.0, ge=-2, le=2, description="its middle, to port of where the wheel hits if the rover drives straight"
    )
    snap_share: float = Field(
        1.0, ge=0, le=1, description="part of the force at a slip off an edge with which the shield snaps back"
    )


class ObstacleConfig(Section):
    """Contact of a front wheel with the obstacle's plate, and the leg behind it."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    law: Literal["hunt_crossley", "lankarani_nikravesh", "lee_wang", "gonthier", "hertz", "kelvin_voigt"] = Field(
        "hunt_crossley", description="contact law"
    )
    legs: Literal["lumped", "each"] = Field(
        "lumped", description="legs and plate as one contact, or each leg with a separate spring in front of the plate"
    )
    leg_stiffness_Npm: float = Field(
        5.5e4, ge=1e3, le=1e8, description="stiffness of each leg; lumped: of contact and leg [N/m^exponent]"
    )
    leg_stiffness_up_Npm: float | None = Field(
        None, ge=1e3, le=1e8, description="upward stiffness of each leg, with legs each; null: as leg_stiffness_Npm"
    )
    leg_backlash_m: float = Field(
        0.0, ge=0, le=0.02, description="free play of each leg before its spring bites, with legs each"
    )
    leg_damping_Nspm: float = Field(70.0, ge=0, le=1e6, description="damping of each leg's spring, with legs each")
    plate_stiffness: float = Field(
        1e9, ge=1e3, le=1e12, description="stiffness of the plate, with legs each [N/m^exponent]"
    )
    exponent: float = Field(
        1.0, ge=1, le=3, description="exponent of the depth in the contact law; 1 with kelvin_voigt"
    )
    restitution: float = Field(
        0.9, gt=0, le=1, description="restitution, as the law uses it; hertz and kelvin_voigt do not"
    )
    damping_Nspm: float = Field(70.0, ge=0, le=1e6, description="damping of the contact, kelvin_voigt")
    plate: PlateConfig | None = Field(
        None, description="the simulated rig's plate and its edges; null: the plane has no end"
    )
    friction: float = Field(0.1, ge=0, le=2, description="Coulomb coefficient of wheel on plate")
    friction_speed_mps: float = Field(
        0.005, ge=1e-4, le=1, description="below this speed, friction is proportional to the speed"
    )

    def leg_compliance_mpN(self, angle_deg: float) -> float:
        """Compliance of a leg along the normal of a plate at this angle [m/N]; legs alike in all directions by default.

        A force along the normal deflects a leg by its parts forward and up; their parts along the normal add up.
        """
        if self.leg_stiffness_up_Npm is None:
            return 1.0 / self.leg_stiffness_Npm
        forward, up = math.sin(math.radians(angle_deg)), math.cos(math.radians(angle_deg))
        return forward * forward / self.leg_stiffness_Npm + up * up / self.leg_stiffness_up_Npm
