"""What statics say of a rig, computed once for the runs of a campaign, which differ in what statics do not ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from hil.config.rig import Rig


P = ParamSpec("P")
T = TypeVar("T")
# Results that are kept for each question, the newest.
_KEPT = 16
# What the nominal rover at rest and in a steady drive depends on.
_ASKED: dict[str, Any] = {
    **dict.fromkeys(
        ("experiment", "rover", "ground", "soil", "wheel", "slope", "drives", "cylinders"),
        True,
    ),
    "plant": {"substep_us"},
}


def kept_statics(compute: Callable[Concatenate[Rig, P], T]) -> Callable[Concatenate[Rig, P], T]:
    """The same function, whose newest results are kept: its callers share them, and do not change them.

    Further arguments count by their repr.
    """
    known: dict[str, T] = {}

    def kept(rig: Rig, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = f"{rig.config.model_dump_json(include=_ASKED)}{args!r}{kwargs!r}"
        result = known.pop(key) if key in known else compute(rig, *args, **kwargs)
        known[key] = result  # the newest last
        while len(known) > _KEPT:
            del known[next(iter(known))]
        return result

    kept.__doc__ = compute.__doc__
    return kept
