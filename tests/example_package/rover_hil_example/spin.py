"""The entry point `spin`: all wheels at one speed for a while."""

from enum import IntEnum

from pydantic import Field

from hil.config.schema.experiment_section import ExperimentSection
from hil.control.base import DirectSetPoints
from hil.experiments.base import Experiment, Finished, Summary
from hil.experiments.summary import common_reasons, summary_table, verdict_rows
from hil.messages.stages import Goal

# Part of the acceleration that the limiter allows.
OF_ACCELERATION = 0.5


class State(IntEnum):
    """Those of every experiment, and what it does between them."""

    IDLE = 0
    ARMED = 1
    SPIN = 2
    DONE = 5
    ABORTED = 6


class SpinSection(ExperimentSection):
    """`extensions.spin` of a config."""

    seconds: float = Field(1.0, ge=0.1, le=60, description="how long the wheels turn")
    speed_radps: float = Field(0.2, ge=-10, le=10, description="of every wheel")


class SpinExperiment(Experiment):
    """Idle until armed, then the speed, then cut."""

    name = "spin"
    states = State

    def __init__(self, config, checks, *, attended: bool = False) -> None:
        super().__init__(config, checks, attended=attended)
        self._section = config.section
        self._change = OF_ACCELERATION * config.limits.wheel_acceleration_radps2 / config.loop.rate_hz
        self._speed = 0.0

    def controller(self) -> DirectSetPoints:
        return DirectSetPoints()

    def decide(self, samples, estimate, prediction, safe: bool) -> Goal:
        if self._begin_or_end(samples, estimate, safe):
            pass
        elif self.state == State.ARMED and self._may_start(samples):
            self._enter(State.SPIN, samples.t_ns)
        elif self.state == State.SPIN and samples.t_ns - self._since_ns >= self._section.seconds * 1e9:
            self._enter(State.DONE, samples.t_ns)
        spins = self.state == State.SPIN
        wanted = self._section.speed_radps if spins else 0.0
        self._speed += min(max(wanted - self._speed, -self._change), self._change)
        return Goal(self.state, not spins, speed_radps=(self._speed,) * len(self.config.layout.wheels))


class Spin:
    """An `hil.experiments.base.ExperimentType`."""

    name = "spin"
    figure = None
    states = State
    section = SpinSection

    def make(self, config, checks, *, attended: bool = False) -> SpinExperiment:
        return SpinExperiment(config, checks, attended=attended)

    def headline(self, config) -> str:
        return "all wheels at one speed"

    def label(self, config) -> str:
        return "spin"

    def summarise(self, run: Finished) -> Summary:
        fastest = float(run.ticks["wheel_speed_radps"].max())
        reasons = common_reasons(run.experiment, run.cycle.safety)
        return {"fastest_radps": fastest, "accepted": run.experiment.done and not reasons, "reasons": reasons}

    def table(self, summary: Summary):
        return summary_table("Spin", verdict_rows(summary))

    def draw(self, record, summary: Summary, path, form) -> None:
        """There is no figure."""
