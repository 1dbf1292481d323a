"""The ports of this computer."""

import errno
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


@pytest.fixture
def port(line):
    """The master, and its port, opened as one of a device."""
    master, path = line
    opened = COMPUTER.open_serial(path, 115200)
    yield master, opened
    opened.close()
    os.close(master)


@pytest.fixture
def without_polls(monkeypatch):
    for name in ("poll", "select", "epoll"):
        monkeypatch.delattr(select, name)


def test_a_port_is_gone_once_its_other_end_is_closed_and_not_before(line):
    master, path = line
    port = COMPUTER.open_shared(path, None)
    os.write(master, b"an answer that nobody has read yet")
    assert not port.is_disconnected()
    os.close(master)
    assert port.is_disconnected()
    port.close()


def test_whether_a_port_is_there_is_not_asked_by_a_poll(line, without_polls):
    """A poll of a terminal waits for threads of the kernel that have no real-time priority; the watchdog may not."""
    master, path = line
    port = COMPUTER.open_shared(path, None)
    assert not port.is_disconnected()
    port.close()
    os.close(master)


def test_a_write_to_a_port_is_not_followed_by_a_poll(port, without_polls):
    master, opened = port
    assert opened.write(b"a request") == 9
    assert os.read(master, 9) == b"a request"


def test_a_write_that_the_port_takes_piece_by_piece_is_sent_whole(port, monkeypatch):
    master, opened = port
    write, refused = os.write, [True]

    def a_byte(handle, data):
        if refused and refused.pop():
            raise BlockingIOError
        return write(handle, data[:1])

    monkeypatch.setattr(os, "write", a_byte)
    assert opened.write(b"abc") == 3
    assert os.read(master, 3) == b"abc"


def test_a_port_that_takes_no_byte_is_an_error(port, monkeypatch):
    _, opened = port
    monkeypatch.setattr(host, "WRITE_S", 0.0)

    def full(*_):
        raise BlockingIOError

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="3 bytes not sent within 0 s"):
        opened.write(b"abc")


def test_a_read_takes_as_many_bytes_as_wanted_and_leaves_the_rest(port):
    master, opened = port
    os.write(master, b"abcdef")
    come = b""
    while not come:  # on a busy machine the kernel carries a terminal's bytes later than a read waits
        come = opened.read(4)
    assert come == b"abcd"
    assert opened.read(2) == b"ef"


def test_a_read_without_an_answer_returns_with_nothing(port):
    _, opened = port
    assert opened.read(1) == b""


def test_a_read_of_a_port_that_is_gone_fails(line):
    master, path = line
    port = COMPUTER.open_serial(path, 115200)
    os.close(master)
    with pytest.raises(OSError, match="error"):
        port.read(1)
    port.close()


def opened_by_another_user(path):
    """The error number of a process without rights that opens a port; 0: it can."""
    os.chmod(path, 0o666)
    child = os.fork()
    if child == 0:
        if os.getuid() == 0:
            os.setuid(65534)
        try:
            os.open(path, os.O_RDWR | os.O_NOCTTY)
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_no_other_program_opens_a_port_that_a_driver_has(line):
    master, path = line
    assert opened_by_another_user(path) == 0
    port = COMPUTER.open_serial(path, 115200)
    assert opened_by_another_user(path) == errno.EBUSY
    port.close()
    port.close()
    assert opened_by_another_user(path) == 0
    os.close(master)


def test_a_descriptor_opened_before_the_driver_still_writes_and_gives_the_port_free_for_the_stop(line):
    master, path = line
    watchdog = COMPUTER.open_shared(path, None)
    port = COMPUTER.open_serial(path, 115200)
    assert watchdog.write(b"stop") == 4
    assert os.read(master, 4) == b"stop"
    assert opened_by_another_user(path) == errno.EBUSY
    watchdog.discard_output()  # as a stop begins with: its driver was killed
    assert opened_by_another_user(path) == 0
    watchdog.close()
    port.close()
    os.close(master)
