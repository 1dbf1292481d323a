"""Installed packages that bring drivers and experiments."""

from __future__ import annotations

from drivers.registry import broken_drivers
from hil.experiments.registry import broken_experiments


def broken_extensions() -> list[str]:
    """A sentence for each package that does not bring what it says; every one of them is imported for it."""
    return [*broken_drivers(), *broken_experiments()]
