"""A client of Foxglove's WebSocket, which is not ours, sees a running rig and a record that is played back."""

from __future__ import annotations

import base64
import json
import shutil
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec
import numpy as np
import pytest

from hil.analysis.dataset import MissingPackageError
from hil.analysis.film.moments import filmed
from hil.analysis.film.solids import RigSolids
from hil.app.view.live_view import LiveView, OtherRigError, follow, layout_file, live_channels, play_back, played
from hil.app.view.server import ViewServer, ViewServerError
from hil.cli import run as hil
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.link_messages import event_row
from hil.operator.telemetry import Publisher
from hil.recording import read_trial

pytest.importorskip("foxglove")
pytest.importorskip("websockets")
WHEEL, WAIT_S = "front_left_wheel", 60.0


class Client:
    """Subscribes to all channels of a server, and reads their messages by the schemas that it advertises."""

    def __init__(self, url: str) -> None:
        from websockets.sync.client import connect

        self._stack = ExitStack()
        self._socket = self._stack.enter_context(
            connect(url, subprotocols=["foxglove.sdk.v1"], max_size=None, open_timeout=WAIT_S)
        )
        self.channels: dict[str, dict[str, Any]] = {}
        self.info: dict[str, Any] = {}
        while not self.channels:
            message = json.loads(self._socket.recv(WAIT_S))
            if message["op"] == "serverInfo":
                self.info = message
            elif message["op"] == "advertise":
                self.channels = {channel["topic"]: channel for channel in message["channels"]}
        self._readers = {topic: self._reader(channel) for topic, channel in self.channels.items()}
        topics = list(self.channels)
        wanted = [{"id": number, "channelId": self.channels[topic]["id"]} for number, topic in enumerate(topics)]
        self._topics = dict(enumerate(topics))
        self._socket.send(json.dumps({"op": "subscribe", "subscriptions": wanted}))

    @staticmethod
    def _reader(channel: dict[str, Any]) -> Callable[[bytes], Any]:
        if channel["encoding"] == "json":
            return json.loads
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

        pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(channel["schema"])).file:
            pool.Add(file)
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(channel["schemaName"])).FromString

    def receive(self) -> tuple[str, int, Any]:
        """Topic, time [ns] and content of the next message."""
        while True:
            frame = self._socket.recv(WAIT_S)
            if isinstance(frame, bytes) and frame[0] == 1:
                number, t_ns = struct.unpack_from("<IQ", frame, 1)
                topic = self._topics[number]
                return topic, t_ns, self._readers[topic](frame[13:])

    def until(self, true: Callable[[dict[str, list[Any]]], bool]) -> dict[str, list[Any]]:
        """Times [ns] and messages by topic, until that is true of them."""
        found: dict[str, list[Any]] = {topic: [] for topic in self.channels}
        while not true(found):
            topic, t_ns, message = self.receive()
            found[topic].append((t_ns, message))
        return found

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


@contextmanager
def thread(work: Callable[..., None], *arguments: Any) -> Iterator[None]:
    ended = threading.Event()
    running = threading.Thread(target=work, args=(*arguments, lambda: not ended.is_set()), daemon=True)
    running.start()
    try:
        yield
    finally:
        ended.set()
        running.join(WAIT_S)
        assert not running.is_alive()


@contextmanager
def server_of(config: Any) -> Iterator[tuple[ViewServer, RigSolids]]:
    rig = RigSolids(Rig(config))
    with ViewServer("tested", live_channels(config.layout), rig.solids(), "127.0.0.1", 0) as server:
        yield server, rig


