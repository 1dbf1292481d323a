"""The inputs of a recorded run, tick by tick, from links that look like any rig's; how much of a record has them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.interfaces import Health
from drivers.messages import DaqBlock
from hil.analysis.recording_checks import (
    commands_of,
    faults_of,
    placed_blocks,
    ranges,
    schema_mismatch,
    tick_order,
    tick_times,
    times_within,
    wrong_channels,
)
from hil.analysis.recovery import holes_of
from hil.config import Config, ConfigError, parse_config
from hil.messages.fault import Fault
from hil.messages.layout import NEWEST, SAMPLED, Layout
from hil.messages.link_messages import SampleRow
from hil.messages.operator_input import OperatorInput, command_of
from hil.messages.signals import SEQUENCE
from hil.messages.stages import Tick
from hil.recording import OpenRecord
from hil.recording.content import Recorded, SampleSet, first_rows, in_blocks
from hil.runtime.rig_io import RigIO
from hil.version import running_version


class RecordedInputs:
    """What the devices said in each tick of a record. The record has all sensor samples.

    Attributes:
        ticks: those that `seek` turns to; others later in the record may take their place.
        row: (1,) of the tick that was turned to last.
        devices: hand out what they said in that tick, and take any command.
    """

    def __init__(self, record: OpenRecord, ticks: NDArray[np.void], layout: Layout) -> None:
        self.ticks, self.row = ticks, ticks[:1]
        asked = [(int(event["tick"]), command_of(event)) for event in commands_of(record.events)]
        self._asked = {tick: tuple(one for at, one in asked if at == tick) for tick, _ in asked}
        devices = {link: _NewestLink(self, SampleRow(link, layout)) for link in layout.links if link in NEWEST}
        sources = {group: _Blocks(self, record.samples(group), group) for group in SAMPLED if layout.parts(group)}
        self.devices = RigIO(layout, {**sources, **devices}, self)

    def seek(self, place: int) -> Tick:
        """The tick of that row; its inputs are what the devices say from now on."""
        self.row = self.ticks[place : place + 1]
        return Tick(int(self.row["tick"][0]), int(self.row["t_ns"][0]), time.monotonic_ns(), 0)

    def read(self) -> OperatorInput:
        """What the operator has asked in this tick."""
        return self._asked.get(int(self.row["tick"][0]), ())


class _Link:
    """Life cycle of a link to nothing but a record."""

    def __init__(self, recorded_inputs: RecordedInputs) -> None:
        self._recorded_inputs = recorded_inputs

    def open(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""

    def health(self) -> Health:
        """Always well."""
        return Health("record", True, 0, "replayed")


class _Blocks(_Link):
    def __init__(self, recorded_inputs: RecordedInputs, record: SampleSet, group: str) -> None:
        super().__init__(recorded_inputs)
        self._group, self._blocks = group, _whole_blocks(record)
        self._next = next(self._blocks, None)

    def read(self, t_ns: int) -> DaqBlock | None:  # noqa: ARG002  `seek` has chosen it
        """The next block that this tick took in."""
        block = self._next
        if block is None or block.sequence > self._recorded_inputs.row[SEQUENCE[self._group]][0]:
            return None
        self._next = next(self._blocks, None)
        return block


def _whole_blocks(record: SampleSet) -> Iterator[DaqBlock]:
    for placed in placed_blocks(record):
        raw, whole = record.raw[placed.first : placed.first + len(placed.t_ns)], placed.whole
        for head, a, b in zip(placed.heads[whole], placed.starts[whole], placed.ends[whole], strict=True):
            overload = tuple(map(bool, head["overload"]))
            yield DaqBlock(int(head["sequence"]), placed.t_ns[a:b], raw[a:b], overload, int(head["arrived_ns"]))


class _NewestLink(_Link):
    def __init__(self, recorded_inputs: RecordedInputs, samples: SampleRow) -> None:
        super().__init__(recorded_inputs)
        self._samples = samples

    def read(self, t_ns: int) -> Any:  # noqa: ARG002
        return self._samples.of_tick(self._recorded_inputs.row[0])

    def write(self, command: object) -> None:
        """Nobody obeys."""


NEVER = 2**62
_LATER_NS = 60_000_000_000  # samples may still come so long after the last tick
# The faults after which a tick may have no row: they come of an exception.
_RAISED = (Fault.EXCEPTION, Fault.DISK_FULL, Fault.RECORD_RING_FULL)


class CannotReplayError(ValueError):
    """The record lacks what a replay needs."""


def replayable_config(record: OpenRecord) -> Config:
    """The config to replay a record with. Raises CannotReplayError: none of this version, or not all samples kept."""
    try:
        config = parse_config(str(record.meta.get("config", "")), "/meta/config")
    except ConfigError as error:
        raise CannotReplayError(f"its config is not one of version {running_version()}: {error.problems[0]}") from None
    if mismatch := schema_mismatch(record, config.layout):
        raise CannotReplayError(f"it has {mismatch}; the version that recorded it can replay it, this one cannot")
    if wrong := wrong_channels(record, config.layout):
        raise CannotReplayError(wrong)
    if config.daq and config.record.sensors != "all":
        raise CannotReplayError(f"record.sensors is {config.record.sensors}, and a replay needs all sensor samples")
    end_ns = int(record.tick[-1]["t_ns"]) + _LATER_NS if len(record.tick) else 0
    for check in (
        tick_order(record.tick),
        tick_times(record.tick, config.loop.rate_hz),  # a time that jumps would be simulated all through
        *(
            times_within(record.samples(group), end_ns, "load " * (group == "loads"))
            for group in SAMPLED
            if end_ns and config.layout.parts(group)
        ),
    ):
        if not check.ok:
            raise CannotReplayError(f"{check.item}: {check.found}; allowed: {check.allowed}")
    return config


def known_until(record: OpenRecord, clock: str, summary: Mapping[str, Any] | None) -> int:
    """The first tick that an exception ended before it had a row, so that what it took in is not known; or NEVER.

    Raises CannotReplayError: ticks are missing that neither the clock has skipped nor an exception has ended.
    """
    gaps = list(holes_of(rows["tick"] for rows in in_blocks(record.tick)))
    faults = faults_of(record.events)
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


def replayable_ticks(record: OpenRecord, until: int) -> Recorded:
    """Ticks with all sensor samples that they took in, and those from `until` on, of which not all is asked.

    Raises CannotReplayError: there are none, or blocks of samples are missing between others.
    """
    fields = {group: field for group, field in SEQUENCE.items() if field in (record.tick.dtype.names or ())}
    there = {  # numbers of the blocks that are there with all their samples
        group: [placed.heads["sequence"][placed.whole] for placed in placed_blocks(record.samples(group))]
        for group in fields
    }
    last = {group: max((int(numbers.max(initial=0)) for numbers in parts), default=0) for group, parts in there.items()}
    newest, lacking, seen = dict.fromkeys(fields, 0), [np.zeros(0, np.int64)], 0
    for rows in in_blocks(record.tick):
        asked = rows["tick"] < until
        lacks = np.zeros(len(rows), bool)
        for group, field in fields.items():
            newest[group] = max(newest[group], int(rows[field][asked].max(initial=0)))
            lacks |= asked & (rows[field] > last[group])
        lacking.append(seen + np.flatnonzero(lacks))
        seen += len(rows)
    for group, parts in there.items():
        if gaps := [(first, end) for first, end in holes_of(parts) if first <= newest[group]]:
            raise CannotReplayError(
                f"{'load ' * (group == 'loads')}blocks {ranges(gaps)} of the sensor samples are not in the record, or "
                "not whole"
            )
    left_out = np.concatenate(lacking)
    kept = seen - len(left_out)
    if not kept:
        raise CannotReplayError("there is no tick in the record, or none whose sensor samples are")
    if not len(left_out) or left_out[0] == kept:
        return first_rows(record.tick, kept)
    ticks: Recorded = record.tick[~np.isin(np.arange(seen), left_out)]
    return ticks


def _count(gaps: Sequence[tuple[int, int]]) -> int:
    return sum(last - first + 1 for first, last in gaps)
