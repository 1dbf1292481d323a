"""How much of a record can be replayed: what its ticks took in, as far as it is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hil
from hil.analysis.events import faults_of, schema_mismatch, wrong_channels
from hil.analysis.recovery import holes
from hil.analysis.sample_checks import whole_blocks
from hil.analysis.tick_checks import ranges
from hil.config import Config, ConfigError, parse_config
from hil.messages.fault import Fault
from hil.messages.signals import SEQUENCE
from hil.recording import TrialRecord

NEVER = 2**62
# The faults after which a tick may have no row: they come of an exception.
_RAISED = (Fault.EXCEPTION, Fault.DISK_FULL, Fault.RECORD_RING_FULL)


class CannotReplayError(ValueError):
    """The record lacks what a replay needs."""


def replayable_config(record: TrialRecord) -> Config:
    """The config to replay a record with. Raises CannotReplayError: none of this version, or not all samples kept."""
    try:
        config = parse_config(str(record.meta.get("config", "")), "/meta/config")
    except ConfigError as error:
        raise CannotReplayError(f"its config is not one of version {hil.__version__}: {error.problems[0]}") from None
    if mismatch := schema_mismatch(record, config.layout):
        raise CannotReplayError(f"it has {mismatch}; the version that recorded it can replay it, this one cannot")
    if wrong := wrong_channels(record, config.layout):
        raise CannotReplayError(wrong)
    if config.daq and config.record.sensors != "all":
        raise CannotReplayError(f"record.sensors is {config.record.sensors}, and a replay needs all sensor samples")
    return config


def known_until(record: TrialRecord, clock: str, summary: Mapping[str, Any] | None) -> int:
    """The first tick that an exception ended before it had a row, so that what it took in is not known; or NEVER.

    Raises:
        CannotReplayError: ticks are missing that neither the clock has skipped nor an exception has ended.
    """
    gaps, faults = holes(record.tick["tick"]), faults_of(record.events)
    skipped: int | None = ((summary or {}).get("loop") or {}).get("skipped")
    if skipped is None and clock == "lockstep":
        skipped = 0
    if _count(gaps) == skipped:
        return NEVER
    raised = int(faults["tick"][np.isin(faults["id"], _RAISED)].min(initial=NEVER))
    before = [(first, last) for first, last in gaps if last < raised]
    if skipped is not None and _count(before) > skipped:
        raise CannotReplayError(f"ticks {ranges(before)} are not in the record, and the clock skipped {skipped}")
    return next((first for first, last in gaps if last >= raised), NEVER)


def replayable_ticks(record: TrialRecord, until: int) -> NDArray[np.void]:
    """Ticks with all sensor samples that they took in, and those from `until` on, of which not all is asked.

    Raises:
        CannotReplayError: there are none, or blocks of samples are missing between others.
    """
    ticks: NDArray[np.void] = record.tick
    for group, field in SEQUENCE.items():
        if field not in (record.tick.dtype.names or ()):
            continue
        samples = record.samples(group)
        numbers = samples.blocks["sequence"][whole_blocks(samples)]
        newest = record.tick[field][record.tick["tick"] < until].max(initial=0)
        if gaps := [(first, last) for first, last in holes(numbers) if first <= newest]:
            raise CannotReplayError(
                f"{'load ' * (group == 'loads')}blocks {ranges(gaps)} of the sensor samples are not in the record, or "
                "not whole"
            )
        kept = (ticks[field] <= numbers.max(initial=0)) | (ticks["tick"] >= until)
        ticks = ticks if kept.all() else ticks[kept]  # a copy of all ticks of an hour takes a GB
    if not ticks.size:
        raise CannotReplayError("there is no tick in the record, or none whose sensor samples are")
    return ticks


def _count(gaps: Sequence[tuple[int, int]]) -> int:
    return sum(last - first + 1 for first, last in gaps)