@pytest.mark.slow
def test_a_client_sees_scene_places_numbers_and_log_of_a_rig_that_publishes(config, run):
    record, film = read_trial(run, trusted=True), filmed(run, None, None)
    wall_s = 1.7e9
    with (
        Publisher("tcp://127.0.0.1:*", 100, 1000, wall_s, config.layout) as publisher,
        server_of(config) as (server, rig),
        Client(server.url) as client,
        thread(
            lambda going: follow(
                publisher.endpoint, LiveView(config.layout, config.trial.start_distance_m, server, rig), going
            )
        ),
    ):
        first = client.until(lambda found: bool(found["/scene"] and found["/tf"]))  # before anything is published
        # a subscriber is known to the publisher only after a while: the first tick is published until it comes
        while not client.until(lambda found: bool(found["tick"] or found["/tf"]))["tick"]:
            publisher.tick(record.tick[:1])
            publisher._published = (-1, False)
        publisher.tick(record.tick)
        publisher.event(event_row(1, "loop late", 5, 7_000_000, value=10.0, limit=5.0, detail="not published"))
        publisher.trial({"accepted": True, "peak_force_N": 86.5, "reasons": ["text"]})
        found = client.until(lambda found: len(found["/log"]) == 2)
    assert {channel["encoding"] for channel in client.channels.values()} == {"json", "protobuf"}
    assert {entity.frame_id for entity in first["/scene"][0][1].entities} >= {WHEEL, "ground", "obstacle"}
    _, standing = first["/tf"][0]
    assert {one.child_frame_id for one in standing.transforms} >= {WHEEL, "ground", "obstacle"}
    by_number = {int(row["tick"]): row for row in record.tick}
    assert len(found["tick"]) > 50
    for t_ns, message in found["tick"]:
        row = by_number[message["tick"]]
        assert message["normal_force_N"]["front_left"] == row["normal_force_N"][0]
        assert t_ns == pytest.approx(wall_s * 1e9 + row["t_ns"], abs=1000)
    t_ns, message = found["/tf"][-1]
    (wheel,) = [one.translation for one in message.transforms if one.child_frame_id == WHEEL]
    place = film.at((t_ns - wall_s * 1e9) * 1e-9 + 1e-6).placed.origin[WHEEL]
    np.testing.assert_allclose([wheel.x, wheel.y, wheel.z], place, atol=1e-6)
    fault, over = [message for _, message in found["/log"]]
    assert (fault.level, fault.message) == (4, "fault 1, loop late: value 10, limit 5")
    assert over.message == "the run is over: accepted"
    ((_, summary),) = found["trial"]
    assert summary == {"accepted": 1, "peak_force_N": 86.5}
    ((_, event),) = found["events"]
    assert event["value"] == 10.0


@pytest.mark.slow
def test_units_of_the_plots_stand_in_the_schema(config):
    (tick,) = [channel for channel in live_channels(config.layout) if channel.topic == "tick"]
    fields = json.loads(tick.data)["properties"]
    assert fields["normal_force_N"]["properties"]["front_left"]["description"].startswith("[N] ")
    assert fields["speed_mps"]["description"].startswith("[m/s] ")


def test_telemetry_of_another_rig_is_refused_with_what_differs(config):
    other = load_config("sim_juno")
    tick = dict.fromkeys(("set_speed_radps", "wheel_speed_radps"), dict.fromkeys(config.layout.wheels, 0.0))
    content = msgspec.msgpack.encode({"timestamp": 1.0, "t_ns": 0, **tick})
    with server_of(other) as (server, rig):
        view = LiveView(other.layout, other.trial.start_distance_m, server, rig)
        with pytest.raises(OtherRigError, match=r"front_left.*allowed"):
            view.take(b"tick", content)


@pytest.mark.parametrize("content", [b"", b"\xc1", b"\x80", b"\x81\xa9timestamp\xa1x"])
def test_what_is_no_message_of_telemetry_is_left_out(config, content):
    with server_of(config) as (server, rig):
        LiveView(config.layout, config.trial.start_distance_m, server, rig).take(b"tick", content)


@pytest.mark.slow
def test_a_record_is_played_back_to_whoever_is_there_and_again(config, run):
    film = filmed(run, None, None)
    start_ns, passed = 1_700_000_000_000_000_000, [0]

    def sleep(seconds: float) -> None:
        passed[0] += round(seconds * 1e9)

    with (
        played(run) as shown,
        ViewServer("tested", live_channels(config.layout), shown.motion.rig.solids(), "127.0.0.1", 0) as server,
        Client(server.url) as client,
        thread(lambda going: play_back(shown, server, going, lambda: start_ns + passed[0], sleep)),
    ):
        found = client.until(lambda found: len(found["trial"]) == 2)
    last_s = film.rows["t_ns"][-1] * 1e-9
    ends = [t_ns for t_ns, _ in found["trial"]]
    assert ends[1] - ends[0] == pytest.approx((last_s + 2.0) * 1e9, rel=1e-3)
    assert any(message.message.startswith("impact") for _, message in found["/log"])
    _, message = found["/tf"][-1]
    (wheel,) = [one.translation for one in message.transforms if one.child_frame_id == WHEEL]
    np.testing.assert_allclose([wheel.x, wheel.y, wheel.z], film.at(last_s).placed.origin[WHEEL], atol=1e-9)


