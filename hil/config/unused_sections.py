"""Sections of a config that its experiment does not use, and keys that no config has any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from drivers.extensions import EXPERIMENTS, installed_names
from hil.config.error_messages import shown
from hil.config.overrides import Change
from hil.config.problems import Problem
from hil.config.schema.experiments import unused_sections, users_of
from hil.config.unchecked_config import UncheckedConfig


def leave_out_unused(raw: dict[str, Any], changes: Sequence[Change], before: Any) -> None:
    """Remove the sections that the experiment does not use: an override names another one, or a record has them all."""
    kept = set[str]()
    for change in changes:
        if change.path == "experiment":
            kept &= unused_sections(before)  # what was set for the experiment before goes with it
            before = change.value
        kept.add(change.path.partition(".")[0])
    for name in _unused(raw):
        if name not in kept:
            del raw[name]


def unused_section_problems(raw: dict[str, Any]) -> Iterator[Problem]:
    """A problem for each section that the experiment does not use."""
    experiment = raw.get("experiment", "impact")
    for name in _unused(raw):
        users = " or ".join(users_of(name)) or name
        allowed = f"no such section with experiment: {experiment}. Delete it, or set experiment to {users}"
        yield Problem(name, f"a section of experiment {users}", allowed, ("experiment",))


def _unused(raw: dict[str, Any]) -> list[str]:
    experiment = str(raw.get("experiment", "impact"))
    unused: set[str] = set(unused_sections(experiment))
    if others := raw.keys() - UncheckedConfig.model_fields.keys() - {experiment}:
        unused |= others & set(installed_names(EXPERIMENTS))
    return [name for name in raw if name in unused]


# What to do in place of each key.
_INSTEAD = {
    "soil.raster": "outline its areas as soil.regions",
    "notify": "let the shell that starts `hil` start the program after it",
}


def retired_key_problems(raw: dict[str, Any]) -> Iterator[Problem]:
    """Remove retired keys that have no effect, as records have them, and yield a problem for each of the others."""
    if isinstance(raw.get("extensions"), dict):  # sections of installed experiments, which now stand at the top
        raw |= raw.pop("extensions")
    for key, instead in _INSTEAD.items():
        *sections, last = key.split(".")
        node: Any = raw
        for section in sections:
            node = node.get(section) if isinstance(node, dict) else None
        if not isinstance(node, dict) or last not in node:
            continue
        value = node.pop(last)
        if value and not (isinstance(value, dict) and value.get("command") == []):
            yield Problem(key, shown(value), f"no such key any more. Delete it, and {instead}")
