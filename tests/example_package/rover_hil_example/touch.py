"""The entry point `touch`: ahead until a wheel touches the obstacle, and then no further."""

from typing import ClassVar

from pydantic import Field

from hil.config.schema.experiment_section import ExperimentSection
from hil.experiments.base import FinishedRun, Summary
from hil.testing.template.timed import TimedExperiment, TimedState


class TouchSection(ExperimentSection):
    """`touch` of a config."""

    obstacle: ClassVar[bool] = True

    seconds: float = Field(10.0, ge=0.1, le=60, description="it gives up after this time")
    speed_mps: float = Field(0.05, gt=0, le=0.2, description="of the rims")


class Touch(TimedExperiment):
    """Ahead, and cut in the tick of the touch."""

    name = "touch"
    section = TouchSection

    def headline(self) -> str:
        return f"ahead to the obstacle, {self.config.trial.start_distance_m:g} m"

    def end(self, estimate, late: bool) -> TimedState | None:
        if estimate.impact_ns is None:
            return TimedState.ABORTED if late else None
        return TimedState.DONE

    def summarise(self, run: FinishedRun) -> Summary:
        return {"touched": bool(run.ticks["impact"].any()), **super().summarise(run)}
