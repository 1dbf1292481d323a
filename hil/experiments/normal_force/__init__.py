"""A drive with controlled wheel loads: how evenly the cylinders share the weight, against passive and the best.

experiment  its steps, and the goal of each tick
segments    the run cut where the wanted loads change
spread      spread, settling, response to a step, static optimum
best        that optimum for the rig
summary     spread before and after, loads and torques of each step
figure      normal_force.png
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from hil.config import Config
from hil.experiments.base import ArmingChecks, Finished, Summary
from hil.experiments.drive.experiment import State
from hil.experiments.normal_force.experiment import NormalForceExperiment
from hil.experiments.normal_force.summary import normal_force_summary, normal_force_table

if TYPE_CHECKING:
    from rich.table import Table

    from hil.experiments.figure_form import FigureForm
    from hil.recording import TrialRecord


class NormalForce:
    """The drive with controlled loads, as the registry holds it (`hil.experiments.base.ExperimentType`)."""

    name = "normal_force"
    figure: str | None = "normal_force.png"
    states: type[IntEnum] = State

    def make(self, config: Config, checks: ArmingChecks, *, attended: bool = False) -> NormalForceExperiment:
        """The experiment of one run."""
        return NormalForceExperiment(config, checks, attended=attended)

    def headline(self, config: Config) -> str:
        """Its steps."""
        steps = ", ".join(f"{step.mode.replace('_', ' ')} for {step.for_s:g} s" for step in config.normal_force.steps)
        return f"wheel loads at {config.normal_force.speed_mps:g} m/s: {steps}"

    def label(self, config: Config) -> str:
        """The modes in order."""
        return "_".join(dict.fromkeys(step.mode for step in config.normal_force.steps))

    def summarise(self, run: Finished) -> Summary:
        """Spreads, loads and torques."""
        return normal_force_summary(run)

    def table(self, summary: Summary) -> Table:
        """The summary for the terminal."""
        return normal_force_table(summary)

    def draw(self, record: TrialRecord, summary: Summary, path: Path, form: FigureForm) -> None:
        """Draw normal_force.png."""
        from hil.experiments.normal_force.figure import draw_normal_force  # matplotlib takes half a second to import

        draw_normal_force(record, summary, path, form)
