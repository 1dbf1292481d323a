"""The entry point `touch`: ahead until a wheel touches the obstacle, and then no further."""

from typing import ClassVar

from pydantic import Field

from hil.config.schema.experiment_section import ExperimentSection
from hil.experiments.base import Finished, Summary
from hil.experiments.summary import common_reasons, summary_table, verdict_rows
from rover_hil_example.timed import State, TimedExperiment


class TouchSection(ExperimentSection):
    """`extensions.touch` of a config."""

    obstacle: ClassVar[bool] = True

    seconds: float = Field(10.0, ge=0.1, le=60, description="it gives up after this time")
    speed_mps: float = Field(0.05, gt=0, le=0.2, description="of the rims")


class TouchExperiment(TimedExperiment):
    """Ahead, and cut in the tick of the touch."""

    name = "touch"

    def end(self, estimate, late: bool) -> State | None:
        if estimate.impact_ns is None:
            return State.ABORTED if late else None
        return State.DONE


class Touch:
    """An `hil.experiments.base.ExperimentType`."""

    name = "touch"
    figure = None
    states = State
    section = TouchSection

    def make(self, config, checks, *, attended: bool = False) -> TouchExperiment:
        return TouchExperiment(config, checks, attended=attended)

    def headline(self, config) -> str:
        return f"ahead to the obstacle, {config.trial.start_distance_m:g} m"

    def label(self, config) -> str:
        return "touch"

    def summarise(self, run: Finished) -> Summary:
        reasons = common_reasons(run.experiment, run.cycle.safety)
        touched = bool(run.ticks["impact"].any())
        return {"touched": touched, "accepted": run.experiment.done and not reasons, "reasons": reasons}

    def table(self, summary: Summary):
        return summary_table("Touch", verdict_rows(summary))

    def draw(self, record, summary: Summary, path, form) -> None:
        """There is no figure."""
