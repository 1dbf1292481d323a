"""Experiments by name: our own, and those that installed packages bring (entry points `rover_hil.experiments`)."""

from __future__ import annotations

from collections.abc import Iterator

from drivers.extensions import EXPERIMENTS, ExtensionError, installed_names, load_installed
from hil.config import Config, ConfigError, Problem
from hil.experiments.base import ExperimentType
from hil.experiments.drive import Drive
from hil.experiments.impact import Impact
from hil.experiments.jog import Jog

BUILT_IN: tuple[ExperimentType, ...] = (Impact(), Jog(), Drive())


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
