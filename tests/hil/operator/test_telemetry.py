"""Telemetry as received by the SUB socket of a viewer."""

import socket
from contextlib import contextmanager

import msgpack
import numpy as np
import pytest
import zmq

from hil.messages.layout import SENSORS, Layout
from hil.messages.link_messages import event_row
from hil.messages.signals import tick_dtype
from hil.operator.telemetry import PortBusy, Publisher
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])
TICK = tick_dtype(LAYOUT)

ANY = "tcp://127.0.0.1:*"
WALL = 1_700_000_000.25


@contextmanager
def viewer(publisher):
    """A SUB socket that receives for sure: joining takes time, so events are published until one arrives."""
    with zmq.Context() as context, context.socket(zmq.SUB) as socket:
        socket.linger = 0
        socket.rcvbuf = 65_536  # otherwise the system's buffers would hide a viewer that does not read
        socket.subscribe(b"")
        socket.connect(publisher.endpoint)
        knock = 0
        publisher.trial({"knock": knock}, t_ns=0)
        while not socket.poll(10):  # not yet subscribed
            knock += 1
            publisher.trial({"knock": knock}, t_ns=0)
        while receive(socket)[1]["knock"] != knock:
            pass
        yield socket


def receive(socket):
    topic, payload = socket.recv_multipart()
    return topic.decode(), msgpack.unpackb(payload)


def row(tick=0, t_ns=0):
    out = np.zeros(1, TICK)
    out["tick"], out["t_ns"] = tick, t_ns
    out["normal_force_N"] = np.arange(6) + 0.5
    out["load_point_m"] = np.nan
    out["time_to_impact_s"] = np.inf
    out["valves"] = [[1, 0], [0, 1]]
    return out


def leaves(value):
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, list) else [value]


@pytest.fixture
def publisher():
    with Publisher(ANY, 100.0, 1000.0, WALL, LAYOUT) as made:
        yield made


def test_tick_arrives_with_every_field_by_name_and_wheel(publisher):
    with viewer(publisher) as socket:
        publisher.tick(row(tick=20, t_ns=1_500_000_000))
        topic, payload = receive(socket)
    assert topic == "tick"
    assert payload["timestamp"] == WALL + 1.5
    assert set(payload) == {"timestamp", *TICK.names}
    assert payload["tick"] == 20
    assert payload["normal_force_N"] == {name: i + 0.5 for i, name in enumerate(WHEELS)}
    assert payload["valves"] == [[1, 0], [0, 1]]
    assert len(payload["force_N"]) == 3
    assert np.isnan(payload["load_point_m"]).all()
    assert payload["time_to_impact_s"] == np.inf
    assert {type(leaf) for leaf in leaves(payload)} <= {int, float}


def test_of_several_ticks_at_once_those_that_are_due_are_published(publisher):
    with viewer(publisher) as socket:
        publisher.tick(np.concatenate([row(tick) for tick in range(20, 31)]))
        assert [receive(socket)[1]["tick"] for _ in range(2)] == [20, 30]


def published(publisher, ticks):
    with viewer(publisher) as socket:
        for tick in ticks:
            publisher.tick(row(tick, tick * 1_000_000))
        publisher.trial({"end": 1})
        found = []
        while (message := receive(socket))[0] == "tick":
            found.append(message[1]["tick"])
        return found


def test_each_tenth_tick_of_a_1_khz_loop_and_the_last_are_published_at_100_hz(publisher):
    assert published(publisher, range(100)) == [*range(0, 100, 10), 99]


def test_the_tick_in_which_the_cut_is_confirmed_is_published_between_two_that_are_due(publisher):
    with viewer(publisher) as socket:
        for tick in range(20):
            one = row(tick)
            one["drives_stopped_ns"] = -1 if tick < 13 else 12
            publisher.tick(one)
        publisher.trial({"last": 1})
        seen = []
        while "last" not in (payload := receive(socket)[1]):
            seen.append(payload["tick"])
    assert seen == [0, 10, 13, 19]


