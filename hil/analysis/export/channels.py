"""Channels of messages, and the motion of a run, for viewers of other programs."""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hil.analysis.export.tables import Column, Table
from hil.analysis.film.moments import AFTER_S, BEFORE_S, config_of
from hil.analysis.film.solids import WORLD, Box, Cylinder, Frames, Lines, RigSolids, Solid, WheelAngles
from hil.config.rig import Rig
from hil.config.schema.rover import tree_on_rig
from hil.recording import OpenRecord, RecordError, in_blocks
from hil.recording.content import per_part

# Between two shown ticks; around the impact every tick is shown.
EVERY_NS = 10_000_000


class RecordedMotion:
    """The motion of a record. `impact_s` is when the impact was; None: there was none.

    Raises RecordError: it does not say how the rover moved, or its config is not one of this version.

    Attributes:
        rig: as it is drawn.
        tree: of its rover, as on the rig.
    """

    def __init__(self, record: OpenRecord, impact_s: float | None) -> None:
        self._record, self._impact_s = record, impact_s
        self._config = config_of(record)
        rig = Rig(self._config)
        self.rig, self.tree = RigSolids(rig), tree_on_rig(rig.nominal.rover)
        self._foot_m = self._foot()

    def frames(self) -> Iterator[tuple[int, Frames]]:
        """Times [ns] and places of all frames, EVERY_NS and of every tick around the impact; first and last always."""
        turning, shown_ns, last = WheelAngles(len(self.rig.skeleton.wheels)), -EVERY_NS, None
        fields = ("t_ns", "pose", "joint_angle_rad", "wheel_speed_radps")
        for block in in_blocks(self._record.tick):
            columns = [per_part(block, name) for name in fields]
            for t_ns, pose, joints, speeds in zip(*columns, strict=True):
                turned, last = turning.add(int(t_ns), speeds), None
                if not np.isfinite(pose).all():
                    continue
                last = int(t_ns), pose, joints, turned
                near = self._impact_s is not None and -BEFORE_S <= last[0] * 1e-9 - self._impact_s <= AFTER_S
                if near or last[0] >= shown_ns + EVERY_NS:
                    shown_ns = last[0]
                    yield self._placed(*last)
                    last = None
        if last is not None:
            yield self._placed(*last)

    def _placed(self, t_ns: int, pose: Any, joints: Any, turned: Any) -> tuple[int, Frames]:
        return t_ns, self.rig.frames(pose, joints, turned, self._foot_m)

    def _foot(self) -> float:
        """Where the obstacle stands: where the last tick with a gap has it, as in a film."""
        found: float | None = None
        for block in in_blocks(self._record.tick):
            known = np.flatnonzero(np.isfinite(block["gap_m"]) & np.isfinite(block["pose"]).all(axis=1))
            if known.size:
                row = block[known[-1]]
                found = self.rig.foot_m(row["pose"], list(per_part(row, "joint_angle_rad")), float(row["gap_m"]))
        return self._config.trial.start_distance_m if found is None else found


def motion_of(record: OpenRecord, facts: Mapping[str, Any]) -> RecordedMotion | None:
    """The motion of a record; None: it does not say how the rover moved, or was made by another version."""
    impact_s = facts.get("summary_impact_time_s")
    try:
        return RecordedMotion(record, float(impact_s) if isinstance(impact_s, int | float) else None)
    except RecordError:
        return None


SCENE, TRANSFORMS, LOG, TRIAL = "/scene", "/tf", "/log", "trial"
_AXLE = (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))  # turns the axis of their cylinder, z, to that of a wheel, y
_SECOND_NS = 1_000_000_000


class ExportChannel(NamedTuple):
    """A channel."""

    topic: str  # its name
    encoding: str  # of its messages: json or protobuf
    schema: str  # name of its schema
    schema_encoding: str  # jsonschema or protobuf
    data: bytes  # the schema


def scene_channels() -> tuple[ExportChannel, ...]:
    """Scene, transforms and log, with the schemas of Foxglove. Raises ImportError: foxglove-sdk is not installed."""
    from foxglove.messages import FrameTransforms, Log, SceneUpdate

    made: dict[str, Any] = {SCENE: SceneUpdate, TRANSFORMS: FrameTransforms, LOG: Log}
    schemas = [(topic, kind.get_schema()) for topic, kind in made.items()]
    return tuple(ExportChannel(topic, "protobuf", one.name, one.encoding, one.data) for topic, one in schemas)


