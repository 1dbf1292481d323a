"""Our channel and our server, each with gRPC's own peer and with the other."""

from __future__ import annotations

import socket
import threading
import time
from concurrent import futures
from types import SimpleNamespace

import grpc
import pytest

from drivers.rpc import channel as channel_module
from drivers.rpc.channel import CallError, Channel
from drivers.rpc.connection import LAST_STREAM
from drivers.rpc.server import Server

SLICE_S = 0.004
PATIENCE_S = 120.0  # no test waits for it


def echo(request):
    return request


def fail(_request):
    raise CallError(grpc.StatusCode.UNKNOWN, "not whole: 50 % [é]", (("ni-error", "-200279"), ("ni-samps", "0")))


class Peers:
    """The methods Echo, Fail and Wait at a server of a kind."""

    def __init__(self, kind, admits=lambda host, port: True):
        self.go_on = threading.Event()
        handlers = {"Echo": echo, "Fail": fail, "Wait": self.wait}
        if kind == "ours":
            self._server = Server(handlers, admits)
            self.address = f"127.0.0.1:{self._server.listen('127.0.0.1', 0)}"
        else:
            self._server = grpc.server(futures.ThreadPoolExecutor(4))
            called = {name: grpc.unary_unary_rpc_method_handler(_called(call)) for name, call in handlers.items()}
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("rig.Rig", called),))
            self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
            self._server.start()
        self.kind = kind

    def wait(self, request):
        self.go_on.wait(PATIENCE_S)
        return request

    def stop(self):
        self.go_on.set()
        if self.kind == "ours":
            self._server.stop()
        else:
            self._server.stop(None).wait()


def _called(call):
    def handle(request, context):
        try:
            return call(request)
        except CallError as error:
            context.set_trailing_metadata(tuple(error.trailing_metadata()))
            context.abort(error.code(), error.details())

    return handle


@pytest.fixture(params=["ours", "grpc"])
def peers(request):
    made = Peers(request.param)
    yield made
    made.stop()


@pytest.fixture
def channel(peers):
    made = Channel(peers.address, lambda: None, SLICE_S)
    assert made.connect(PATIENCE_S)
    yield made
    made.close()


def method(channel, name):
    return channel.unary_unary(f"/rig.Rig/{name}", bytes, bytes)


@pytest.mark.parametrize("size", [0, 24, 34_560, 1_000_000])
def test_a_call_brings_its_answer(channel, size):
    assert method(channel, "Echo")(bytes(size), None, PATIENCE_S) == bytes(size)


def test_calls_follow_one_another_on_one_connection(channel):
    call = method(channel, "Echo")
    assert [call(str(number).encode(), None, PATIENCE_S) for number in range(300)] == [
        str(number).encode() for number in range(300)
    ]


def test_a_connection_whose_numbers_are_used_up_is_followed_by_another(channel):
    """A number of a stream has 31 bits, which a rig that runs for a month uses up."""
    call, first = method(channel, "Echo"), channel._connection
    assert call(b"first", None, PATIENCE_S) == b"first"
    first._newest = LAST_STREAM - 3
    assert [call(str(number).encode(), None, PATIENCE_S) for number in range(5)] == [b"0", b"1", b"2", b"3", b"4"]
    assert first.used_up
    assert channel._connection is not first


def test_a_failure_brings_its_code_its_words_and_what_the_server_adds(channel):
    with pytest.raises(CallError) as failed:
        method(channel, "Fail")(b"", None, PATIENCE_S)
    assert failed.value.code() is grpc.StatusCode.UNKNOWN
    assert failed.value.details() == "not whole: 50 % [é]"
    added = {entry.key: entry.value for entry in failed.value.trailing_metadata()}
    assert added == {"ni-error": "-200279", "ni-samps": "0"}
    assert method(channel, "Echo")(b"on", None, PATIENCE_S) == b"on"


def test_a_method_that_the_server_lacks_is_named_so(channel):
    with pytest.raises(CallError) as failed:
        method(channel, "Nothing")(b"", None, PATIENCE_S)
    assert failed.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_call_ends_at_its_deadline_and_the_next_one_has_its_own_answer(peers, channel):
    with pytest.raises(CallError) as failed:
        method(channel, "Wait")(b"late", None, 0.02)
    assert failed.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    peers.go_on.set()
    assert method(channel, "Echo")(b"next", None, PATIENCE_S) == b"next"


def test_a_waiting_call_shows_again_and_again_that_its_process_is_alive(peers):
    signs = []

    def alive():
        signs.append(1)
        if len(signs) == 5:
            peers.go_on.set()

    channel = Channel(peers.address, alive, SLICE_S)
    assert channel.connect(PATIENCE_S)
    signs.clear()
    assert method(channel, "Wait")(b"x", None, PATIENCE_S) == b"x"
    assert len(signs) >= 5
    before = len(signs)
    time.sleep(5 * SLICE_S)
    assert len(signs) == before  # nothing speaks for a process that waits for no answer
    channel.close()


