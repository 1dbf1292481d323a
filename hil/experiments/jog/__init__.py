"""Bring-up through the same loop and limiter as a trial: turn wheels, or power one valve, for a short time.

experiment  its states, and the goal of each tick
overrides   the config of a jog, from what somebody asks for
summary     what moved
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from hil.config import Config
from hil.experiments.base import ArmingChecks, Finished, Summary
from hil.experiments.jog.experiment import JogExperiment, State
from hil.experiments.jog.summary import jog_summary, jog_table, what_moves

if TYPE_CHECKING:
    from rich.table import Table

    from hil.experiments.figure_form import FigureForm
    from hil.recording import TrialRecord


class Jog:
    """The jog, as the registry holds it (`hil.experiments.base.ExperimentType`)."""

    name = "jog"
    figure: str | None = None
    states: type[IntEnum] = State

    def make(self, config: Config, checks: ArmingChecks, *, attended: bool = False) -> JogExperiment:
        """The experiment of one run."""
        return JogExperiment(config, checks, attended=attended)

    def headline(self, config: Config) -> str:
        """What will move."""
        return f"{what_moves(config)}; Ctrl-C stops it"

    def label(self, config: Config) -> str:
        """Wheels or a valve."""
        return "valve" if config.jog.valve else "jog"

    def summarise(self, run: Finished) -> Summary:
        """Speeds and pressures that were reached."""
        return jog_summary(run)

    def table(self, summary: Summary) -> Table:
        """The summary for the terminal."""
        return jog_table(summary)

    def draw(self, record: TrialRecord, summary: Summary, path: Path, form: FigureForm) -> None:
        """A jog has no figure."""
