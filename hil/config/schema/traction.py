"""The traction experiments' part of a rig config: drawbar pull, and slopes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

from pydantic import Field, field_validator

from hil.config.problems import Problem
from hil.config.schema.base import Listed, Section, bounded, key, positive
from hil.config.schema.experiment_section import SLIP_MARGIN, ExperimentSection, WholeConfig, Winch
from hil.messages.loads import TractionModeName

Modes = Listed[TractionModeName]
_MODES = "ways to distribute the wheel loads; all but passive need a controller of the loads"


class ThrottleConfig(ExperimentSection):
    """What the traction experiments have in common: a constant throttle, reached by a ramp, and a time to settle."""

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

    name: ClassVar[str]  #: of the experiment, for messages

    mode: TractionModeName = key("passive", "how the wheel loads are distributed in a single run")
    heavy_share: float = bounded(
        0.5, 0.01, 0.99, "front_heavy, rear_heavy: wanted share of that axle; the other axles share the rest"
    )
    duty: float | None = bounded(
        None, 0.01, 1, "throttle: share of the drives' supply voltage, open loop; null: speed_mps"
    )
    speed_mps: float = bounded(0.08, 0.001, 10, "throttle without a duty: speed of the rims, closed loop")
    ramp_s: float = bounded(0.5, 0.05, 10, "from rest to the throttle")
    settle_s: float = bounded(4.0, 0.1, 600, "from then until the measurement")
    measure_s: float = bounded(2.0, 0.1, 600, "length of the measurement")
    modes: Modes = key(("passive",), f"of the series: {_MODES}", min_length=1, max_length=5)

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

    def problems(self, config: WholeConfig) -> Iterator[Problem]:
        """Soil, a throttle that the limits allow, and what controlled loads need."""
        name, limits, radius_m = self.name, config.limits, config.least_wheel_radius_m
        if not config.ground.on_soil:
            yield Problem("ground.kind", config.ground.kind, f"soil: experiment {name} measures traction on soil")
        if self.duty is None:
            wheel_speed = self.speed_mps / radius_m
            if wheel_speed > limits.wheel_speed_radps:
                allowed = f"at most {limits.wheel_speed_radps * radius_m:.3g} m/s (limits.wheel_speed_radps at the rim)"
                yield Problem(f"{name}.speed_mps", f"{self.speed_mps:g} m/s", allowed, ("limits.wheel_speed_radps",))
            shortest_s = wheel_speed / (SLIP_MARGIN * limits.wheel_acceleration_radps2)
            if self.ramp_s < shortest_s:
                allowed = f"at least {shortest_s:.4g}, by {SLIP_MARGIN:g} of limits.wheel_acceleration_radps2"
                depends_on = (f"{name}.speed_mps", "limits.wheel_acceleration_radps2")
                yield Problem(f"{name}.ramp_s", f"{self.ramp_s:g}", allowed, depends_on)
        wanted = ", ".join(dict.fromkeys((self.mode, *self.modes)))
        if self.controls_loads and not config.layout.cylinders:
            allowed = "passive: without cylinders nothing controls the wheel loads"
            yield Problem(f"{name}.modes", wanted, allowed, ("cylinders.joints", "rover.type"))
        elif self.controls_loads and config.pull_unknown:
            found = f"none, with {name}.mode and {name}.modes {wanted}"
            knows = "the rover twin knows the winch's pull, which moves the wheels' loads, from the load cell only"
            allowed = f"a load cell (loads.load_cell={{}}), or passive alone: {knows}"
            yield Problem("loads.load_cell", found, allowed, (f"{name}.mode", f"{name}.modes", "loads"))

    @field_validator("modes")
    @classmethod
    def _each_once(cls, modes: tuple[TractionModeName, ...]) -> tuple[TractionModeName, ...]:
        if len(set(modes)) < len(modes):
            raise ValueError("each mode once")
        return modes


class WeightConfig(Section):
    """A payload of the drawbar series, in place of that of the rover."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40, description="for table and figure")
    mass_kg: float = bounded(0.0, 0, 500, "0: none")
    x_m: float = bounded(0.0, -5, 5, "its centre, ahead of the base frame's origin")
    y_m: float = bounded(0.0, -5, 5, "its centre, to port of that origin")
    z_m: float = bounded(0.0, -5, 5, "its centre, over the ground that the rover stands on")


class DrawbarConfig(ThrottleConfig):
    """Drawbar pull at a slip: the rover drives, and is held back (Petersen 2012, 6.2.1)."""

    name: ClassVar[str] = "drawbar"
    between_runs: ClassVar[tuple[str, ...]] = (*ThrottleConfig.between_runs, "slip", "slip_tolerance")

    slip: float = bounded(0.2, 0, 0.95, "wanted in a single run; the simulated winch settles it")
    slip_tolerance: float = positive(0.03, 1, "largest deviation from it of an accepted run")
    growth_Nps: float = bounded(500.0, 1, 1e6, "fastest growth of the simulated winch's pull [N/s]")
    largest_N: float = bounded(5000.0, 1, 1e6, "largest pull of the simulated winch")
    slips: Annotated[tuple[Annotated[float, Field(ge=0, le=0.95)], ...], Field(strict=False)] = key(
        (0.05, 0.1, 0.2, 0.3, 0.5, 0.7), "of the series", min_length=1, max_length=100
    )
    weights: Listed[WeightConfig] = key((), "payloads of the series; empty: that of the rover", max_length=20)

    @property
    def winch(self) -> Winch:
        """What holds the rover back."""
        return Winch(self.slip, self.growth_Nps, self.largest_N)

    def problems(self, config: WholeConfig) -> Iterator[Problem]:
        """As of every throttle, and payloads by name."""
        yield from super().problems(config)
        names = [weight.name for weight in self.weights]
        if len(set(names)) < len(names):
            yield Problem("drawbar.weights", ", ".join(names), "each name once")


class SlopeConfig(ThrottleConfig):
    """Whether the rover climbs the slope of ground.pitch_deg, and in the series the steepest one that it climbs."""

    name: ClassVar[str] = "slope"
    between_runs: ClassVar[tuple[str, ...]] = (*ThrottleConfig.between_runs, "slip_limit")

    slip_limit: float = bounded(0.8, 0.01, 0.99, "with more slip than this it does not climb")
    from_deg: float = bounded(5.0, 0, 30, "of the series: gentlest slope")
    to_deg: float = bounded(30.0, 0, 30, "of the series: steepest slope")
    resolution_deg: float = bounded(0.5, 0.01, 10, "of the series: the steepest slope is known to this")

    @property
    def held_at_slip(self) -> float | None:
        """Where it no longer climbs, it counts as held at the limit."""
        return self.slip_limit

    def problems(self, config: WholeConfig) -> Iterator[Problem]:
        """As of every throttle, and slopes of the series in order."""
        yield from super().problems(config)
        if self.from_deg >= self.to_deg:
            allowed = f"below slope.to_deg, {self.to_deg:g}"
            yield Problem("slope.from_deg", f"{self.from_deg:g}", allowed, ("slope.to_deg",))
