"""`hil devices`: lists devices and the keys for them; no port is opened, and a missing driver is not an error."""

import json
from types import SimpleNamespace

import pytest
import serial
from serial.tools import list_ports

from drivers.interfaces import DeviceError, IoDevice
from drivers.ni.session import NiSession
from drivers.serial.ports import serial_ports
from hil.cli import run

FTDI = SimpleNamespace(
    device="/dev/ttyUSB7", vid=0x0403, pid=0x6001, manufacturer="FTDI", product="FT232R", serial_number="A50285BI"
)
PLAIN = SimpleNamespace(device="/dev/ttyS0", vid=None, pid=None, manufacturer=None, product=None, serial_number=None)
MODULE = IoDevice("cDAQ1Mod1", "NI 9234", "01A2B3C4", ("cDAQ1Mod1/ai0", "cDAQ1Mod1/ai1"), (), (), ())


@pytest.fixture(autouse=True)
def nothing_is_opened(monkeypatch):
    def opened(*_, **__):
        raise AssertionError("a serial port was opened")

    monkeypatch.setattr(serial.Serial, "open", opened)
    monkeypatch.setattr(list_ports, "comports", lambda: [FTDI, PLAIN])


@pytest.fixture
def ni(monkeypatch):
    asked = []

    def listed(session):
        asked.append(session.server)
        return (MODULE,)

    monkeypatch.setattr(NiSession, "open", lambda session: None)
    monkeypatch.setattr(NiSession, "devices", listed)
    return asked


@pytest.fixture
def no_driver(monkeypatch):
    def missing(session):
        raise DeviceError("NI devices on this computer: NI's driver is not installed; install NI-DAQmx")

    monkeypatch.setattr(NiSession, "devices", missing)


def found(capsys, *arguments):
    assert run(["devices", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_ports_are_listed_with_their_adapter_and_the_name_that_stays(tmp_path):
    link = tmp_path / "usb-FTDI_FT232R_USB_UART_A50285BI-if00-port0"
    link.symlink_to(FTDI.device)
    plain, ftdi = serial_ports(tmp_path)
    assert (ftdi.port, ftdi.usb, ftdi.maker, ftdi.serial) == ("/dev/ttyUSB7", "0403:6001", "FTDI", "A50285BI")
    assert ftdi.by_id == str(link)
    assert (plain.usb, plain.maker, plain.by_id) == ("", "", "")


def test_a_computer_without_links_by_id_has_ports_all_the_same(tmp_path):
    assert [port.by_id for port in serial_ports(tmp_path / "none")] == ["", ""]


def test_no_driver_is_one_sentence_and_no_error(no_driver, capsys):
    assert run(["devices"]) == 0
    printed = capsys.readouterr()
    assert "install NI-DAQmx" in printed.out.replace("\n", " ")
    assert printed.err == ""


def test_a_server_that_is_named_is_the_one_that_is_asked(ni, capsys):
    listed = found(capsys, "--server", "daq-pc:31763")
    assert ni == ["daq-pc:31763"]
    assert [device["product"] for device in listed["ni"][0]["devices"]] == ["NI 9234"]
    assert listed["keys"] == []


def test_keys_of_the_config_find_what_they_name(ni, capsys):
    ports = ("--set", "devices.drives.ports=['/dev/null']", "--set", "devices.valves.port=/dev/not_there")
    channels = ("--set", "devices.daq.inputs.1.channel=CDAQ1MOD1/AI1", "--set", "devices.daq.server=daq-pc:31763")
    keys = {key["key"]: key["found"] for key in found(capsys, "mars_dome", *ports, *channels)["keys"]}
    assert ni == ["daq-pc:31763"]
    assert keys == {
        "devices.drives.ports.0": True,
        "devices.valves.port": False,
        "devices.daq.inputs.0.channel": True,
        "devices.daq.inputs.1.channel": True,
        "devices.daq.inputs.2.channel": False,
    }


def test_where_nothing_could_be_listed_nothing_is_known_of_channels(no_driver, capsys):
    keys = {key["key"]: key["found"] for key in found(capsys, "mars_dome")["keys"]}
    assert keys["devices.daq.inputs.0.channel"] is None


def test_a_table_shows_ports_devices_and_keys(ni, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["devices", "mars_dome"]) == 0
    printed = capsys.readouterr().out
    for text in ("0403:6001", "A50285BI", "NI 9234", "cDAQ1Mod1/ai0 to ai1", "devices.valves.port", "NO"):
        assert text in printed


def test_a_config_that_is_none_ends_with_status_two(capsys):
    assert run(["devices", "no_such"]) == 2
    assert "no such file" in capsys.readouterr().err
