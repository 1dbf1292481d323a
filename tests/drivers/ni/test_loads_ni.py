"""A slow task for load channels beside the fast one, on one chassis, over gRPC with the nidaqmx package."""

from __future__ import annotations

import numpy as np
import pytest

from drivers.interfaces import DeviceError
from drivers.ni.channels import NiChannel
from drivers.ni.section import NiLoadsSection
from drivers.ni.simulated.chassis import Chassis

SLOW_HZ, SLOW_BLOCK = 1000, 5


class Slow:
    """Two channels at 1 kHz whose volts number the sample."""

    rate_hz, channels = SLOW_HZ, 2

    def __init__(self, machine):
        self._machine, self._began_ns = machine, machine.t_ns

    def taken(self):
        return (self._machine.t_ns - self._began_ns) * SLOW_HZ // 1_000_000_000

    def copy(self, first, volts):
        volts[:] = (np.arange(first, first + len(volts)) * 1e-4)[:, None] * (1.0, -1.0)

    def at_ns(self, sample):
        return self._began_ns + sample * 1_000_000_000 // SLOW_HZ

    def due_ns(self, count):
        return self.at_ns(count - 1)

    def read_in_blocks(self, first, count):
        pass


@pytest.fixture
def chassis(analog, rams, machine):
    return Chassis(analog, rams, host=machine, loads=Slow(machine), loads_range_V=10.0)


@pytest.fixture
def loads(make_daq):
    """The driver with a task for load channels; keywords change the settings."""

    def make(physical=("cDAQ1Mod6/ai0", "cDAQ1Mod6/ai1"), kind="voltage", **changes):
        names = ("front_left_fz", "pull")
        channels = [NiChannel(name, place, kind, 1.0, 10.0) for name, place in zip(names, physical, strict=True)]
        more = {"channels": tuple(channels), "rate_hz": SLOW_HZ, "block_samples": SLOW_BLOCK}
        return make_daq(section_type=NiLoadsSection, **{**more, **changes})

    return make


def test_blocks_of_the_slow_task_follow_while_the_fast_one_runs(loads, make_daq, analog):
    fast, slow = make_daq(), loads()
    fast.open()
    slow.open()
    found, others = slow.blocks(8), fast.blocks(8)
    volts = np.concatenate([block.values for block in found])
    np.testing.assert_allclose(np.diff(volts[:, 0]), 1e-4, atol=2e-6)
    np.testing.assert_allclose(volts[:, 1], -volts[:, 0], atol=2e-6)
    times = np.concatenate([block.t_ns for block in found])
    np.testing.assert_allclose(np.diff(times), 1e6, rtol=0.01)
    assert [block.sequence for block in found] == list(range(1, 9))
    assert analog.follow(others)


def test_a_bridge_is_recorded_as_volts_at_its_excitation(loads):
    slow = loads(kind="bridge", section={"excitation_V": 5.0})
    slow.open()
    volts = np.concatenate([block.values for block in slow.blocks(4)])
    np.testing.assert_allclose(np.diff(volts[:, 0]), 1e-4, atol=2e-6)


def test_a_rate_that_the_module_has_not_is_refused_and_the_key_named(loads):
    with pytest.raises(DeviceError, match=r"samples at 1000 Hz; set loads.rate_hz"):
        loads(rate_hz=500).open()


def test_an_input_that_is_not_there_is_named(loads):
    with pytest.raises(DeviceError, match="no channel 'cDAQ1Mod6/ai7'"):
        loads(physical=("cDAQ1Mod6/ai0", "cDAQ1Mod6/ai7")).open()
