"""The normal-force distribution's part of a rig config: what is wanted when, and the controller."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

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
