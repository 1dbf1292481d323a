"""The page's end of the telemetry: ticks at 30 Hz, events, and what is no telemetry."""

from __future__ import annotations

import asyncio
import time

import msgspec
import zmq

from hil.operator.page.operated_rig import NewestEntries, Series, TelemetryReceiver, columns


def tick(t_s, **fields):
    return msgspec.msgpack.encode({"timestamp": t_s, **fields})


def test_ticks_are_thinned_to_30_hz_and_a_run_that_begins_earlier_is_shown_at_once():
    feed = TelemetryReceiver("")
    for number in range(1000):
        feed.take(b"tick", tick(100.0 + number * 1e-3))
    assert 30 <= feed.ticks.count <= 31
    feed.take(b"tick", tick(50.0))
    assert feed.ticks.since(feed.ticks.count - 1)[1][0]["timestamp"] == 50.0


def test_whoever_watches_sees_each_tick():
    feed, seen = TelemetryReceiver(""), []
    feed.watching.append(lambda tick, _: seen.append(tick["number"]))
    for number in range(10):
        feed.take(b"tick", tick(number * 1e-3, number=number))
    assert seen == list(range(10))


def test_the_newest_state_of_each_link_is_kept_and_is_no_tick():
    feed = TelemetryReceiver("")
    for errors in (0, 2):
        feed.take(b"link", tick(1.0, drives={"errors": errors, "rate_hz": 50.0}))
    assert feed.links == {"drives": {"errors": 2, "rate_hz": 50.0}}
    assert (feed.ticks.count, feed.received_s) == (0, float("-inf"))


def test_what_is_no_telemetry_changes_nothing():
    feed = TelemetryReceiver("")
    for content in (
        b"",
        b"x",
        b"\x81",
        msgspec.msgpack.encode([]),
        msgspec.msgpack.encode({"timestamp": "x"}),
        tick(None),
    ):
        feed.take(b"tick", content)
        feed.take(b"event", content)
    assert feed.ticks.count == feed.events.count == 0


def test_an_event_of_a_run_in_virtual_time_has_the_time_of_the_wall_clock_and_its_own():
    content = msgspec.msgpack.encode({"timestamp": 50.0, "impact": {"id": 0, "tick": 4731, "value": 2.0}})
    virtual, real = TelemetryReceiver("", virtual_hz=1000.0), TelemetryReceiver("")
    before_s = time.time()
    for feed in (virtual, real):
        feed.take(b"event", content)
    (_, (first,)), (_, (second,)) = virtual.events.since(0), real.events.since(0)
    assert before_s <= first["t"] <= time.time()
    assert (first["virtual_s"], second["virtual_s"], second["t"]) == (4.731, None, 50.0)


def test_columns_hold_a_list_for_each_series_and_null_where_there_is_no_number():
    ticks = [{"timestamp": 1.0, "valves": [[0, 1]], "slip": {"left": 0.5}}, {"timestamp": 2.0, "valves": []}]
    series = [Series("valves/left_retract", ("valves", 0, 1)), Series("slip/left", ("slip", "left"))]
    assert columns(ticks, series) == {
        "names": ["valves/left_retract", "slip/left"], "t": [1.0, 2.0], "values": [[1, None], [0.5, None]],
    }  # fmt: skip


def test_a_slow_reader_misses_the_oldest_entries_and_no_others():
    recent = NewestEntries(3)
    for number in range(5):
        recent.add(number)
    assert [recent.since(count) for count in (0, 2, 4, 5)] == [(5, [2, 3, 4]), (5, [2, 3, 4]), (5, [4]), (5, [])]


def test_the_last_tick_of_a_run_is_shown_however_soon_it_comes_after_the_one_before():
    feed = TelemetryReceiver("")
    for number in range(3):
        feed.take(b"tick", tick(1.0 + 1e-3 * number, tick=number))
    assert [one["tick"] for one in feed.ticks.since(0)[1]] == [0]
    for _ in range(2):
        feed.take(b"trial", tick(1.01, accepted=1))
    assert [one["tick"] for one in feed.ticks.since(0)[1]] == [0, 2]


def test_ticks_and_events_come_from_the_publisher():
    async def receive():
        with zmq.Context() as context, context.socket(zmq.XPUB) as publisher:
            port = publisher.bind_to_random_port("tcp://127.0.0.1")
            feed = TelemetryReceiver(f"tcp://127.0.0.1:{port}")
            receiving = asyncio.create_task(feed.receive())
            for _ in range(4):
                while not publisher.poll(0):
                    await asyncio.sleep(0.01)
                publisher.recv()  # a subscription
            publisher.send_multipart(
                [b"event", msgspec.msgpack.encode({"timestamp": 1.0, "impact": {"id": 0, "value": 2.0}})]
            )
            publisher.send_multipart([b"tick", tick(1.0, speed_mps=0.1)])
            while not feed.ticks.count:
                await asyncio.sleep(0.01)
            receiving.cancel()
            await asyncio.wait([receiving])
            return feed

    feed = asyncio.run(receive())
    assert feed.ticks.since(0) == (1, [{"timestamp": 1.0, "speed_mps": 0.1}])
    assert feed.events.since(0) == (1, [{"name": "impact", "t": 1.0, "virtual_s": None, "id": 0, "value": 2.0}])
