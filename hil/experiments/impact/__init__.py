"""One impact trial: drive into the obstacle at constant speed, cut at the impact, settle (MacMahon 2016, 6.2.4).

experiment  its states, one after the other
acceptance  which trials count
summary     its part of summary.json, and the table
figure      trial.png
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from hil.config import Config
from hil.experiments.base import ArmingChecks, Finished, Summary
from hil.experiments.impact.experiment import ImpactExperiment, State
from hil.experiments.impact.summary import impact_summary, impact_table

if TYPE_CHECKING:
    from rich.table import Table

    from hil.experiments.figure_form import FigureForm
    from hil.recording import TrialRecord


class Impact:
    """The impact trial, as the registry holds it (`hil.experiments.base.ExperimentType`)."""

    name = "impact"
    figure: str | None = "trial.png"
    states: type[IntEnum] = State

    def make(self, config: Config, checks: ArmingChecks, *, attended: bool = False) -> ImpactExperiment:
        """The experiment of one run."""
        return ImpactExperiment(config, checks, attended=attended)

    def headline(self, config: Config) -> str:
        """What will be done."""
        return f"{config.trial.angle_deg:g} deg at {config.trial.speed_mps:g} m/s"

    def label(self, config: Config) -> str:
        """The obstacle's angle."""
        return f"{config.trial.angle_deg:g}"

    def summarise(self, run: Finished) -> Summary:
        """Forces, energies and times of the impact."""
        return impact_summary(run)

    def table(self, summary: Summary) -> Table:
        """The summary for the terminal."""
        return impact_table(summary)

    def draw(self, record: TrialRecord, summary: Summary, path: Path, form: FigureForm) -> None:
        """Draw trial.png."""
        from hil.experiments.impact.figure import draw_trial  # matplotlib takes half a second to import

        draw_trial(record, summary, path, form)
