"""The experiment `spin`: all wheels at one speed for a while."""

from pydantic import Field
from typing_extensions import override

from hil.config.schema.experiment_section import ExperimentSection
from hil.experiments.base import FinishedRun, Summary
from hil.testing.template.timed import TimedExperiment


class SpinSection(ExperimentSection):
    """`spin` of a config."""

    seconds: float = Field(1.0, ge=0.1, le=60, description="how long the wheels turn")
    speed_radps: float = Field(0.2, ge=-10, le=10, description="of every wheel")


class Spin(TimedExperiment):
    """Every wheel at the speed of the section."""

    name = "spin"
    section = SpinSection

    @override
    def wanted_radps(self) -> float:
        return float(self._section.speed_radps)

    @override
    def summarise(self, run: FinishedRun) -> Summary:
        return {"fastest_radps": float(run.ticks["wheel_speed_radps"].max()), **super().summarise(run)}
