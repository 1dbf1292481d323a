"""The experiment's part of a rig config: how the trial is driven, and the rover, soil and obstacle it is about.

These numbers are the nominal model: the rover twin computes with them, the simulated rig with its own, perturbed ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from hil.config.base import Section

if TYPE_CHECKING:
    from models.rover.rcp import RcpParameters


class Loop(Section):
    """The fixed-step control loop."""

    rate_hz: int = Field(1000, ge=100, le=4000, description="ticks a second")


class Realtime(Section):
    """What the loop asks the kernel for with the realtime clock; what is refused is said once and done without."""

    fifo_priority: int = Field(80, ge=0, le=98, description="SCHED_FIFO priority of the loop, 0: ordinary scheduling")
    lock_memory: bool = Field(True, description="keep all memory in RAM")
    awake: bool = Field(True, description="keep idle processors from sleeping deeply")
    spin_share: float = Field(0.0, ge=0, le=0.2, description="share of the period spent spinning for the deadline")
    cpus: Annotated[tuple[Annotated[int, Field(ge=0, le=4095)], ...], Field(strict=False)] = Field(
        (), max_length=64, description="processors that the loop may run on, by number; none: any"
    )
    timer_slack_us: float = Field(
        1.0, ge=0.001, le=1000, description="how late the kernel may wake it where SCHED_FIFO is refused"
    )


class Trial(Section):
    """One impact trial: drive straight into the obstacle at constant speed, cut at the impact."""

    angle_deg: float = Field(60.0, ge=10, le=90, description="inclination of the obstacle to the ground")
    speed_mps: float = Field(0.07, ge=0.005, le=0.2, description="set forward speed at impact")
    start_distance_m: float = Field(
        0.3, ge=0.01, le=5, description="from the front wheels to the obstacle at the start"
    )
    ramp_s: float = Field(0.5, ge=0.05, le=10, description="from rest to the set speed")
    settle_s: float = Field(2.0, ge=0.5, le=20, description="how long the trial goes on after the impact, drives cut")
    timeout_s: float = Field(30.0, ge=1, le=2000, description="without an impact by then the trial is aborted")


class RoverAssumptions(Section):
    """The rover: what no source publishes about it. Positions come from MacMahon 2016, Table 4-1."""

    type: Literal["rcp"] = Field("rcp", description="which rover", json_schema_extra={"note": "only the RCP yet"})
    wheel_mass_kg: float = Field(4.0, ge=0.1, le=100, description="of each of the six wheels")
    leg_mass_kg: float = Field(2.0, ge=0.1, le=100, description="of each leg")
    steer_mass_kg: float = Field(1.0, ge=0.1, le=100, description="of each steering unit")
    arm_mass_kg: float = Field(1.0, ge=0.1, le=100, description="of each arm, rigid on its bogie")
    bogie_mass_kg: float = Field(4.0, ge=0.1, le=100, description="of each of the three bogies")
    body_mass_kg: float = Field(60.0, ge=1, le=1000, description="of the main body")
    added_mass_kg: float = Field(0.0, ge=0, le=500, description="of added weights, half at either end of the body")
    wheel_width_m: float = Field(0.15, ge=0.01, le=1, description="of each wheel")
    body_length_m: float = Field(0.7, ge=0.05, le=5, description="of the main body, a box for its inertia")
    body_width_m: float = Field(0.5, ge=0.05, le=5, description="of the main body")
    body_height_m: float = Field(0.3, ge=0.05, le=5, description="of the main body")
    bogie_length_m: float = Field(0.55, ge=0.05, le=5, description="of each bogie, a box for its inertia")

    @property
    def wheel_radius_m(self) -> float:
        """Radius of every wheel: the wheel height of MacMahon 2016, Table 4-1."""
        return 0.175

    def parameters(self) -> RcpParameters:
        """The same numbers as `models.rover.rcp` takes them [kg, m]."""
        from models.rover.rcp import RcpParameters  # compiles kernels: not needed to read a config

        values = self.model_dump(exclude={"type"})
        return RcpParameters(**{name.rsplit("_", 1)[0]: value for name, value in values.items()})


class SoilAssumptions(Section):
    """The soil in the bed, as `models.wheel.Soil` takes it, and what the plant adds to it."""

    stiffness: float = Field(1.783e6, ge=1e3, le=1e9, description="k of p = k z^n [N/m^(2+n)]")
    exponent: float = Field(0.75, ge=0.3, le=1.75, description="n of p = k z^n")
    cohesion_Pa: float = Field(0.0, ge=0, le=1e6, description="c of the shear limit")
    friction_angle_deg: float = Field(30.0, ge=0, le=60, description="internal friction angle of the shear limit")
    rebound: float = Field(0.07, gt=0, le=1, description="part of the sinkage that springs back behind the wheel")
    slip_modulus: float = Field(0.185, ge=0.01, le=10, description="K of the traction's tanh(slip/K)")
    damping_spm: float = Field(2.0, ge=0, le=1000, description="the normal force grows by this times the sinkage rate")
    slip_speed_mps: float = Field(0.02, ge=1e-4, le=1, description="slower than this, slip is measured against it")
    shear_displacement_m: float = Field(
        0.001, ge=1e-5, le=0.1, description="by which the soil is sheared at its shear limit; holds a standing wheel"
    )
    shear_damping_s: float = Field(0.005, ge=0, le=1, description="retardation time of the shearing soil")


class WheelModel(Section):
    """How the wheel-soil forces are computed."""

    variant: Literal["exact", "published"] = Field(
        "exact", description="column integrals, or the thesis's closed forms"
    )


class ObstacleContact(Section):
    """Contact of a front wheel with the obstacle's plate, legs and plate lumped (Hunt-Crossley)."""

    leg_stiffness_Npm: float = Field(5.5e4, ge=1e3, le=1e8, description="of each front wheel's contact and leg")
    exponent: float = Field(1.0, ge=1, le=3, description="of the depth in the contact law")
    restitution: float = Field(0.9, gt=0, le=1, description="speed after over speed before the impact")
    friction: float = Field(0.1, ge=0, le=2, description="Coulomb coefficient of wheel on plate")
    friction_speed_mps: float = Field(
        0.005, ge=1e-4, le=1, description="slower than this, friction grows in proportion"
    )
