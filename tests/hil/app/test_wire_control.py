"""The control socket, and orders to a process of the simulated rig."""

import socket
import threading

import pytest

from drivers.base import DeviceError
from hil.app.wire.control import Control, ControlServer
from hil.app.wire.orders import carry_out


def refuse(order):
    raise ValueError(f"angle is 10 to 90, found {order['angle']}")


@pytest.fixture
def path(tmp_path):
    server = ControlServer(tmp_path / "control", {"echo": lambda order: order, "refuse": refuse})
    on = [True]
    thread = threading.Thread(target=server.serve, args=(lambda: on[0], 0.01))
    thread.start()
    yield tmp_path / "control"
    on[0] = False
    thread.join()
    server.close()


def test_each_command_has_one_answer(path):
    with Control(path) as control:
        assert [control.ask("echo", number=i) for i in range(3)] == [{"number": i} for i in range(3)]


def test_two_clients_do_not_disturb_each_other(path):
    with Control(path) as one, Control(path) as two:
        assert (one.ask("echo", a=1), two.ask("echo", b=2)) == ({"a": 1}, {"b": 2})
    with Control(path) as three:
        assert three.ask("echo") == {}


def test_what_is_refused_says_why_and_the_next_command_is_heard(path):
    with Control(path) as control:
        with pytest.raises(DeviceError, match="refuse: ValueError: angle is 10 to 90, found 3"):
            control.ask("refuse", angle=3)
        assert control.ask("echo") == {}


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"1", b'{"do": "fly"}', b'{"do": []}', b"\xff\xfe", b'{"do": {}}'])
def test_what_is_no_command_is_answered_with_an_error(line):
    answer = carry_out(line, {"echo": lambda order: order})
    assert answer["ok"] is False
    assert isinstance(answer["error"], str)


def test_a_client_that_never_ends_its_line_is_dropped(path):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(str(path))
    client.settimeout(20)
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        client.sendall(b"x" * 100_000_000)
    client.close()


def test_only_its_owner_may_use_it(path):
    assert path.stat().st_mode & 0o777 == 0o600


def test_nobody_there_is_said_so(tmp_path):
    with pytest.raises(DeviceError, match=r"nobody listens at .*is `hil sim` running"):
        Control(tmp_path / "control")
