"""The simulated VectorNav device answers to the byte as its manual says."""

import pytest

from drivers.vectornav import protocol
from drivers.vectornav.simulated import VectorNavDevice


@pytest.fixture
def device(streams):
    return VectorNavDevice(streams.instrument(("a", "b", "c", "d", "e", "f"), 200.0), 460800, 0)


@pytest.mark.parametrize(("baud", "rate"), [(9600, "5"), (19200, "10"), (38400, "25"), (57600, "40"), (921600, "40")])
def test_a_new_device_sends_yaw_pitch_and_roll_as_often_as_its_line_bears(streams, baud, rate):
    device = VectorNavDevice(streams.instrument(("a", "b", "c", "d", "e", "f"), 200.0), baud, 0)
    assert (device.registers[protocol.OUTPUT], device.registers[protocol.RATE]) == ("14", rate)
    device.wake(streams.time.now_ns)
    streams.host.sleep(0.5)
    device.wake(streams.time.now_ns)
    sent = device.unasked(streams.time.now_ns)
    assert len(sent) == pytest.approx(0.5 * int(rate), abs=1)
    assert all(protocol.unframe(message)[0] == "VNYMR" for _, message in sent)


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (b"$VNRRG,01*XX\r\n", b"$VNRRG,01,VN-100T-CR*32\r\n"),
        (b"$VNRRG,1*XX\r\n", b"$VNRRG,01,VN-100T-CR*32\r\n"),
        (b"$VNRRG,07*72\r\n", b"$VNERR,03*72\r\n"),
        (b"VNRRG,07*XX\r\n", b"$VNERR,03*72\r\n"),
        (b"$VNFOO,07*XX\r\n", b"$VNERR,04*75\r\n"),
        (b"$VNRRG*XX\r\n", b"$VNERR,05*74\r\n"),
        (b"$VNRRG,07,1*XX\r\n", b"$VNERR,06*77\r\n"),
        (b"$VNWRG,07,33*XX\r\n", b"$VNERR,07*76\r\n"),
        (b"$VNWRG,06,255*XX\r\n", b"$VNERR,07*76\r\n"),
        (b"$VNRRG,99*XX\r\n", b"$VNERR,08*79\r\n"),
        (b"$VNWRG,01,VN-100*XX\r\n", b"$VNERR,09*78\r\n"),
        (b"$VNWRG,07,40*59\r\n", b"$VNWRG,07,40*59\r\n"),
        (b"$VNWRG,30,0,0*XX\r\n", b"$VNERR,05*74\r\n"),
        (b"x" * 300, b"$VNERR,02*73\r\n"),
    ],
)
def test_the_simulated_device_answers_as_the_manual_says(device, command, answer):
    assert device.receive(command, 0, 1) == answer


def test_a_pressed_stop_is_refused_by_a_device_that_has_none(device):
    with pytest.raises(ValueError, match="no emergency stop"):
        device.press(True)
