"""RoboClaw settings that are refused, and the line time that settings need."""

import msgspec
import pytest

from drivers.roboclaw import protocol
from drivers.roboclaw.drives import Bus, RoboClawControllerSettings, RoboClawDrives, RoboClawSettings, budget
from drivers.roboclaw.protocol import CommandCode
from drivers.roboclaw.simulated import RoboClawBus

ONE_BUS = RoboClawSettings(
    (Bus("/dev/ttyX"),),
    (
        RoboClawControllerSettings(0, 0x80, 0, 1),
        RoboClawControllerSettings(0, 0x81, 2, 3),
        RoboClawControllerSettings(0, 0x82, 4, 5),
    ),
    8192.0,
)


def changed(**changes):
    return msgspec.structs.replace(ONE_BUS, **changes)


def controllers(*places):
    return tuple(RoboClawControllerSettings(*place) for place in places)


REFUSED = [
    (
        {"controllers": controllers((0, 0x80, 0, 1), (0, 0x80, 2, 3), (0, 0x82, 4, 5))},
        "address 0x80 twice on bus 0",
    ),
    (
        {"controllers": controllers((0, 0x80, 0, 1), (0, 0x81, 1, 3), (0, 0x82, 4, 5))},
        r"wheels \[0, 1, 1, 3, 4, 5\], needed: each of 0 to 5 once",
    ),
    (
        {"controllers": controllers((1, 0x80, 0, 1), (0, 0x81, 2, 3), (0, 0x82, 4, 5))},
        "bus 1 of 0x80, allowed: 0 to 0",
    ),
    ({"buses": (Bus("/dev/ttyX"), Bus("/dev/ttyX"))}, "port /dev/ttyX twice"),
    ({"buses": (Bus("/dev/ttyX"), Bus("/dev/ttyY"))}, "no controller on /dev/ttyY"),
    ({"rate_hz": 19.0}, "rate_hz: 19.0, allowed with timeout_ms 100: 20 at least"),
    ({"answer_timeout_ms": 10.0}, "answer_timeout_ms: 10.0"),
    ({"answer_timeout_ms": 50.0}, "answer_timeout_ms: 50.0, allowed: above 10 and below 50"),
]


@pytest.mark.parametrize(("changes", "words"), REFUSED)
def test_settings_that_cannot_work_are_refused_by_name(changes, words):
    with pytest.raises(ValueError, match=words):
        RoboClawDrives(changed(**changes))


def test_everything_wrong_is_said_at_once():
    with pytest.raises(ValueError, match=r"rate_hz: .*answer_timeout_ms: "):
        RoboClawDrives(changed(rate_hz=1.0, answer_timeout_ms=1.0))


def test_settings_that_can_work_are_taken():
    RoboClawDrives(ONE_BUS)


def seconds_on_the_line(command, *values):
    """Of a transaction, counted on a bus: the bytes of both ways at 115200 baud, and a turnaround."""

    class Still:
        def speed_radps(self, wheel):
            return 0.0

        angle_rad = current_A = speed_radps

        def supply_V(self):
            return 24.0

        def hold(self, wheel, speed_radps):
            pass

        drive = hold

        def cut(self, wheel):
            pass

    request = protocol.request(0x80, command, *values)
    answer = RoboClawBus(Still(), [RoboClawControllerSettings(0, 0x80, 0, 1)], 8192.0).receive(request, 10**9, 10**9)
    assert answer
    return (len(request) + len(answer)) * 10 / 115200 + 200e-6


SLOW_S = 20 * seconds_on_the_line(CommandCode.STATUS) + sum(
    seconds_on_the_line(command)
    for command in (
        CommandCode.MAIN_BATTERY,
        CommandCode.CURRENTS,
        CommandCode.TEMPERATURE,
        CommandCode.TEMPERATURE_2,
    )
)


def test_the_budget_is_what_the_transactions_of_a_second_take():
    each = seconds_on_the_line(CommandCode.RUN, 1, 2) + 2 * seconds_on_the_line(CommandCode.SPEED_M1)
    assert budget(ONE_BUS) == pytest.approx(3 * (50 * each + SLOW_S))


def test_the_budget_knows_the_ramp_and_the_speeds_in_one_go():
    each = seconds_on_the_line(CommandCode.RUN_ACCELERATING, 1, 2, 3) + seconds_on_the_line(CommandCode.RAW_SPEEDS)
    assert budget(changed(acceleration_qpps2=5, raw_speed=True)) == pytest.approx(3 * (50 * each + SLOW_S))


def test_a_slow_line_is_over_its_budget():
    assert budget(changed(buses=(Bus("/dev/ttyX", 38400),))) > 0.8
