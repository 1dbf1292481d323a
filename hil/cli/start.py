"""Checks before any command that the right packages will be imported."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import hil

_BESIDE = ("models", "drivers", "rig_configs")


def problems_at_start() -> str:
    """Problems that prevent a start; empty if there are none.

    A folder `models/` in the current folder or on PYTHONPATH would shadow ours and be imported instead.
    """
    if sys.platform == "win32":
        return "the controller runs on Linux; a Windows PC with NI hardware is reached as an NI gRPC device server"
    root = Path(hil.__path__[0]).resolve().parent
    wrong = []
    for name in _BESIDE:
        ours, place = root / name, _place(name)
        if place is None:
            wrong.append(f"the package {name} is missing: expected {ours}; install rover-hil again")
        elif place != ours:
            wrong.append(
                f"the package {name} would come from {place} but belongs to {ours}: "
                f"start hil from another folder, or remove {place.parent} from PYTHONPATH"
            )
    return "\n".join(wrong)


def _place(name: str) -> Path | None:
    """Folder or file a package would be imported from, without importing it."""
    loaded = sys.modules.get(name)
    spec = loaded.__spec__ if loaded is not None else importlib.util.find_spec(name)
    if spec is None:
        return None
    places = list(spec.submodule_search_locations or ()) or [spec.origin or ""]
    return Path(places[0]).resolve()
