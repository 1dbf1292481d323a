"""Climbing a slope at constant throttle: one run is one slope; `hil slope` finds the steepest (hil.campaign.traction).

limit  the steepest slope by statics
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from hil.config import Config
from hil.experiments.base import ArmingChecks, Finished, Summary
from hil.experiments.figure_form import FigureForm
from hil.experiments.summary import common_reasons, summary_table
from hil.experiments.throttle import State, ThrottleExperiment
from hil.experiments.traction_summary import traction_of, traction_rows

if TYPE_CHECKING:
    from rich.table import Table

    from hil.recording import TrialRecord


class SlopeExperiment(ThrottleExperiment):
    """One slope."""

    name = "slope"

    def drive_speeds_mps(self) -> Sequence[float]:
        """The throttle's."""
        return (self.config.slope.speed_mps,)


class Slope:
    """The slope, as the registry holds it (`hil.experiments.base.ExperimentType`)."""

    name = "slope"
    figure: str | None = "slope.png"
    states: type[IntEnum] = State

    def make(self, config: Config, checks: ArmingChecks, *, attended: bool = False) -> SlopeExperiment:
        """The experiment of one run."""
        return SlopeExperiment(config, checks, config.slope, attended=attended)

    def headline(self, config: Config) -> str:
        """Slope and distribution."""
        return f"slope of {config.ground.pitch_deg:g} degrees, wheel loads {config.slope.mode}"

    def label(self, config: Config) -> str:
        """Distribution and slope."""
        return f"{config.slope.mode}_{config.ground.pitch_deg:g}"

    def summarise(self, run: Finished) -> Summary:
        """Slip and loads, and whether it climbs."""
        found, limit = traction_of(run, run.config.slope), run.config.slope.slip_limit
        reasons = common_reasons(run.experiment, run.cycle.safety, run.beside)
        slip, done = found["slip"], run.experiment.done
        climbed = done and slip is not None and slip <= limit
        return {**found, "climbed": climbed, "accepted": done and not reasons, "reasons": reasons}

    def table(self, summary: Summary) -> Table:
        """The summary for the terminal."""
        climbed = ("climbed", "yes" if summary.get("climbed") else "no")
        slope = ("slope", f"{summary.get('pitch_deg') or 0.0:g} degrees")
        return summary_table("Slope", [slope, climbed, *traction_rows(summary)])

    def draw(self, record: TrialRecord, summary: Summary, path: Path, form: FigureForm) -> None:
        """Draw slope.png: the run over time."""
        from hil.experiments.drive.figure import draw_over_time  # matplotlib takes half a second to import

        climbed = "climbed" if summary.get("climbed") else "not climbed"
        title = (
            f"Slope of {summary.get('pitch_deg') or 0.0:g} degrees, {climbed}, slip {summary.get('slip') or 0.0:.3f}"
        )
        draw_over_time(record, summary, path, form, title)
