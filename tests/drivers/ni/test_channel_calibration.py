"""Shunt calibration and TEDS through the nidaqmx package, against the simulated device server."""

from __future__ import annotations

import numpy as np
import pytest

from drivers.channel_calibration import Shunt, Teds
from drivers.host import COMPUTER
from drivers.interfaces import DeviceError
from drivers.modbus.entry import MODBUS_LOADS
from drivers.ni.channels import NiChannel, NiTask, read_teds, shunt_gains
from drivers.ni.section import NiLoadsSection

WIRE = 0.98  # of a bridge's output arrives
CELL, OTHER = "cDAQ1Mod1/ai0", "cDAQ1Mod1/ai1"
SHUNT = Shunt(100_000.0, 350.0)


@pytest.fixture
def task(server):
    """Makes the task of two bridges."""

    def make(kind="bridge"):
        channels = (NiChannel("pull", CELL, kind, 1.0, 5.0), NiChannel("frame", OTHER, "bridge", 1.0, 5.0))
        section = NiLoadsSection(driver="ni", server=f"127.0.0.1:{server.port}", excitation_V=2.5)
        return NiTask(section, channels, 25_600, 64, "NI-DAQ loads")

    return make


def gains(task, names, shunt=SHUNT):
    return shunt_gains(task, names, shunt, COMPUTER)


def test_the_gain_gives_back_what_the_wires_of_a_bridge_lose(task, chassis, make_daq, analog):
    chassis.sensors.wires[CELL] = WIRE
    found = gains(task(), ("pull", "frame"))
    assert found == {"pull": pytest.approx(1.0 / WIRE), "frame": 1.0}
    daq = make_daq(channels=task().channels)
    daq.open()
    (block,) = daq.blocks(1)
    true_V = (np.rint((block.values[:, 1] / -2.0 + 1.0) / 5e-4) * 5e-4) - 1.0  # the other channel has no loss
    np.testing.assert_allclose(block.values[:, 0] * found["pull"], true_V, atol=1e-4)
    assert np.abs(block.values[:, 0] - true_V).max() > 1e-3


def test_a_channel_that_is_no_bridge_is_refused_before_anything_is_done(task):
    with pytest.raises(ValueError, match="pull is of kind voltage; only a bridge"):
        gains(task("voltage"), ("frame", "pull"))


def test_a_gain_that_no_wire_has_is_refused_with_what_to_check(task, chassis):
    chassis.sensors.wires[CELL] = 0.7
    with pytest.raises(DeviceError, match=r"gain 1\.429, allowed: 0\.9 to 1\.1; check the resistors given \(100000"):
        gains(task(), ("pull",))


def test_what_the_device_refuses_is_a_device_error_with_the_channel(task):
    with pytest.raises(DeviceError, match=r"shunt calibration of pull on cDAQ1Mod1/ai0: NI -209810"):
        gains(task(), ("pull",), Shunt(-1.0, 350.0))


def test_a_sensor_with_a_data_sheet_inside_is_read_and_one_without_is_said_to_have_none(task, chassis):
    chassis.sensors.teds[CELL] = sheet = Teds(59, 208, "C2", 12345)
    assert read_teds(task(), COMPUTER) == {"pull": sheet, "frame": None}


def test_a_driver_that_does_not_offer_it_says_so():
    with pytest.raises(ValueError, match="the driver modbus offers no shunt calibration"):
        MODBUS_LOADS.shunt_gains(None, None, ("pull",), SHUNT)
    with pytest.raises(ValueError, match="the driver modbus reads no TEDS"):
        MODBUS_LOADS.teds(None, None)
