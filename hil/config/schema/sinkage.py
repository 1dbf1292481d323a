"""The sinkage experiment's part of a rig config."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from hil.config.problems import Problem
from hil.config.schema.experiment_section import ExperimentSection, WholeConfig


class SinkageConfig(ExperimentSection):
    """Sinkage under a load, without turning the wheels (Petersen 2012, 7.2)."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    settle_s: float = Field(1.0, ge=0.1, le=600, description="from the start until the measurement")
    measure_s: float = Field(1.0, ge=0.1, le=600, description="length of the measurement")

    @property
    def measured_s(self) -> float | None:
        """Length of the measurement."""
        return self.measure_s

    def problems(self, config: WholeConfig) -> Iterator[Problem]:
        """Level soil."""
        if not config.ground.on_soil or config.ground.pitch_deg or config.ground.roll_deg:
            found = f"{config.ground.kind}, pitch {config.ground.pitch_deg:g}, roll {config.ground.roll_deg:g}"
            yield Problem("ground.kind", found, "level soil: experiment sinkage measures how deep wheels sink", ())
