"""Lines of a figure, drawn from ticks that come block by block."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from hil.experiments.drawing import decimated, dress_panel, over_time
from hil.experiments.figure_form import FigureForm

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


@pytest.mark.parametrize(("swing", "wide"), [(1e-7, 7.0), (10.0, 20.0)])
def test_a_panel_of_a_value_that_stays_shows_its_digits_and_not_those_of_its_noise(swing, wide):
    axes = Figure().subplots()
    axes.plot([0.0, 1.0, 2.0], [70.0 - swing, 70.0 + swing, 70.0])
    dress_panel(axes, FigureForm(), "Loads", "[N]")
    low, high = axes.get_ylim()
    assert low < 70.0 < high
    assert high - low == pytest.approx(wide, rel=0.11)
