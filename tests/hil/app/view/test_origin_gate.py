"""A view server is read by programs and by pages of this computer, and by no page of anywhere else."""

from __future__ import annotations

import socket
import socketserver
import threading
from contextlib import suppress

import pytest

from hil.app.view.server import CHUNK, MOST_REQUEST, OriginGate, hidden_host, is_allowed

FOREIGN = "https://pages.example"
HEAD = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n{}\r\n"


def head(*origins):
    return HEAD.format("".join(f"Origin: {origin}\r\n" for origin in origins)).encode()


@pytest.mark.parametrize(
    ("origins", "allowed"),
    [
        ((), True),
        (("http://localhost:8080",), True),
        (("http://127.0.0.1",), True),
        (("http://[::1]:8080",), True),
        (("file://",), True),
        ((FOREIGN,), False),
        (("null",), False),
        (("",), False),
        (("http://localhost.pages.example",), False),
        (("http://[::1",), False),
        (("http://localhost", FOREIGN), False),
        (("http://localhost", "http://localhost"), False),
        ((f"{FOREIGN}, http://localhost",), False),
    ],
)
def test_only_programs_and_pages_of_this_computer_are_allowed(origins, allowed):
    assert is_allowed(head(*origins), ()) is allowed


def test_the_name_of_the_header_is_found_in_any_form():
    assert not is_allowed(f"GET / HTTP/1.1\r\noRiGiN : {FOREIGN}\r\n\r\n".encode(), ())


def test_a_page_that_is_named_is_allowed_with_its_whole_address():
    assert is_allowed(head(FOREIGN), [FOREIGN])
    assert not is_allowed(head(f"{FOREIGN}:81"), [FOREIGN])


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        self.server.connected.append(self.client_address)
        while data := self.request.recv(CHUNK):
            self.request.sendall(data)


@pytest.fixture
def behind():
    with socketserver.ThreadingTCPServer((hidden_host(), 0), Echo) as server:
        server.daemon_threads = True
        server.connected = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def ask(behind):
    with OriginGate("127.0.0.1", 0, behind.server_address) as gate:

        def ask(data):
            asking = socket.create_connection(("127.0.0.1", gate.port), timeout=60.0)
            asking.sendall(data)
            return asking

        yield ask


def test_a_foreign_page_is_refused_before_the_server_hears_of_it(ask, behind):
    with ask(head(FOREIGN)) as page, page.makefile("rb") as answer:
        assert answer.readline().startswith(b"HTTP/1.1 403")
        assert answer.read().endswith(b"\r\n\r\n")  # and it is over
    assert behind.connected == []


def test_what_a_program_and_the_server_say_is_passed_on_whole(ask, behind):
    sent = bytes(range(256)) * 4096
    with ask(head()) as program:
        writing = threading.Thread(target=program.sendall, args=(sent,))
        writing.start()
        wanted, got = head() + sent, b""
        while len(got) < len(wanted):
            got += program.recv(CHUNK)
        writing.join()
    assert got == wanted
    assert len(behind.connected) == 1


def test_a_request_without_end_is_hung_up_on(ask, behind):
    endless = b"GET / HTTP/1.1\r\nX: " + b"x" * (4 * MOST_REQUEST)
    with suppress(ConnectionResetError), ask(endless) as flood:  # it hangs up with bytes unread
        assert flood.recv(1) == b""
    assert behind.connected == []


def test_a_gate_that_is_closed_hangs_up_and_can_be_closed_again(behind):
    gate = OriginGate("127.0.0.1", 0, behind.server_address)
    with socket.create_connection(("127.0.0.1", gate.port), timeout=60.0) as program:
        program.sendall(head())
        assert program.recv(1)
        gate.close()
        while program.recv(CHUNK):
            pass
    gate.close()
