"""Checks before any command that the right packages will be imported."""

from __future__ import annotations

import sys

from hil.placement import misplaced


def problems_at_start() -> str:
    """Problems that prevent a start; empty if there are none.

    A folder `models/` in the current folder or on PYTHONPATH would shadow ours and be imported instead.
    """
    if sys.platform == "win32":
        return "the controller runs on Linux; a Windows PC with NI hardware is reached as an NI gRPC device server"
    return "\n".join(misplaced())
