"""The inputs of a recorded run, tick by tick, from links that look like any rig's."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from drivers.interfaces import Health
from drivers.messages import (
    DaqBlock,
    DriveCommand,
    DriveSample,
    JointCommand,
    JointSample,
    Reading,
    ValveCommand,
    ValveSample,
)
from hil.analysis.events import commands_of
from hil.analysis.placed_blocks import placed_blocks
from hil.messages.layout import SAMPLED, Layout
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
        self._drives, self._valves = SampleRow(DriveSample, layout), SampleRow(ValveSample, layout)
        asked = [(int(event["tick"]), command_of(event)) for event in commands_of(record.events)]
        self._asked = {tick: tuple(one for at, one in asked if at == tick) for tick, _ in asked}
        sources = {group: _Blocks(self, record.samples(group), group) for group in SAMPLED if layout.of_group(group)}
        valves = _Valves(self) if "valves" in layout.links else None
        self._instruments = {role: SampleRow(Reading, layout, role) for role in layout.instruments}
        instruments = {role: _Instrument(self, role) for role in layout.instruments}
        self._servos = SampleRow(JointSample, layout) if layout.servos else None
        servos = _Servos(self) if layout.servos else None
        self.devices = RigIO(
            layout, sources.get("daq"), _Drives(self), valves, _Operator(self), sources.get("loads"), instruments,
            servos,
        )  # fmt: skip

    def seek(self, place: int) -> Tick:
        """The tick of that row; its inputs are what the devices say from now on."""
        self._row = self.ticks[place : place + 1]
        return Tick(int(self._row["tick"][0]), int(self._row["t_ns"][0]), time.monotonic_ns(), 0)

    def newest_block(self, group: str) -> int:
        """Number of the newest block of a group that this tick took in."""
        return int(self._row[SEQUENCE[group]][0])

    def drives(self) -> DriveSample:
        """What the drives had said by this tick."""
        return self._drives.of_tick(self._row[0])

    def valves(self) -> ValveSample:
        """What the valves had said by this tick."""
        return self._valves.of_tick(self._row[0])

    def servos(self) -> JointSample:
        """What the servos had said by this tick."""
        assert self._servos is not None  # where joints are driven
        return self._servos.of_tick(self._row[0])

    def reading(self, role: str) -> Reading:
        """The newest reading of an instrument by this tick."""
        return self._instruments[role].of_tick(self._row[0])

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


class _Drives(_Link):
    def read(self, t_ns: int) -> DriveSample:  # noqa: ARG002
        return self._recorded_inputs.drives()

    def write(self, command: DriveCommand) -> None:
        """Nobody obeys."""


class _Operator:
    def __init__(self, recorded_inputs: RecordedInputs) -> None:
        self._recorded_inputs = recorded_inputs

    def read(self) -> OperatorInput:
        return self._recorded_inputs.operator()


class _Instrument(_Link):
    def __init__(self, recorded_inputs: RecordedInputs, role: str) -> None:
        super().__init__(recorded_inputs)
        self._role = role

    def read(self, t_ns: int) -> Reading:  # noqa: ARG002
        return self._recorded_inputs.reading(self._role)


class _Valves(_Link):
    def read(self, t_ns: int) -> ValveSample:  # noqa: ARG002
        return self._recorded_inputs.valves()

    def write(self, command: ValveCommand) -> None:
        """Nobody obeys."""


class _Servos(_Link):
    def read(self, t_ns: int) -> JointSample:  # noqa: ARG002
        return self._recorded_inputs.servos()

    def write(self, command: JointCommand) -> None:
        """Nobody obeys."""
