"""Drawbar pull at one slip: the throttle of the config, and a judgement of the slip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil.config import Config
from hil.config.schema.traction import DrawbarConfig
from hil.experiments.base import FinishedRun, Summary
from hil.experiments.drawing import FigureForm
from hil.experiments.summary import measurement_reasons
from hil.experiments.summary_table import SummaryKey
from hil.experiments.throttle import RESULTS, ThrottleExperiment, traction_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hil.recording import OpenRecord


class DrawbarExperiment(ThrottleExperiment):
    """One point of the curve of pull over slip."""

    name = "drawbar"
    section = DrawbarConfig
    figure = "drawbar.png"
    results = (SummaryKey("slip_wanted", "allowed: `drawbar.slip_tolerance` off it", "slip wanted", 3), *RESULTS)

    def headline(self) -> str:
        """Slip and distribution."""
        return f"drawbar pull at slip {self.config.drawbar.slip:g}, wheel loads {self.config.drawbar.mode}"

    @classmethod
    def label(cls, config: Config) -> str:
        """Distribution and slip."""
        return f"{config.drawbar.mode}_{config.drawbar.slip:g}"

    def summarise(self, run: FinishedRun) -> Summary:
        """Pull, slip and loads, and whether the slip has settled."""
        found, section = traction_of(run, run.config.drawbar), run.config.drawbar
        reasons = measurement_reasons(found)
        slip, low, high = found["slip"], section.slip - section.slip_tolerance, section.slip + section.slip_tolerance
        if slip is None or not low <= slip <= high:
            reasons.append(f"slip is {slip if slip is None else format(slip, '.3f')}, allowed: {low:.3g} to {high:.3g}")
        return {**found, "slip_wanted": section.slip, **self.verdict(run, reasons)}

    @classmethod
    def plot(cls, record: OpenRecord, summary: Summary, run: str, form: FigureForm) -> Figure:
        """The run over time."""
        from hil.experiments.drive.figure import plot_over_time  # matplotlib takes half a second to import

        pull = summary.get("pull_N")
        title = f"Drawbar pull{'' if pull is None else f' {pull:.0f} N'} at slip {summary.get('slip') or 0.0:.3f}"
        return plot_over_time(record, summary, run, form, title)
