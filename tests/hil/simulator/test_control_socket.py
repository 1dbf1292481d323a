"""The control socket, and commands to a process of the simulated rig."""

import json
import os
import socket
import threading

import pytest

from drivers.interfaces import DeviceError
from hil.config import Config, load_config
from hil.simulator.control_socket import ControlClient, ControlServer, dispatch, wait_for

DEEP = b"[" * 50_000
HOSTILE = [
    DEEP, DEEP + b"]" * 50_000, b'{"do": ' + b'{"a":' * 50_000, b'{"do": "echo", "number": ' + b"9" * 10_000 + b"}",
    b'{"do": "echo", "number": NaN}', b'{"do": "echo", "number": -Infinity}', b'{"do": "echo", "number": 1e999}',
    b'{"do": "\\ud800"}', b'{"do": "refuse", "angle": "\\udfff"}', b'{"do": "far", "angle": 1' + b"0" * 400 + b"}",
    b'{"do": "check", "seed": "\\ud800", "\\ud800": 1}', b"\x00" * 1000,
]  # fmt: skip


def refuse(order):
    raise ValueError(f"angle is 10 to 90, found {order['angle']}")


@pytest.fixture
def path(tmp_path):
    server = ControlServer(
        tmp_path / "control", {"echo": lambda order: order, "refuse": refuse, "place": lambda order: order}, ["place"]
    )
    on = [True]
    thread = threading.Thread(target=server.serve, args=(lambda: on[0], 0.01))
    thread.start()
    yield tmp_path / "control"
    on[0] = False
    thread.join()
    server.close()


def test_each_command_has_one_answer(path):
    with ControlClient(path) as control:
        assert [control.ask("echo", number=i) for i in range(3)] == [{"number": i} for i in range(3)]


def test_two_clients_do_not_disturb_each_other(path):
    with ControlClient(path) as one, ControlClient(path) as two:
        assert (one.ask("echo", a=1), two.ask("echo", b=2)) == ({"a": 1}, {"b": 2})
    with ControlClient(path) as three:
        assert three.ask("echo") == {}


def test_what_is_refused_says_why_and_the_next_command_is_heard(path):
    with ControlClient(path) as control:
        with pytest.raises(DeviceError, match="refuse: angle is 10 to 90, found 3"):
            control.ask("refuse", angle=3)
        assert control.ask("echo") == {}


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b"1", b'{"do": "fly"}', b'{"do": []}', b"\xff\xfe", b'{"do": {}}', *HOSTILE]
)
def test_what_is_no_command_is_answered_with_an_error(line):
    config = load_config("sim_wire").model_dump(mode="json")
    handlers = {
        "echo": lambda order: order,
        "refuse": refuse,
        "far": lambda order: {"number": float(order["angle"])},
        "check": lambda order: Config.model_validate(config | order),
    }
    answer = dispatch(line, handlers)
    assert answer["ok"] is False
    json.dumps(answer).encode()
    assert isinstance(answer["error"], str)


@pytest.mark.parametrize("line", HOSTILE)
def test_after_a_hostile_line_the_next_command_is_answered(path, line):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(str(path))
        client.sendall(line + b'\n{"do": "echo", "number": 7}\n')
        with client.makefile() as answers:
            first, second = (json.loads(answers.readline()) for _ in range(2))
    assert first["ok"] is False
    assert second == {"ok": True, "number": 7}


def test_the_rig_of_one_client_is_refused_to_others_until_it_hangs_up(path):
    with ControlClient(path) as one, ControlClient(path) as two:
        one.ask("place", number=1)
        assert one.ask("place", number=2) == {"number": 2}
        with pytest.raises(DeviceError, match=f"process {os.getpid()} is running on this rig"):
            two.ask("place", number=3)
        assert two.ask("echo") == {}  # other commands are allowed
    with ControlClient(path) as three:  # the server may not have noticed the disconnection yet
        assert wait_for(lambda: taken(three), 300.0)


def taken(control):
    try:
        control.ask("place")
    except DeviceError:
        return False
    return True


def test_a_client_that_never_ends_its_line_is_dropped(path):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(str(path))
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        client.sendall(b"x" * 100_000_000)
    client.close()


def test_only_its_owner_may_use_it(path):
    assert path.stat().st_mode & 0o777 == 0o600


def test_nobody_there_is_said_so(tmp_path):
    with pytest.raises(DeviceError, match=r"no server at .*is `hil sim` running"):
        ControlClient(tmp_path / "control")


def test_an_error_is_in_words_and_names_what_is_missing():
    missing = dispatch(b'{"do": "press"}', {"press": lambda order: {"pressed": order["pressed"]}})
    assert missing == {"ok": False, "error": "the command needs 'pressed'"}
