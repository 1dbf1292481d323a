"""What the figure of controlled wheel loads holds: one meaning a line, modes with their names, scales of what lasts."""

from __future__ import annotations

import numpy as np
import pytest

from hil.experiments.figure_form import FigureForm
from hil.experiments.normal_force.figure import NormalForceExperiment
from hil.messages.layout import Layout
from hil.messages.link_messages import EVENT, TIMING
from hil.messages.signals import block_dtype, tick_dtype
from hil.recording import TrialRecord
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, ("left", "right", "rear"), (), controls_loads=True)
STEPS = [
    {"mode": "passive", "begin_s": 0.0, "end_s": 4.0},
    {"mode": "max_traction", "begin_s": 4.0, "end_s": 9.0},
]
SUMMARY = {
    "accepted": True, "reasons": [], "seed": 5, "load_steps": STEPS,
    "normal_force": {"spread_before": 0.6, "spread_after": 0.2, "spread_best": 0.15},
}  # fmt: skip


def record():
    """10 s of steady loads; at the start and at the end everything jumps for a tenth of a second."""
    tick = np.zeros(10_000, tick_dtype(LAYOUT))
    t = np.arange(len(tick)) * 1e-3
    tick["tick"], tick["t_ns"] = np.arange(len(tick)), np.arange(len(tick)) * 1_000_000
    tick["normal_force_N"] = np.where(t < 4.0, 1.0, 2.0)[:, None] * np.linspace(60.0, 200.0, 6)
    tick["load_wanted_N"] = np.where(t < 4.0, np.nan, 250.0)[:, None]
    tick["cylinder_torque_Nm"] = np.where(t < 4.0, 2.0, 55.0)[:, None]
    tick["torque_wanted_Nm"] = np.where(t < 4.0, 0.0, 60.0)[:, None]
    tick["pressure_Pa"] = np.where(t < 4.0, 0.0, 2e5).reshape(-1, *[1] * (tick["pressure_Pa"].ndim - 1))
    tick["pressure_wanted_Pa"] = tick["pressure_Pa"]
    tick["valves"][4000:9000] = 1
    tick["slip"] = 0.2
    jump = (t < 0.1) | (t > 9.9)
    for key, value in (("normal_force_N", 9e3), ("slip", -40.0), ("cylinder_torque_Nm", 4e3), ("load_wanted_N", 7e3)):
        tick[key][jump] = value
    return TrialRecord(
        tick=tick, events=np.zeros(0, EVENT), timing=np.zeros(len(tick), TIMING),
        blocks=np.zeros(0, block_dtype(LAYOUT)), raw=np.zeros((0, 0)), daq_t_ns=np.zeros(0, np.int64),
        meta={"layout": LAYOUT.to_json(), "config": "name: sim_normal_force\nrig: simulated\n",
              "wall_time": "2026-11-25T09:18:31Z"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def drawn():
    figures = [
        NormalForceExperiment.plot(record(), SUMMARY, "run_8", FigureForm(width)) for width in ("screen", "single")
    ]
    for figure in figures:
        figure.draw_without_rendering()
    return figures


def panel(one, title):
    (found,) = [axes for axes in one.axes if axes.get_title(loc="left").startswith(title)]
    return found


@pytest.mark.parametrize("title", ["Wheel loads", "Torques", "Pressures", "Slip", "Spread"])
def test_full_is_what_was_dashed_what_was_wanted_dotted_a_limit(drawn, title):
    axes = panel(drawn[0], title)
    styles = {}
    for line in axes.lines:
        if np.size(line.get_xdata()) > 2:  # not an upright line of a step
            styles.setdefault(line.get_linestyle(), []).append(str(line.get_label()))
    assert set(styles) <= {"-", "--"}
    assert not any(label.startswith("_") for label in styles["-"])
    assert all(label.startswith("_") for label in styles.get("--", ()))  # one entry for all of them
    legend = {text.get_text(): line.get_linestyle() for text, line in zip(
        axes.get_legend().get_texts(), axes.get_legend().get_lines(), strict=True)}  # fmt: skip
    assert legend.pop("wanted", "--") == "--"
    assert {legend.pop(name, ":") for name in ("best by statics", "limit")} == {":"}
    assert set(legend.values()) == {"-"}
    assert ("--" in styles) == ("wanted" in [text.get_text() for text in axes.get_legend().get_texts()])


def test_each_valve_has_its_name_and_a_bar_of_its_own_height(drawn):
    for one in drawn:
        axes = panel(one, "Valves powered")
        assert [label.get_text() for label in axes.get_yticklabels()] == [
            name.replace("_", " ") for name in LAYOUT.chambers
        ]
        heights = [bar.get_paths()[0].get_extents().intervaly.mean() for bar in axes.collections]
        assert heights == pytest.approx([*range(len(LAYOUT.chambers))])


def test_wheels_cylinders_and_sources_share_no_colour(drawn):
    of_panel = {
        title: {line.get_color() for line in panel(drawn[0], title).lines if np.size(line.get_xdata()) > 2}
        for title in ("Wheel loads", "Torques", "Spread")
    }
    assert len(of_panel["Wheel loads"]) == 6
    assert not of_panel["Wheel loads"] & of_panel["Torques"]
    assert not (of_panel["Wheel loads"] | of_panel["Torques"]) & of_panel["Spread"]


@pytest.mark.parametrize("width", [0, 1])
def test_each_mode_stands_over_its_time(drawn, width):
    axes = panel(drawn[width], "Wheel loads")
    words = {text.get_text(): text.get_position()[0] for text in axes.texts}
    assert words == {"passive": 2.0, "max traction": 6.5}


def test_changes_and_the_end_of_the_steps_are_lines_in_every_panel(drawn):
    for axes in drawn[0].axes:
        upright = [line.get_xdata()[0] for line in axes.lines if np.size(line.get_xdata()) == 2 and
                   len(set(line.get_xdata())) == 1]  # fmt: skip
        assert upright == [4.0, 9.0]


@pytest.mark.parametrize(
    ("title", "least", "most"),
    [("Wheel loads", 400.0, 600.0), ("Torques", 60.0, 90.0), ("Pressures", 200.0, 300.0), ("Slip", 0.2, 0.4)],
)
def test_a_transient_does_not_set_the_scale_and_what_lasts_is_inside(drawn, title, least, most):
    low, high = panel(drawn[0], title).get_ylim()
    assert least <= high <= most
    assert low <= 0.0 if title != "Wheel loads" else low <= 60.0
    assert low > -most


def test_no_legend_lies_over_a_panel(drawn):
    for one in drawn:
        for axes in one.axes:
            legend = axes.get_legend()
            if legend:
                assert legend.get_window_extent().y0 >= axes.get_window_extent().y1 - 1.0, axes.get_title(loc="left")


def test_the_figure_says_which_run_it_is_of(drawn):
    (words,) = [text.get_text() for text in drawn[0].texts if "seed" in text.get_text()]
    assert words.startswith("run run_8")
    assert words.endswith("seed 5   2026-11-25 09:18:31 UTC   config sim_normal_force   SIMULATED rig")
