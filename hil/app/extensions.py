"""Installed packages that provide drivers, experiments and rovers."""

from __future__ import annotations

from drivers.registry import broken_drivers
from hil.config.schema.rover import broken_rovers
from hil.experiments.registry import broken_experiments


def broken_extensions() -> list[str]:
    """A message for each package that does not provide what it declares; all of them are imported for this."""
    return [*broken_drivers(), *broken_experiments(), *broken_rovers()]
