"""The normal-force distribution's part of a rig config: what is wanted when, and the controller.

The air cylinders' part of a rig config.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from drivers.section import CalibrationDate
from hil.config.problems import Problem
from hil.config.schema.base import Section
from hil.config.schema.experiment_section import ExperimentSection, WholeConfig
from hil.messages.load_limits import LoadLimits
from hil.messages.loads import LoadMode, LoadModeName, goal_errors, load_modes

Share = Annotated[float, Field(ge=0, le=1)]


class _LoadStepConfig(Section):
    """Part of a run with one wanted distribution of the wheels' loads."""

    for_s: float = Field(ge=0.1, le=600, description="duration of this step")
    mode: LoadModeName = Field(
        description="passive (valves off), hold (the torques of the moment), uniform, share, max_traction, unload"
    )
    share: Annotated[tuple[Share, ...], Field(strict=False)] = Field(
        (), max_length=64, description="share: of the whole load, one for each wheel, with sum 1"
    )
    wheel: str = Field("", max_length=100, description='unload: name of the wheel that is made light; "": none')


class NormalForceConfig(ExperimentSection):
    """A drive with controlled wheel loads, experiment normal_force; and the controller, of any other that has one."""

    between_runs: ClassVar[tuple[str, ...]] = ("speed_mps", "feedback")

    speed_mps: float = Field(0.05, ge=-10, le=10, description="set speed of the rims while it drives")
    steps: Annotated[tuple[_LoadStepConfig, ...], Field(strict=False)] = Field(
        (_LoadStepConfig(for_s=8.0, mode="passive"), _LoadStepConfig(for_s=8.0, mode="uniform")),
        max_length=1000,
        description="wanted distributions, in order",
    )
    period_ms: float = Field(
        10.0, ge=1, le=100, description="time between two allocations; pressures are controlled in every tick"
    )
    feedback: Literal["sensors", "twin"] = Field(
        "sensors", description="loads from the leg sensors where there are any, or always from the rover twin"
    )
    smoothing_s: float = Field(
        0.6,
        ge=0,
        le=10,
        description="time constant of the filter of loads and torques before an allocation: loads answer a torque "
        "late, because soil and slip give way",
    )
    torque_limit_Nm: float = Field(60.0, ge=0.1, le=1e4, description="largest torque of a cylinder on its joint")
    torque_slew_Nmps: float = Field(
        60.0, ge=1, le=1e5, description="fastest change of a wanted torque, in every change of mode as well"
    )
    least_load_N: float = Field(20.0, ge=0, le=1e5, description="least load wanted on a wheel")
    most_load_N: float | None = Field(None, ge=1, le=1e5, description="largest load wanted on a wheel; null: any")
    load_margin_N: float = Field(
        10.0,
        ge=0,
        le=1e4,
        description="the controller keeps loads this far inside least_load_N and most_load_N: what estimate, friction "
        "of the cylinders and valves may be wrong by",
    )
    dead_band_kPa: float = Field(
        4.0, ge=0.1, le=100, description="smaller changes of the mean pressure are not worth a switching of a valve"
    )
    switchings_per_s: float = Field(
        4.0,
        gt=0,
        le=100,
        description="pulses of an on-off valve a second, at most, for its life; a slow valve gets fewer",
    )
    integral_per_s: float = Field(
        1.0,
        ge=0,
        le=100,
        description="integral gain of the regulators that are moved: correction per second of the error",
    )
    follow_kPa: float = Field(
        50.0, ge=1, le=1000, description="a chamber this far from its wanted pressure for follow_s: passive"
    )
    follow_s: float = Field(0.6, ge=0.05, le=10, description="time for which a chamber may be that far away")
    disagreement_N: float = Field(
        100.0, ge=1, le=1e5, description="a leg sensor this far from the rover twin for follow_s: passive"
    )

    @property
    def controls_loads(self) -> bool:
        """That is what it is for."""
        return True

    @property
    def rim_speed_mps(self) -> float | None:
        """The set speed."""
        return self.speed_mps

    @property
    def planned_way_m(self) -> tuple[float, ...]:
        """The way of all steps."""
        return (self.speed_mps * sum(step.for_s for step in self.steps),)

    @property
    def load_limits(self) -> LoadLimits:
        """Limits of loads and torques."""
        most_N = math.inf if self.most_load_N is None else self.most_load_N
        return LoadLimits(self.torque_limit_Nm, self.torque_slew_Nmps, self.least_load_N, most_N)

    def problems(self, config: WholeConfig) -> Iterator[Problem]:
        """Steps with goals that the rover has, and a speed that the limits allow."""
        if not config.layout.cylinders:
            return  # nothing can be controlled, which `load_cross_checks` says
        if not self.steps:
            yield Problem("normal_force.steps", "none", "one or more")
        limit_mps = config.limits.wheel_speed_radps * config.least_wheel_radius_m
        if abs(self.speed_mps) > limit_mps:
            allowed = f"at most {limit_mps:.3g} m/s either way (limits.wheel_speed_radps at the rim)"
            yield Problem("normal_force.speed_mps", f"{self.speed_mps:g} m/s", allowed, ("limits.wheel_speed_radps",))
        for number, step in enumerate(self.steps):
            for sentence in goal_errors(step.mode, step.share, step.wheel, config.layout.wheels):
                key = f"normal_force.steps.{number}.{'share' if step.mode == 'share' else 'wheel'}"
                yield Problem(key, sentence, f"a goal of mode {step.mode}", (f"normal_force.steps.{number}.mode",))
            if LoadMode[step.mode.upper()] not in load_modes(config.ground.kind):
                allowed = "another mode: the pull of the wheels is known on soil only"
                yield Problem(f"normal_force.steps.{number}.mode", step.mode, allowed, ("ground.kind",))


