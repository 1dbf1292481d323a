"""A running rig or a record in a viewer outside this program."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import zmq

from hil.analysis.dataset import scalars, verified_summary
from hil.analysis.export.channels import (
    EVERY_NS,
    LOG,
    SCENE,
    TRANSFORMS,
    TRIAL,
    ExportChannel,
    RecordedMotion,
    log_line,
    number_channel,
    numbers,
    scene_channels,
    streams_of,
    transforms,
    trial_channel,
)
from hil.analysis.export.tables import columns_of, tables_of
from hil.analysis.film.solids import WORLD, RigSolids, WheelAngles
from hil.app.view.server import ViewServer
from hil.config.rig import Rig
from hil.config.schema.rover import tree_on_rig
from hil.messages.layout import Layout, Signal
from hil.messages.link_messages import EVENT
from hil.messages.signals import TICK, signals_of, tick_dtype
from hil.messages.stages import UPRIGHT
from hil.operator.curve import KeyPair, prove
from hil.recording import OpenRecord, open_trial

_3D, _LOG = "3D!rover", "RosOut!log"


def layout_file(rig: Rig) -> dict[str, Any]:
    """Content of the layout's file (JSON), which a viewer imports."""
    wheels, plots = rig.layout.wheels, {}
    if wheels:
        plots = {
            "Plot!speed": _plot("speed of the wheels [rad/s]", [f"wheel_speed_radps.{wheel}" for wheel in wheels]),
            "Plot!load": _plot("normal force of each wheel [N]", [f"normal_force_N.{wheel}" for wheel in wheels]),
            "Plot!rover": _plot("speed [m/s], slip of the first wheel", ["speed_mps", f"slip.{wheels[0]}"]),
        }
    if rig.section.captures:
        plots["Plot!capture"] = _plot(
            "payload before the seat [m] and T_c [J]", ["gap_m", "effective_kinetic_energy_J"]
        )
    if rig.layout.channels:
        plots["Plot!force"] = _plot("force sensed [N]", ["force_sum_N"])
    if rig.section.obstacle:
        plots["Plot!impact"] = _plot("gap [m] and T_c [J]", ["gap_m", "effective_kinetic_energy_J"])
    return {
        "configById": {
            _3D: _scene(tree_on_rig(rig.nominal.rover).bodies[0].name),
            _LOG: {"searchTerms": [], "minLogLevel": 1, "topicToRender": LOG},
        }
        | plots,
        "globalVariables": {},
        "userNodes": {},
        "playbackConfig": {"speed": 1},
        "layout": {
            "direction": "row",
            "splitPercentage": 60,
            "first": {"direction": "column", "splitPercentage": 75, "first": _3D, "second": _LOG},
            "second": _stacked([*plots]),
        },
    }


def _scene(body: str) -> dict[str, Any]:
    return {
        "cameraState": {
            "distance": 3.0, "perspective": True, "phi": 65, "thetaOffset": -60, "targetOffset": [0, 0, 0.3],
            "target": [0, 0, 0], "targetOrientation": [0, 0, 0, 1], "fovy": 45, "near": 0.01, "far": 500,
        },
        "followMode": "follow-position",
        "followTf": body,
        "fixedFrame": WORLD,
        "scene": {"transforms": {"visible": False}},
        "topics": {SCENE: {"visible": True}},
    }  # fmt: skip


def _plot(title: str, fields: Sequence[str]) -> dict[str, Any]:
    paths = [
        {"value": f"tick.{field}", "enabled": True, "timestampMethod": "receiveTime", "label": field}
        for field in fields
    ]
    shown = {"showLegend": True, "showXAxisLabels": True, "showYAxisLabels": True, "legendDisplay": "floating"}
    return {
        "title": title, "foxglovePanelTitle": title, "paths": paths, **shown, "isSynced": True,
        "xAxisVal": "timestamp", "followingViewWidth": 20,
    }  # fmt: skip


def _stacked(panels: Sequence[str]) -> Any:
    """The panels below each other, equally high."""
    first, *rest = panels
    if not rest:
        return first
    share = 100 / len(panels)
    return {"direction": "column", "splitPercentage": share, "first": first, "second": _stacked(rest)}


