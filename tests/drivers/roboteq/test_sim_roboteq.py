"""The simulated Roboteq controller follows its manual, in virtual time; its watchdog resumes old speeds."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.roboteq.protocol import FaultFlag
from drivers.roboteq.simulated import RoboteqDevice

MS = 1_000_000
S = 1000 * MS
FULL_RADPS = 3000 * 2 * math.pi / 60 / 100.0


def say(device: RoboteqDevice, text: str, at_ns: int = S) -> str:
    """A line whose last byte arrives at a time."""
    data = text.encode()
    return device.receive(data, at_ns - len(data) * 10 * S // 115200, at_ns).decode()


@pytest.fixture
def quiet(device):
    say(device, "^ECHOF 1\r", 0)
    return device


def test_it_echoes_until_it_is_told_not_to(device):
    assert say(device, "!G 1 100\r") == "!G 1 100\r+\r"
    assert say(device, "^ECHOF 1\r") == "^ECHOF 1\r+\r"
    assert say(device, "!G 1 100\r") == "+\r"


def test_an_underscore_ends_a_command_too(quiet, wheels):
    assert say(quiet, "!G 1 500_!G 2 -1000_?S\r") == f"+\r+\rS={1500}:{-3000}\r"
    assert wheels.speed[:2] == pytest.approx([FULL_RADPS / 2, -FULL_RADPS])


def test_a_command_in_pieces_is_one_command(quiet, wheels):
    assert [say(quiet, part) for part in ("!G", " 1 5", "00", "\r")] == ["", "", "", "+\r"]
    assert wheels.speed[0] == pytest.approx(FULL_RADPS / 2)


@pytest.mark.parametrize(
    "text", ["!G 3 5", "!G 1 1001", "!G 1", "!XX", "?XX", "~XX", "^XX 1", "?S 3", "^RWD -1", "hello"]
)
def test_what_it_does_not_understand_is_answered_so_and_moves_nothing(quiet, wheels, text):
    assert say(quiet, text + "\r") == "-\r"
    assert wheels.speed[:2] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("~RWD", "RWD=1000"),
        ("~MXRPM 2", "MXRPM=3000"),
        ("~MMOD", "MMOD=1:1"),
        ("?V", "V=120:240:4980"),
        ("?A 1", "A=0"),
    ],
)
def test_it_tells_how_it_is(quiet, text, answer):
    assert say(quiet, text + "\r") == answer + "\r"


def test_the_watchdog_stops_the_motors_and_the_next_command_resumes_their_old_speed(quiet, wheels):
    say(quiet, "^RWD 100\r", 0)
    say(quiet, "!G 1 500_!G 2 500\r", S)
    quiet.wake(S + 100 * MS - 1)
    assert wheels.speed[0] > 0
    quiet.wake(S + 100 * MS)
    assert wheels.speed[:2] == [0.0, 0.0]
    assert say(quiet, "?FM\r", 2 * S) == "FM=8:8\r"
    say(quiet, "!G 1 0\r", 3 * S)
    assert wheels.speed[:2] == pytest.approx([0.0, FULL_RADPS / 2])  # the result of a stop of one channel only


def test_an_emergency_stop_as_the_first_command_after_a_time_out_resumes_nothing(quiet, wheels):
    say(quiet, "!G 1 500_!G 2 500\r", S)
    quiet.wake(3 * S)
    wheels.forget()
    say(quiet, "!EX_!G 1 0_!G 2 0_!MG\r", 4 * S)
    assert not wheels.ever_ran()


def test_queries_and_settings_do_not_feed_the_watchdog(quiet, wheels):
    say(quiet, "!G 1 500\r", S)
    for tenth in range(1, 10):
        say(quiet, "?S_^RWD 1000\r", S + tenth * 100 * MS)
        assert wheels.speed[0] > 0
    quiet.wake(2 * S)
    assert wheels.speed[0] == 0.0


def test_a_watchdog_of_zero_never_stops_the_motors(quiet, wheels):
    say(quiet, "^RWD 0\r", 0)
    say(quiet, "!G 1 500\r", S)
    quiet.wake(3600 * S)
    assert wheels.speed[0] > 0


def test_an_emergency_stop_takes_the_output_away_until_it_is_released(quiet, wheels):
    say(quiet, "!G 1 500\r", S)
    assert say(quiet, "!EX_?FF\r") == "+\rFF=16\r"
    assert wheels.commanded[0][-1] is None
    say(quiet, "!G 1 300\r")
    assert wheels.commanded[0][-1] is None
    assert say(quiet, "!MG_?FF\r") == "+\rFF=0\r"
    assert wheels.speed[0] == pytest.approx(0.3 * FULL_RADPS)


def test_a_pressed_emergency_stop_is_not_released_by_a_command(quiet, wheels):
    quiet.pressed, quiet.faults = True, FaultFlag.OVERHEAT
    say(quiet, "!G 1 500\r")
    assert say(quiet, "!MG_?FF\r") == "+\rFF=17\r"
    assert wheels.speed[0] == 0.0


def test_the_log_of_stops_has_the_time_of_the_byte_that_stopped_it(quiet):
    say(quiet, "!G 1 500_!G 2 500\r", S)
    quiet.receive(b"!G 1 0_!G 2 0_?S\r", 2 * S, 2 * S + 17 * MS)
    say(quiet, "!EX\r", 3 * S)  # it stands already
    assert quiet.stops == [2 * S + 14 * MS]


def test_in_open_loop_a_command_is_a_duty_and_the_watchdog_and_zero_are_cuts(wheels):
    device = RoboteqDevice(wheels, (0, 1), max_rpm=3000, gear_ratio=100.0, sign=(1, -1), open_loop=True)
    say(device, "^ECHOF 1\r", 0)
    assert say(device, "~MMOD\r", 0) == "MMOD=0:0\r"
    say(device, "^RWD 100_!G 1 450_!G 2 -1000\r", S)
    assert wheels.duty[:2] == [0.45, 1.0]
    device.wake(S + 100 * MS)
    assert wheels.duty[:2] == [0.0, 0.0]
    say(device, "!G 1 5\r", 2 * S)
    assert wheels.duty[:2] == [0.005, 1.0]  # it resumes
    say(device, "!EX\r", 3 * S)
    assert [commanded[-1] for commanded in wheels.commanded[:2]] == [None, None]


@given(st.lists(st.one_of(st.binary(max_size=200), st.text("!?^~GEXMRWD 012-_\r", max_size=40).map(str.encode))))
def test_random_bytes_break_nothing(chunks):
    device = RoboteqDevice(NoWheels(), (0, 1), max_rpm=3000, gear_ratio=100.0)
    for place, chunk in enumerate(chunks):
        device.receive(chunk, place * S, place * S + len(chunk) * MS)
        device.wake((place + 1) * S)
    assert say(device, "\r!EX_?FF\r", (len(chunks) + 1) * S).endswith("FF=16\r")


class NoWheels:
    def speed_radps(self, wheel):
        return 0.0

    def hold(self, wheel, speed_radps):
        assert abs(speed_radps) <= FULL_RADPS * 65535 / 3000 + 1e-9

    def drive(self, wheel, duty):
        assert abs(duty) <= 1.0

    def cut(self, wheel): ...
