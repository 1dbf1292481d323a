"""The load amplifier's driver against its simulated device, byte by byte, in virtual time."""

from __future__ import annotations

import numpy as np
import pytest

from drivers.driver_type import LoadChannelSetup, LoadSetup
from drivers.interfaces import DeviceError, LinkLostError
from drivers.modbus import protocol
from drivers.modbus.amplifier import ModbusAmplifier
from drivers.modbus.section import ModbusLoadsSection
from drivers.modbus.simulated.amplifier import Amplifier
from drivers.sim.protocol.line import LineFault

BAUD = 115200
REGISTERS = (100, 102, 104, 200)
VOLTS = (1.234567, -0.000001, -8.5, 2147.0)


def section(places=REGISTERS, **keys):
    inputs = [{"channel": f"channel_{place}", "register_number": one} for place, one in enumerate(places)]
    return ModbusLoadsSection.model_validate({"driver": "modbus", "inputs": inputs, **keys})


def loads(section, range_V=3000.0, rate_hz=50):
    cells = tuple(LoadChannelSetup(item.channel, "V", range_V) for item in section.inputs)
    return LoadSetup(cells, rate_hz, 1)


class Fixed:
    """Readings of one test."""

    def __init__(self) -> None:
        self.now = list(VOLTS)

    def volts(self, channel: int) -> float:
        return self.now[channel]


class Rig:
    def __init__(self, folder, line_time, **changes):
        self.time, self.readings = line_time, Fixed()
        has = section(baud=BAUD, **changes)
        self.device = Amplifier(self.readings, has, loads(has).channels)
        self.line, _ = line_time.connect(folder / "amplifier", self.device, BAUD, protocol.silence_ns(BAUD))

    def driver(self, range_V=3000.0, **changes) -> ModbusAmplifier:
        asked = section(port=str(self.line.path), baud=BAUD, **changes)
        return ModbusAmplifier(asked, loads(asked, range_V))


@pytest.fixture
def rig(tmp_path, line_time):
    return Rig(tmp_path, line_time)


def samples(driver, count):
    found = []
    while len(found) < count:
        driver.step()
        if block := driver.read(0):
            found.append(block)
    return found


@pytest.mark.parametrize("word_order", ["high_first", "low_first"])
def test_readings_of_32_bits_arrive_to_the_count_in_either_word_order(tmp_path, line_time, word_order):
    driver = Rig(tmp_path, line_time, word_order=word_order).driver(word_order=word_order)
    driver.open()
    (block,) = samples(driver, 1)
    np.testing.assert_allclose(block.values[0], VOLTS, atol=0.5e-6)
    assert block.overload == (False,) * 4


def test_samples_are_numbered_and_come_at_the_set_rate_with_times_between_request_and_answer(rig):
    driver = rig.driver()
    driver.open()
    found = samples(driver, 50)
    assert [block.sequence for block in found] == list(range(found[0].sequence, found[0].sequence + 50))
    times = np.concatenate([block.t_ns for block in found])
    assert np.median(np.diff(times)) == pytest.approx(20e6, rel=0.02)
    assert all(block.t_ns[0] < block.arrived_ns for block in found)
    assert driver.health().rate_hz == pytest.approx(50.0, rel=0.02)


def test_a_channel_at_the_end_of_its_range_is_flagged_and_no_other(rig):
    driver = rig.driver(range_V=10.0)
    rig.readings.now = [1.0, -10.5, 3000.0, 0.0]
    driver.open()
    (block,) = samples(driver, 1)
    assert block.overload == (False, True, True, False)


def test_registers_far_apart_are_read_in_requests_of_their_own():
    spans = section((0, 2, 8, 300, *range(302, 430, 2))).spans()
    assert [(span.start, span.stop) for span in spans] == [(0, 10), (300, 422), (422, 430)]
    assert all(len(span) <= protocol.MAX_REGISTERS for span in spans)


@pytest.mark.parametrize(
    "form",
    [
        {"registers": "holding"},
        {"signed": False},
        {"read_gaps": False, "word_order": "low_first"},
    ],
)
def test_readings_come_in_every_form_that_registers_have(tmp_path, line_time, form):
    driver = Rig(tmp_path, line_time, **form).driver(**form)
    driver.open()
    (block,) = samples(driver, 1)
    expected = [volt if form.get("signed", True) else max(volt, 0.0) for volt in VOLTS]
    np.testing.assert_allclose(block.values[0], expected, atol=0.5e-6)
    assert block.overload == (False,) * 4


def test_registers_that_the_amplifier_has_not_are_named(rig):
    asked = section((300,), port=str(rig.line.path))
    with pytest.raises(DeviceError, match=r"input registers 300 to 301: .*exception 2.*devices.loads.inputs"):
        ModbusAmplifier(asked, loads(asked)).open()


def test_an_amplifier_that_is_unplugged_is_lost_and_can_be_opened_again(rig):
    driver = rig.driver()
    driver.open()
    samples(driver, 3)
    rig.line.inject_fault(LineFault("disconnect"))
    with pytest.raises(LinkLostError):
        samples(driver, 3)
    rig.line.inject_fault(LineFault("reconnect"))
    driver.open()
    assert samples(driver, 2)


@pytest.mark.parametrize(
    ("places_and_rate", "words"),
    [
        (((1, 2), 50), "2 apart"),
        (((), 50), "different ones"),
        ((REGISTERS, 1000), "rate_hz: 1000, allowed: at most"),
    ],
)
def test_settings_that_cannot_work_are_refused(places_and_rate, words):
    asked = section(places_and_rate[0])
    with pytest.raises(ValueError, match=words):
        ModbusAmplifier(asked, loads(asked, rate_hz=places_and_rate[1]))
