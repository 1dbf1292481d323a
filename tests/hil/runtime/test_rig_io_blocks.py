"""Blocks of sensor samples by their sequence: old ones are dropped, and missing ones are reported."""

from __future__ import annotations

import numpy as np
import pytest

from drivers.interfaces import Health
from drivers.messages import DaqBlock
from hil.messages.layout import SENSORS, Layout
from hil.messages.stages import MOST_BLOCKS
from hil.runtime.rig_io import RigIO
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])


class Daq:
    def __init__(self):
        self.blocks = []

    def read(self, t_ns):
        return self.blocks.pop(0) if self.blocks else None


class Silent:
    def read(self, t_ns):
        return None

    def write(self, command):
        pass

    def health(self):
        return Health("silent", True, 0, "")


@pytest.fixture
def daq():
    return Daq()


@pytest.fixture
def take_in(daq):
    devices = RigIO(LAYOUT, {"daq": daq, "drives": Silent(), "valves": Silent()})

    def take_in(*sequences):
        daq.blocks = [
            DaqBlock(number, np.array([number * 1000]), np.zeros((1, 3)), (False,) * 3) for number in sequences
        ]
        samples = devices.sample(10_000)
        return [block.sequence for block in samples.blocks], samples.gap, samples.daq_sequence, samples.daq_age_ns

    return take_in


def test_blocks_in_order_pass_whole(take_in):
    assert take_in(1, 2, 3) == ([1, 2, 3], 0, 3, 7000)
    assert take_in(4) == ([4], 0, 4, 6000)


def test_a_block_that_is_old_or_came_twice_is_dropped(take_in):
    assert take_in(1, 2, 3, 2, 3, 4) == ([1, 2, 3, 4], 0, 4, 6000)
    assert take_in(1, 4) == ([], 0, 4, 6000)


def test_a_daq_that_always_has_an_old_block_does_not_hold_the_tick():
    old = DaqBlock(0, np.array([0]), np.zeros((1, 3)), (False,) * 3)
    reads = []

    class Endless:
        def read(self, t_ns):
            reads.append(t_ns)
            assert len(reads) <= MOST_BLOCKS
            return old

    assert RigIO(LAYOUT, {"daq": Endless(), "drives": Silent(), "valves": Silent()}).sample(10_000).blocks == ()


def test_the_longest_gap_of_a_tick_is_told_also_one_before_its_first_block(take_in):
    assert take_in(2, 3) == ([2, 3], 1, 3, 7000)
    assert take_in(6, 7, 9) == ([6, 7, 9], 2, 9, 1000)
    assert take_in() == ([], 0, 9, 1000)


def test_a_block_that_comes_after_a_newer_one_leaves_its_gap(take_in):
    assert take_in(1, 3, 2, 4) == ([1, 3, 4], 1, 4, 6000)