def test_a_port_in_use_is_named_with_what_to_do(config):
    with server_of(config) as (server, rig):
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(ViewServerError, match=rf"127.0.0.1:{port}.*--port"):
            ViewServer("second", live_channels(config.layout), rig.solids(), "127.0.0.1", port)


def test_a_web_page_of_another_computer_is_refused_and_one_that_is_named_is_not(config):
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    rig, page = RigSolids(Rig(config)), "https://pages.example"
    channels = live_channels(config.layout)
    for origins in ((), (page,)):
        with ViewServer("tested", channels, rig.solids(), "127.0.0.1", 0, origins) as server:
            asked = {"subprotocols": ["foxglove.sdk.v1"], "open_timeout": WAIT_S, "origin": page}
            if origins:
                with connect(server.url, **asked) as socket:
                    assert json.loads(socket.recv(WAIT_S))["op"] == "serverInfo"
            else:
                with pytest.raises(InvalidStatus, match="403"):
                    connect(server.url, **asked)


def test_a_server_is_reached_from_this_computer_only_unless_another_address_is_given(config):
    with server_of(config) as (server, _):
        assert server.url.startswith("ws://127.0.0.1:")


@pytest.mark.parametrize("name", ["sim_impact", "sim_juno", "sim_drawbar"])
def test_the_layout_names_only_fields_and_topics_that_there_are(name):
    config = load_config(name)
    channels = {channel.topic: channel for channel in live_channels(config.layout)}
    fields = json.loads(channels["tick"].data)["properties"]
    layout = layout_file(Rig(config))
    panels = layout["configById"]
    for title, panel in panels.items():
        for path in panel.get("paths", ()):
            topic, field, *element = path["value"].split(".")
            assert topic == "tick", title
            assert not element or element[0] in fields[field]["properties"]
    assert panels["RosOut!log"]["topicToRender"] in channels
    assert set(panels["3D!rover"]["topics"]) <= set(channels)
    assert panels["3D!rover"]["followTf"] in RigSolids(Rig(config)).names

    def leaves(node: Any) -> list[str]:
        return [node] if isinstance(node, str) else leaves(node["first"]) + leaves(node["second"])

    assert sorted(leaves(layout["layout"])) == sorted(panels)


def test_a_missing_package_is_named_with_the_extra_that_brings_it(config, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    with pytest.raises(MissingPackageError, match=r"foxglove-sdk.*\[view\]"):
        ViewServer("tested", (), [], "127.0.0.1", 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sim_impact"], "--foxglove"),
        (["no_such_config", "--foxglove"], "no such file"),
        (["sim_impact", "--foxglove", "--key", "mine"], "--server-key"),
        (["sim_impact", "--foxglove", "--set", "telemetry.endpoint=''"], "telemetry.endpoint is empty"),
    ],
)
def test_wrong_usage_ends_with_status_two_and_what_to_do(arguments, said, capsys):
    assert hil(["view", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_the_layout_is_printed_as_json(capsys):
    assert hil(["view", "sim_impact", "--print-layout"]) == 0
    assert json.loads(capsys.readouterr().out) == layout_file(Rig(load_config("sim_impact")))


@pytest.mark.slow
def test_without_a_name_it_shows_the_newest_run_live_while_it_is_recorded(run, tmp_path, monkeypatch, capsys):
    shown: list[tuple[str, str]] = []
    command = sys.modules["hil.cli.view"]  # `hil.cli.view` is the command itself
    monkeypatch.setattr(command, "_play", lambda folder, *_: shown.append(("played", folder.name)))
    monkeypatch.setattr(command, "_follow", lambda rig, *_: shown.append(("followed", rig.config.name)))
    monkeypatch.chdir(tmp_path)
    assert hil(["view", "--foxglove"]) == 2
    assert "no run is in runs/" in capsys.readouterr().err
    for name in ("20260101T000000Z_old", "20260102T000000Z_new"):
        shutil.copytree(run, tmp_path / "runs" / name)
    assert hil(["view", "--foxglove"]) == 0
    newest = tmp_path / "runs" / "20260102T000000Z_new"
    (newest / "summary.json").unlink(missing_ok=True)
    (newest / "shm").mkdir()
    assert hil(["view", "--foxglove"]) == 0
    assert shown == [("played", newest.name), ("followed", "sim_impact")]
