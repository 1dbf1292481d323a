"""The traction experiments' part of a rig config: drawbar pull, and slopes."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, field_validator

from hil.config.problems import Problem
from hil.config.schema.base import Section
from hil.config.schema.experiment_section import SLIP_MARGIN, ExperimentSection, WholeConfig, Winch
from hil.messages.loads import TractionModeName

Modes = Annotated[tuple[TractionModeName, ...], Field(strict=False)]
_MODES = "ways to distribute the wheel loads; all but passive need a controller of the loads"


class ThrottleConfig(ExperimentSection):
    """What the traction experiments have in common: a constant throttle, reached by a ramp, and a time to settle.

    Attributes:
        name: of the experiment, for messages.
    """

    between_runs: ClassVar[tuple[str, ...]] = (
        "mode",
        "heavy_share",
        "duty",
        "speed_mps",
        "ramp_s",
        "settle_s",
        "measure_s",
    )
    uses: ClassVar[tuple[str, ...]] = ("normal_force",)

    name: ClassVar[str]

    mode: TractionModeName = Field("passive", description="how the wheel loads are distributed in a single run")
    heavy_share: float = Field(
        0.5,
        ge=0.01,
        le=0.99,
        description="front_heavy, rear_heavy: wanted share of that axle; the other axles share the rest",
    )
    duty: float | None = Field(
        None, ge=0.01, le=1, description="throttle: share of the drives' supply voltage, open loop; null: speed_mps"
    )
    speed_mps: float = Field(
        0.08, ge=0.001, le=10, description="throttle without a duty: speed of the rims, closed loop"
    )
    ramp_s: float = Field(0.5, ge=0.05, le=10, description="from rest to the throttle")
    settle_s: float = Field(4.0, ge=0.1, le=600, description="from then until the measurement")
    measure_s: float = Field(2.0, ge=0.1, le=600, description="length of the measurement")
    modes: Modes = Field(("passive",), min_length=1, max_length=5, description=f"of the series: {_MODES}")

    @property
    def controls_loads(self) -> bool:
        """A mode needs a controller of the wheel loads."""
        return any(mode != "passive" for mode in (self.mode, *self.modes))

    @property
    def moves_loads(self) -> bool:
        """The mode of this run needs it."""
        return self.controls_loads and self.mode != "passive"

    @property
    def asks_traction(self) -> bool:
        """This run's mode is max_traction."""
        return self.mode == "max_traction"

    @property
    def throttle_duty(self) -> float | None:
        """The throttle, by duty."""
        return self.duty

    @property
    def rim_speed_mps(self) -> float | None:
        """The throttle, by speed."""
        return self.speed_mps if self.duty is None else None

    @property
    def measured_s(self) -> float | None:
        """Length of the measurement."""
        return self.measure_s

    def problems(self, config: WholeConfig) -> list[Problem]:
        """Soil, a throttle that the limits allow, and what controlled loads need."""
        name, limits = self.name, config.limits
        problems: list[Problem] = []
        if not config.ground.on_soil:
            problems.append(
                Problem("ground.kind", config.ground.kind, f"soil: experiment {name} measures traction on soil")
            )
        if self.duty is None:
            wheel_speed = self.speed_mps / config.least_wheel_radius_m
            if wheel_speed > limits.wheel_speed_radps:
                most_mps = limits.wheel_speed_radps * config.least_wheel_radius_m
                allowed = f"at most {most_mps:.3g} m/s (limits.wheel_speed_radps at the rim)"
                problems.append(
                    Problem(f"{name}.speed_mps", f"{self.speed_mps:g} m/s", allowed, ("limits.wheel_speed_radps",))
                )
            shortest_s = wheel_speed / (SLIP_MARGIN * limits.wheel_acceleration_radps2)
            if self.ramp_s < shortest_s:
                allowed = f"at least {shortest_s:.4g}, by {SLIP_MARGIN:g} of limits.wheel_acceleration_radps2"
                depends_on = (f"{name}.speed_mps", "limits.wheel_acceleration_radps2")
                problems.append(Problem(f"{name}.ramp_s", f"{self.ramp_s:g}", allowed, depends_on))
        if self.controls_loads and not config.layout.cylinders:
            wanted = ", ".join(dict.fromkeys((self.mode, *self.modes)))
            allowed = "passive: without cylinders nothing controls the wheel loads"
            problems.append(Problem(f"{name}.modes", wanted, allowed, ("cylinders.joints", "rover.type")))
        elif self.controls_loads and config.pull_unknown:
            wanted = ", ".join(dict.fromkeys((self.mode, *self.modes)))
            found = f"none, with {name}.mode and {name}.modes {wanted}"
            allowed = (
                "a load cell (loads.load_cell={}), or passive alone: the rover twin knows the winch's pull, which "
            )
            allowed += "moves the wheels' loads, from the load cell only"
            problems.append(Problem("loads.load_cell", found, allowed, (f"{name}.mode", f"{name}.modes", "loads")))
        return problems

    @field_validator("modes")
    @classmethod
    def _each_once(cls, modes: tuple[TractionModeName, ...]) -> tuple[TractionModeName, ...]:
        if len(set(modes)) < len(modes):
            raise ValueError("each mode once")
        return modes


