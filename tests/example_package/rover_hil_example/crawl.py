"""The entry point `crawl`: straight ahead, on a slope too, with the weight shared evenly by the cylinders."""

from pydantic import Field

from hil.config.schema.experiment_section import ExperimentSection
from hil.control.build import load_controller
from hil.experiments.base import Finished, Summary
from hil.experiments.summary import common_reasons, summary_table, verdict_rows
from hil.messages.loads import LoadGoal, LoadMode
from rover_hil_example.timed import State, TimedExperiment


class CrawlSection(ExperimentSection):
    """`extensions.crawl` of a config; `normal_force` has the settings of the controller."""

    seconds: float = Field(4.0, ge=0.1, le=60, description="how long it drives")
    speed_mps: float = Field(0.05, gt=0, le=1, description="of the rims")

    @property
    def controls_loads(self) -> bool:
        return True

    @property
    def rim_speed_mps(self) -> float:
        return self.speed_mps


class CrawlExperiment(TimedExperiment):
    """Straight ahead, with the load controller."""

    name = "crawl"

    def controller(self):
        return load_controller(self.config, super().controller())

    def drive_speeds_mps(self):
        return (self._section.speed_mps,)

    def loads(self) -> LoadGoal:
        return LoadGoal(LoadMode.UNIFORM)


class Crawl:
    """An `hil.experiments.base.ExperimentType`."""

    name = "crawl"
    figure = None
    states = State
    section = CrawlSection

    def make(self, config, checks, *, attended: bool = False) -> CrawlExperiment:
        return CrawlExperiment(config, checks, attended=attended)

    def headline(self, config) -> str:
        return f"evenly loaded on a slope of {config.ground.pitch_deg:g} degrees"

    def label(self, config) -> str:
        return "crawl"

    def summarise(self, run: Finished) -> Summary:
        moving = run.ticks[run.ticks["state"] == State.SPIN]
        loads_N = moving["normal_force_N"][-200:].mean(axis=0)
        reasons = common_reasons(run.experiment, run.cycle.safety)
        spread = float(loads_N.std() / loads_N.mean())
        return {"spread": spread, "accepted": run.experiment.done and not reasons, "reasons": reasons}

    def table(self, summary: Summary):
        return summary_table("Crawl", verdict_rows(summary))

    def draw(self, record, summary: Summary, path, form) -> None:
        """There is no figure."""
