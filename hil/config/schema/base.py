"""Base of all sections of a rig config, which is in `drivers`, and how their keys are declared."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from drivers.section import PORT, SERVER, Listed, Section

__all__ = ["PORT", "SERVER", "Listed", "Section", "bounded", "is_none", "key", "positive", "section"]


def is_none(value: object) -> bool:
    """For `exclude_if` of a key that came later: the effective config and its fingerprint lack it while it is null."""
    return value is None


def key(default: Any, words: str, *, note: str = "", **more: Any) -> Any:
    """A key with a default: what it is, what is allowed (`note`) where no bound says it, what else `Field` takes."""
    if note:
        more["json_schema_extra"] = {"note": note}
    return Field(default, description=words, **more)


def bounded(default: float | None, least: float, most: float, words: str, **more: Any) -> Any:
    """A key that is a number from `least` to `most`."""
    return Field(default, ge=least, le=most, description=words, **more)


def positive(default: float | None, most: float, words: str, **more: Any) -> Any:
    """A key that is a number above 0 and up to `most`."""
    return Field(default, gt=0, le=most, description=words, **more)


def section(kind: type[Section], words: str) -> Any:
    """A key that is a section, by default one with all defaults."""
    return Field(default_factory=kind, description=words)
