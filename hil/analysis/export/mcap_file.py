"""MCAP, for Foxglove: the channels of the live server, and those of the record's samples."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hil.analysis.export.channels import ExportChannel, Timed, streams_of
from hil.analysis.export.motion import RecordedMotion
from hil.analysis.export.tables import Table


def write_mcap(
    tables: Sequence[Table], facts: Mapping[str, str | float], path: Path, motion: RecordedMotion | None
) -> None:
    """Write one file; log times are those of the record [ns], 0 at the start of the run, and rise.

    Array fields are objects by element, so that a plot takes `tick.normal_force_N.front_left`. The facts are the
    metadata record `run`. Scene and transforms have no message where the record has no motion.
    """
    from mcap.writer import Writer

    with path.open("wb") as file:
        writer = Writer(file)
        writer.start(profile="", library="rover-hil")
        writer.add_metadata("run", {key: str(value) for key, value in facts.items()})
        streams = [_numbered(one.messages, _register(writer, one.channel)) for one in streams_of(tables, facts, motion)]
        for t_ns, channel, number, data in heapq.merge(*streams, key=lambda message: message[0]):
            writer.add_message(channel, t_ns, data, t_ns, number)
        writer.finish()  # type: ignore[no-untyped-call]


def _register(writer: Any, channel: ExportChannel) -> int:
    schema = writer.register_schema(channel.schema, channel.schema_encoding, channel.data)
    return int(writer.register_channel(channel.topic, channel.encoding, schema))


def _numbered(messages: Timed, channel: int) -> Iterator[tuple[int, int, int, bytes]]:
    for number, (t_ns, data) in enumerate(messages):
        yield t_ns, channel, number, data
