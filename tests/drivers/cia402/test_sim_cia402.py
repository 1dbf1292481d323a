"""The simulated drive follows the profile: dead-man by its option code, states by controlwords, refusals by code."""

import math

import pytest

from drivers.can.slcan import CanFrame
from drivers.cia402 import protocol
from drivers.cia402.protocol import Entry, SdoAbortError
from drivers.cia402.simulated import SimDrive
from drivers.cia402.state_machine import Cia402State
from tests.drivers.roboteq.conftest import InstantWheels

MS, NODE = 1_000_000, 9
ENABLE = (0x06, 0x07, 0x0F)


class Bench:
    """A drive without a bus, asked frame by frame."""

    def __init__(self):
        self.wheels, self.now_ns = InstantWheels(), 1_000 * MS
        self.drive = SimDrive(self.wheels, 0, NODE, 1000.0, (1, 402, 1, 9), 4096)
        self.boot = self.drive.unasked()

    def sdo(self, request):
        answers = list(self.drive.take(CanFrame(protocol.SDO_REQUEST + NODE, request), self.now_ns))
        assert [one.identifier for one in answers] == [protocol.SDO_ANSWER + NODE]
        return answers[0].data

    def write(self, entry, value):
        protocol.check_written(self.sdo(protocol.write_request(entry, value)))

    def read(self, entry):
        return entry.unpack(protocol.read_value(self.sdo(protocol.read_request(entry))))

    def control(self, *words):
        for word in words:
            self.write(protocol.CONTROLWORD, word)

    def beat(self):
        assert list(self.drive.take(protocol.heartbeat(127), self.now_ns)) == []

    def pass_ms(self, ms):
        for _ in range(ms):
            self.now_ns += MS
            self.drive.wake(self.now_ns)


@pytest.fixture
def bench():
    made = Bench()
    made.write(protocol.MODE, protocol.PROFILE_VELOCITY)
    made.write(protocol.ACCELERATION, 10_000)
    made.write(protocol.DECELERATION, 20_000)
    return made


def test_it_starts_with_its_boot_up_message(bench):
    assert bench.boot == [protocol.heartbeat(NODE, protocol.BOOT_UP)]


def test_it_ramps_to_its_target_and_coasts_when_its_voltage_is_disabled(bench):
    bench.drive.wake(bench.now_ns)
    bench.control(*ENABLE)
    bench.write(protocol.TARGET_VELOCITY, 500)
    bench.pass_ms(25)
    assert bench.wheels.speed[0] == pytest.approx(0.25)  # 10 rad/s^2 for 25 ms
    bench.pass_ms(50)
    assert bench.wheels.speed[0] == pytest.approx(0.5)
    bench.control(0)
    assert bench.wheels.commanded[0][-1] is None


@pytest.mark.parametrize(
    ("option", "state", "off"),
    [
        (0, Cia402State.ENABLED, False),
        (1, Cia402State.FAULT, True),
        (2, Cia402State.SWITCH_ON_DISABLED, True),
        (3, Cia402State.QUICK_STOP, False),
    ],
)
def test_without_the_heartbeat_it_does_what_its_option_code_says(bench, option, state, off):
    bench.write(protocol.ABORT_OPTION, option)
    bench.write(protocol.CONSUMER_HEARTBEAT, 127 << 16 | 50)
    bench.drive.wake(bench.now_ns)
    bench.control(*ENABLE)
    bench.pass_ms(200)
    assert bench.drive.state is Cia402State.ENABLED  # it waits for the first heartbeat
    bench.beat()
    bench.pass_ms(49)
    assert bench.drive.state is Cia402State.ENABLED
    bench.pass_ms(1)
    assert bench.drive.state is state
    assert (bench.wheels.commanded[0][-1] is None) is off
    assert [protocol.decode_emergency(one.data) for one in bench.drive.unasked()] == [(0x8130, 0x11)]


def test_a_heartbeat_that_comes_back_ends_the_error_and_starts_nothing(bench):
    bench.write(protocol.ABORT_OPTION, 2)
    bench.write(protocol.CONSUMER_HEARTBEAT, 127 << 16 | 50)
    bench.control(*ENABLE)
    bench.beat()
    bench.pass_ms(60)
    bench.drive.unasked()
    bench.beat()
    assert [protocol.decode_emergency(one.data) for one in bench.drive.unasked()] == [(0, 0)]
    bench.control(0x0F)
    assert bench.drive.state is Cia402State.SWITCH_ON_DISABLED


def test_a_fault_is_reset_by_the_rising_edge_of_its_bit_only(bench):
    bench.control(0x80)
    bench.drive.go(Cia402State.FAULT)
    bench.control(0x80)  # no edge
    assert bench.drive.state is Cia402State.FAULT
    bench.control(0, 0x80)
    assert bench.drive.state is Cia402State.SWITCH_ON_DISABLED


def test_a_quick_stop_holds_zero_which_is_no_cut(bench):
    bench.drive.wake(bench.now_ns)
    bench.control(*ENABLE)
    bench.write(protocol.TARGET_VELOCITY, 100)
    bench.pass_ms(20)
    bench.control(0x02)
    bench.pass_ms(20)
    assert bench.drive.state is Cia402State.QUICK_STOP
    assert bench.wheels.commanded[0][-1] == 0.0


@pytest.mark.parametrize(
    ("entry", "value", "code"),
    [
        (Entry(0x2000, 0, 2, "none"), 1, protocol.NO_OBJECT),
        (Entry(0x6040, 1, 2, "none"), 1, protocol.NO_SUB_INDEX),
        (Entry(0x6502, 0, 4, "modes"), 1, protocol.READ_ONLY),
        (Entry(0x6040, 0, 4, "controlword"), 1, protocol.WRONG_LENGTH),
        (Entry(0x6060, 0, 1, "mode"), 9, protocol.NOT_ALLOWED),
        (Entry(0x1A00, 1, 4, "mapping"), 0x10080020, protocol.NOT_MAPPABLE),
    ],
)
def test_it_refuses_by_the_code_of_the_standard(bench, entry, value, code):
    with pytest.raises(SdoAbortError) as refused:
        bench.write(entry, value)
    assert refused.value.code == code


def test_a_mapping_is_not_changed_while_its_process_data_are_on(bench):
    bench.write(Entry(0x1800, 1, 4, "identifier"), 0x189)
    with pytest.raises(SdoAbortError, match="not possible in this state"):
        bench.write(Entry(0x1A00, 0, 1, "count"), 0)


def test_what_it_measures_is_in_its_units(bench):
    bench.wheels.speed[0], bench.wheels.current[0], bench.wheels.supply = -0.2, 2.5, 24.3
    assert bench.read(protocol.VELOCITY) == -200
    assert bench.read(protocol.CURRENT) * bench.read(protocol.RATED_CURRENT) * 1e-6 == pytest.approx(2.5)
    assert bench.read(protocol.VOLTAGE) == 24_300
    assert math.isclose(bench.read(protocol.ENCODER_COUNTS) / bench.read(protocol.ENCODER_TURNS), 4096)
