"""The messages of a record for Foxglove, channel by channel, in order of their times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hil.analysis.export.channels import (
    LOG,
    SCENE,
    TRANSFORMS,
    ExportChannel,
    halves,
    log_line,
    number_channel,
    numbers,
    scene,
    scene_channels,
    transforms,
    trial_channel,
)
from hil.analysis.export.motion import RecordedMotion
from hil.analysis.export.tables import Table

_NUMBERS = ("tick", "events", "samples", "load_samples")
# Times [ns] and messages.
Timed = Iterator[tuple[int, bytes]]


class _Stream(NamedTuple):
    """A channel and its messages."""

    channel: ExportChannel
    messages: Timed


def streams_of(
    tables: Sequence[Table],
    facts: Mapping[str, str | float],
    motion: RecordedMotion | None,
    names: Sequence[str] = _NUMBERS,
    every_ns: int = 0,
    start_ns: int = 0,
) -> list[_Stream]:
    """All channels of a record.

    Args:
        tables: of the record.
        facts: of the run, as an export has them.
        motion: of the record; None: scene and transforms are without messages.
        names: of the tables whose numbers are wanted.
        every_ns: between two rows of these tables, at least [ns].
        start_ns: time of the messages at the start of the run [ns].
    """
    made = {channel.topic: channel for channel in scene_channels()}
    by_name = {table.name: table for table in tables}
    streams = []
    for name in names:
        if (table := by_name.get(name)) is not None:
            streams.append(_Stream(number_channel(name, table.columns), _numbers(table, every_ns, start_ns)))
    ticks, events = by_name["tick"], by_name["events"]
    streams.append(_Stream(made[LOG], _log(events, start_ns)))
    streams.append(_Stream(made[SCENE], _scene(motion, start_ns) if motion else iter(())))
    streams.append(_Stream(made[TRANSFORMS], _transforms(motion, start_ns) if motion else iter(())))
    end_ns = start_ns + (max(ticks.ends_ns()[1], 0) if ticks.rows else 0)
    return [*streams, _Stream(trial_channel(), iter([(end_ns, _trial(facts))]))]


def _numbers(table: Table, every_ns: int, start_ns: int) -> Timed:
    names, due_ns = [halves(column.name) for column in table.columns], 0
    for t_ns, row in _rows(table):
        if t_ns >= due_ns or not every_ns:
            due_ns = t_ns + every_ns
            yield start_ns + t_ns, numbers(names, row)


def _rows(table: Table) -> Iterator[tuple[int, list[Any]]]:
    """Times [ns] and values of its rows, in order of their times: events are noted when they are known."""
    at = table.place("t_ns")
    for values in table.blocks() if table.steps("t_ns")[0] >= 0 else [table.whole()]:
        times = [max(int(t_ns), 0) for t_ns in values[at]]
        columns = [one.tolist() for one in values]
        for row in sorted(range(len(times)), key=times.__getitem__):
            yield times[row], [column[row] for column in columns]


def _log(events: Table, start_ns: int) -> Timed:
    names = [column.name for column in events.columns]
    for t_ns, row in _rows(events):
        yield start_ns + t_ns, log_line(dict(zip(names, row, strict=True)), start_ns + t_ns)


def _scene(motion: RecordedMotion, start_ns: int) -> Timed:
    yield start_ns, scene(motion.rig.solids(), start_ns)


def _transforms(motion: RecordedMotion, start_ns: int) -> Timed:
    for recorded_ns, frames in motion.frames():
        t_ns = start_ns + max(recorded_ns, 0)
        yield t_ns, transforms(frames, t_ns)


def _trial(facts: Mapping[str, str | float]) -> bytes:
    found = {key.removeprefix("summary_"): value for key, value in facts.items() if key.startswith("summary_")}
    return numbers([(key, "") for key in found], found.values(), text=False)