def test_skipped_ticks_do_not_silence_it(publisher):
    assert published(publisher, [0, 5, 11, 19, 23, 60, 61]) == [0, 11, 23, 60, 61]


def test_rate_above_the_loops_publishes_every_tick():
    with Publisher(ANY, 5000.0, 1000.0, WALL, LAYOUT) as publisher:
        assert published(publisher, range(7)) == list(range(7))


@pytest.mark.parametrize("rates", [(0.0, 1000.0), (100.0, 0.0), (-1.0, 1000.0), (float("nan"), 1000.0)])
def test_rate_that_is_none_is_refused(rates):
    with pytest.raises(ValueError, match="allowed: above 0"):
        Publisher("", *rates, WALL, LAYOUT)


def test_event_arrives_under_its_name_with_numbers_only(publisher):
    with viewer(publisher) as socket:
        publisher.event(event_row(12, "daq_silent", 40, 40_000_000, 25.0, 20.0, 41, "no block"))
        topic, payload = receive(socket)
    numbers = {"id": 12, "tick": 40, "value": 25.0, "limit": 20.0, "reaction_tick": 41}
    assert (topic, payload) == ("event", {"timestamp": WALL + 0.04, "daq_silent": numbers})


def test_trial_arrives_without_text_and_null(publisher):
    summary = {
        "angle_deg": np.float64(50.0),
        "accepted": True,
        "aborted": None,
        "clock": "lockstep",
        "reasons": ["too slow"],
        "load_point_m": [0.001, -0.002],
        "loop": {"ticks": np.int64(6000), "work_us": {"p50": 42.0}, "wake_us": None},
    }
    with viewer(publisher) as socket:
        publisher.trial(summary, t_ns=2_000_000_000)
        topic, payload = receive(socket)
    assert topic == "trial"
    assert payload == {
        "timestamp": WALL + 2.0,
        "angle_deg": 50.0,
        "accepted": 1,
        "load_point_m": [0.001, -0.002],
        "loop": {"ticks": 6000, "work_us": {"p50": 42.0}},
    }


def test_links_arrive_by_name_without_their_words_and_what_is_not_counted(publisher):
    counted = {"errors": 0, "retries": 3, "rate_hz": 49.5, "age_ms": None, "detail": "two controllers"}
    with viewer(publisher) as socket:
        publisher.links({})
        publisher.links({"drives": counted})
        topic, payload = receive(socket)
    assert (topic, payload["drives"]) == ("link", {"errors": 0, "retries": 3, "rate_hz": 49.5})


def test_trial_without_a_time_has_that_of_the_newest_message(publisher):
    with viewer(publisher) as socket:
        publisher.tick(row(tick=10, t_ns=3_000_000_000))
        publisher.trial({})
        receive(socket)
        assert receive(socket) == ("trial", {"timestamp": WALL + 3.0})


def test_busy_port_is_named_with_what_to_do(publisher):
    with pytest.raises(PortBusy, match=f"{publisher.endpoint}.*choose another port"):
        Publisher(publisher.endpoint, 100.0, 1000.0, WALL, LAYOUT)


@pytest.mark.parametrize(
    "endpoint", ["127.0.0.1:9872", "tcp://203.0.113.7:9872", "carrier://pigeon", "tcp://127.0.0.1:x"]
)
def test_impossible_endpoint_is_named(endpoint):
    with pytest.raises(ValueError, match=r"telemetry\.endpoint is") as caught:
        Publisher(endpoint, 100.0, 1000.0, WALL, LAYOUT)
    assert endpoint in str(caught.value)


def test_port_is_free_after_close():
    with Publisher(ANY, 100.0, 1000.0, WALL, LAYOUT) as first:
        endpoint = first.endpoint
    with Publisher(endpoint, 100.0, 1000.0, WALL, LAYOUT) as second:
        assert second.endpoint == endpoint


def test_empty_endpoint_publishes_nothing():
    with Publisher("", 100.0, 1000.0, WALL, LAYOUT) as publisher:
        publisher.tick(row())
        publisher.event(event_row(1, "x", 0, 0))
        publisher.trial({"a": 1})
        assert publisher.endpoint == ""


