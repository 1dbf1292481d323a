"""What all of a proof reads first: rows of this version, and the events that the loop itself has noted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.config.model import fingerprint
from hil.config.yaml_io import read_yaml
from hil.messages.fault import Fault
from hil.messages.layout import SAMPLED, Layout
from hil.messages.operator_input import is_command
from hil.messages.schema import EVENT, IMPACT
from hil.messages.signals import as_recorded, block_dtype, tick_dtype
from hil.recording import OpenRecord
from hil.recording.tick_logger import LATCHED_BEFORE

_FAULTS = {(int(fault), fault.name.lower().encode()) for fault in Fault}
_IMPACTS = {(0, IMPACT.encode())}


def schema_mismatch(record: OpenRecord, layout: Layout) -> str:
    """Which rows of a record differ from today's for a rig of that layout, and in what; empty if none do.

    `/timing` is not looked at: nothing is worked out from it but how the loop ran. Neither is the rover's motion, which
    records of earlier versions lack: it is worked out from what they have.
    """
    layout = as_recorded(layout, record.tick.dtype)
    rows = {"tick": (record.tick.dtype, tick_dtype(layout)), "events": (record.events.dtype, EVENT)}
    for group in SAMPLED:
        rows[f"{group}/blocks"] = (record.samples(group).blocks.dtype, block_dtype(layout, group))
    other = [
        f"rows of /{name} with {_other_fields(found, known)}" for name, (found, known) in rows.items() if found != known
    ]
    return f"{'; '.join(other)} (recorded by version {record.meta.get('version')})" if other else ""


def _other_fields(found: np.dtype[Any], known: np.dtype[Any]) -> str:
    """What sets two kinds of rows apart, in words."""
    ours: Mapping[str, Any] = known.fields or {}
    theirs: Mapping[str, Any] = found.fields or {}
    words = [_in_words(name, theirs[name][0], ours[name][0]) for name in theirs if name in ours]
    words = [word for word in words if word]
    if lacking := [name for name in ours if name not in theirs]:
        words.append(f"no {', '.join(lacking)}")
    if more := [name for name in theirs if name not in ours]:
        words.append(f"{', '.join(more)}, which is not known")
    return ", ".join(words) or "its fields in another order"


def _in_words(name: str, found: np.dtype[Any], known: np.dtype[Any]) -> str:
    """What sets two fields of a name apart; empty if nothing does."""
    if found.shape != known.shape:
        return f"{math.prod(found.shape)} numbers in {name} instead of {math.prod(known.shape)}"
    return f"{name} of type {found.base.str} instead of {known.base.str}" if found.base != known.base else ""


def wrong_channels(record: OpenRecord, layout: Layout) -> str:
    """Sensor samples of more or fewer channels than the config has, in words; empty if they fit."""
    shapes = {group: (record.samples(group).raw.shape[1], len(layout.parts(group))) for group in SAMPLED}
    return "; ".join(
        f"/{group}/raw has {found} channels, its config {known}"
        for group, (found, known) in shapes.items()
        if found != known
    )


def text_fingerprint(record: OpenRecord) -> str:
    """Checksum of the config as it stands in a record, whatever version wrote it."""
    values, _ = read_yaml(str(record.meta.get("config", "")), "/meta/config")
    try:
        return fingerprint(values)
    except (TypeError, ValueError):  # what no JSON can say: not a number, a tag of YAML
        return "not a config"


def faults_of(events: NDArray[np.void]) -> NDArray[np.void]:
    """Faults noted by the loop; recorder and watchdog note theirs under other names. Rows of `EVENT`."""
    return _named(events, _FAULTS)


def impacts_of(events: NDArray[np.void]) -> NDArray[np.void]:
    """Events that tell of an impact: rows of `EVENT`."""
    return _named(events, _IMPACTS)


def impact_time(record: OpenRecord, summary: Mapping[str, Any]) -> float | None:
    """When the impact was [s]: as the summary says, or else the first tick with it; None: there was none."""
    if isinstance(found := summary.get("impact_time_s"), int | float):
        return float(found)
    hit = np.flatnonzero(record.tick["impact"])
    return float(record.tick["t_ns"][hit[0]]) * 1e-9 if hit.size else None


def ticks_between(record: OpenRecord, from_s: float | None, to_s: float | None) -> tuple[int, int]:
    """Where the ticks from one time to another [s] begin, and behind their last; None: of the run's start, its end."""
    if from_s is None and to_s is None:
        return 0, len(record.tick)
    times = np.asarray(record.tick["t_ns"])
    first = 0 if from_s is None else int(np.searchsorted(times, round(from_s * 1e9)))
    return first, len(times) if to_s is None else int(np.searchsorted(times, round(to_s * 1e9), "right"))


def commands_of(events: NDArray[np.void]) -> NDArray[np.void]:
    """Events that record what an operator has asked: rows of `EVENT`."""
    return events[[is_command(event) for event in events]]


def carried_of(events: NDArray[np.void]) -> NDArray[np.void]:
    """Events that tell of a fault latched in an earlier run on the same rig: rows of `EVENT`."""
    return _named(events, {(0, LATCHED_BEFORE.encode())})


def _named(events: NDArray[np.void], wanted: set[tuple[int, bytes]]) -> NDArray[Any]:
    return events[[(int(event["id"]), bytes(event["name"])) in wanted for event in events]]
