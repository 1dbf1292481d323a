"""Climbing one slope: the throttle of the config, and whether the slip stays within its limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hil.config import Config
from hil.config.schema.traction import SlopeConfig
from hil.experiments.base import Finished, Summary
from hil.experiments.figure_form import FigureForm
from hil.experiments.measured_motion import measurement_reasons
from hil.experiments.summary_table import summary_table
from hil.experiments.throttle import ThrottleExperiment
from hil.experiments.traction_summary import traction_of, traction_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

    from hil.recording import OpenRecord


class SlopeExperiment(ThrottleExperiment):
    """One slope."""

    name = "slope"
    section = SlopeConfig
    figure = "slope.png"

    def headline(self) -> str:
        """Slope and distribution."""
        return f"slope of {self.config.ground.pitch_deg:g} degrees, wheel loads {self.config.slope.mode}"

    @classmethod
    def label(cls, config: Config) -> str:
        """Distribution and slope."""
        return f"{config.slope.mode}_{config.ground.pitch_deg:g}"

    def drive_speeds_mps(self) -> Sequence[float]:
        """The throttle's."""
        return (self.config.slope.speed_mps,)

    def summarise(self, run: Finished) -> Summary:
        """Slip and loads, and whether it climbs."""
        found, limit, done = traction_of(run, run.config.slope), run.config.slope.slip_limit, self.done
        slip = found["slip"]
        climbed = done and slip is not None and slip <= limit
        reasons = self.reasons(run.cycle.safety, run.beside)
        reasons += measurement_reasons(found) if done else []
        return {**found, "climbed": climbed, "accepted": done and not reasons, "reasons": reasons}

    @classmethod
    def table(cls, summary: Summary) -> Table:
        """Slope, slip and loads."""
        climbed = ("climbed", "yes" if summary.get("climbed") else "no")
        slope = ("slope", f"{summary.get('pitch_deg') or 0.0:g} degrees")
        return summary_table("Slope", [slope, climbed, *traction_rows(summary)])

    @classmethod
    def plot(cls, record: OpenRecord, summary: Summary, run: str, form: FigureForm) -> Figure:  # noqa: ARG003
        """The run over time."""
        from hil.experiments.drive.figure import plot_over_time  # matplotlib takes half a second to import

        climbed = "climbed" if summary.get("climbed") else "not climbed"
        title = (
            f"Slope of {summary.get('pitch_deg') or 0.0:g} degrees, {climbed}, slip {summary.get('slip') or 0.0:.3f}"
        )
        return plot_over_time(record, summary, form, title)
