"""The simulated controllers, in virtual time."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.roboclaw import protocol
from drivers.roboclaw.motor_layout import RoboClawController
from drivers.roboclaw.protocol import CommandCode
from drivers.roboclaw.simulated import RoboClawBus

MS = 1_000_000
COUNTS = 8192.0
QPPS = COUNTS / math.tau  # of 1 rad/s
CONTROLLERS = [RoboClawController(0, 0x80, 0, 1), RoboClawController(0, 0x81, 2, 3)]


class Bench:
    """A bus and its time."""

    def __init__(self, wheels, **options):
        self.wheels, self.bus, self.now_ns = wheels, RoboClawBus(wheels, CONTROLLERS, COUNTS, **options), 10**9

    def pass_ms(self, ms):
        for _ in range(ms):
            self.now_ns += MS
            self.bus.wake(self.now_ns)

    def send(self, data):
        self.pass_ms(1)
        return self.bus.receive(data, self.now_ns, self.now_ns)

    def do(self, address, command, *values):
        return self.send(protocol.request(address, command, *values))


@pytest.fixture
def bench(wheels):
    return Bench(wheels)


def test_it_stops_when_no_packet_has_come_for_the_serial_timeout(bench):
    bench.do(0x80, CommandCode.SET_TIMEOUT, 1)
    bench.do(0x80, CommandCode.RUN, 1000, 1000)
    bench.pass_ms(100)
    assert None not in bench.wheels.commanded[:2]
    bench.pass_ms(1)
    assert bench.wheels.commanded[:2] == [None, None]


def test_a_host_that_only_reads_keeps_the_motors_running(bench):
    """Therefore a worker whose loop has died must stop polling."""
    bench.do(0x80, CommandCode.SET_TIMEOUT, 1)
    bench.do(0x80, CommandCode.RUN, 1000, 1000)
    for _ in range(20):
        bench.pass_ms(90)
        bench.do(0x80, CommandCode.MAIN_BATTERY)
    assert None not in bench.wheels.commanded[:2]


def test_what_is_sent_to_another_address_or_damaged_does_not_feed_the_timeout(bench):
    bench.do(0x80, CommandCode.SET_TIMEOUT, 1)
    bench.do(0x80, CommandCode.RUN, 1000, 1000)
    damaged = bytearray(protocol.request(0x80, CommandCode.RUN, 1000, 1000))
    damaged[4] ^= 1
    for _ in range(3):
        bench.pass_ms(40)
        bench.do(0x81, CommandCode.MAIN_BATTERY)
        assert bench.send(bytes(damaged)) == b""
    assert bench.wheels.commanded[:2] == [None, None]


def test_without_a_timeout_it_runs_on(bench):
    bench.do(0x80, CommandCode.RUN, 1000, 1000)
    bench.pass_ms(5000)
    assert None not in bench.wheels.commanded[:2]


def test_it_wakes_up_with_the_timeout_it_was_given(wheels):
    bench = Bench(wheels, timeout_ms=300)
    assert bench.do(0x80, CommandCode.TIMEOUT)[0] == 3


def test_speeds_are_held_in_each_motors_own_direction(wheels):
    bench = Bench(wheels, sign=(1, -1, 1, -1, 1, -1))
    bench.do(0x80, CommandCode.RUN, round(QPPS), round(-QPPS))
    assert wheels.commanded[:2] == pytest.approx([1.0, 1.0], rel=1e-3)
    assert protocol.reading(0x80, CommandCode.SPEED_M2).decode(bench.do(0x80, CommandCode.SPEED_M2)) == (
        -round(QPPS),
        1,
    )


def test_a_ramp_takes_its_time(bench):
    bench.do(0x81, CommandCode.RUN_ACCELERATING, round(QPPS), round(QPPS), 0)  # 1 rad/s in 1 s
    bench.pass_ms(250)
    assert bench.wheels.commanded[2] == pytest.approx(0.25, rel=1e-2)
    bench.pass_ms(2000)
    assert bench.wheels.commanded[2] == pytest.approx(1.0, rel=1e-3)


def test_duty_zero_cuts_and_speed_zero_holds(bench):
    bench.do(0x80, CommandCode.RUN, 1000, 1000)
    bench.do(0x80, CommandCode.RUN, 0, 0)
    assert bench.wheels.commanded[:2] == [0.0, 0.0]
    bench.do(0x80, CommandCode.DUTY_M1, 0)
    assert bench.wheels.commanded[:2] == [None, 0.0]
    bench.do(0x80, CommandCode.DUTY_M2, 0)
    assert bench.wheels.commanded[:2] == [None, None]


def test_a_duty_is_a_share_of_the_supply_with_the_motors_sign(wheels):
    bench = Bench(wheels, sign=(1, -1, 1, 1, 1, 1))
    bench.do(0x80, CommandCode.DUTY, 16384, 16384)
    assert [wheels.duty[wheel] for wheel in (0, 1)] == pytest.approx([0.5, -0.5], rel=1e-3)
    assert protocol.reading(0x80, CommandCode.PWMS).decode(bench.do(0x80, CommandCode.PWMS)) == (16384, 16384)
    bench.do(0x81, CommandCode.DUTY_M1, -32768)
    bench.do(0x81, CommandCode.DUTY_M2, 3277)
    assert [wheels.duty[wheel] for wheel in (2, 3)] == pytest.approx([-1.0, 0.1], rel=1e-3)


def test_a_speed_after_a_duty_begins_its_ramp_at_the_speed_turned_at(bench):
    bench.do(0x81, CommandCode.DUTY_M1, 16384)
    bench.wheels.speed[2] = 0.5
    bench.do(0x81, CommandCode.RUN_ACCELERATING_M1, round(QPPS), round(QPPS))  # 1 rad/s in 1 s
    bench.pass_ms(250)
    assert bench.wheels.commanded[2] == pytest.approx(0.75, rel=1e-2)


def test_a_motor_by_duty_is_stopped_by_the_serial_timeout(bench):
    bench.do(0x80, CommandCode.SET_TIMEOUT, 1)
    bench.do(0x80, CommandCode.DUTY, 1000, 1000)
    bench.pass_ms(101)
    assert bench.wheels.commanded[:2] == [None, None]


def test_a_stop_is_logged_when_its_last_byte_was_on_the_line(bench):
    for address in (0x80, 0x81):
        bench.do(address, CommandCode.RUN, 100, 100)
    stops = b"".join(protocol.request(address, CommandCode.DUTY, 0, 0) for address in (0x80, 0x81))
    assert bench.bus.receive(stops, 5000, 7000) == b"\xff\xff"
    assert list(bench.bus.stops) == [(0x80, 6000), (0x81, 7000)]
    bench.do(0x80, CommandCode.DUTY, 0, 0)
    assert len(bench.bus.stops) == 2


def test_an_emergency_stop_cuts_shows_and_lets_nothing_run(bench):
    bench.do(0x80, CommandCode.RUN, 100, 100)
    bench.bus.controllers[0x80].e_stop = True
    assert bench.wheels.commanded[:2] == [None, None]
    bench.do(0x80, CommandCode.RUN, 100, 100)
    assert bench.wheels.commanded[:2] == [None, None]
    form = protocol.status_form(0x80).decode(bench.do(0x80, CommandCode.STATUS))
    (status,) = protocol.status(0x80, form).decode(bench.do(0x80, CommandCode.STATUS))
    assert status == form.bits.emergency_stop
    bench.bus.controllers[0x80].e_stop = False
    bench.do(0x80, CommandCode.RUN, 100, 100)
    assert None not in bench.wheels.commanded[:2]


def test_counts_go_on_below_zero_and_begin_again_when_reset(bench):
    bench.wheels.angle[0] = -math.tau
    assert struct.unpack(">IB", bench.do(0x80, CommandCode.COUNT_M1)[:-2])[0] == 2**32 - 8192
    bench.do(0x80, CommandCode.RESET_COUNTS)
    bench.wheels.angle[0] += math.tau
    assert protocol.reading(0x80, CommandCode.COUNTS).decode(bench.do(0x80, CommandCode.COUNTS)) == (8192, 0)


def test_raw_speeds_come_in_steps(bench):
    bench.wheels.speed[0] = 1000 / QPPS
    assert protocol.reading(0x80, CommandCode.RAW_SPEEDS).decode(bench.do(0x80, CommandCode.RAW_SPEEDS)) == (900, 0)


def test_half_a_packet_is_dropped_after_the_gap_and_the_next_is_heard(bench):
    assert bench.send(protocol.request(0x80, CommandCode.RUN, 100, 100)[:5]) == b""
    bench.pass_ms(11)
    assert bench.do(0x80, CommandCode.DUTY, 0, 0) == b"\xff"


def test_an_unknown_command_is_not_answered_and_deafens_until_the_gap(bench):
    stop = protocol.request(0x80, CommandCode.DUTY, 0, 0)
    assert bench.send(bytes((0x80, 250)) + stop) == b""
    assert bench.send(stop) == b""
    bench.pass_ms(11)
    assert bench.send(stop) == b"\xff"


def test_an_address_that_nobody_has_is_not_answered(bench):
    assert bench.do(0x87, CommandCode.VERSION) == b""


@given(st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 30)), max_size=8))
def test_noise_never_hurts_it_and_it_hears_again_after_a_gap(parts):
    class Still:
        def speed_radps(self, wheel):
            return 0.0

        angle_rad = speed_radps

        def hold(self, wheel, speed_radps):
            assert math.isfinite(speed_radps)

        def drive(self, wheel, duty):
            assert abs(duty) <= 1.0

        def cut(self, wheel):
            pass

    bench = Bench(Still())
    for data, pause_ms in parts:
        bench.pass_ms(pause_ms)
        bench.send(data)
    bench.pass_ms(11)
    assert bench.do(0x80, CommandCode.DUTY, 0, 0) == b"\xff"


def test_it_keeps_when_each_was_started_stopped_and_stopped_by_its_timeout(bench):
    bench.do(0x80, CommandCode.SET_TIMEOUT, 1)
    bench.do(0x80, CommandCode.RUN, 1000, 1000)
    started_ns = bench.now_ns
    bench.do(0x80, CommandCode.RUN, 500, 500)  # it runs already
    bench.do(0x80, CommandCode.DUTY, 0, 0)
    stopped_ns = bench.now_ns
    bench.do(0x80, CommandCode.DUTY, 0, 0)
    bench.do(0x80, CommandCode.RUN, 1000, 1000)
    again_ns = bench.now_ns
    bench.pass_ms(200)
    assert list(bench.bus.starts) == [(0x80, started_ns), (0x80, again_ns)]
    assert list(bench.bus.stops) == [(0x80, stopped_ns)]
    assert list(bench.bus.timeouts) == [(0x80, again_ns + 101 * MS)]


def test_a_pressed_emergency_stop_stops_all_and_lets_none_start(bench):
    for address in (0x80, 0x81):
        bench.do(address, CommandCode.RUN, 1000, 1000)
    bench.bus.press(True)
    assert bench.wheels.commanded[:4] == [None] * 4
    bench.do(0x81, CommandCode.RUN, 1000, 1000)
    assert bench.wheels.commanded[:4] == [None] * 4
    bench.bus.press(False)
    bench.do(0x81, CommandCode.RUN, 1000, 1000)
    assert None not in bench.wheels.commanded[2:4]