def number_channel(name: str, columns: Sequence[Column]) -> ExportChannel:
    """A channel of numbers and text in JSON: an array field is an object by element; units stand in the schema."""
    properties: dict[str, Any] = {}
    for column in columns:
        kind = {"f": "number", "O": "string"}.get(column.kind, "integer")
        about = {"type": kind, "description": f"[{column.unit}] {column.description}" if column.unit else ""}
        about["description"] = about["description"] or column.description
        field, element = halves(column.name)
        if not element:
            properties[field] = about
        else:
            properties.setdefault(field, {"type": "object", "properties": {}})["properties"][element] = about
    schema = {"type": "object", "title": name, "properties": properties}
    return ExportChannel(name, "json", f"rover_hil.{name}", "jsonschema", json.dumps(schema).encode())


def trial_channel() -> ExportChannel:
    """The numbers of a run's summary, once, at its end; which ones depends on the experiment."""
    schema = {"type": "object", "title": TRIAL, "properties": {"accepted": {"type": "number"}}}
    return ExportChannel(TRIAL, "json", f"rover_hil.{TRIAL}", "jsonschema", json.dumps(schema).encode())


def halves(name: str) -> tuple[str, str]:
    """Field and element of a column's name; element "": the field is one value."""
    field, _, element = name.partition(".")
    return field, element


def numbers(names: Iterable[tuple[str, str]], values: Iterable[Any], *, text: bool = True) -> bytes:
    """A message of numbers and text.

    NaN and infinity, which JSON does not have, are left out: Foxglove takes no schema in which a number may be null.
    Each name is a field and its element, "" where the field is one value. Without `text` only numbers are in it.
    """
    message: dict[str, Any] = {}
    for (field, element), value in zip(names, values, strict=True):
        if (isinstance(value, float) and not math.isfinite(value)) or not (text or isinstance(value, int | float)):
            continue
        if not element:
            message[field] = value
        else:
            message.setdefault(field, {})[element] = value
    return json.dumps(message, allow_nan=False).encode()


def scene(solids: Sequence[Solid], t_ns: int) -> bytes:
    """A message of all that is drawn: an entity for each frame, which moves with it until the next message.

    Time since 1970, or since the start of the run [ns].
    """
    from foxglove.messages import CubePrimitive, SceneEntity, SceneUpdate

    entities = []
    for frame in dict.fromkeys(solid.frame for solid in solids):
        mine = [solid for solid in solids if solid.frame == frame]
        entities.append(
            SceneEntity(
                timestamp=_timestamp(t_ns),
                frame_id=frame,
                id=frame,
                frame_locked=True,
                cubes=[
                    CubePrimitive(pose=_pose(one.centre), size=_vector(one.sides), color=_colour(one.colour))
                    for one in mine
                    if isinstance(one, Box)
                ],
                cylinders=[_cylinder(one) for one in mine if isinstance(one, Cylinder)],
                lines=[_lines(one) for one in mine if isinstance(one, Lines)],
            )
        )
    return SceneUpdate(entities=entities).encode()


def transforms(frames: Frames, t_ns: int) -> bytes:
    """A message of where all frames are, each from the world; time as for `scene`."""
    from foxglove.messages import FrameTransform, FrameTransforms

    time = _timestamp(t_ns)
    made = [
        FrameTransform(
            timestamp=time,
            parent_frame_id=WORLD,
            child_frame_id=name,
            translation=_vector(origin),
            rotation=_quaternion(turn),
        )
        for name, origin, turn in zip(frames.names, frames.origins.tolist(), frames.quaternions.tolist(), strict=True)
    ]
    return FrameTransforms(transforms=made).encode()


def log_line(event: Mapping[str, Any], t_ns: int) -> bytes:
    """A message of an event; a fault is an error, everything else is information. Time as for `scene`.

    The event has `id`, `name`, `value`, `limit` and, from a record, `detail`.
    """
    from foxglove.messages import Log, LogLevel

    level = LogLevel.Error if event["id"] else LogLevel.Info
    return Log(timestamp=_timestamp(t_ns), level=level, message=event_words(event), name="rover-hil").encode()


def began_utc(text: str) -> datetime:
    """When a run began by its record, in UTC and without a zone; 1970: the record does not say it."""
    try:
        began = datetime.fromisoformat(text)
    except ValueError:
        return datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
    return (began.astimezone(UTC) if began.tzinfo else began).replace(tzinfo=None)


def event_words(event: Mapping[str, Any]) -> str:
    """An event as a line for people; arguments as for `log_line`. A fault is named by its number, too."""
    figures = {key: float(event.get(key, math.nan)) for key in ("value", "limit")}
    given = [f"{key} {figure:.6g}" for key, figure in figures.items() if math.isfinite(figure) and figure]
    words = ", ".join([*given, *filter(None, [str(event.get("detail", ""))])])
    named = f"fault {int(event['id'])}, {event['name']}" if event["id"] else str(event["name"])
    return f"{named}: {words}" if words else named


