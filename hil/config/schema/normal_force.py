"""The sections of the controller of the wheels' loads and of the air cylinders."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from drivers.section import CalibrationDate
from hil.config.problems import Problem
from hil.config.schema.base import Listed, Section, bounded, key, positive, section
from hil.config.schema.experiment_section import ExperimentSection, WholeConfig
from hil.messages.loads import LoadLimits, LoadMode, LoadModeName, goal_errors, load_modes

Share = Annotated[float, Field(ge=0, le=1)]


class _LoadStepConfig(Section):
    """Part of a run with one wanted distribution of the wheels' loads."""

    for_s: float = Field(ge=0.1, le=600, description="duration of this step")
    mode: LoadModeName = Field(
        description="passive (valves off), hold (the torques of the moment), uniform, share, max_traction, unload"
    )
    share: Listed[Share] = key((), "share: of the whole load, one for each wheel, with sum 1", max_length=64)
    wheel: str = key("", 'unload: name of the wheel that is made light; "": none', max_length=100)


class NormalForceConfig(ExperimentSection):
    """A drive with controlled wheel loads, experiment normal_force; and the controller, of any other that has one."""

    between_runs: ClassVar[tuple[str, ...]] = ("speed_mps", "feedback")

    speed_mps: float = bounded(0.05, -10, 10, "set speed of the rims while it drives")
    steps: Listed[_LoadStepConfig] = key(
        (_LoadStepConfig(for_s=8.0, mode="passive"), _LoadStepConfig(for_s=8.0, mode="uniform")),
        "wanted distributions, in order",
        max_length=1000,
    )
    period_ms: float = bounded(10.0, 1, 100, "time between two allocations; pressures are controlled in every tick")
    feedback: Literal["sensors", "twin"] = key(
        "sensors", "loads from the leg sensors where there are any, or always from the rover twin"
    )
    smoothing_s: float = bounded(
        0.6,
        0,
        10,
        "time constant of the filter of loads and torques before an allocation: loads answer a torque "
        "late, because soil and slip give way",
    )
    torque_limit_Nm: float = bounded(60.0, 0.1, 1e4, "largest torque of a cylinder on its joint")
    torque_slew_Nmps: float = bounded(
        60.0, 1, 1e5, "fastest change of a wanted torque, in every change of mode as well"
    )
    least_load_N: float = bounded(20.0, 0, 1e5, "least load wanted on a wheel")
    most_load_N: float | None = bounded(None, 1, 1e5, "largest load wanted on a wheel; null: any")
    load_margin_N: float = bounded(
        10.0,
        0,
        1e4,
        "the controller keeps loads this far inside least_load_N and most_load_N: what estimate, friction "
        "of the cylinders and valves may be wrong by",
    )
    dead_band_kPa: float = bounded(
        4.0, 0.1, 100, "smaller changes of the mean pressure are not worth a switching of a valve"
    )
    switchings_per_s: float = positive(
        4.0, 100, "pulses of an on-off valve a second, at most, for its life; a slow valve gets fewer"
    )
    integral_per_s: float = bounded(
        1.0, 0, 100, "integral gain of the regulators that are moved: correction per second of the error"
    )
    follow_kPa: float = bounded(50.0, 1, 1000, "a chamber this far from its wanted pressure for follow_s: passive")
    follow_s: float = bounded(0.6, 0.05, 10, "time for which a chamber may be that far away")
    disagreement_N: float = bounded(100.0, 1, 1e5, "a leg sensor this far from the rover twin for follow_s: passive")

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

    post_along_m: float = bounded(0.25, -2, 2, "upper pin, on the post of the body, along")
    post_up_m: float = bounded(0.33, -2, 2, "upper pin, on the post of the body, up")
    clevis_along_m: float = bounded(0.25, -2, 2, "lower pin, in the clevis on the bogie, along")
    clevis_up_m: float = bounded(0.0, -2, 2, "lower pin, in the clevis on the bogie, up")
    retracted_m: float = bounded(0.254, 0.01, 3, "from pin to pin with the cylinder retracted")


class _ValveConfig(Section):
    """The on-off valve of a chamber, and its line; only for model compressible. All numbers are assumptions."""

    conductance_lpsbar: float = bounded(
        1.0, 1e-3, 100, "sonic conductance (ISO 6358) of valve and line, feeding [l/(s bar)]"
    )
    exhaust_lpsbar: float = bounded(1.0, 1e-3, 100, "the same, open to atmosphere [l/(s bar)]")
    critical_ratio: float = bounded(0.3, 0, 0.9, "critical pressure ratio (ISO 6358)")
    on_ms: float = bounded(5.0, 0, 1000, "from the command until it opens; shorter commands do nothing")
    off_ms: float = bounded(5.0, 0, 1000, "from the end of the command until it vents")
    least_on_ms: float = bounded(0.0, 0, 1000, "shortest time that the valve itself stays open")
    line_m: float = bounded(2.0, 0, 50, "length of the line from valve to cylinder")
    line_bore_mm: float = bounded(4.3, 0.5, 50, "inner diameter of that line, a quarter-inch tube")
    dead_volume_ml: float = bounded(5.0, 0.1, 1000, "volume of the chamber at the end of its stroke")
    polytropic_exponent: float = bounded(1.2, 1, 1.4, "of the gas: 1 isothermal, 1.4 adiabatic")


