"""Base of all sections of a rig config; it is in `drivers`, because the settings of drivers are sections too."""

from __future__ import annotations

from drivers.section import PORT, SERVER, Section

__all__ = ["PORT", "SERVER", "Section"]
