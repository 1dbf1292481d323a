"""What all of a proof reads first: rows of this version, and the events that the loop itself has noted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.config import Config
from hil.layout import Layout
from hil.operator_input import is_command
from hil.record import TrialRecord
from hil.rows import EVENT, IMPACT, block_dtype, tick_dtype
from hil.safety import Fault
from hil.scribe import LATCHED_BEFORE

_FAULTS = {(int(fault), fault.name.lower().encode()) for fault in Fault}
_IMPACTS = {(0, IMPACT.encode())}


def schema_mismatch(record: TrialRecord, layout: Layout) -> str:
    """Which rows of a record differ from today's for a rig of that layout, in words; empty if none do.

    `/timing` is not looked at: nothing is worked out from it but how the loop ran.
    """
    rows = {"tick": (record.tick, tick_dtype(layout)), "events": (record.events, EVENT)}
    rows["daq/blocks"] = (record.blocks, block_dtype(layout))
    other = [f"/{name}" for name, (found, known) in rows.items() if found.dtype != known]
    return f"rows of {', '.join(other)} as version {record.meta.get('version')} wrote them" if other else ""


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


def commands_of(events: NDArray[np.void]) -> NDArray[np.void]:
    """Events that record what an operator has asked: rows of `EVENT`."""
    return events[[is_command(event) for event in events]]


def carried_of(events: NDArray[np.void]) -> NDArray[np.void]:
    """Events that tell of a fault latched in an earlier run on the same rig: rows of `EVENT`."""
    return _named(events, {(0, LATCHED_BEFORE.encode())})


def _named(events: NDArray[np.void], wanted: set[tuple[int, bytes]]) -> NDArray[Any]:
    return events[[(int(event["id"]), bytes(event["name"])) in wanted for event in events]]
