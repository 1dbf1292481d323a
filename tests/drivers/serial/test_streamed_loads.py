"""Load cells that send by themselves: the driver of the example package against its simulated device."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from drivers.driver_type import LoadChannelSetup, LoadSetup
from drivers.interfaces import DamagedError, LinkLostError

BAUD, RATE_HZ, DELAY_MS = 57600, 100, 2.0
PERIOD_NS = 1_000_000_000 // RATE_HZ
CELLS = (LoadChannelSetup("front_left_fz", "N", 1000.0), LoadChannelSetup("pull", "N", 500.0))


@pytest.fixture
def cells(monkeypatch):
    """The module of the example package."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "example_package"))
    from rover_hil_example import cells

    yield cells
    for name in [name for name in sys.modules if name.startswith("rover_hil_example")]:
        del sys.modules[name]


@pytest.fixture
def connected(cells, streams):
    """Makes an opened driver on its simulated device; what the plant's cells measure."""

    def make(samples: int = 1, rate_hz: int = RATE_HZ):
        instrument = streams.instrument(tuple(cell.name for cell in CELLS), RATE_HZ)
        instrument.values = lambda number: (float(number), -0.5 * number)
        streams.connect(cells.CellsDevice(instrument, round(DELAY_MS * 1e6)), BAUD)
        section = cells.CellsSection(driver="textcells", port="/dev/streams", baud=BAUD, delay_ms=DELAY_MS)
        driver = cells.TextCells(section, LoadSetup(CELLS, rate_hz, samples), streams.host, lambda: None)
        driver.open()
        return driver, instrument

    return make


def test_each_sample_is_in_newtons_and_has_the_time_when_it_was_measured(connected, streams):
    driver, instrument = connected()
    blocks = streams.readings(driver, 0.5)
    assert len(blocks) == pytest.approx(50, abs=2)
    for block in blocks:
        number = round(block.values[0, 0])
        assert block.values.tolist() == [[number, -0.5 * number]]
    for block in blocks[10:]:  # until then the rhythm of the lines is not known
        assert abs(int(block.t_ns[0]) - instrument.at_ns(round(block.values[0, 0]))) < 500_000
    assert [block.sequence for block in blocks] == list(range(1, len(blocks) + 1))


def test_a_block_has_samples_that_follow_one_another(connected, streams):
    driver, _ = connected(samples=5)
    blocks = streams.readings(driver, 0.5)
    numbers = np.concatenate([block.values[:, 0] for block in blocks])
    assert {block.values.shape for block in blocks} == {(5, 2)}
    assert np.diff(numbers).tolist() == [1.0] * (len(numbers) - 1)
    assert (np.diff(np.concatenate([block.t_ns for block in blocks])) > 0.9 * PERIOD_NS).all()


@pytest.mark.parametrize(("samples", "lost"), [(1, 1), (5, 5)])
def test_a_damaged_line_costs_its_block_and_no_other_and_leaves_a_gap_in_the_numbers(connected, streams, samples, lost):
    driver, _ = connected(samples)
    before = streams.readings(driver, 0.2)
    streams.inject_fault("garbage")
    after = streams.readings(driver, 0.3)
    blocks = before + after
    numbers = np.concatenate([block.values[:, 0] for block in blocks])
    assert sorted({*np.diff(numbers).tolist()}) == [1.0, 1.0 + lost]
    assert sorted({*np.diff([block.sequence for block in blocks]).tolist()}) == [1, 2]
    assert driver.health().errors == 1


def test_many_damaged_lines_are_a_failure(connected, streams):
    driver, _ = connected()
    streams.inject_fault("garbage", count=5)
    with pytest.raises(DamagedError, match="text load cells on /dev/streams"):
        streams.readings(driver, 0.5)


def test_silence_is_a_failure_that_says_how_long(connected, streams):
    driver, _ = connected()
    streams.readings(driver, 0.2)
    streams.inject_fault("off")
    with pytest.raises(LinkLostError, match=r"no message for 5\d\d ms"):
        streams.readings(driver, 1.0)


def test_a_reading_at_full_scale_is_flagged_in_its_channel_alone(connected, streams):
    driver, instrument = connected()
    instrument.values = lambda _number: (999.0, 500.0)
    blocks = streams.readings(driver, 0.2)
    assert blocks[-1].overload == (False, True)


def test_cells_are_set_to_the_rate_of_the_config(connected, streams):
    driver, _ = connected(rate_hz=50)
    blocks = streams.readings(driver, 0.5)
    assert len(blocks) == pytest.approx(25, abs=2)


def test_a_wire_without_a_device_is_named_when_the_driver_is_opened(connected, streams):
    driver, _ = connected()
    driver.close()
    streams.inject_fault("off")
    with pytest.raises(LinkLostError, match="no answer to R 100"):
        driver.open()
