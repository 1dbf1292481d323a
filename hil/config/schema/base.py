"""What all sections of the config have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field, ValidationError
from pydantic_core import InitErrorDetails

from drivers.section import PORT, SERVER, Listed, Section, is_none

__all__ = ["PORT", "SERVER", "Listed", "Section", "bounded", "is_none", "key", "positive", "section"]


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


def checked_below(name: str, section: type[Section], values: Any) -> Section:
    """Check the values of a section; the location of each error then begins with the name that selected its class.

    Raises ValidationError: the values are not valid for the section.
    """
    try:
        return section.model_validate(values)
    except ValidationError as error:
        raise ValidationError.from_exception_data(error.title, list(_below(name, error))) from None


def _below(name: str, error: ValidationError) -> Iterator[InitErrorDetails]:
    for detail in error.errors(include_url=False):
        place = (name, *detail["loc"])
        yield InitErrorDetails(type=detail["type"], loc=place, input=detail["input"], ctx=detail.get("ctx", {}))
