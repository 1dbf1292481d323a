"""The entry point `spin`: all wheels at one speed for a while."""

from pydantic import Field

from hil.config.schema.experiment_section import ExperimentSection
from hil.experiments.base import Finished, Summary
from hil.experiments.summary import common_reasons, summary_table, verdict_rows
from rover_hil_example.timed import State, TimedExperiment


class SpinSection(ExperimentSection):
    """`extensions.spin` of a config."""

    seconds: float = Field(1.0, ge=0.1, le=60, description="how long the wheels turn")
    speed_radps: float = Field(0.2, ge=-10, le=10, description="of every wheel")


class SpinExperiment(TimedExperiment):
    """Every wheel at the speed of the section."""

    name = "spin"

    def wanted_radps(self) -> float:
        return self._section.speed_radps


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
