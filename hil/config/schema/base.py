"""What all parts of a rig config share; it is with the drivers, whose settings are such parts too."""

from __future__ import annotations

from drivers.section import PORT, SERVER, Section

__all__ = ["PORT", "SERVER", "Section"]
