"""Messages of a trial that a viewer on the telemetry port receives."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zmq

from hil.app import lockstep_backend
from hil.app import run as app
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.impact.experiment import ImpactExperiment
from hil.messages.signals import tick_dtype
from hil.operator.telemetry import Publisher
from models.rover.assembly import WHEELS

TICK = tick_dtype(load_config("sim_impact").layout)

QUICK = (
    "trial.start_distance_m=0.03",
    "trial.ramp_s=0.1",
    "trial.settle_s=0.5",
    "record.after_s=0.5",
    "telemetry.rate_hz=200",
)
# A run that has failed publishes no outcome [s].
WAIT_S = 60.0
UNKNOWN_AT_TIMES = {"load_point_m", "time_to_impact_s"}  # NaN while unloaded, infinity while not approaching
Messages = list[tuple[bytes, dict[str, Any]]]


class Viewer(threading.Thread):
    """Subscribes to everything, as a plotting program does, and stores it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._endpoint, self._enough = "", threading.Event()
        self.seen: Messages = []

    def watch(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self.start()

    def run(self) -> None:
        with zmq.Context() as context, context.socket(zmq.SUB) as subscriber:
            subscriber.setsockopt(zmq.RECONNECT_IVL, 10)
            subscriber.setsockopt(zmq.RCVTIMEO, 100)
            subscriber.setsockopt(zmq.RCVHWM, 0)
            subscriber.setsockopt(zmq.LINGER, 0)
            subscriber.subscribe(b"")
            subscriber.connect(self._endpoint)
            while True:
                try:
                    topic, body = subscriber.recv_multipart()
                except zmq.Again:
                    if self._enough.is_set():
                        return
                    continue
                self.seen.append((topic, msgspec.msgpack.decode(body)))

    def stop(self) -> None:
        self._enough.set()
        if self.is_alive():  # otherwise the rig could not be built
            self.join()


def watch_a_trial(folder: Path, reason: str | None) -> tuple[Messages, dict[str, Any]]:
    viewer = Viewer()
    build = app.open_backend

    def stopped_on_the_way(*args):
        rig = build(*args)
        advance, publisher = rig.simulated_rig.advance, rig.file_sink.publisher
        close = publisher.close
        viewer.watch(publisher.endpoint)
        while not viewer.seen:  # not yet subscribed
            publisher.trial({"knock": 1}, t_ns=0)
            time.sleep(0.01)

        def close_once_seen():  # what is still in the queue is dropped
            give_up_s = time.monotonic() + WAIT_S
            while not any(topic == b"trial" for topic, _ in seen(viewer)) and time.monotonic() < give_up_s:
                time.sleep(0.001)
            close()

        def advance_and_stop(t_ns):
            advance(t_ns)
            while len(viewer.seen) < t_ns // 5_000_000 - 20:  # a slow viewer would miss some of 200 per second
                time.sleep(0.001)
            if reason and t_ns == 400_000_000:
                rig.loop.stop(reason)

        rig.simulated_rig.advance, publisher.close = advance_and_stop, close_once_seen
        return rig

    try:
        config = load_config("sim_impact", [*QUICK, f"telemetry.endpoint=ipc://{folder}.socket"])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(app, "open_backend", stopped_on_the_way)
            patch.setattr(ImpactExperiment, "draw", lambda *_: None)  # saves half the time
            outcome = app.run_experiment(config, folder, progress=lambda _: None, figure=False)
    finally:
        viewer.stop()
    return seen(viewer), outcome.summary


def seen(viewer: Viewer) -> Messages:
    return [message for message in viewer.seen if "knock" not in message[1]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return watch_a_trial(tmp_path_factory.mktemp("whole"), None)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    return watch_a_trial(tmp_path_factory.mktemp("stopped"), "operator: test")


def bodies(messages: Messages, topic: bytes) -> list[dict[str, Any]]:
    return [body for name, body in messages if name == topic]


def numbers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        assert all(isinstance(key, str) for key in value)
        for item in value.values():
            yield from numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)
    else:
        yield value


def test_ticks_arrive_at_the_set_rate_with_every_field_by_its_name(whole):
    ticks = bodies(whole[0], b"tick")
    assert len(ticks) == pytest.approx(whole[1]["loop"]["ticks"] / 5, abs=3)  # 200 of 1000 per second, and the last
    for body in ticks:
        assert set(body) == {"timestamp", *TICK.names}
        assert set(body["normal_force_N"]) == set(WHEELS)
    assert {body["impact"] for body in ticks} == {0, 1}


def test_numbers_are_plain_and_finite_where_they_are_always_known(whole):
    for body in bodies(whole[0], b"tick"):
        assert all(type(number) in (int, float) for number in numbers(body))
        known = {name: value for name, value in body.items() if name not in UNKNOWN_AT_TIMES}
        assert all(math.isfinite(number) for number in numbers(known))
    loaded = [body for body in bodies(whole[0], b"tick") if body["force_sum_N"] > 20]
    assert len(loaded) > 10
    assert all(math.isfinite(number) for body in loaded for number in numbers(body["load_point_m"]))


def test_timestamps_are_floats_that_only_rise_and_count_the_ticks_own_time(whole):
    ticks = bodies(whole[0], b"tick")
    stamps = [body["timestamp"] for body in ticks]
    assert all(type(body["timestamp"]) is float for _, body in whole[0])
    assert all(one <= two for one, two in itertools.pairwise(stamps))
    for body in ticks:
        elapsed_s = body["timestamp"] - ticks[0]["timestamp"]
        assert elapsed_s == pytest.approx((body["t_ns"] - ticks[0]["t_ns"]) * 1e-9, abs=1e-5)


def test_the_outcome_of_the_trial_arrives_last(whole):
    messages, summary = whole
    assert messages[-1][0] == b"trial"
    (outcome,) = bodies(messages, b"trial")
    assert outcome["accepted"] == 1
    assert outcome["aborted"] == 0
    assert outcome["peak_force_N"] == summary["peak_force_N"]
    assert outcome["loop"]["ticks"] == summary["loop"]["ticks"]
    assert all(type(number) in (int, float) and math.isfinite(number) for number in numbers(outcome))


def test_a_trial_without_a_fault_publishes_its_impact_and_no_other_event(whole):
    messages, summary = whole
    (event,) = bodies(messages, b"event")
    assert set(event) == {"timestamp", "impact"}
    first = bodies(messages, b"tick")[0]
    assert event["timestamp"] - first["timestamp"] == pytest.approx(
        summary["impact_time_s"] - first["t_ns"] * 1e-9, abs=1e-5
    )


def test_an_event_arrives_under_its_name_and_the_ticks_after_it_are_safe(stopped):
    messages, summary = stopped
    event, asked = bodies(messages, b"event")
    assert "operator e_stop" in asked
    assert type(event["timestamp"]) is float
    assert event["stop_by_operator"]["id"] == 18
    assert all(type(number) in (int, float) for number in numbers(event))
    tick = event["stop_by_operator"]["tick"]
    later = [body for body in bodies(messages, b"tick") if body["tick"] > tick]
    assert len(later) > 100
    assert all(body["safe"] == 1 and body["cut"] == 1 for body in later)
    (outcome,) = bodies(messages, b"trial")
    assert outcome["aborted"] == 1
    assert summary["reasons"] == ["fault 18: operator: test"]


@pytest.mark.slow
def test_each_run_of_a_rig_that_stays_open_is_stamped_from_its_own_start(tmp_path, monkeypatch):
    starts, clock = [], itertools.count(1_700_000_000.0, 10.0)
    monkeypatch.setattr(lockstep_backend.time, "time", lambda: next(clock))
    monkeypatch.setattr(Publisher, "starts_at", lambda _, wall_start_s: starts.append(wall_start_s))
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    settings = [*QUICK, "clock=lockstep", "telemetry.endpoint=''"]
    app.run_repeatedly(Rig(load_config("sim_impact", settings)), 2, folders.__getitem__, print, figure=False)
    assert len(starts) == 2
    assert starts[1] > starts[0]
