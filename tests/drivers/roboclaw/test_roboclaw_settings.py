"""RoboClaw sections that are refused, and the line time that controllers need."""

import pydantic
import pytest

from drivers.driver_type import RigSetup
from drivers.roboclaw import protocol
from drivers.roboclaw.entry import ROBOCLAW
from drivers.roboclaw.motor_layout import RoboClawController, RoboClawWheels
from drivers.roboclaw.protocol import CommandCode
from drivers.roboclaw.section import RoboClawDrivesSection
from drivers.roboclaw.simulated import RoboClawBus

from .conftest import WHEELS, one_bus, section_of

RIG = RigSetup(wheels=WHEELS)


def changed(ports=("/dev/ttyX",), controllers=None, **keys):
    return section_of(ports, controllers or one_bus()[0], **keys)


def wheels(**keys):
    return RoboClawWheels(changed(**keys), RIG)


def controllers(*places):
    return tuple(RoboClawController(*place) for place in places)


REFUSED = [
    (
        {"controllers": controllers((0, 0x80, 0, 1), (0, 0x80, 2, 3), (0, 0x82, 4, 5))},
        "address 0x80 2 times on bus 0",
    ),
    ({"controllers": controllers((0, 0x80, 0, 1), (0, 0x81, 1, 3), (0, 0x82, 4, 5))}, "wheel_1 on 2 channels"),
    ({"controllers": controllers((1, 0x80, 0, 1), (0, 0x81, 2, 3), (0, 0x82, 4, 5))}, "a controller on bus 1 of 1"),
    ({"ports": ("/dev/ttyX", "/dev/ttyY")}, "bus 1, with no controller on it"),
    ({"rate_hz": 19.0}, "at least 20: two set-points within timeout_ms, 100 ms"),
]


@pytest.mark.parametrize(("changes", "words"), REFUSED)
def test_what_cannot_work_is_refused_by_name(changes, words):
    assert any(words in str(problem) for problem in ROBOCLAW.check(changed(**changes), RIG))


def test_what_can_work_is_taken():
    assert not list(ROBOCLAW.check(changed(), RIG))


@pytest.mark.parametrize("timeout_ms", [0, 50, 150, 1100])
def test_a_time_out_that_no_controller_has_is_refused_by_the_section(timeout_ms):
    with pytest.raises(pydantic.ValidationError, match="timeout_ms"):
        RoboClawDrivesSection(driver="roboclaw", counts_per_rev=8192.0, timeout_ms=timeout_ms)


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
    answer = RoboClawBus(Still(), [RoboClawController(0, 0x80, 0, 1)], 8192.0).receive(request, 10**9, 10**9)
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
    assert wheels().budget == pytest.approx(3 * (50 * each + SLOW_S))


def test_the_budget_knows_the_ramp():
    each = seconds_on_the_line(CommandCode.RUN_ACCELERATING, 1, 2, 3) + 2 * seconds_on_the_line(CommandCode.SPEED_M1)
    assert wheels(acceleration_radps2=1.0).budget == pytest.approx(3 * (50 * each + SLOW_S))


def test_a_slow_line_is_over_its_budget():
    assert wheels(baud=38400).budget > 0.8