def _timestamp(t_ns: int) -> Any:
    from foxglove.messages import Timestamp

    return Timestamp(t_ns // _SECOND_NS, t_ns % _SECOND_NS)


def _vector(place: Sequence[float]) -> Any:
    from foxglove.messages import Vector3

    return Vector3(x=place[0], y=place[1], z=place[2])


def _quaternion(turn: Sequence[float]) -> Any:
    from foxglove.messages import Quaternion

    return Quaternion(x=turn[0], y=turn[1], z=turn[2], w=turn[3])


def _pose(place: Sequence[float], turn: Sequence[float] = (0.0, 0.0, 0.0, 1.0)) -> Any:
    from foxglove.messages import Pose

    return Pose(position=_vector(place), orientation=_quaternion(turn))


def _colour(rgba: Sequence[float]) -> Any:
    from foxglove.messages import Color

    return Color(r=rgba[0], g=rgba[1], b=rgba[2], a=rgba[3])


def _cylinder(one: Cylinder) -> Any:
    from foxglove.messages import CylinderPrimitive

    size = _vector((2.0 * one.radius, 2.0 * one.radius, one.width))
    pose = _pose((0.0, 0.0, 0.0), _AXLE)
    return CylinderPrimitive(pose=pose, size=size, bottom_scale=1.0, top_scale=1.0, color=_colour(one.colour))


def _lines(one: Lines) -> Any:
    from foxglove.messages import LinePrimitive, LinePrimitiveLineType, Point3

    return LinePrimitive(
        type=LinePrimitiveLineType.LineList,
        pose=_pose((0.0, 0.0, 0.0)),
        thickness=one.thickness,
        points=[Point3(x=x, y=y, z=z) for x, y, z in one.points.tolist()],
        color=_colour(one.colour),
    )


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

    Numbers are of the tables of these names, at least `every_ns` between two rows; the run starts at `start_ns` [ns].
    Without motion, scene and transforms are without messages.
    """
    made = {channel.topic: channel for channel in scene_channels()}
    by_name = {table.name: table for table in tables}
    streams = []
    for name in names:
        if (table := by_name.get(name)) is not None:
            streams.append(_Stream(number_channel(name, table.columns), _numbers(table, every_ns, start_ns)))
    ticks, events = by_name["tick"], by_name["events"]
    streams.append(_Stream(made[LOG], _log(events, start_ns)))
    streams.append(_Stream(made[SCENE], iter([(start_ns, scene(motion.rig.solids(), start_ns))] if motion else ())))
    streams.append(_Stream(made[TRANSFORMS], _transforms(motion, start_ns) if motion else iter(())))
    end_ns = start_ns + (max(ticks.ends_ns()[1], 0) if ticks.rows else 0)
    found = {key.removeprefix("summary_"): value for key, value in facts.items() if key.startswith("summary_")}
    trial = numbers([(key, "") for key in found], found.values(), text=False)
    return [*streams, _Stream(trial_channel(), iter([(end_ns, trial)]))]


def _numbers(table: Table, every_ns: int, start_ns: int) -> Timed:
    names, due_ns = [halves(column.name) for column in table.columns], 0
    for t_ns, row in rows_in_time(table):
        if t_ns >= due_ns or not every_ns:
            due_ns = t_ns + every_ns
            yield start_ns + t_ns, numbers(names, row)


def rows_in_time(table: Table) -> Iterator[tuple[int, list[Any]]]:
    """Times [ns] and values of its rows, in order of their times: events are noted when they are known."""
    at = table.place("t_ns")
    for values in table.blocks() if table.steps("t_ns")[0] >= 0 else [table.whole()]:
        times = [max(int(t_ns), 0) for t_ns in values[at]]
        columns = [one.tolist() for one in values]
        for row in sorted(range(len(times)), key=times.__getitem__):
            yield times[row], [column[row] for column in columns]


def _log(events: Table, start_ns: int) -> Timed:
    names = [column.name for column in events.columns]
    for t_ns, row in rows_in_time(events):
        yield start_ns + t_ns, log_line(dict(zip(names, row, strict=True)), start_ns + t_ns)


def _transforms(motion: RecordedMotion, start_ns: int) -> Timed:
    for recorded_ns, frames in motion.frames():
        t_ns = start_ns + max(recorded_ns, 0)
        yield t_ns, transforms(frames, t_ns)


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
