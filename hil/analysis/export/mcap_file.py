"""MCAP, for Foxglove: a channel for ticks, events and each kind of samples, messages in JSON with a schema."""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hil.analysis.export.tables import Table

_CHANNELS = ("tick", "events", "samples", "load_samples")


def write_mcap(tables: Sequence[Table], facts: Mapping[str, str | float], path: Path) -> None:
    """Write one file; log times are those of the record [ns], 0 at the start of the run, and rise.

    Array fields are objects by element, so that a plot takes `tick.normal_force_N.front_left`. NaN and infinity, which
    JSON does not have, are left out: Foxglove takes no schema in which a number may be null. The facts are the metadata
    record `run`.
    """
    from mcap.writer import Writer

    with path.open("wb") as file:
        writer = Writer(file)
        writer.start(profile="", library="rover-hil")
        writer.add_metadata("run", {key: str(value) for key, value in facts.items()})
        streams = []
        for table in tables:
            if table.name in _CHANNELS:
                schema = writer.register_schema(f"rover_hil.{table.name}", "jsonschema", _schema(table))
                channel = writer.register_channel(table.name, "json", schema)
                streams.append(_messages(table, channel))
        for t_ns, channel, number, data in heapq.merge(*streams, key=lambda message: message[0]):
            writer.add_message(channel, t_ns, data, t_ns, number)
        writer.finish()  # type: ignore[no-untyped-call]


def _messages(table: Table, channel: int) -> Iterator[tuple[int, int, int, bytes]]:
    names, at = [column.name.split(".", 1) for column in table.columns], table.place("t_ns")
    count = 0
    for values in table.blocks() if table.steps("t_ns")[0] >= 0 else [table.whole()]:
        times = [max(int(t_ns), 0) for t_ns in values[at]]
        columns = [one.tolist() for one in values]
        order = sorted(range(len(times)), key=times.__getitem__)  # events are noted when they are known
        for number, row in enumerate(order, start=count):
            message: dict[str, Any] = {}
            for name, column in zip(names, columns, strict=True):
                value = column[row]
                if isinstance(value, float) and not math.isfinite(value):
                    continue
                if len(name) == 1:
                    message[name[0]] = value
                else:
                    message.setdefault(name[0], {})[name[1]] = value
            yield times[row], channel, number, json.dumps(message, allow_nan=False).encode()
        count += len(times)


def _schema(table: Table) -> bytes:
    properties: dict[str, Any] = {}
    for column in table.columns:
        kind = {"f": "number", "O": "string"}.get(column.kind, "integer")
        about = {"type": kind, "description": f"[{column.unit}] {column.description}" if column.unit else ""}
        about["description"] = about["description"] or column.description
        field, _, element = column.name.partition(".")
        if not element:
            properties[field] = about
        else:
            properties.setdefault(field, {"type": "object", "properties": {}})["properties"][element] = about
    return json.dumps({"type": "object", "title": table.name, "properties": properties}).encode()
