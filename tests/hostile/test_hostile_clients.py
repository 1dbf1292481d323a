"""Clients that nobody has let in cost a server neither its memory nor its time; honest ones are served on."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

import msgpack
import pytest
import zmq

from hil.ipc.shared_types import CommandMemory
from hil.messages.layout import SENSORS, Layout
from hil.operator import sockets
from hil.operator.sockets import CommandSocket, RequestSocket, SharedCommands
from hil.operator.telemetry import Publisher
from hil.simulator.stepping.service import StepSocket
from models.rover.assembly import WHEELS

TOKEN = bytes(range(32))


@pytest.fixture
def publisher():
    with Publisher(
        "tcp://127.0.0.1:*", 100.0, 1000.0, 0.0, Layout(WHEELS, ("left", "right"), SENSORS["triangle"])
    ) as one:
        yield one


@pytest.fixture
def context():
    with zmq.Context() as one:
        one.linger = 0
        yield one


def publish_until(publisher, done):
    """Publish, as a run does, until it is done."""
    number = 0
    while not done():
        number += 1
        publisher.trial({"number": number}, t_ns=0)
        time.sleep(0.001)


def test_a_viewer_that_subscribes_without_end_is_thrown_out_and_an_honest_one_goes_on(publisher, context):
    with context.socket(zmq.SUB) as honest, context.socket(zmq.XSUB) as flood:
        honest.subscribe(b"trial")
        honest.connect(publisher.endpoint)
        publish_until(publisher, lambda: honest.poll(0))
        flood.sndhwm = 0
        flood.connect(publisher.endpoint)
        before = publisher._socket
        sent = threading.Thread(target=lambda: [flood.send(b"\x01" + b"tick/%d" % number) for number in range(100_000)])
        sent.start()
        publish_until(publisher, lambda: publisher._socket not in (before, None))
        sent.join()
        while honest.poll(0):
            honest.recv_multipart()
        publish_until(publisher, lambda: honest.poll(0))
        topic, payload = honest.recv_multipart()
    assert topic == b"trial"
    assert msgpack.unpackb(payload)["number"] > 0


@pytest.mark.parametrize(
    ("asked", "comes"), [(b"", True), (b"tri", True), (b"trial", True), (b"trial/x", False), (b"x", False)]
)
def test_only_topics_that_there_are_can_be_subscribed_to(publisher, context, asked, comes):
    with context.socket(zmq.SUB) as viewer, context.socket(zmq.SUB) as other:
        viewer.subscribe(asked)
        viewer.connect(publisher.endpoint)
        other.subscribe(b"")
        other.connect(publisher.endpoint)
        publish_until(publisher, lambda: other.poll(0) and (not comes or viewer.poll(0)))
        assert bool(viewer.poll(0)) == comes


def test_parts_without_end_close_the_socket_which_opens_again_on_the_same_port(context, monkeypatch):
    resident = iter(range(0, 10**12, 2**20))  # this process grows by 1 MB at each look
    monkeypatch.setattr(sockets, "_resident", lambda: next(resident))
    listener = RequestSocket(context, zmq.REP, "tcp://127.0.0.1:*", "test", None, {zmq.MAXMSGSIZE: 1000})
    endpoint, first = listener.endpoint, listener.socket
    looks = 0
    while listener.socket is first:
        assert not listener.wait(0)
        looks += 1
    assert looks == sockets.MOST_GROWTH // 2**20 + 1
    assert listener.endpoint == endpoint
    with context.socket(zmq.REQ) as client:
        client.connect(endpoint)
        client.send(b"honest")
        while not listener.wait(100):
            pass
        assert listener.socket.recv() == b"honest"
        listener.socket.send(b"")
        client.recv()
    listener.socket.close()


class Flood(threading.Thread):
    """Connections that speak ZMTP 3.0 as far as needed, and then send parts of a message that never ends."""

    PART = b"\x03" + (60_000).to_bytes(8, "big") + bytes(60_000)  # more follows, long

    def __init__(self, endpoint):
        super().__init__()
        host, port = endpoint.removeprefix("tcp://").split(":")
        self._address = host, int(port)
        self.ended = threading.Event()

    def run(self):
        """Send until the other end has had enough, and again from a new connection, until it is ended."""
        greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
        ready = b"\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER\x08Identity\x00\x00\x00\x00"
        while not self.ended.wait(0.001):
            with suppress(OSError), socket.create_connection(self._address) as client:
                client.sendall(greeting + b"\x04" + bytes([len(ready)]) + ready)
                while not self.ended.is_set():
                    client.sendall(self.PART)


@pytest.mark.slow
def test_a_client_that_sends_parts_without_end_does_not_fill_the_memory_of_the_command_server(tmp_path):
    memory = CommandMemory(tmp_path / "memory", create=True)
    server = CommandSocket("tcp://127.0.0.1:*", SharedCommands(memory), token=TOKEN)
    flood, first = Flood(server.endpoint), server._requests.socket
    flood.start()
    try:
        while server._requests.socket is first:
            server.serve(0.01)
    finally:
        flood.ended.set()
        server.close()
        memory.close()
        flood.join()


def test_a_caller_that_never_pauses_does_not_keep_the_step_service_from_its_end():
    answered = []

    def answer(frames):
        answered.append(frames)
        return [b"refused"]

    step_socket = StepSocket(SimpleNamespace(answer=answer), "tcp://127.0.0.1:*")
    with zmq.Context() as context, context.socket(zmq.DEALER) as caller:
        caller.linger = 0
        caller.connect(step_socket.endpoint)
        for _ in range(500):
            caller.send_multipart([b"", b"x"])
        while not answered:
            step_socket.serve_for(100)
        assert len(answered) < 500
    step_socket.close()
