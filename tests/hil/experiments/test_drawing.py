"""Lines of a figure, drawn from ticks that come block by block."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from hil.experiments.drawing import decimated, dress_panel, legend_above, new_figure, over_time, save_study
from hil.experiments.drive import plot_over_time
from hil.experiments.figure_form import FigureForm
from hil.messages.layout import Layout
from hil.messages.signals import tick_dtype
from models.rover.assembly import WHEELS

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


def test_a_panel_whose_axis_goes_down_keeps_it():
    axes = Figure().subplots()
    axes.set_ylim(5.5, -0.5)
    dress_panel(axes, FigureForm(), "Valves powered", "")
    assert axes.get_ylim() == (5.5, -0.5)


@pytest.mark.slow
@pytest.mark.parametrize("names", [1, 7])
def test_a_legend_above_a_panel_lies_over_no_title(names):
    figure = new_figure(FigureForm(), (12.0, 6.0), (73.0, 45.0))
    axes = figure.subplots(1, 2)[0]
    for place in range(names):
        axes.plot([0.0, 1.0], [0.0, place], label=f"middle left wheel {place}")
    dress_panel(axes, FigureForm(), "Angles of the driven joints, measured", "[deg]")
    legend_above(axes, FigureForm())
    figure.draw_without_rendering()
    title, legend = axes._left_title.get_window_extent(), axes.get_legend().get_window_extent()
    assert not title.overlaps(legend)


def test_a_figure_of_files_that_are_being_made_names_no_folder_that_will_not_be_there(tmp_path):
    folder = tmp_path / "my_rover.2274592d.unfinished"
    folder.mkdir()
    figure = new_figure(FigureForm(), (12.0, 6.0), (73.0, 45.0))
    save_study(figure, FigureForm(), folder / "my_rover.png", "my_rover: bodies", {"config": "my_rover"})
    *_, words = figure.texts
    assert words.get_text().startswith("run not saved")


STATES = "0=IDLE,1=RAMP,2=MEASURE,3=DONE"


@pytest.mark.slow
@pytest.mark.parametrize("width", ["screen", "single"])
def test_a_figure_says_of_which_run_it_is_names_its_phases_and_has_results_before_inputs(width):
    layout = Layout(WHEELS, (), (), loads=("cell",), load_cell=True, open_loop=True)
    ticks = np.zeros(1000, tick_dtype(layout))
    ticks["t_ns"], ticks["state"] = 1_000_000 * np.arange(1000), np.repeat([0, 1, 2, 3], [10, 390, 590, 10])
    ticks["pull_N"], ticks["duty"] = 350.0 + np.sin(ticks["t_ns"] * 1e-8), 0.4
    meta = {"config": "name: sim_drawbar\nrig: simulated\nseed: 7\n", "wall_time": "2026-11-29T01:18:38Z"}
    record = SimpleNamespace(tick=ticks, meta=meta | {"states": STATES, "layout": layout.to_json()})
    figure = plot_over_time(
        record, {"accepted": True, "seed": 7, "slip_wanted": 0.2}, "run_8", FigureForm(width), "Drawbar pull"
    )
    figure.canvas.draw()
    said = " ".join(text.get_text() for text in figure.texts[1:]).replace("\n", "   ")
    assert said == "run run_8   seed 7   2026-11-29 01:18:38 UTC   config sim_drawbar   SIMULATED rig"
    panels = [axes for axes in figure.axes if axes.axison]
    assert panels[0].get_title(loc="left").startswith("Drawbar pull")
    assert [axes.get_title(loc="left").split(",")[0] for axes in panels[-2:]] == ["Wheel speeds", "Duty of the drives"]
    assert [text.get_text() for text in panels[0].texts] == ["ramp", "measure"]
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert not any(box.overlaps(axes.get_tightbbox()) for axes in panels)
    assert not any(axes.get_legend() for axes in panels)