class LinkageConfig(Section):
    """Where a cylinder is pinned, seen along its joint's axis, with the joint as origin (MacMahon 2016, Fig. 6-1 b).

    Along is ahead for a side bogie and to starboard for the rear one: the side that a positive torque presses down.
    Places are those at joint angle 0. The thesis gives no numbers: all are assumptions.
    """

    post_along_m: float = Field(0.25, ge=-2, le=2, description="upper pin, on the post of the body, along")
    post_up_m: float = Field(0.33, ge=-2, le=2, description="upper pin, on the post of the body, up")
    clevis_along_m: float = Field(0.25, ge=-2, le=2, description="lower pin, in the clevis on the bogie, along")
    clevis_up_m: float = Field(0.0, ge=-2, le=2, description="lower pin, in the clevis on the bogie, up")
    retracted_m: float = Field(0.254, ge=0.01, le=3, description="from pin to pin with the cylinder retracted")


class _ValveConfig(Section):
    """The on-off valve of a chamber, and its line; only for model compressible. All numbers are assumptions."""

    conductance_lpsbar: float = Field(
        1.0, ge=1e-3, le=100, description="sonic conductance (ISO 6358) of valve and line, feeding [l/(s bar)]"
    )
    exhaust_lpsbar: float = Field(1.0, ge=1e-3, le=100, description="the same, open to atmosphere [l/(s bar)]")
    critical_ratio: float = Field(0.3, ge=0, le=0.9, description="critical pressure ratio (ISO 6358)")
    on_ms: float = Field(5.0, ge=0, le=1000, description="from the command until it opens; shorter commands do nothing")
    off_ms: float = Field(5.0, ge=0, le=1000, description="from the end of the command until it vents")
    least_on_ms: float = Field(0.0, ge=0, le=1000, description="shortest time that the valve itself stays open")
    line_m: float = Field(2.0, ge=0, le=50, description="length of the line from valve to cylinder")
    line_bore_mm: float = Field(4.3, ge=0.5, le=50, description="inner diameter of that line, a quarter-inch tube")
    dead_volume_ml: float = Field(5.0, ge=0.1, le=1000, description="volume of the chamber at the end of its stroke")
    polytropic_exponent: float = Field(1.2, ge=1, le=1.4, description="of the gas: 1 isothermal, 1.4 adiabatic")


class _FrictionConfig(Section):
    """Friction of piston and rod: sticks below the static limit, slides with Coulomb friction. Assumptions."""

    static_N: float = Field(15.0, ge=0, le=1000, description="largest load that it holds at rest")
    coulomb_N: float = Field(10.0, ge=0, le=1000, description="when sliding; at most static_N")
    stribeck_mps: float = Field(
        0.01, ge=1e-4, le=1, description="speed at which the first has fallen towards the second"
    )
    viscous_Nspm: float = Field(50.0, ge=0, le=1e4, description="in addition, proportional to the speed")
    presliding_mm: float = Field(0.1, ge=1e-3, le=5, description="elastic travel of the seals before they slide")


