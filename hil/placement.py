"""Whether Python takes our top-level packages from where they belong."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator

# Those next to `hil`: a folder or file of such a name in the current folder or on PYTHONPATH may stand before ours.
_BESIDE = ("models", "drivers", "rig_configs")


def misplaced() -> Iterator[str]:
    """What is wrong with our other packages, a sentence each."""
    root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    for name in _BESIDE:
        ours, loaded = os.path.join(root, name), sys.modules.get(name)
        spec = loaded.__spec__ if loaded is not None else importlib.util.find_spec(name)
        if spec is None:
            yield f"the package {name} is missing: expected {ours}; install rover-hil again"
            continue
        place = os.path.realpath(next(iter(spec.submodule_search_locations or ()), spec.origin or ""))
        if place != ours:
            yield (
                f"the package {name} would come from {place} but belongs to {ours}: rename {place}, start from another "
                f"folder, or remove {os.path.dirname(place)} from PYTHONPATH"
            )


def require_placed() -> None:
    """Raises ImportError: another folder or file stands before a package of ours; not in the program `hil`.

    That one says it by itself, with its exit status (`hil.cli`). It has to import `hil` before it can, and until
    then only its name tells it from a script: `hil`, or `-m` while `python -m hil.cli` looks for its module.
    """
    if os.path.basename(next(iter(sys.argv), "")) not in ("hil", "-m") and (wrong := "; ".join(misplaced())):
        raise ImportError(wrong)
