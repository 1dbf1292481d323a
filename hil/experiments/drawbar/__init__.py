"""Drawbar pull at a slip: constant throttle, held back until the slip settles (Petersen 2012, 6.2.1).

A simulated rig has a winch; on a real one a person or a winch pulls, and the experiment only measures. One run is one
point; `hil drawbar` makes the series (hil.campaign.traction).
"""

from __future__ import annotations

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


class DrawbarExperiment(ThrottleExperiment):
    """One point of the curve of pull over slip."""

    name = "drawbar"


class Drawbar:
    """The drawbar pull, as the registry holds it (`hil.experiments.base.ExperimentType`)."""

    name = "drawbar"
    figure: str | None = "drawbar.png"
    states: type[IntEnum] = State

    def make(self, config: Config, checks: ArmingChecks, *, attended: bool = False) -> DrawbarExperiment:
        """The experiment of one run."""
        return DrawbarExperiment(config, checks, config.drawbar, attended=attended)

    def headline(self, config: Config) -> str:
        """Slip and distribution."""
        return f"drawbar pull at slip {config.drawbar.slip:g}, wheel loads {config.drawbar.mode}"

    def label(self, config: Config) -> str:
        """Distribution and slip."""
        return f"{config.drawbar.mode}_{config.drawbar.slip:g}"

    def summarise(self, run: Finished) -> Summary:
        """Pull, slip and loads, and whether the slip has settled."""
        found, section = traction_of(run, run.config.drawbar), run.config.drawbar
        reasons = common_reasons(run.experiment, run.cycle.safety, run.beside)
        slip, low, high = found["slip"], section.slip - section.slip_tolerance, section.slip + section.slip_tolerance
        if run.experiment.done and (slip is None or not low <= slip <= high):
            reasons.append(f"slip is {slip if slip is None else format(slip, '.3f')}, allowed: {low:.3g} to {high:.3g}")
        accepted = run.experiment.done and not reasons
        return {**found, "slip_wanted": section.slip, "accepted": accepted, "reasons": reasons}

    def table(self, summary: Summary) -> Table:
        """The summary for the terminal."""
        return summary_table("Drawbar pull", traction_rows(summary))

    def draw(self, record: TrialRecord, summary: Summary, path: Path, form: FigureForm) -> None:
        """Draw drawbar.png: the run over time."""
        from hil.experiments.drive.figure import draw_over_time  # matplotlib takes half a second to import

        pull = summary.get("pull_N")
        title = f"Drawbar pull{'' if pull is None else f' {pull:.0f} N'} at slip {summary.get('slip') or 0.0:.3f}"
        draw_over_time(record, summary, path, form, title)
