"""The driver of joint encoders against simulated ones, byte by byte, in virtual time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.driver_type import InstrumentSetup, RigSetup
from drivers.interfaces import DamagedError, DeviceError, LinkLostError
from drivers.modbus import protocol
from drivers.modbus.encoders import ModbusEncoders
from drivers.modbus.entry import MODBUS_JOINTS
from drivers.modbus.section import EncoderRegister, ModbusJointsSection
from drivers.modbus.simulated.encoders import EncoderBus
from drivers.sim.protocol.line import LineFault
from drivers.sim.protocol.plant_ports import PlantPorts
from drivers.valve_layout import ValveLayout

BAUD = 115200
ANGLES = (0.3, -1.2, 3.0)


def encoder_of(joint, address, register, **keys):
    return EncoderRegister(joint=joint, address=address, register_number=register, **keys)


RIGHT = {"registers": "holding", "bits": 16, "counts_per_turn": 65536}
ENCODERS = (
    encoder_of("left_bogie", 3, 1),
    encoder_of("right_bogie", 5, 0, **RIGHT),
    encoder_of("rocker", 9, 40, word_order="low_first", counts_per_turn=8192),
)
NAMES = tuple(encoder.joint for encoder in ENCODERS)
MS = 1_000_000


class FixedReadings:
    """An instrument whose newest readings a test writes: (time [ns], values)."""

    def __init__(self, values=ANGLES):
        self.channels, self.rate_hz = NAMES, 50.0
        self.readings = [(0, values)]

    def since(self, sequence):
        return [(number, *self.readings[number - 1]) for number in range(sequence + 1, len(self.readings) + 1)]


class Rig:
    def __init__(self, folder, line_time, encoders):
        self.time, self.instrument = line_time, FixedReadings()
        self.bus = EncoderBus(self.instrument, encoders, BAUD)
        self.line, self.recorder = line_time.connect(folder / "encoders", self.bus, BAUD, protocol.silence_ns(BAUD))
        self.encoders = encoders

    def driver(self, **changes):
        setup = InstrumentSetup(tuple(one.joint for one in self.encoders), changes.pop("rate_hz", 50.0), 0)
        keys = {"encoders": self.encoders, "answer_timeout_ms": 20.0, **changes}
        return ModbusEncoders(ModbusJointsSection(driver="modbus", port=str(self.line.path), baud=BAUD, **keys), setup)


@pytest.fixture
def make_rig(tmp_path, line_time):
    return lambda encoders=ENCODERS: Rig(tmp_path, line_time, encoders)


@pytest.fixture
def rig(make_rig):
    return make_rig()


def readings(driver, count):
    found = []
    while len(found) < count:
        driver.step()
        if (reading := driver.read(0)) is not None:
            found.append(reading)
    return found


def counted(encoder):
    return 2.0 * math.pi / encoder.counts_per_turn


def test_angles_arrive_to_the_count_in_the_order_of_the_joints(rig):
    driver = rig.driver()
    driver.open()
    for angle, wanted, encoder in zip(driver.read(0).value, ANGLES, ENCODERS, strict=True):
        assert angle == pytest.approx(wanted, abs=counted(encoder) / 2)


@pytest.mark.parametrize("angle", [math.pi, math.pi + 0.1, -math.pi - 0.1, 4 * math.pi + 0.5])
def test_within_a_turn_an_angle_is_between_minus_and_plus_half_a_turn(make_rig, angle):
    rig = make_rig((encoder_of("left_bogie", 1, 1),))
    rig.instrument.readings = [(0, (angle,))]
    driver = rig.driver()
    driver.open()
    (found,) = driver.read(0).value
    assert -math.pi < found <= math.pi
    assert math.remainder(found - angle, 2 * math.pi) == pytest.approx(0.0, abs=counted(ENCODERS[0]))


@pytest.mark.parametrize("angle", [20.0, -20.0, -0.001])
def test_over_many_turns_an_angle_has_its_sign_and_turns(make_rig, angle):
    rig = make_rig((encoder_of("left_bogie", 1, 1, multi_turn=True, word_order="low_first"),))
    rig.instrument.readings = [(0, (angle,))]
    driver = rig.driver()
    driver.open()
    assert driver.read(0).value[0] == pytest.approx(angle, abs=counted(ENCODERS[0]) / 2)


@given(counts=st.integers(0, 2**32 - 1), bits=st.sampled_from([16, 32]), high_first=st.booleans())
def test_a_position_is_the_same_in_either_word_order_as_numpy_reads_it(counts, bits, high_first):
    order = "high_first" if high_first else "low_first"
    encoder = encoder_of("left_bogie", 1, 1, bits=bits, word_order=order, multi_turn=True)
    counts %= 1 << bits
    held = encoder.held(counts)
    words = held if high_first else held[::-1]
    signed = np.frombuffer(np.array(words, ">u2").tobytes(), f">i{bits // 8}")[0]
    as_read = tuple(int(np.uint16(word).astype(np.int16)) for word in held)
    assert encoder.angle_rad(as_read) == 2.0 * math.pi * int(signed) / 4096


@given(bits=st.sampled_from([16, 32]), per_turn=st.integers(2, 2**15), turns=st.integers(-3, 2), data=st.data())
def test_within_a_turn_a_position_below_zero_is_an_angle_below_zero_whatever_the_counts_of_a_turn(
    bits, per_turn, turns, data
):
    place = data.draw(st.integers(-((per_turn - 1) // 2), per_turn // 2))
    counts = place + turns * per_turn
    if -(2 ** (bits - 1)) <= counts < 2 ** (bits - 1):
        encoder = encoder_of("left_bogie", 1, 1, bits=bits, counts_per_turn=per_turn)
        assert encoder.angle_rad(encoder.held(counts)) == 2.0 * math.pi * place / per_turn


@given(per_turn=st.integers(2, 2**16), data=st.data())
def test_a_place_within_a_turn_is_never_taken_as_a_signed_number(per_turn, data):
    place = data.draw(st.integers(0, per_turn - 1))
    encoder = encoder_of("left_bogie", 1, 1, bits=16, counts_per_turn=per_turn)
    expected = place if 2 * place <= per_turn else place - per_turn
    assert encoder.angle_rad(encoder.held(place)) == 2.0 * math.pi * expected / per_turn


def test_readings_come_at_the_set_rate_with_the_time_of_the_middle_of_their_round(rig):
    driver = rig.driver()
    driver.open()
    rig.recorder.received.clear()
    found = readings(driver, 50)
    assert [reading.sequence for reading in found] == list(range(found[0].sequence, found[0].sequence + 50))
    assert np.median(np.diff([reading.t_ns for reading in found[1:]])) == pytest.approx(20 * MS, rel=0.01)
    began_ns, ended_ns = rig.recorder.received[3][0], rig.recorder.received[5][1]
    assert began_ns < found[2].t_ns < ended_ns + protocol.silence_ns(BAUD)
    assert driver.health().rate_hz == pytest.approx(50.0, rel=0.02)
    assert driver.health().detail == "3 encoders, all answer"


def test_a_value_is_the_newest_that_was_measured_when_the_encoder_was_asked(rig):
    driver = rig.driver()
    driver.open()
    now_ns = rig.time.now_ns
    rig.instrument.readings += [(now_ns + 100 * MS, (0.5, 0.5, 0.5)), (now_ns + 10**12, (1.0, 1.0, 1.0))]
    found = readings(driver, 20)
    changed = [reading for reading in found if reading.value[0] == pytest.approx(0.5, abs=1e-3)]
    assert changed
    assert changed[0].arrived_ns >= now_ns + 100 * MS
    assert all(reading.arrived_ns < changed[0].arrived_ns for reading in found if reading not in changed)


def test_one_encoder_that_does_not_answer_gives_nan_for_its_joint_and_is_counted(rig):
    driver = rig.driver()
    driver.open()
    rig.bus.inject_fault("silent", {"address": 5})
    found = readings(driver, 10)[-1]
    assert math.isnan(found.value[1])
    assert found.value[0] == pytest.approx(ANGLES[0], abs=1e-3)
    assert found.value[2] == pytest.approx(ANGLES[2], abs=1e-3)
    assert driver.health().detail == "3 encoders, no answer from right_bogie (address 5)"
    assert driver.health().errors == 2  # one request, made twice


@pytest.mark.slow
def test_a_silent_encoder_holds_up_the_others_once_in_two_seconds_and_is_read_once_it_answers(rig):
    driver = rig.driver()
    driver.open()
    rig.bus.inject_fault("silent", {"address": 5})
    found = readings(driver, 240)
    held_up = [reading for reading in found if reading.arrived_ns - reading.t_ns > 15 * MS]
    times = [reading.t_ns for reading in held_up]
    assert len(times) >= 3  # of 4.8 s
    assert all(2000 * MS < gap < 2100 * MS for gap in np.diff(times))  # the time-outs of two attempts, and a round
    rig.bus.inject_fault("answers", {"address": 5})
    found = readings(driver, 110)
    assert math.isnan(found[0].value[1])
    assert found[-1].value[1] == pytest.approx(ANGLES[1], abs=1e-3)
    assert driver.health().detail.endswith("all answer")


def test_an_encoder_that_is_silent_from_the_start_gives_nan(rig):
    rig.bus.inject_fault("silent", {"address": 3})
    driver = rig.driver()
    driver.open()
    assert math.isnan(driver.read(0).value[0])


def test_no_encoder_that_answers_is_a_lost_link(rig, step_until_error):
    driver = rig.driver()
    driver.open()
    for encoder in ENCODERS:
        rig.bus.inject_fault("silent", {"address": encoder.address})
    error = step_until_error(driver)
    assert isinstance(error, LinkLostError)
    assert "no encoder answers (addresses 3, 5, 9)" in str(error)
    assert not driver.health().open
    with pytest.raises(LinkLostError):
        rig.driver().open()


def test_a_port_that_is_unplugged_is_a_lost_link_at_once_and_can_be_opened_again(rig, step_until_error):
    driver = rig.driver()
    driver.open()
    rig.line.inject_fault(LineFault("disconnect"))
    error = step_until_error(driver)
    assert isinstance(error, LinkLostError)
    assert "is gone" in str(error)
    rig.line.inject_fault(LineFault("reconnect"))
    driver.open()
    assert readings(driver, 2)[-1].value[0] == pytest.approx(ANGLES[0], abs=1e-3)


def test_a_damaged_answer_is_asked_for_again_and_two_of_them_are_an_error(rig, step_until_error):
    driver = rig.driver()
    driver.open()
    rig.line.inject_fault(LineFault("garbage"))
    readings(driver, 2)
    assert driver.health().retries == 1
    rig.line.inject_fault(LineFault("garbage", count=2))
    assert isinstance(step_until_error(driver), DamagedError)


def test_a_register_that_an_encoder_does_not_have_is_named_with_its_address(make_rig):
    rig = make_rig()
    wrong = (ENCODERS[0], encoder_of("right_bogie", 5, 7, **RIGHT), ENCODERS[2])
    with pytest.raises(DeviceError, match=r"address 5: function 3 refused .* check address, registers and register"):
        rig.driver(encoders=wrong).open()


@pytest.mark.parametrize(("how", "slip"), [({"address": 3, "counts": 100}, 100), ({}, 1024)])
def test_a_slipped_encoder_jumps_by_its_counts_and_the_others_do_not(rig, how, slip):
    driver = rig.driver()
    driver.open()
    before = driver.read(0).value
    rig.bus.inject_fault("slipped", how)
    after = readings(driver, 2)[-1].value
    assert after[0] - before[0] == pytest.approx(slip * counted(ENCODERS[0]))
    assert after[1:] == before[1:]


def test_a_fault_of_an_address_that_is_not_there_is_refused(rig):
    with pytest.raises(ValueError, match="address is one of 3, 5, 9, found 4"):
        rig.bus.inject_fault("silent", {"address": 4})


def setup_of(channels=NAMES, rate_hz=50.0):
    instruments = {"joints": InstrumentSetup(channels, rate_hz, 0)}
    return RigSetup("rcp", (), 1.0, "coast", ValveLayout(), 0.0, (), 0.0, 0, 0, False, instruments=instruments)


def section(*encoders, **changes):
    listed = [{"joint": joint, "address": address, "register_number": 1} for joint, address in encoders]
    return ModbusJointsSection.model_validate({"driver": "modbus", "encoders": listed, **changes})


ALL = tuple(zip(NAMES, (1, 2, 3), strict=True))


def problems(given, rig=None):
    return [str(problem) for problem in MODBUS_JOINTS.check(given, rig or setup_of())]


def test_a_section_with_each_joint_once_and_a_rate_that_fits_is_in_order():
    assert problems(section(*ALL)) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (section(*ALL[:2]), "0 for rocker; allowed: one for each joint: left_bogie, right_bogie, rocker"),
        (section(*ALL, ("rocker", 4)), "2 for rocker"),
        (section(*ALL, ("steering", 4)), "1 for steering"),
        (section(*ALL[:2], ("rocker", 2)), "address 2 2 times; allowed: each address once"),
        (section(*ALL, baud=9600), "busy for"),
    ],
)
def test_a_section_that_does_not_fit_the_rig_is_refused(given, words):
    (found,) = problems(given)
    assert words in found


def test_more_counts_than_the_bits_tell_apart_are_refused():
    encoders = list(section(*ALL).model_dump()["encoders"])
    encoders[1] |= {"bits": 16, "counts_per_turn": 100_000}
    (found,) = problems(ModbusJointsSection.model_validate({"driver": "modbus", "encoders": encoders}))
    assert "100000 counts per turn of right_bogie; allowed: at most 65536" in found


def test_a_rate_that_the_silences_do_not_allow_is_refused_with_the_one_that_they_do():
    (found,) = problems(section(*ALL), setup_of(rate_hz=80.0))
    # request of 8 bytes, answer of 9, and a silence of 1.75 ms after each, of three encoders
    most = 1.0 / (3 * (17 * 10 / BAUD + 2 * 1.75e-3))
    assert found == f"joints.rate_hz: found 80; allowed: at most {most:.1f}, for 3 encoders at 115200 baud"


def test_a_time_out_shorter_than_an_answer_takes_is_refused():
    (found,) = problems(section(*ALL, baud=9600, answer_timeout_ms=20), setup_of(rate_hz=5.0))
    # a request of 8 bytes and an answer of 9
    least_ms = 17 * 10 / 9600 * 1e3 + 4.0
    assert found == f"devices.joints.answer_timeout_ms: found 20; allowed: at least {least_ms:.0f} at 9600 baud"


def test_the_load_of_the_line_is_that_of_its_bytes():
    (load,) = MODBUS_JOINTS.line_loads(section(*ALL, port="/dev/ttyUSB0"), setup_of())
    assert load == ("/dev/ttyUSB0", pytest.approx(50 * 3 * 17 * 10 / BAUD))


def test_a_simulated_rig_serves_the_encoders_of_the_section_and_a_typical_set_without_one():
    ports = PlantPorts(None, None, instruments={"joints": FixedReadings()})
    for of, addresses in ((section(*zip(NAMES, (7, 8, 9), strict=True)), [7, 8, 9]), (None, [1, 2, 3])):
        found = MODBUS_JOINTS.simulated_ports(of, setup_of(), ports)
        assert list(found["encoders"].device.encoders) == addresses
    assert MODBUS_JOINTS.simulated_ports(None, setup_of(), PlantPorts(None, None)) == {}
