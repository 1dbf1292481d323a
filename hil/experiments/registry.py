"""Experiments by name: our own, and those that installed packages bring (entry points `rover_hil.experiments`)."""

from __future__ import annotations

from importlib.metadata import entry_points

from hil.config import Config, ConfigError, Problem
from hil.config.extensions import EXPERIMENTS
from hil.experiments.base import ExperimentType
from hil.experiments.drive import Drive
from hil.experiments.impact import Impact
from hil.experiments.jog import Jog

BUILT_IN: tuple[ExperimentType, ...] = (Impact(), Jog(), Drive())


def experiment_names() -> tuple[str, ...]:
    """All that can stand under `experiment` in a config."""
    return (*(kind.name for kind in BUILT_IN), *sorted(point.name for point in entry_points(group=EXPERIMENTS)))


def experiment_type(config: Config) -> ExperimentType:
    """The experiment that a config names. Raises ConfigError: there is none of that name."""
    return experiment_named(config.experiment)


def experiment_named(name: str) -> ExperimentType:
    """The experiment of that name. Raises ConfigError: there is none."""
    for kind in BUILT_IN:
        if kind.name == name:
            return kind
    for point in entry_points(group=EXPERIMENTS, name=name):
        found: ExperimentType = point.load()()
        return found
    allowed = f"one of {', '.join(experiment_names())}"
    raise ConfigError("(experiment)", [Problem("experiment", repr(name), allowed)])
