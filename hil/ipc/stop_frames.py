"""Frames that stop each link without its driver: stored before a run, for the watchdog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from drivers.interfaces import StopFrames
from hil.ipc.run_memory import FOLDER, RunMemory

_FILE = "stops.json"
Stops = Mapping[str, Sequence[StopFrames]]


def write_stops(shared: RunMemory, stops: Stops) -> None:
    """Store the stop frames of each link, by its name."""
    _place(shared).write_bytes(msgspec.json.encode(stops))


def read_stops(shared: RunMemory) -> Stops:
    """The stop frames of each link; none if there are no links to stop."""
    place = _place(shared)
    return msgspec.json.decode(place.read_bytes(), type=dict[str, tuple[StopFrames, ...]]) if place.exists() else {}


def _place(shared: RunMemory) -> Path:
    return shared.run / FOLDER / _FILE