class WeightConfig(Section):
    """A payload of the drawbar series, in place of that of the rover."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40, description="for table and figure")
    mass_kg: float = Field(0.0, ge=0, le=500, description="0: none")
    x_m: float = Field(0.0, ge=-5, le=5, description="its centre, ahead of the base frame's origin")
    y_m: float = Field(0.0, ge=-5, le=5, description="its centre, to port of that origin")
    z_m: float = Field(0.0, ge=-5, le=5, description="its centre, over the ground that the rover stands on")


class DrawbarConfig(ThrottleConfig):
    """Drawbar pull at a slip: the rover drives, and is held back (Petersen 2012, 6.2.1)."""

    name: ClassVar[str] = "drawbar"
    between_runs: ClassVar[tuple[str, ...]] = (*ThrottleConfig.between_runs, "slip", "slip_tolerance")

    slip: float = Field(0.2, ge=0, le=0.95, description="wanted in a single run; the simulated winch settles it")
    slip_tolerance: float = Field(0.03, gt=0, le=1, description="largest deviation from it of an accepted run")
    growth_Nps: float = Field(500.0, ge=1, le=1e6, description="fastest growth of the simulated winch's pull [N/s]")
    largest_N: float = Field(5000.0, ge=1, le=1e6, description="largest pull of the simulated winch")
    slips: Annotated[tuple[Annotated[float, Field(ge=0, le=0.95)], ...], Field(strict=False)] = Field(
        (0.05, 0.1, 0.2, 0.3, 0.5, 0.7), min_length=1, max_length=100, description="of the series"
    )
    weights: Annotated[tuple[WeightConfig, ...], Field(strict=False)] = Field(
        (), max_length=20, description="payloads of the series; empty: that of the rover"
    )

    @property
    def winch(self) -> Winch:
        """What holds the rover back."""
        return Winch(self.slip, self.growth_Nps, self.largest_N)

    def problems(self, config: WholeConfig) -> list[Problem]:
        """As of every throttle, and payloads by name."""
        found, names = super().problems(config), [weight.name for weight in self.weights]
        if len(set(names)) < len(names):
            found.append(Problem("drawbar.weights", ", ".join(names), "each name once"))
        return found


class SlopeConfig(ThrottleConfig):
    """Whether the rover climbs the slope of ground.pitch_deg, and in the series the steepest one that it climbs."""

    name: ClassVar[str] = "slope"
    between_runs: ClassVar[tuple[str, ...]] = (*ThrottleConfig.between_runs, "slip_limit")

    slip_limit: float = Field(0.8, ge=0.01, le=0.99, description="with more slip than this it does not climb")
    from_deg: float = Field(5.0, ge=0, le=30, description="of the series: gentlest slope")
    to_deg: float = Field(30.0, ge=0, le=30, description="of the series: steepest slope")
    resolution_deg: float = Field(0.5, ge=0.01, le=10, description="of the series: the steepest slope is known to this")

    @property
    def held_at_slip(self) -> float | None:
        """Where it no longer climbs, it counts as held at the limit."""
        return self.slip_limit

    def problems(self, config: WholeConfig) -> list[Problem]:
        """As of every throttle, and slopes of the series in order."""
        found = super().problems(config)
        if self.from_deg >= self.to_deg:
            found.append(
                Problem(
                    "slope.from_deg", f"{self.from_deg:g}", f"below slope.to_deg, {self.to_deg:g}", ("slope.to_deg",)
                )
            )
        return found
