"""Keys of earlier versions: a config that still has one is told what to do, and records that have them can be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hil.config.error_messages import shown
from hil.config.problems import Problem

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
