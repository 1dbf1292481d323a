"""The ports of this computer."""

import os
import pty
import select
import tty

import pytest

from drivers import host
from drivers.host import COMPUTER


@pytest.fixture
def line():
    """A pseudo-terminal: the master, and the path of its port."""
    master, port = pty.openpty()
    tty.setraw(port)
    yield master, os.ttyname(port)
    os.close(port)


def test_a_port_is_gone_once_its_other_end_is_closed_and_not_before(line):
    master, path = line
    port = COMPUTER.open_shared(path, None)
    os.write(master, b"an answer that nobody has read yet")
    assert not port.is_disconnected()
    os.close(master)
    assert port.is_disconnected()
    port.close()


def test_whether_a_port_is_there_is_not_asked_by_a_poll(line, monkeypatch):
    """A poll of a terminal waits for threads of the kernel that have no real-time priority; the watchdog may not."""
    master, path = line
    port = COMPUTER.open_shared(path, None)
    for name in ("poll", "select", "epoll"):
        monkeypatch.delattr(select, name)
    assert not port.is_disconnected()
    port.close()
    os.close(master)


def test_a_write_to_a_port_is_not_followed_by_a_poll(line, monkeypatch):
    master, path = line
    port = COMPUTER.open_serial(path, 115200)
    for name in ("poll", "select", "epoll"):
        monkeypatch.delattr(select, name)
    assert port.write(b"a request") == 9
    assert os.read(master, 9) == b"a request"
    port.close()
    os.close(master)


def test_a_write_that_the_port_takes_piece_by_piece_is_sent_whole(line, monkeypatch):
    master, path = line
    port = COMPUTER.open_serial(path, 115200)
    write, refused = os.write, [True]

    def a_byte(handle, data):
        if refused and refused.pop():
            raise BlockingIOError
        return write(handle, data[:1])

    monkeypatch.setattr(os, "write", a_byte)
    assert port.write(b"abc") == 3
    assert os.read(master, 3) == b"abc"
    port.close()
    os.close(master)


def test_a_port_that_takes_no_byte_is_an_error(line, monkeypatch):
    master, path = line
    port = COMPUTER.open_serial(path, 115200)
    monkeypatch.setattr(host, "WRITE_S", 0.0)

    def full(*_):
        raise BlockingIOError

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="3 bytes not sent within 0 s"):
        port.write(b"abc")
    port.close()
    os.close(master)


def test_a_read_takes_as_many_bytes_as_wanted_and_leaves_the_rest(line):
    master, path = line
    port = COMPUTER.open_serial(path, 115200)
    os.write(master, b"abcdef")
    come = b""
    while not come:  # on a busy machine the kernel carries a terminal's bytes later than a read waits
        come = port.read(4)
    assert come == b"abcd"
    assert port.read(2) == b"ef"
    port.close()
    os.close(master)


def test_a_read_without_an_answer_returns_with_nothing(line):
    master, path = line
    port = COMPUTER.open_serial(path, 115200)
    assert port.read(1) == b""
    port.close()
    os.close(master)


def test_a_read_of_a_port_that_is_gone_fails(line):
    master, path = line
    port = COMPUTER.open_serial(path, 115200)
    os.close(master)
    with pytest.raises(OSError, match="error"):
        port.read(1)
    port.close()
