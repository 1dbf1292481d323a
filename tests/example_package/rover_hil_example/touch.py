"""The entry point `touch`: ahead until a wheel touches the obstacle, and then no further."""

from typing import ClassVar

from pydantic import Field

from hil.config.schema.experiment_section import ExperimentSection
from hil.experiments.base import Experiment, Finished, Summary
from hil.experiments.summary import common_reasons, summary_table, verdict_rows
from hil.messages.stages import Goal
from rover_hil_example.spin import OF_ACCELERATION, State


class TouchSection(ExperimentSection):
    """`extensions.touch` of a config."""

    obstacle: ClassVar[bool] = True

    seconds: float = Field(10.0, ge=0.1, le=60, description="it gives up after this time")
    speed_mps: float = Field(0.05, gt=0, le=0.2, description="of the rims")


class TouchExperiment(Experiment):
    """Idle until armed, then ahead, then cut in the tick of the touch."""

    name = "touch"
    states = State

    def __init__(self, config, checks, *, attended: bool = False) -> None:
        super().__init__(config, checks, attended=attended)
        self._change = OF_ACCELERATION * config.limits.wheel_acceleration_radps2 / config.loop.rate_hz
        self._wanted = config.section.speed_mps / config.wheel_radius_m
        self._speed = 0.0

    def decide(self, samples, estimate, prediction, safe: bool) -> Goal:
        late = samples.t_ns - self._since_ns >= self.config.section.seconds * 1e9
        if self._begin_or_end(samples, estimate, safe):
            pass
        elif self.state == State.ARMED and self._may_start(samples):
            self._enter(State.SPIN, samples.t_ns)
        elif self.state == State.SPIN and (estimate.impact_ns is not None or late):
            self._enter(State.ABORTED if late else State.DONE, samples.t_ns)
        drives = self.state == State.SPIN
        self._speed = min(self._speed + self._change, self._wanted) if drives else 0.0
        return Goal(self.state, not drives, speed_radps=(self._speed,) * len(self.config.layout.wheels))


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
