"""Sections whose class depends on a name in the config."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError
from pydantic_core import InitErrorDetails

from hil.config.schema.base import Section


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
