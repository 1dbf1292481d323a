"""The entry point `crawl`: straight ahead, on a slope too, with the weight shared evenly by the cylinders."""

from typing import ClassVar

from pydantic import Field

from hil.config.schema.experiment_section import ExperimentSection
from hil.control.normal_force import load_controller
from hil.experiments.base import FinishedRun, Summary
from hil.messages.loads import LoadGoal, LoadMode
from hil.testing.template.timed import TimedExperiment, TimedState


class CrawlSection(ExperimentSection):
    """`crawl` of a config; `normal_force` has the settings of the controller."""

    uses: ClassVar[tuple[str, ...]] = ("normal_force",)

    seconds: float = Field(4.0, ge=0.1, le=60, description="how long it drives")
    speed_mps: float = Field(0.05, gt=0, le=1, description="of the rims")

    @property
    def controls_loads(self) -> bool:
        return True

    @property
    def rim_speed_mps(self) -> float:
        return self.speed_mps


class Crawl(TimedExperiment):
    """Straight ahead, with the load controller."""

    name = "crawl"
    section = CrawlSection

    def headline(self) -> str:
        return f"evenly loaded on a slope of {self.config.ground.pitch_deg:g} degrees"

    def controller(self):
        return load_controller(self.rig, super().controller())

    def drive_speeds_mps(self):
        return (self._section.speed_mps,)

    def loads(self) -> LoadGoal:
        return LoadGoal(LoadMode.UNIFORM)

    def summarise(self, run: FinishedRun) -> Summary:
        moving = run.ticks[run.ticks["state"] == TimedState.SPIN]
        loads_N = moving["normal_force_N"][-200:].mean(axis=0)
        return {"spread": float(loads_N.std() / loads_N.mean()), **super().summarise(run)}
