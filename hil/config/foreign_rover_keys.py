"""Keys of a config that belong to another rover than the one it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from drivers.extensions import ExtensionError
from hil.config.error_messages import shown
from hil.config.problems import Problem
from hil.config.schema.rover import ImportedSection, RoverConfig, key_path, rover_named
from models.rover.imported import IMPORTED
from models.rover.parameters import Parameters
from models.rover.registry import VEHICLES

# What takes the place of a key where a rover does not have it.
_INSTEAD = {"added_mass_kg": "rover.payload.mass_kg"}


def rover_type(raw: dict[str, Any]) -> str:
    """The type of rover that an unchecked config names."""
    rover = raw.get("rover")
    return str(rover.get("type", "rcp")) if isinstance(rover, dict) else "rcp"


def leave_out_replaced(raw: dict[str, Any], changed: Sequence[str], before: str) -> None:
    """Remove what a file says of its rover alone, where an override names another."""
    if rover_type(raw) == before:
        return
    given = [f"{key}." for key in changed]
    for path in _foreign(raw):
        if not any(f"{path}.".startswith(key) for key in given):
            _, *section, last = path.split(".")
            del (raw["rover"][section[0]] if section else raw["rover"])[last]


def other_rovers_problems(raw: dict[str, Any]) -> Iterator[Problem]:
    """A problem for each key of another rover whose value is not its default."""
    name = rover_type(raw)
    for path, (value, default) in _foreign(raw).items():
        keys = " or ".join(_instead(path.rsplit(".", 1)[1], list(_defaults(name))))
        allowed = f"{shown(default)}, its default: a rover of type {name} does not have it, use {keys}"
        yield Problem(path, shown(value), allowed, ("rover.type",))


def _instead(key: str, keys: list[str]) -> list[str]:
    """Those of a rover's keys that may be meant by another's: of its name, or else of its unit."""
    if key in _INSTEAD:
        return [_INSTEAD[key]]
    unit = key.rsplit("_", 1)[-1]
    same = [one for one in keys if one.endswith(f".{key}")] or [one for one in keys if one.endswith(f"_{unit}")]
    return same or [f"a key of {keys[-1].rsplit('.', 1)[0]}"]


def _foreign(raw: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Value and default of each key of another rover whose value is not its default; none if the type is unknown."""
    rover, has = raw.get("rover"), _defaults(rover_type(raw))
    if not has or not isinstance(rover, dict):
        return {}
    given = {f"rover.{key}": value for key, value in rover.items()}
    for name, section in rover.items():
        given |= {f"rover.{name}.{key}": value for key, value in section.items()} if isinstance(section, dict) else {}
    names = VEHICLES.keys() | {IMPORTED} | (set(map(str, rover)) - RoverConfig.model_fields.keys())
    known = {path: default for name in names for path, default in _defaults(name).items()}
    return {
        path: (value, known[path])
        for path, value in given.items()
        if path in known and path not in has and value != known[path]
    }


def _defaults(name: str) -> dict[str, Any]:
    """Default of each key of a rover by its path; none if there is no such rover."""
    if name == IMPORTED:
        return {f"rover.{IMPORTED}.{key}": field.default for key, field in ImportedSection.model_fields.items()}
    with suppress(ExtensionError):
        if (kind := rover_named(name)) is not None:
            return _defaults_of(kind)  # type: ignore[arg-type]  # a class can be hashed, whatever its instances can
    return {}


@cache
def _defaults_of(kind: type[Parameters]) -> dict[str, Any]:
    """The same of a known rover; every config that is loaded asks for those of all rovers."""
    return {key_path(kind, parameter): one.default for parameter, one in kind.quantities().items()}
