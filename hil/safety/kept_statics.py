"""What statics say of a config, computed once for the runs of a campaign, which differ in what statics do not ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hil.config import Config

T = TypeVar("T")
# Results that are kept for each question, the newest.
_KEPT = 16
# What the nominal rover at rest and in a steady drive depends on.
_ASKED: dict[str, Any] = {
    **dict.fromkeys(
        ("experiment", "rover", "ground", "soil", "wheel", "drive", "normal_force", "slope", "drives", "cylinders"),
        True,
    ),
    "trial": {"speed_mps"},
    "plant": {"substep_us"},
}


def kept_statics(compute: Callable[[Config], T]) -> Callable[[Config], T]:
    """The same function, whose newest results are kept: its callers share them, and do not change them."""
    known: dict[str, T] = {}

    def kept(config: Config) -> T:
        key = config.model_dump_json(include=_ASKED)
        found = known.pop(key) if key in known else compute(config)
        known[key] = found  # the newest last
        while len(known) > _KEPT:
            del known[next(iter(known))]
        return found

    kept.__doc__ = compute.__doc__
    return kept