class _FrictionConfig(Section):
    """Friction of piston and rod: sticks below the static limit, slides with Coulomb friction. Assumptions."""

    static_N: float = bounded(15.0, 0, 1000, "largest load that it holds at rest")
    coulomb_N: float = bounded(10.0, 0, 1000, "when sliding; at most static_N")
    stribeck_mps: float = bounded(0.01, 1e-4, 1, "speed at which the first has fallen towards the second")
    viscous_Nspm: float = bounded(50.0, 0, 1e4, "in addition, proportional to the speed")
    presliding_mm: float = bounded(0.1, 1e-3, 5, "elastic travel of the seals before they slide")


class _BottleConfig(Section):
    """The bottle of nitrogen and the regulator at its mouth; only for model compressible."""

    volume_l: float = bounded(10.0, 0.01, 1000, "of the bottle: assumption")
    pressure_kPa: float = bounded(12400.0, 0, 40000, "gauge, at the start: 1800 psi (MacMahon 2016, 6.1)")
    droop_kPaspg: float = bounded(
        5.0, 0, 1000, "the regulator's outlet falls by this for each g/s that flows: assumption"
    )


class CylinderSheet(Section):
    """The calibration of an air cylinder (MacMahon 2016, 6.1).

    The piston area with which its force is worked out from its pressures follows from the torque, or else from the
    force. The offsets are not used: they hold the weight of the bogie, and friction, whose sign depends on the way.
    """

    serial: str = key("unknown", "serial number on the cylinder", max_length=64)
    date: CalibrationDate | None = key(None, "of the calibration; null: not stated")
    torque_NmpkPa: float | None = key(None, "on its joint, by the pressure difference [N m/kPa]")
    force_NpkPa: float | None = key(None, "of its rod, by the pressure difference [N/kPa]")
    u95: float = Field(ge=0, le=1, description="half-width of the 95 % interval of either, relative")
    offset_N: float | None = key(None, "force at no pressure, by the fit; not used")
    offset_Nm: float | None = key(None, "torque at no pressure, by the fit; not used")


class CylindersConfig(Section):
    """The air cylinders on the bogies, all equal; only for a rover that has them."""

    between_runs: ClassVar[tuple[str, ...]] = ("supply_kPa",)

    joints: Annotated[tuple[Annotated[str, Field(max_length=100)], ...], Field(strict=False)] | None = key(
        None, "joints with a cylinder, in this order; null: the side bogies, if there are any", max_length=10
    )
    ways: Literal["both", "extend", "retract"] = key(
        "both", "ways in which the valves push: a pair each, or one valve each as in MacMahon 2016, 6.1"
    )
    regulators: Literal["none", "common", "each"] = key(
        "none", "pressure regulators that are moved during a run: one for all cylinders, or one each"
    )
    model: Literal["first_order", "compressible"] = key(
        "first_order", "of the chambers: exponential with fill_time_s and vent_time_s, or compressible gas"
    )
    bore_mm: float = bounded(38.1, 5, 200, "bore of each cylinder")
    rod_mm: float = bounded(0.0, 0, 199, "diameter of its rod, which the retracting pressure lacks")
    stroke_mm: float = bounded(152.4, 5, 2000, "stroke of each cylinder, 6 in (MacMahon 2016, 6.1)")
    supply_kPa: float = bounded(207.0, 0, 689, "regulated gauge pressure; limits.cylinder_kPa limits it at arming")
    fill_time_s: float = bounded(
        0.05, 1e-3, 10, "time constant of filling a chamber; the load controller takes it for compressible gas as well"
    )
    vent_time_s: float = bounded(0.03, 1e-3, 10, "time constant of venting a chamber, likewise")
    regulator_time_s: float = bounded(0.02, 1e-3, 10, "time constant of a regulator's outlet, model compressible")
    lever_m: float = bounded(0.25, 0.01, 2, "arm about the bogie pivot, without a linkage")
    linkage: LinkageConfig | None = key(
        None, "pins of each cylinder; null: it has the constant arm lever_m and no ends of stroke"
    )
    friction: _FrictionConfig | None = key(None, "of each cylinder; null: none")
    valve: _ValveConfig = section(_ValveConfig, "of each chamber, with compressible gas")
    bottle: _BottleConfig | None = key(None, "null: the supply keeps its pressure")
    calibration: dict[str, CylinderSheet] | None = key(
        None,
        "of `hil calibrate cylinder`, by the cylinders' names, like left",
        max_length=10,
        note="path of a calibration file, seen from the config's folder, or what would be in it",
    )
