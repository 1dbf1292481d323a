"""RoboClaw controllers on USB, where each answers to any address."""

import pytest

from drivers.interfaces import DeviceError, LinkLostError
from drivers.messages import DriveCommand
from drivers.roboclaw import protocol
from drivers.roboclaw.motor_layout import RoboClawController
from drivers.roboclaw.protocol import ADDRESSES, CommandCode
from drivers.roboclaw.section import names_usb
from drivers.roboclaw.simulated import RoboClawBus, SimRoboClaw

from .conftest import COUNTS, cut, one_bus

OWN = [[RoboClawController(place, 0x80 + place, 2 * place, 2 * place + 1)] for place in range(3)]


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_controller_on_usb_answers_to_any_address_and_one_at_its_ttl_pins_to_its_own(wheels, address):
    controller = RoboClawController(0, 0x82, 0, 1)
    request = protocol.request(address, CommandCode.RUN, 100, 100)
    by_usb, by_pins = (RoboClawBus(wheels, [controller], COUNTS, usb=usb) for usb in (True, False))
    assert by_usb.receive(request, 10**9, 10**9) == protocol.ACKNOWLEDGED
    assert [stop for stop, _ in by_usb.starts] == [0x82]
    assert by_pins.receive(request, 10**9, 10**9) == (protocol.ACKNOWLEDGED if address == 0x82 else b"")


def test_no_port_of_usb_has_several_controllers(wheels):
    with pytest.raises(ValueError, match="3 controllers on a port, allowed: one"):
        RoboClawBus(wheels, one_bus()[0], COUNTS, usb=True)


def swapped(rig):
    """The first two ports swapped, as after a restart of the computer."""
    first, second, third = (str(line.path) for line in rig.lines)
    return {"ports": (second, first, third)}


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


MARKED = [[bus[0]._replace(identity=str(place + 11))] for place, bus in enumerate(OWN)]


@pytest.mark.parametrize("usb", [True, False])
def test_a_controller_in_the_place_of_another_is_refused_by_its_mark_before_it_moves(make_rig, usb):
    rig = make_rig([[one._replace(address=0x80)] for (one,) in MARKED], usb=usb)
    rig.drives().open()
    for controllers in (bus.controllers for bus in rig.buses):
        controllers[0x80].timeout_steps = 7
    with pytest.raises(DeviceError, match=r"bus1: its identity is 12, needed: 11.*bus0: its identity is 11"):
        rig.drives(**swapped(rig)).open()
    assert [bus.controllers[0x80].timeout_steps for bus in rig.buses[:2]] == [7, 7]  # nothing was set in them
    assert rig.wheels.commanded == [None] * 6


@pytest.mark.parametrize("left", [0xFFFF, 0])
def test_a_controller_without_a_mark_is_refused_where_one_is_needed_and_told_as_not_proven_where_none_is(
    make_rig, left
):
    rig = make_rig(OWN)
    for place, bus in enumerate(rig.buses):
        bus.controllers[0x80 + place].stored[0] = left
    with pytest.raises(DeviceError, match="its identity is none, needed: 11"):
        rig.drives(controllers=tuple(one for (one,) in MARKED)).open()
    drives = rig.drives()
    drives.open()
    assert [(one.found, one.needed, one.proof) for one in drives.health().identities] == 3 * [("", "", "")]


def test_controllers_told_apart_on_one_bus_are_proven_by_addresses_that_no_other_has(rig, make_rig):
    drives = rig.drives()
    drives.open()
    assert {one.proof for one in drives.health().identities} == {"its address, which no other has"}


def test_addresses_that_two_buses_have_prove_nothing(make_rig):
    wheels = [(0, 1), (2, 3), (4, 5)]
    places = [(0, 0x80), (0, 0x81), (1, 0x80)]
    one, two, three = (RoboClawController(*at, *on) for at, on in zip(places, wheels, strict=True))
    drives = make_rig([[one, two], [three]]).drives()
    drives.open()
    assert [bool(one.proof) for one in drives.health().identities] == [False, True, False]


def test_a_firmware_without_a_memory_for_users_has_no_mark(rig, monkeypatch):
    answer = SimRoboClaw.answer

    def silent(controller, request):
        return b"" if request.command == CommandCode.STORED else answer(controller, request)

    monkeypatch.setattr(SimRoboClaw, "answer", silent)
    drives = rig.drives()
    drives.open()
    assert [one.found for one in drives.health().identities] == ["", "", ""]


def test_a_port_that_goes_while_the_mark_is_read_is_named_as_gone(rig, monkeypatch):
    def gone(address):
        rig.inject_fault("disconnect")
        return protocol.reading(address, CommandCode.TIMEOUT)

    monkeypatch.setattr(protocol, "mark", gone)
    with pytest.raises(LinkLostError, match="is gone"):
        rig.drives().open()


def test_two_swapped_ports_of_ttl_pins_are_not_opened(make_rig):
    rig = make_rig(OWN)
    with pytest.raises(DeviceError, match=r"address 0x80: .*no answer"):
        rig.drives(**swapped(rig)).open()


@pytest.mark.parametrize("timeout_ms", [400, 25500])
def test_one_controller_that_answers_to_several_addresses_is_refused(make_rig, timeout_ms):
    rig = make_rig([[RoboClawController(0, 0x80, 0, 1)]], usb=True)
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
