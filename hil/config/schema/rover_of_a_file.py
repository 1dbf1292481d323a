"""The section of a rover that is described by a file."""

from __future__ import annotations

from pydantic import Field

from drivers.section import Listed
from hil.config.schema.base import Section


class ImportedSection(Section):
    """A rover of a file, as `hil rover import` writes it."""

    urdf: str | None = Field(
        None, description="path of a URDF, relative to this file; an effective config has its text; null: another type"
    )
    wheels: Listed[str] | None = Field(
        None, min_length=2, max_length=10, description="its wheels: links or joints; null: those that are recognised"
    )
