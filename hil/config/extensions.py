"""Sections of experiments that other packages bring: `extensions.NAME` of a config."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from hil.config.base import Section

# Groups of entry points (CONTRIBUTING.md).
EXPERIMENTS = "rover_hil.experiments"


def extension_section(name: str, values: Any) -> Section:
    """The checked section of an installed experiment.

    Args:
        name: of the experiment.
        values: as the config has them.

    Raises:
        ValueError: no installed package brings an experiment of that name, or it takes no section.
        ValidationError: it does not take these values.
    """
    found = {point.name: point for point in entry_points(group=EXPERIMENTS)}
    if name not in found:
        installed = ", ".join(sorted(found)) or "none is installed"
        raise ValueError(f"the name of an experiment that an installed package brings: {installed}")
    section: type[Section] | None = getattr(found[name].load(), "section", None)
    if section is None:
        raise ValueError(f"no section: the experiment {name} takes none")
    return values if isinstance(values, section) else section.model_validate(values)