def test_a_server_that_stops_is_a_lost_connection(peers, channel):
    peers.stop()
    for _ in range(2):
        with pytest.raises(CallError) as failed:
            method(channel, "Echo")(b"", None, PATIENCE_S)
        assert failed.value.code() is grpc.StatusCode.UNAVAILABLE


def test_nobody_listens():
    signs = []
    with socket.socket() as bound:  # held, so that no other test's server gets this port
        bound.bind(("127.0.0.1", 0))
        channel = Channel(f"127.0.0.1:{bound.getsockname()[1]}", lambda: signs.append(1), SLICE_S)
        assert not channel.connect(0.05)
    assert signs


def test_a_port_that_accepts_and_says_nothing_is_no_device_server():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        channel = Channel(f"127.0.0.1:{silent.getsockname()[1]}", lambda: None, SLICE_S)
        assert not channel.connect(0.05)


def test_a_server_listens_again_at_its_port():
    server = Server({"Echo": echo}, lambda host, port: True)
    port = server.listen("127.0.0.1", 0)
    for _ in range(2):
        channel = Channel(f"127.0.0.1:{port}", lambda: None, SLICE_S)
        assert channel.connect(PATIENCE_S)
        assert method(channel, "Echo")(b"x", None, PATIENCE_S) == b"x"
        channel.close()
        server.stop()
        assert server.listen("127.0.0.1", port) == port
    server.stop()


@pytest.mark.parametrize("size", [0, 34_560, 1_000_000])
def test_grpcs_own_client_is_answered(size):
    peers = Peers("ours")
    with grpc.insecure_channel(peers.address) as theirs:
        call = theirs.unary_unary("/rig.Rig/Echo")
        for _ in range(3):
            assert call(bytes(size), timeout=PATIENCE_S) == bytes(size)
        with pytest.raises(grpc.RpcError) as failed:
            theirs.unary_unary("/rig.Rig/Fail")(b"", timeout=PATIENCE_S)
        assert failed.value.details() == "not whole: 50 % [é]"
        assert ("ni-error", "-200279") in [tuple(entry) for entry in failed.value.trailing_metadata()]
        with pytest.raises(grpc.RpcError) as failed:
            theirs.unary_unary("/rig.Rig/Nothing")(b"", timeout=PATIENCE_S)
        assert failed.value.code() is grpc.StatusCode.UNIMPLEMENTED
    peers.stop()


def test_several_calls_of_grpcs_own_client_at_a_time_are_all_answered():
    peers = Peers("ours")
    with grpc.insecure_channel(peers.address) as theirs:
        calls = [theirs.unary_unary("/rig.Rig/Echo").future(bytes((number,))) for number in range(50)]
        assert [call.result(PATIENCE_S) for call in calls] == [bytes((number,)) for number in range(50)]
    peers.stop()


def test_a_connection_that_is_not_admitted_gets_no_answer():
    asked = []
    peers = Peers("ours", lambda host, port: asked.append((host, port)) or False)
    channel = Channel(peers.address, lambda: None, SLICE_S)
    assert channel.connect(PATIENCE_S)
    for _ in range(2):
        with pytest.raises(CallError, match="another user") as failed:
            method(channel, "Echo")(b"", None, PATIENCE_S)
        assert failed.value.code() is grpc.StatusCode.PERMISSION_DENIED
    assert [host for host, _ in asked] == ["127.0.0.1"]  # looked up once
    channel.close()
    peers.stop()


class Chatty:
    """A socket in virtual time whose server sends pings for ever, and no answer."""

    def __init__(self):
        self.t_ns = 0

    def recv(self, most):
        self.t_ns += 1_000_000
        return b"\0\0\x08\x06\0\0\0\0\0" + bytes(8)

    def sendall(self, data):
        pass

    def close(self):
        pass


def test_a_server_that_never_stops_sending_is_waited_for_no_longer(monkeypatch):
    signs, chatty = [], Chatty()
    made = Channel("127.0.0.1:1", lambda: signs.append(chatty.t_ns), SLICE_S)
    made._socket = chatty
    monkeypatch.setattr(channel_module, "time", SimpleNamespace(monotonic_ns=lambda: chatty.t_ns))
    with pytest.raises(CallError) as failed:
        method(made, "Echo")(b"", None, 0.05)
    assert failed.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert chatty.t_ns <= 101_000_000
    assert len(signs) == chatty.t_ns // 1_000_000  # and meanwhile the process shows that it is alive