def test_closed_publisher_is_silent_and_closes_twice(publisher):
    publisher.close()
    publisher.close()
    publisher.tick(row(tick=10))
    publisher.event(event_row(1, "x", 0, 0))


@pytest.mark.slow
def test_viewer_that_never_reads_blocks_nothing():
    with Publisher(ANY, 1000.0, 1000.0, WALL, LAYOUT) as publisher, viewer(publisher) as socket:
        for tick in range(20_000):  # far more than all queues hold
            publisher.tick(row(tick))
        received = 0
        while socket.poll(200 if received else 60_000):
            socket.recv_multipart()
            received += 1
        assert 0 < received < 20_000  # some were dropped, none were waited for


def test_stamps_of_the_next_run_begin_at_its_own_start():
    """A resident process has one publisher for all runs: the length of the run before is no part of their time."""
    with Publisher(ANY, 20, 1000, WALL, LAYOUT) as publisher, viewer(publisher) as socket:
        publisher.tick(row(60_000, 60_000_000_000))
        assert receive(socket)[1]["timestamp"] == pytest.approx(WALL + 60.0)
        publisher.starts_at(WALL + 100.0)
        publisher.links({"drives": {"errors": 1}})
        publisher.trial({"accepted": True})
        publisher.tick(row(50, 50_000_000))
        stamps = [receive(socket)[1]["timestamp"] for _ in range(3)]
    assert stamps == pytest.approx([WALL + 100.0, WALL + 100.0, WALL + 100.05])


def test_the_last_tick_of_a_run_is_published_with_its_outcome():
    with Publisher(ANY, 20, 1000, WALL, LAYOUT) as publisher, viewer(publisher) as socket:
        for number in (0, 1, 2):
            publisher.tick(row(number, number * 1_000_000))
        for _ in range(2):
            publisher.trial({"accepted": True})
        found = [receive(socket) for _ in range(4)]
    assert [(topic, content.get("tick")) for topic, content in found] == [
        ("tick", 0), ("tick", 2), ("trial", None), ("trial", None),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_nothing_of_the_user_is_removed_to_listen_in_its_place(tmp_path, kind):
    """libzmq removes what is at the path of an ipc:// endpoint before it binds."""
    place, other = tmp_path / "thesis", tmp_path / "other"
    other.write_text("of the user")
    {"file": place.touch, "link": lambda: place.symlink_to(other), "folder": place.mkdir}[kind]()
    before = place.lstat()
    with pytest.raises(ValueError, match=r"telemetry\.endpoint is ipc://.*File exists; allowed: .*of no file"):
        Publisher(f"ipc://{place}", 10, 1000, WALL, LAYOUT)
    assert place.lstat() == before
    assert other.read_text() == "of the user"


def test_the_socket_of_a_program_that_listens_is_in_use_and_that_of_one_that_ended_is_taken(tmp_path):
    place = tmp_path / "socket"
    with Publisher(f"ipc://{place}", 10, 1000, WALL, LAYOUT), pytest.raises(PortBusy, match="another program uses"):
        Publisher(f"ipc://{place}", 10, 1000, WALL, LAYOUT)
    with socket.socket(socket.AF_UNIX) as ended:
        ended.bind(str(tmp_path / "ended"))
    with Publisher(f"ipc://{tmp_path}/ended", 10, 1000, WALL, LAYOUT) as publisher, viewer(publisher):
        pass


def test_no_message_is_made_before_a_viewer_has_come(publisher, monkeypatch):
    made = []
    encode = publisher._encoder.encode
    monkeypatch.setattr(
        publisher, "_encoder", type("Counting", (), {"encode": lambda _, one: made.append(one) or encode(one)})()
    )
    for number in range(100):
        publisher.tick(row(tick=number))
    publisher.event(event_row(7, "stale", 1, 1))
    assert not made
    with viewer(publisher) as socket:
        publisher.tick(row(tick=500))
        assert receive(socket)[1]["tick"] == 500
    assert made
