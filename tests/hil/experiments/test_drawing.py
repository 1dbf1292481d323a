"""Lines of a figure, drawn from ticks that come block by block."""

from __future__ import annotations

import numpy as np
import pytest

from hil.experiments.drawing import decimated, over_time

KIND = np.dtype([("tick", "<i8"), ("t_ns", "<i8"), ("slip", "<f8", (3,)), ("speed_mps", "<f8")])


@pytest.mark.parametrize("count", [0, 1, 650, 1399, 1401, 2100, 7001, 12_345])
@pytest.mark.parametrize("block", [64, 1000, 20_000])
def test_lines_of_blocks_are_those_of_all_ticks(small_blocks, count, block):
    small_blocks(block)
    ticks, chance = np.zeros(count, KIND), np.random.default_rng(3)
    ticks["t_ns"] = 1_000_000 * np.arange(count)
    ticks["slip"], ticks["speed_mps"] = chance.normal(size=(count, 3)), chance.normal(size=count)
    lines = over_time(ticks, {"slip": 1.0, "speed_mps": 1e3})
    t_s = ticks["t_ns"] * 1e-9
    wanted = {"slip": [*ticks["slip"].T], "speed_mps": [ticks["speed_mps"] * 1e3]}
    for field, elements in wanted.items():
        for line, values in zip(lines[field], elements, strict=True):
            for found, expected in zip(line, decimated(t_s, values), strict=True):
                np.testing.assert_array_equal(found, expected)
