"""The inputs of a recorded run, tick by tick, from links that look like any rig's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.interfaces import Health
from drivers.messages import DaqBlock
from hil.analysis.events import commands_of
from hil.analysis.placed_blocks import placed_blocks
from hil.messages.layout import NEWEST, SAMPLED, Layout
from hil.messages.link_messages import SampleRow
from hil.messages.operator_input import OperatorInput, command_of
from hil.messages.signals import SEQUENCE
from hil.messages.stages import Tick
from hil.recording import OpenRecord
from hil.recording.content import SampleSet
from hil.runtime.rig_io import RigIO


class RecordedInputs:
    """What the devices said in each tick of a record.

    Args:
        record: with all sensor samples.
        ticks: some of its ticks.
        layout: of the rig.

    Attributes:
        ticks: those that `seek` turns to; others later in the record may take their place.
        devices: hand out what they said in the tick that was turned to last, and take any command.
    """

    def __init__(self, record: OpenRecord, ticks: NDArray[np.void], layout: Layout) -> None:
        self.ticks, self._row = ticks, ticks[:1]
        asked = [(int(event["tick"]), command_of(event)) for event in commands_of(record.events)]
        self._asked = {tick: tuple(one for at, one in asked if at == tick) for tick, _ in asked}
        self._rows = {link: SampleRow(link, layout) for link in layout.links if link in NEWEST}
        devices = {link: _Newest(self, link) for link in self._rows}
        sources = {group: _Blocks(self, record.samples(group), group) for group in SAMPLED if layout.parts(group)}
        self.devices = RigIO(layout, {**sources, **devices}, _Operator(self))

    def seek(self, place: int) -> Tick:
        """The tick of that row; its inputs are what the devices say from now on."""
        self._row = self.ticks[place : place + 1]
        return Tick(int(self._row["tick"][0]), int(self._row["t_ns"][0]), time.monotonic_ns(), 0)

    def newest_block(self, group: str) -> int:
        """Number of the newest block of a group that this tick took in."""
        return int(self._row[SEQUENCE[group]][0])

    def newest(self, link: str) -> Any:
        """What a device had said by this tick."""
        return self._rows[link].of_tick(self._row[0])

    def operator(self) -> OperatorInput:
        """What the operator has asked in this tick."""
        return self._asked.get(int(self._row["tick"][0]), ())


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
        if block is None or block.sequence > self._recorded_inputs.newest_block(self._group):
            return None
        self._next = next(self._blocks, None)
        return block


def _whole_blocks(record: SampleSet) -> Iterator[DaqBlock]:
    for placed in placed_blocks(record):
        raw, whole = record.raw[placed.first : placed.first + len(placed.t_ns)], placed.whole
        for head, a, b in zip(placed.heads[whole], placed.starts[whole], placed.ends[whole], strict=True):
            overload = tuple(map(bool, head["overload"]))
            yield DaqBlock(int(head["sequence"]), placed.t_ns[a:b], raw[a:b], overload, int(head["arrived_ns"]))


class _Operator:
    def __init__(self, recorded_inputs: RecordedInputs) -> None:
        self._recorded_inputs = recorded_inputs

    def read(self) -> OperatorInput:
        return self._recorded_inputs.operator()


class _Newest(_Link):
    def __init__(self, recorded_inputs: RecordedInputs, link: str) -> None:
        super().__init__(recorded_inputs)
        self._link = link

    def read(self, t_ns: int) -> Any:  # noqa: ARG002
        return self._recorded_inputs.newest(self._link)

    def write(self, command: object) -> None:
        """Nobody obeys."""
