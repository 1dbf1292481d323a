"""Values that replace those of a config before it is checked: of the command line, or of a program."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hil.config.error_messages import shown
from hil.config.problems import Problem
from hil.config.schema.sensors import LISTED
from hil.config.text_io import read_yaml
from hil.config.unchecked_config import UncheckedConfig

SEED_ON_RIG = "no seed: with rig: real there are no random numbers"
_PLAIN = (bool, int, float, str, type(None))
_ALLOWED = "a number, text, true or false, None, a list, or a mapping for a section"


class Change(NamedTuple):
    """A value for a key."""

    label: str  #: the key as a message names it
    path: str  #: of the key, dotted
    value: Any  #: as YAML would give it
    merges: bool  #: a section keeps those of its keys that the value does not name

    def keys_set(self) -> Iterator[str]:
        """Paths of the keys that get a value."""
        return _leaves(self.path, self.value) if self.merges else iter([self.path])


def changes_of(overrides: Sequence[str] | Mapping[str, Any]) -> tuple[list[Change], list[Problem]]:
    """The changes that overrides ask for, and what is wrong with the others; see `load_config`."""
    found = (
        [_of_value(*item) for item in overrides.items()] if isinstance(overrides, Mapping) else map(_of_text, overrides)
    )
    changes, problems = list[Change](), list[Problem]()
    for one in found:
        if isinstance(one, Change):
            changes.append(one)
        else:
            problems += one
    return changes, problems


def _of_text(override: str) -> Change | list[Problem]:
    path, equals, text = override.partition("=")
    path = path.strip()
    if not equals or not all(path.split(".")):
        return [Problem(f"--set {override}", "no key and value", "a.b=VALUE, for example trial.angle_deg=70")]
    # the shell passes `a.b=""` on as `a.b=`: that is an empty text, and null is written as null
    value, problems = read_yaml(text, f"--set {path}") if text.strip() else ("", [])
    return problems or Change(f"--set {path}", path, value, merges=False)


def _of_value(path: Any, value: Any) -> Change | list[Problem]:
    if not isinstance(path, str) or not all(path.split(".")):
        return [Problem(repr(path), "no key", "a dotted key, for example trial.angle_deg")]
    try:
        return Change(path, path, plain_value(value), merges=True)
    except TypeError as error:
        return [Problem(path, str(error), _ALLOWED)]


def plain_value(value: Any) -> Any:
    """A value of Python or numpy as YAML would give it. Raises TypeError: there is none, with what was found."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        if wrong := [key for key in value if not isinstance(key, str)]:
            raise TypeError(f"a mapping with the key {wrong[0]!r}")
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if callable(to_list := getattr(value, "tolist", None)):  # scalars and arrays of numpy, columns of pandas
        return plain_value(to_list())
    if isinstance(value, Sequence | range) and not isinstance(value, str | bytes):
        return [plain_value(item) for item in value]
    for kind in (bool, int, float, str):  # of a class derived from it, as members of an enum are
        if isinstance(value, kind):
            return kind(value)
    raise TypeError(f"{shown(value)} of type {type(value).__name__}")


def _leaves(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}", item)
    else:
        yield path


def put(raw: dict[str, Any], change: Change) -> list[Problem]:
    """Put a value into a raw config; return a problem if that is not possible."""
    keys = change.path.split(".")
    node: Any = raw
    for depth, key in enumerate(keys):
        last = depth == len(keys) - 1
        where = ".".join(keys[:depth])
        if isinstance(node, list):
            if not (key.isascii() and key.isdigit() and len(key) < 6 and int(key) < len(node)):
                return [Problem(change.label, f"{key!r} in {where}", f"a place in that list, 0 to {len(node) - 1}")]
            place: Any = int(key)
        elif isinstance(node, dict):
            place = key
            if not last and key not in node:
                node[key] = _default(raw, keys[: depth + 1])
        else:
            return [Problem(change.label, f"{where} is {shown(node)}", "a section before each dot")]
        if last:
            node[place] = _merged(node, place, change.value) if change.merges else change.value
        else:
            node = node[place]
    return []


def _merged(node: Any, place: Any, value: Any) -> Any:
    """A value, and of a section what it does not name; a device of another driver has nothing of the former one."""
    former = node.get(place) if isinstance(node, dict) else node[place]
    if not isinstance(value, dict) or not isinstance(former, dict):
        return value
    if value.get("driver", former.get("driver")) != former.get("driver"):
        return value
    return former | {key: _merged(former, key, item) for key, item in value.items()}


def _default(raw: dict[str, Any], keys: list[str]) -> Any:
    """The default of a missing list; a missing section starts empty and gets its defaults later."""
    daq = raw.get("daq")
    given = daq.get("layout") if isinstance(daq, dict) else None
    layout = {"layout": given} if given in LISTED else {}
    node: Any = UncheckedConfig.model_validate({"name": "default", "rig": "simulated", "daq": layout}).model_dump(
        mode="json"
    )
    for key in keys:
        node = node.get(key) if isinstance(node, dict) else None
    return copy.deepcopy(node) if isinstance(node, list) else {}
