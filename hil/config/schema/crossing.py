"""The sections of the experiments crossing and sinkage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from hil.config.problems import Problem
from hil.config.schema.base import bounded, positive
from hil.config.schema.experiment_section import SLIP_MARGIN, ExperimentSection, WholeConfig


class CrossingConfig(ExperimentSection):
    """A drive over a step, a ledge or a slope; the drives are not cut when a wheel meets it."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    speed_mps: float = positive(0.05, 10, "speed of the rims, constant until the rover is across")
    past_m: float = bounded(0.1, 0, 100, "the rover is across when all its axles are this far behind the shape")
    timeout_s: float = bounded(30.0, 1, 3600, "then the drive ends, and the shape was not crossed")
    settle_s: float = bounded(0.5, 0.1, 600, "recorded after the drive, drives cut")
    most_load_N: float | None = positive(
        None, 1e6, "largest upward force on one wheel, by the twin, in an accepted run; null: any"
    )

    @property
    def rim_speed_mps(self) -> float | None:
        """Of the whole drive."""
        return self.speed_mps

    def problems(self, config: WholeConfig) -> Iterator[Problem]:
        """A shape to cross, and a speed that the limits allow."""
        if config.ground.profile is None:
            yield Problem("ground.profile", "null", "a shape with experiment crossing, which drives over it", ())
        limit_mps = SLIP_MARGIN * config.limits.wheel_speed_radps * config.least_wheel_radius_m
        if self.speed_mps > limit_mps:
            allowed = f"at most {limit_mps:.3g} m/s ({SLIP_MARGIN:g} of limits.wheel_speed_radps at the rim)"
            yield Problem("crossing.speed_mps", f"{self.speed_mps:g} m/s", allowed, ("limits.wheel_speed_radps",))


class SinkageConfig(ExperimentSection):
    """Sinkage under a load, without turning the wheels (Petersen 2012, 7.2)."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    settle_s: float = bounded(1.0, 0.1, 600, "from the start until the measurement")
    measure_s: float = bounded(1.0, 0.1, 600, "length of the measurement")

    @property
    def measured_s(self) -> float | None:
        """Length of the measurement."""
        return self.measure_s

    def problems(self, config: WholeConfig) -> Iterator[Problem]:
        """Level soil."""
        if not config.ground.on_soil or config.ground.pitch_deg or config.ground.roll_deg:
            found = f"{config.ground.kind}, pitch {config.ground.pitch_deg:g}, roll {config.ground.roll_deg:g}"
            yield Problem("ground.kind", found, "level soil: experiment sinkage measures how deep wheels sink", ())
