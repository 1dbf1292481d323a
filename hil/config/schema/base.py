"""Base of all sections of a rig config; it is in `drivers`, because the settings of drivers are sections too."""

from __future__ import annotations

from drivers.section import PORT, SERVER, Section

__all__ = ["PORT", "SERVER", "Section", "is_none"]


def is_none(value: object) -> bool:
    """For `exclude_if` of a key that came later: the effective config and its fingerprint lack it while it is null."""
    return value is None
