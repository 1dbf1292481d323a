"""Sections of experiments from other packages: `extensions.NAME` of a config."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from drivers.extensions import EXPERIMENTS, ExtensionError, installed_names, load_installed
from hil.config.schema.base import Section
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


def installed_section(name: str) -> Section | None:
    """Section of an installed experiment with its default values; None: no experiment of that name, or no section."""
    with suppress(ValueError, ExtensionError):
        return section_class(name)()
    return None


def section_class(name: str) -> type[Section]:
    """Class of the section of an installed experiment.

    Raises:
        ValueError: no installed package has an experiment of that name, it cannot be imported, or it has no section.
    """
    for kind, _ in load_installed(EXPERIMENTS, name):
        section: type[Section] | None = getattr(kind, "section", None)
        if section is None:
            raise ValueError(f"no section: the experiment {name} has none")
        return section
    installed = ", ".join(installed_names(EXPERIMENTS)) or "none is installed"
    raise ValueError(f"the name of an experiment of an installed package: {installed}")
