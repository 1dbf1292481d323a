"""Sections of experiments from other packages: `extensions.NAME` of a config."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from drivers.extensions import EXPERIMENTS, ExtensionError, installed_names, load_installed
from hil.config.schema.base import Section
from hil.config.schema.experiment_section import ExperimentSection
from hil.config.schema.nested import checked_below


def extension_section(name: str, values: Any) -> Section:
    """The checked section of an installed experiment.

    Args:
        name: of the experiment.
        values: as in the config.

    Raises:
        ValueError: see `section_class`.
        ValidationError: the values are not valid for the section.
    """
    return checked_below(name, section_class(name), values)


def installed_section(name: str) -> ExperimentSection:
    """Section of an installed experiment with its default values; if there is none of that name, that of any other."""
    with suppress(ValueError, ExtensionError):
        return section_class(name)()
    return ExperimentSection()


def section_class(name: str) -> type[ExperimentSection]:
    """Class of the section of an installed experiment.

    Raises:
        ValueError: no installed package has an experiment of that name, or it cannot be imported, or is none.
    """
    for kind, package in load_installed(EXPERIMENTS, name):
        section = getattr(kind, "section", None)  # of somebody else's: it may be anything
        if not (isinstance(section, type) and issubclass(section, ExperimentSection)):
            raise ValueError(f"an experiment with an ExperimentSection; {package} brings {kind!r}")
        return section
    installed = ", ".join(installed_names(EXPERIMENTS)) or "none is installed"
    raise ValueError(f"the name of an experiment of an installed package: {installed}")
