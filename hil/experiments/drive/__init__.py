"""Driving: wheel speeds over time, over the ground of the config, without an obstacle.

experiment  its states, and the goal of each tick
summary     distance, slip and loads of each step
figure      drive.png
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from hil.config import Config
from hil.experiments.base import ArmingChecks, Finished, Summary
from hil.experiments.drive.experiment import DriveExperiment, State
from hil.experiments.drive.summary import drive_summary, drive_table

if TYPE_CHECKING:
    from rich.table import Table

    from hil.experiments.figure_form import FigureForm
    from hil.recording import TrialRecord


class Drive:
    """The drive, as the registry holds it (`hil.experiments.base.ExperimentType`)."""

    name = "drive"
    figure: str | None = "drive.png"
    states: type[IntEnum] = State

    def make(self, config: Config, checks: ArmingChecks, *, attended: bool = False) -> DriveExperiment:
        """The experiment of one run."""
        return DriveExperiment(config, checks, attended=attended)

    def headline(self, config: Config) -> str:
        """Its steps."""
        return ", ".join(f"{step.speed_mps:g} m/s for {step.for_s:g} s" for step in config.drive.steps)

    def label(self, config: Config) -> str:  # noqa: ARG002
        """The same label for all drives."""
        return "drive"

    def summarise(self, run: Finished) -> Summary:
        """Distance, speed, slip and loads."""
        return drive_summary(run)

    def table(self, summary: Summary) -> Table:
        """The summary for the terminal."""
        return drive_table(summary)

    def draw(self, record: TrialRecord, summary: Summary, path: Path, form: FigureForm) -> None:
        """Draw drive.png."""
        from hil.experiments.drive.figure import draw_over_time  # matplotlib takes half a second to import

        draw_over_time(record, summary, path, form, f"Drive, {summary.get('way_m') or 0.0:.3f} m")