class _BottleConfig(Section):
    """The bottle of nitrogen and the regulator at its mouth; only for model compressible."""

    volume_l: float = Field(10.0, ge=0.01, le=1000, description="of the bottle: assumption")
    pressure_kPa: float = Field(
        12400.0, ge=0, le=40000, description="gauge, at the start: 1800 psi (MacMahon 2016, 6.1)"
    )
    droop_kPaspg: float = Field(
        5.0, ge=0, le=1000, description="the regulator's outlet falls by this for each g/s that flows: assumption"
    )


class CylinderSheet(Section):
    """The calibration of an air cylinder (MacMahon 2016, 6.1).

    The piston area with which its force is worked out from its pressures follows from the torque, or else from the
    force. The offsets are not used: they hold the weight of the bogie, and friction, whose sign depends on the way.
    """

    serial: str = Field("unknown", max_length=64, description="serial number on the cylinder")
    date: CalibrationDate | None = Field(None, description="of the calibration; null: not stated")
    torque_NmpkPa: float | None = Field(None, description="on its joint, by the pressure difference [N m/kPa]")
    force_NpkPa: float | None = Field(None, description="of its rod, by the pressure difference [N/kPa]")
    u95: float = Field(ge=0, le=1, description="half-width of the 95 % interval of either, relative")
    offset_N: float | None = Field(None, description="force at no pressure, by the fit; not used")
    offset_Nm: float | None = Field(None, description="torque at no pressure, by the fit; not used")


class CylindersConfig(Section):
    """The air cylinders on the bogies, all equal; only for a rover that has them."""

    between_runs: ClassVar[tuple[str, ...]] = ("supply_kPa",)

    joints: Annotated[tuple[Annotated[str, Field(max_length=100)], ...], Field(strict=False)] | None = Field(
        None,
        max_length=10,
        description="joints with a cylinder, in this order; null: the side bogies, if there are any",
    )
    ways: Literal["both", "extend", "retract"] = Field(
        "both", description="ways in which the valves push: a pair each, or one valve each as in MacMahon 2016, 6.1"
    )
    regulators: Literal["none", "common", "each"] = Field(
        "none",
        description="pressure regulators that are moved during a run: one for all cylinders, or one each",
    )
    model: Literal["first_order", "compressible"] = Field(
        "first_order", description="of the chambers: exponential with fill_time_s and vent_time_s, or compressible gas"
    )
    bore_mm: float = Field(38.1, ge=5, le=200, description="bore of each cylinder")
    rod_mm: float = Field(0.0, ge=0, le=199, description="diameter of its rod, which the retracting pressure lacks")
    stroke_mm: float = Field(152.4, ge=5, le=2000, description="stroke of each cylinder, 6 in (MacMahon 2016, 6.1)")
    supply_kPa: float = Field(
        207.0, ge=0, le=689, description="regulated gauge pressure; limits.cylinder_kPa limits it at arming"
    )
    fill_time_s: float = Field(
        0.05,
        ge=1e-3,
        le=10,
        description="time constant of filling a chamber; the load controller takes it for compressible gas as well",
    )
    vent_time_s: float = Field(0.03, ge=1e-3, le=10, description="time constant of venting a chamber, likewise")
    regulator_time_s: float = Field(
        0.02, ge=1e-3, le=10, description="time constant of a regulator's outlet, model compressible"
    )
    lever_m: float = Field(0.25, ge=0.01, le=2, description="arm about the bogie pivot, without a linkage")
    linkage: LinkageConfig | None = Field(
        None, description="pins of each cylinder; null: it has the constant arm lever_m and no ends of stroke"
    )
    friction: _FrictionConfig | None = Field(None, description="of each cylinder; null: none")
    valve: _ValveConfig = Field(default_factory=_ValveConfig, description="of each chamber, with compressible gas")
    bottle: _BottleConfig | None = Field(None, description="null: the supply keeps its pressure")
    calibration: dict[str, CylinderSheet] | None = Field(
        None,
        max_length=10,
        description="of `hil calibrate cylinder`, by the cylinders' names, like left",
        json_schema_extra={"note": "path of a calibration file, seen from the config's folder, or what would be in it"},
    )
