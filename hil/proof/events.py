"""What all of a proof reads first: rows of this version, and the events that the loop itself has noted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.config import Config
from hil.record import TrialRecord
from hil.rows import BLOCK, EVENT, IMPACT, TICK, TIMING
from hil.safety import Fault

_FAULTS = {(int(fault), fault.name.lower().encode()) for fault in Fault}
_IMPACTS = {(0, IMPACT.encode())}


def strange_rows(record: TrialRecord) -> str:
    """Which rows of a record are laid out otherwise than today's, in words; empty if none are."""
    rows = {"tick": (record.tick, TICK), "events": (record.events, EVENT), "timing": (record.timing, TIMING)}
    rows["daq/blocks"] = (record.blocks, BLOCK)
    strange = [f"/{name}" for name, (found, known) in rows.items() if found.dtype != known]
    return f"rows of {', '.join(strange)} by version {record.meta.get('version')}" if strange else ""


def wrong_channels(record: TrialRecord, config: Config) -> str:
    """Sensor samples of more or fewer channels than the config has, in words; empty if they fit."""
    found, known = record.raw.shape[1], len(config.daq.channels)
    return f"/daq/raw has {found} channels, its config {known}" if found != known else ""


def faults_of(events: NDArray[np.void]) -> NDArray[np.void]:
    """Faults noted by the loop; recorder and watchdog note theirs under other names. Rows of `EVENT`."""
    return _named(events, _FAULTS)


def impacts_of(events: NDArray[np.void]) -> NDArray[np.void]:
    """Events that tell of an impact: rows of `EVENT`."""
    return _named(events, _IMPACTS)


def _named(events: NDArray[np.void], wanted: set[tuple[int, bytes]]) -> NDArray[Any]:
    return events[[(int(event["id"]), bytes(event["name"])) in wanted for event in events]]
