"""Sections of a config that belong to another experiment than the one it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hil.config.problems import Problem
from hil.config.schema.experiments import unused_sections, users_of


def leave_out_unused(raw: dict[str, Any], changed: Sequence[str]) -> None:
    """Remove the sections that the experiment does not use: an override names another one, or a record has them all.

    Args:
        raw: the config after its overrides; changed.
        changed: keys of the overrides, whose sections stay.
    """
    kept = {key.partition(".")[0] for key in changed}
    for name in unused_sections(raw.get("experiment", "impact")) - kept:
        raw.pop(name, None)


def unused_section_problems(raw: dict[str, Any]) -> Iterator[Problem]:
    """A problem for each section that the experiment does not use."""
    experiment = raw.get("experiment", "impact")
    unused = unused_sections(experiment)
    for name in (name for name in raw if name in unused):
        users = " or ".join(users_of(name))
        allowed = f"no such section with experiment: {experiment}. Delete it, or set experiment to {users}"
        yield Problem(name, f"a section of experiment {users}", allowed, ("experiment",))