TOPICS = (b"tick", b"event", b"trial")
# Without telemetry the newest place is shown again so often [s], for who has just connected.
_QUIET_S = 0.5
_QUEUE = 1000


class OtherRigError(Exception):
    """Telemetry is not of the rig of the config."""


def live_channels(layout: Layout) -> tuple[ExportChannel, ...]:
    """The channels of a live view: those of an exported record, without samples."""
    rows, fields = {"tick": tick_dtype(layout), "events": EVENT}, {}
    for name, dtype in rows.items():
        signals = signals_of(name)
        fields[name] = [c for key in dtype.names or () for c in columns_of(signals[key], dtype[key], layout)]
    made = tuple(number_channel(name, columns) for name, columns in fields.items())
    return (*scene_channels(), *made, trial_channel())


class LiveView:
    """Turns messages of telemetry into those of a server.

    Args:
        start_m: distance to the obstacle at the start of a trial [m].
        server: with the `live_channels` of its layout.
    """

    def __init__(self, layout: Layout, start_m: float, server: ViewServer, rig: RigSolids) -> None:
        self._layout, self._server, self._rig = layout, server, rig
        self._signals = [signal for signal in TICK if signal.present(layout)]
        wheels = len(rig.skeleton.wheels)
        self._turning, self._newest_ns = WheelAngles(wheels), -1
        # until the first tick the rover stands at the start of a trial
        still = (0.0,) * len(layout.turning)
        foot_m = rig.foot_m(UPRIGHT, still, start_m * math.sin(rig.angle_rad or 0.0))
        self._foot_m = 0.0 if foot_m is None else foot_m
        self._frames = rig.frames(UPRIGHT, still, (0.0,) * wheels, self._foot_m)

    def take(self, topic: bytes, content: bytes) -> None:
        """Show one message of the publisher; what is none is left out. Raises OtherRigError."""
        try:
            payload = msgspec.msgpack.decode(content, type=dict[str, Any])
            t_ns = round(float(payload.pop("timestamp")) * 1e9)
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError, OverflowError):
            return
        self._newest_ns = t_ns
        if topic == b"tick":
            self._tick(payload, t_ns)
        elif topic == b"event":
            for name, found in payload.items():
                self._event({"name": name, **found}, t_ns)
        else:
            self._trial(payload, t_ns)

    def quiet(self) -> None:
        """Show the newest place again: nothing came for a while."""
        t_ns = time.time_ns() if self._newest_ns < 0 else self._newest_ns
        self._server.show_scene(t_ns)
        self._server.send(TRANSFORMS, transforms(self._frames, t_ns), t_ns)

    def _tick(self, payload: Mapping[str, Any], t_ns: int) -> None:
        names, values = [], []
        for signal in self._signals:
            for element, value in self._elements(signal, payload):
                names.append((signal.name, element))
                values.append(value)
        self._server.send("tick", numbers(names, values), t_ns)
        pose, joints = payload.get("pose", ()), payload.get("joint_angle_rad", ())
        speeds = [*payload["wheel_speed_radps"].values()]
        turned = self._turning.add(int(payload.get("t_ns", 0)), speeds)
        if len(pose) == len(UPRIGHT) and np.isfinite(pose).all():
            angles = [*joints.values()] if isinstance(joints, Mapping) else joints
            foot_m = self._rig.foot_m(pose, angles, float(payload.get("gap_m", math.nan)))
            self._foot_m = self._foot_m if foot_m is None else foot_m
            self._frames = self._rig.frames(pose, angles, turned, self._foot_m)
            self._server.send(TRANSFORMS, transforms(self._frames, t_ns), t_ns)

    def _elements(self, signal: Signal, payload: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Names and values of the elements of a field of a tick."""
        names, found = signal.names(self._layout), payload.get(signal.name)
        if not names:
            return iter([("", found)] if isinstance(found, int | float) else [])
        values = [*found.values()] if isinstance(found, Mapping) else np.ravel(found or ()).tolist()
        of_others = isinstance(found, Mapping) and tuple(found) != names
        if of_others or len(values) != len(names):
            has = ", ".join(found) if isinstance(found, Mapping) else f"{len(values)} numbers"
            raise OtherRigError(
                f"telemetry is of another rig than the config: {signal.name} has {has}, "
                f"allowed: {', '.join(names)}; name the config with which the rig runs, and its --set"
            )
        return zip(names, values, strict=True)

    def _event(self, event: Mapping[str, Any], t_ns: int) -> None:
        self._server.send("events", numbers([(key, "") for key in event], event.values()), t_ns)
        self._server.send(LOG, log_line(event, t_ns), t_ns)

    def _trial(self, summary: Mapping[str, Any], t_ns: int) -> None:
        found = {key: value for key, value in summary.items() if isinstance(value, int | float)}
        self._server.send(TRIAL, numbers([(key, "") for key in found], found.values()), t_ns)
        judged = {1: "the run is over: accepted", 0: "the run is over: not accepted"}.get(
            int(found.get("accepted", -1))
        )
        self._server.send(LOG, log_line({"id": 0, "name": judged or "the run is over"}, t_ns), t_ns)


def follow(endpoint: str, view: LiveView, going: Callable[[], bool], keys: tuple[KeyPair, bytes] | None = None) -> None:
    """Show what is published, until it is told to end. The publisher may start later, and again.

    `keys`: of this client, and the publisher's public key; None: it has none.

    Raises:
        OtherRigError: telemetry is not of the rig of the config.
    """
    with zmq.Context(io_threads=1) as context, context.socket(zmq.SUB) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.RCVHWM, _QUEUE)
        if keys is not None:
            prove(socket, *keys)
        for topic in TOPICS:
            socket.subscribe(topic)
        socket.connect(endpoint)
        while going():
            if socket.poll(round(_QUIET_S * 1e3)):
                message = socket.recv_multipart()
                if len(message) == 2:
                    view.take(*message)
            else:
                view.quiet()


# Between two looks whether a viewer has come [s], and after the end of the run before it begins again [s].
_LOOK_S, _PAUSE_S = 0.1, 2.0
_SHOWN = ("tick", "events")


class _PlayedRecord(NamedTuple):
    """A record that can be played: open, the facts of its run, and its motion."""

    record: OpenRecord
    facts: dict[str, str | float]
    motion: RecordedMotion


@contextmanager
def played(run: Path, *, unverified: bool = False) -> Iterator[_PlayedRecord]:
    """A run whose record is open.

    Raises:
        FolderError: no such folder, or its summary cannot be read.
        RecordError: there is no record, it is damaged, or it does not say how the rover moved.
        UnverifiedRunError: record and summary do not match their digests.
    """
    summary, _ = verified_summary(run, unverified=unverified)
    with open_trial(run) as record:
        facts = {f"summary_{key}": value for key, value in scalars(summary)}
        impact_s = facts.get("summary_impact_time_s")
        yield _PlayedRecord(record, facts, RecordedMotion(record, float(impact_s) if impact_s is not None else None))


def play_back(
    run: _PlayedRecord,
    server: ViewServer,
    going: Callable[[], bool],
    now_ns: Callable[[], int] = time.time_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Show a record in real time, again and again while a viewer is there, until it is told to end.

    Args:
        run: that is shown.
        server: with the `live_channels` of its layout.
        going: whether to go on.
        now_ns: time since 1970 [ns].
        sleep: waits so long [s].
    """
    while going():
        if not server.watched:
            sleep(_LOOK_S)
            continue
        tables, start_ns = tables_of(run.record), now_ns()
        streams = streams_of(tables, run.facts, run.motion, _SHOWN, EVERY_NS, start_ns)
        merged = heapq.merge(*(_named(one.channel.topic, one.messages) for one in streams), key=lambda one: one[0])
        for t_ns, topic, message in merged:
            if not going():
                return
            if (early_s := (t_ns - now_ns()) * 1e-9) > 0.0:
                sleep(early_s)
            server.send(topic, message, t_ns)
        sleep(_PAUSE_S)


def _named(topic: str, messages: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, str, bytes]]:
    for t_ns, message in messages:
        yield t_ns, topic, message
