"""Experiments by name: our own, and those that installed packages bring (entry points `rover_hil.experiments`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from drivers.extensions import EXPERIMENTS, ExtensionError, installed_names, load_installed
from hil.config import Config, ConfigError, Problem
from hil.experiments.base import ExperimentType, Finished, Summary
from hil.experiments.drawbar import Drawbar
from hil.experiments.drive import Drive
from hil.experiments.figure_form import FigureForm
from hil.experiments.impact import Impact
from hil.experiments.jog import Jog
from hil.experiments.normal_force import NormalForce
from hil.experiments.slope import Slope
from hil.experiments.summary import run_summary, truth_reasons
from hil.recording.run_folder import replacing
from hil.residuals.evidence import RunEvidence
from hil.residuals.judgement import residual_summary

if TYPE_CHECKING:
    from hil.recording import TrialRecord

BUILT_IN: tuple[ExperimentType, ...] = (Impact(), Jog(), Drive(), NormalForce(), Drawbar(), Slope())


def experiment_names() -> tuple[str, ...]:
    """All that can stand under `experiment` in a config."""
    return (*(kind.name for kind in BUILT_IN), *installed_names(EXPERIMENTS))


def experiment_type(config: Config) -> ExperimentType:
    """The experiment that a config names. Raises ConfigError: there is none of that name."""
    return experiment_named(config.experiment)


def experiment_named(name: str) -> ExperimentType:
    """The experiment of that name. Raises ConfigError: there is none, or its package is broken."""
    for kind in BUILT_IN:
        if kind.name == name:
            return kind
    allowed = f"one of {', '.join(experiment_names())}"
    try:
        for found, _ in load_installed(EXPERIMENTS, name):
            installed: ExperimentType = found()
            return installed
    except ExtensionError as error:
        allowed = str(error)
    raise ConfigError("(experiment)", [Problem("experiment", repr(name), allowed)])


def broken_experiments() -> Iterator[str]:
    """A sentence for each installed package that does not bring the experiment it says; all of them are imported."""
    for name in installed_names(EXPERIMENTS):
        try:
            list(load_installed(EXPERIMENTS, name))
        except ExtensionError as error:
            yield str(error)


def summarise(run: Finished) -> Summary:
    """The whole summary but for its digests: the experiment's part, what every run has, and its residuals.

    Neither residuals nor what a simulated rig knows depend on the experiment, so they count here, whatever it is.
    """
    summary = {**experiment_type(run.config).summarise(run), **run_summary(run)}
    residuals, found = residual_summary(run.config, RunEvidence(run.config, run.ticks, summary))
    more = [*truth_reasons(run.ground_truth), *(one.sentence() for one in found)]
    reasons = [*summary["reasons"], *more]
    return {**summary, "accepted": summary["accepted"] and not more, "reasons": reasons, "residuals": residuals}


def draw(
    kind: ExperimentType,
    record: TrialRecord,
    summary: Summary,
    folder: Path,
    form: FigureForm = FigureForm(),  # noqa: B008
    to: str = "png",
) -> Path | None:
    """Draw the figure of a run; the one that is there stays until the new one is whole.

    Args:
        kind: of the experiment.
        record: of the run.
        summary: as in `summary.json`.
        folder: where it goes.
        form: its width, and why record and summary are not to be trusted. Each such figure has a name of its own:
            trial.png, trial.single.pdf, trial.unverified.png.
        to: format, of `figure_form.FORMATS`.

    Returns:
        Where it is; None: an experiment of this kind has no figure.
    """
    if not kind.figure:
        return None
    name = Path(kind.figure).stem
    name += "" if form.width == "screen" else f".{form.width}"
    name += ".unverified" if form.notice else ""
    path = folder / f"{name}.{to}"
    with replacing(path) as unfinished:
        kind.draw(record, summary, unfinished, form)
    return path
