"""RoboClaw controllers on USB, where each answers to any address."""

import pytest

from drivers.interfaces import DeviceError
from drivers.messages import DriveCommand
from drivers.roboclaw import protocol
from drivers.roboclaw.bus_problems import names_usb
from drivers.roboclaw.drives import Bus, RoboClawControllerSettings
from drivers.roboclaw.protocol import ADDRESSES, CommandCode
from drivers.roboclaw.simulated import RoboClawBus

from .conftest import COUNTS, cut, one_bus

OWN = [[RoboClawControllerSettings(place, 0x80 + place, 2 * place, 2 * place + 1)] for place in range(3)]


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_controller_on_usb_answers_to_any_address_and_one_at_its_ttl_pins_to_its_own(wheels, address):
    controller = RoboClawControllerSettings(0, 0x82, 0, 1)
    request = protocol.request(address, CommandCode.RUN, 100, 100)
    by_usb, by_pins = (RoboClawBus(wheels, [controller], COUNTS, usb=usb) for usb in (True, False))
    assert by_usb.receive(request, 10**9, 10**9) == protocol.ACKNOWLEDGED
    assert [stop for stop, _ in by_usb.starts] == [0x82]
    assert by_pins.receive(request, 10**9, 10**9) == (protocol.ACKNOWLEDGED if address == 0x82 else b"")


def test_no_port_of_usb_has_several_controllers(wheels):
    with pytest.raises(ValueError, match="3 controllers on a port, allowed: one"):
        RoboClawBus(wheels, one_bus()[0], COUNTS, usb=True)


def swapped(rig):
    """Settings with the first two ports swapped, as after a restart of the computer."""
    first, second, third = (Bus(str(line.path)) for line in rig.lines)
    return {"buses": (second, first, third)}


def test_two_swapped_usb_ports_turn_another_wheel_and_report_the_commanded_one(make_rig, until):
    """What nobody notices: the reason for an identity."""
    rig = make_rig(OWN, usb=True)
    drives = rig.drives(**swapped(rig))
    drives.open()
    drives.write(cut(1))
    drives.write(DriveCommand(2, False, (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)))
    sample = until(drives, lambda sample: sample.acknowledged_ns == 2 and sample.speed_radps[0])
    assert rig.wheels.speed == pytest.approx([0.0, 0.0, 1.0, 1.0, 0.0, 0.0], abs=1e-3)
    assert sample.speed_radps == pytest.approx((1.0, 1.0, 0.0, 0.0, 0.0, 0.0), abs=1e-3)


def test_two_swapped_ports_of_ttl_pins_are_not_opened(make_rig):
    rig = make_rig(OWN)
    with pytest.raises(DeviceError, match=r"address 0x80: .*no answer"):
        rig.drives(**swapped(rig)).open()


@pytest.mark.parametrize("timeout_ms", [400, 25500])
def test_one_controller_that_answers_to_several_addresses_is_refused(make_rig, timeout_ms):
    rig = make_rig([[RoboClawControllerSettings(0, 0x80, 0, 1)]], usb=True)
    (several,) = one_bus()
    with pytest.raises(DeviceError, match=r"addresses 0x80, 0x81, 0x82 are one controller.* one controller a port"):
        rig.drives(controllers=tuple(several), timeout_ms=timeout_ms).open()
    assert rig.wheels.commanded == [None] * 6


def test_controllers_of_one_bus_keep_their_time_out_after_they_are_told_apart(rig):
    rig.drives(timeout_ms=400).open()
    assert [one.timeout_steps for one in rig.buses[0].controllers.values()] == [4, 4, 4]


@pytest.mark.parametrize(
    ("port", "usb"),
    [
        ("/dev/ttyACM0", True),
        ("/dev/serial/by-id/usb-03eb_USB_Roboclaw_2x15A-if00", True),
        ("/dev/serial/by-path/pci-0000:00:14.0-usb-0:2:1.0", True),
        ("/dev/serial/by-path/pci-0000:00:14.0-usbv2-0:2.1:1.0", True),
        ("/dev/serial/by-path/pci-0000:00:14.0-usb-0:2:1.0-port0", False),
        ("/dev/serial/by-id/usb-FTDI_USB-RS232-if00-port12", False),
        ("/dev/serial/by-path/pci-0000:03:00.0-serial-0", False),
        ("/dev/ttyUSB0", False),
        ("/dev/ttyS0", False),
        ("/dev/roboclaws", False),
        ("", False),
    ],
)
def test_the_name_of_a_port_tells_whether_the_device_has_usb_of_its_own(port, usb):
    assert names_usb(port) is usb
