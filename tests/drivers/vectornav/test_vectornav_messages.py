"""Messages of VectorNav sensors: examples of manuals and of real devices, and damage of every kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.interfaces import BadFrameError
from drivers.vectornav import protocol
from drivers.vectornav.protocol import Inertia

# Sent by real devices: the readings of a VN-200 lying on its label, and identities of two models.
RECORDED = (
    b"$VNIMU,-00.0350,+00.4222,-00.6643,-00.015,+00.019,+09.948,+00.002066,-00.008442,-00.044656,+20.7,+084.322*66\r\n"
)
WITH_CHECK_SUMS = [
    b"$VNRRG,01,VN-100T-CR*32\r\n",
    b"$VNRRG,01,VN-100_v4*47\r\n",
    b"$VNRRG,04,3.1.0.0*77\r\n",  # interface control document of firmware 3.1
    b"$VNRRG,06,0*69\r\n",  # VN-200 User Manual, section 5.7
    b"$VNRRG,30,2,0,0,0,1,0,1*6E\r\n",  # section 5.11
    b"$VNYPR,+010.071,+000.278,-002.026*60\r\n",  # section 5.11.1
    b"$VNERR,03*72\r\n",  # section 5.11.7
    b"$VNWRG,07,40*59\r\n",
    RECORDED,
]
readings = st.floats(-99.0, 99.0, allow_nan=False)


@pytest.mark.parametrize("message", WITH_CHECK_SUMS)
def test_messages_of_manuals_and_devices_have_the_check_sum_that_we_compute(message):
    fields = protocol.unframe(message)
    assert protocol.frame(*fields) == message


def test_accelerations_and_rates_of_a_recorded_message_are_those_printed_in_it():
    measured = protocol.inertia(protocol.unframe(RECORDED))
    assert measured.acceleration_mps2 == (-0.015, 0.019, 9.948)
    assert measured.rate_radps == (0.002066, -0.008442, -0.044656)
    assert len(RECORDED) == protocol.IMU_BYTES


def test_a_device_upside_down_measures_what_holds_it_up():
    """Its z axis then points up, and the support pushes up: positive. So it is the specific force, without a sign to
    change; a sensor that measured the pull of gravity would give -9.9."""
    assert protocol.inertia(protocol.unframe(RECORDED)).acceleration_mps2[2] == pytest.approx(9.81, rel=0.02)


@given(st.tuples(*[readings] * 3), st.tuples(*[readings] * 3))
def test_what_the_simulated_device_writes_is_what_the_driver_reads_to_the_last_digit(accelerations, rates):
    message = protocol.imu_message(Inertia(accelerations, rates))
    assert len(message) == protocol.IMU_BYTES
    measured = protocol.inertia(protocol.unframe(message))
    assert measured.acceleration_mps2 == pytest.approx(accelerations, abs=0.5001e-3)
    assert measured.rate_radps == pytest.approx(rates, abs=0.5001e-6)


@given(st.integers(0, len(RECORDED) - 1), st.integers(1, 255))
def test_a_message_with_one_wrong_byte_is_never_taken(place, flipped):
    """Whichever byte it is, and whatever it has become."""
    damaged = bytearray(RECORDED)
    damaged[place] ^= flipped
    with pytest.raises(BadFrameError):
        protocol.inertia(protocol.unframe(bytes(damaged)))


@given(st.binary(max_size=150))
def test_noise_is_no_message(noise):
    with pytest.raises(BadFrameError):
        protocol.inertia(protocol.unframe(noise))


@pytest.mark.parametrize(
    "body",
    [
        b"VNIMU,1,2,3",
        b"VNIMU" + b",+1" * 12,
        b"VNIMU" + b",nan" * 11,
        b"VNIMU" + b",+1e9" * 11,
        b"VNIMU,+00.1,+00.1,+00.1,,+00.1,+00.1,+00.1,+00.1,+00.1,+00.1,+00.1",
        b"VNIMU" + b",+1" * 11 + b",T1162704",
    ],
)
def test_a_message_of_another_form_is_refused_though_its_check_sum_is_right(body):
    message = b"$%s*%02X\r\n" % (body, protocol.check_sum(body))
    with pytest.raises(BadFrameError, match="is no VNIMU message of 11 numbers"):
        protocol.inertia(protocol.unframe(message))


def test_a_command_may_go_unchecked_and_a_message_may_not():
    assert protocol.unframe(b"$VNRRG,1*XX\r\n", unchecked=True) == ["VNRRG", "1"]
    with pytest.raises(BadFrameError, match="wrong check sum, needed: 42"):
        protocol.unframe(b"$VNRRG,1*XX\r\n")


def test_codes_of_errors_are_understood_as_old_and_new_firmware_writes_them():
    assert protocol.error_words("12") == "error 12: baud rate too low for what it is to send"
    assert protocol.error_words("0C") == "error 0C: baud rate too low for what it is to send"
    assert protocol.error_words("08") == "error 08: unknown register"
    assert protocol.error_words("99") == "error 99: not known"
    assert protocol.error_words("?") == "error ?: not known"
