"""The figure of every shipped config, at every width: what an editor of a journal would send back is not in it.

The records are made up, for the rules are those of the drawing: every field that a tick of the rig has swings slowly.
"""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
import yaml
from matplotlib.text import Text

from hil.config import load_config, shipped_configs
from hil.experiments.figure_form import FigureForm
from hil.experiments.registry import experiment_named
from hil.messages.link_messages import EVENT, TIMING
from hil.messages.signals import block_dtype, tick_dtype
from hil.recording import TrialRecord

TICKS, RATE_HZ = 4000, 15_000
# Of a pose the last four numbers are a quaternion.
STANDING = (0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0)
UNIT = r"\[.+\]"
SUMMARY = {
    "accepted": False,
    "reasons": ["no impact before trial.timeout_s, 20 s; look whether the rover drives towards the obstacle"],
    "seed": 1,
    "angle_deg": 60.0,
    "impact_time_s": 2.0,
    "onset_s": 1.998,
    "impact_speed_mps": 0.07,
    "peak_force_N": 88.0,
    "cut_latency_ms": 1.8,
    "effective_kinetic_energy_J": 0.2226,
    "effective_kinetic_energy_plant_J": 0.22,
    "slip_wanted": 0.2,
    "shape": "step",
    "window_s": [1.0, 3.0],
    "normal_force": {"spread_before": 0.6, "spread_after": 0.2, "spread_best": 0.15},
}


def made_up(config):
    """A record of this config's rig, 4 s long, through all states of its experiment, and its summary."""
    layout, experiment = config.layout, experiment_named(config.experiment)
    tick = np.zeros(TICKS, tick_dtype(layout))
    t_s = np.arange(TICKS) * 1e-3
    swing = 0.2 + 0.1 * np.sin(2.0 * t_s)
    for name in tick.dtype.names:
        if tick.dtype[name].base.kind == "f":
            size = int(np.prod(tick.dtype[name].shape, dtype=int))
            values = swing[:, None] * (1.0 + 0.2 * np.arange(size))
            tick[name] = values.reshape(TICKS, *tick.dtype[name].shape)
        if name.endswith("t_ns"):
            tick[name] = (1_000_000 * (np.arange(TICKS) // 10 * 10)).reshape(-1, *[1] * (tick[name].ndim - 1))
    if "pose" in tick.dtype.names:
        tick["pose"] = STANDING
        tick["pose"][:, 0] = 0.5 * t_s
    tick["tick"], tick["t_ns"] = np.arange(1, TICKS + 1), np.arange(TICKS) * 1_000_000
    states = [(int(one), one.name) for one in experiment.states]
    tick["state"] = np.array([number for number, _ in states])[np.arange(TICKS) * len(states) // TICKS]
    if "valves" in tick.dtype.names:
        tick["valves"] = (t_s > 1.0).reshape(-1, *[1] * (tick["valves"].ndim - 1))
    daq_t_ns = (np.arange(4 * RATE_HZ) * 1e9 / RATE_HZ).astype(np.int64)
    channels = len(layout.channels)
    raw = np.tile(0.01 * np.sin(daq_t_ns * 1e-9)[:, None], (1, channels)) if channels else np.zeros((0, 0))
    meta = {
        "config": yaml.safe_dump(config.model_dump(mode="json", exclude_unset=True)),
        "layout": layout.to_json(),
        "states": ",".join(f"{number}={name}" for number, name in states),
        "wall_time": "2026-11-29T21:00:00Z",
        "sensitivity_VpN": ",".join(["0.01"] * channels),
    }
    steps = [{"mode": step.mode, "begin_s": 2.0 * at, "end_s": 2.0 * at + 2.0}
             for at, step in enumerate(getattr(config.normal_force, "steps", ())[:2])]  # fmt: skip
    record = TrialRecord(
        tick, np.zeros(0, EVENT), np.zeros(TICKS, TIMING), np.zeros(0, block_dtype(layout)), raw,
        daq_t_ns if channels else np.zeros(0, np.int64), meta,
    )  # fmt: skip
    return record, SUMMARY | {"load_steps": steps, "experiment": config.experiment}


def faults_of(figure):
    """What is wrong with a drawn figure, in words."""
    panels = [axes for axes in figure.axes if axes.axison]
    yield from (f"{_title(axes)}: no data" for axes in panels if not _has_data(axes))
    for axes in panels:
        if axes.yaxis.get_visible() and not _categories(axes) and not re.search(UNIT, axes.get_ylabel()):
            yield f"{_title(axes)}: y axis without a unit, {axes.get_ylabel()!r}"
        shown = axes.xaxis.get_visible() and axes.xaxis.get_tick_params()["labelbottom"]
        if shown and not re.search(UNIT, axes.get_xlabel()):
            yield f"{_title(axes)}: x axis without a unit, {axes.get_xlabel()!r}"
        legend = axes.get_legend()
        if legend and legend.get_window_extent().y0 < axes.get_window_extent().y1 - 1.0:
            yield f"{_title(axes)}: legend over data"
    boxes = {text: text.get_window_extent() for text in _words_of(figure)}
    for text, box in boxes.items():
        if box.x0 < -1.0 or box.y0 < -1.0 or box.x1 > figure.bbox.x1 + 1.0 or box.y1 > figure.bbox.y1 + 1.0:
            yield f"{text.get_text()!r} is cut off"
        if text.get_fontsize() < 5.9:
            yield f"{text.get_text()!r} has {text.get_fontsize():.1f} pt"
    for one, other in combinations(boxes, 2):
        if boxes[one].padded(-1.0).overlaps(boxes[other].padded(-1.0)):
            yield f"{one.get_text()!r} over {other.get_text()!r}"


def _categories(axes):
    return any(re.search("[a-z]{3}", label.get_text()) for label in axes.get_yticklabels())


def _title(axes):
    return axes.get_title(loc="left")


def _has_data(axes):
    lines = [line for line in axes.lines if np.isfinite(np.asarray(line.get_ydata(), float)).any()]
    return bool([line for line in lines if np.size(line.get_xdata()) > 2] or axes.collections or axes.images)


def _words_of(figure):
    """The texts of a figure but the numbers at its ticks, which find their places by themselves."""
    ticks = {
        label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for which in ("major", "minor")
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()) for label in (tick.label1, tick.label2)
    }  # fmt: skip
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [text for text in texts if text not in ticks and (text.axes is None or text.axes.axison)]


@pytest.mark.slow
@pytest.mark.ci_cases("sim_impact", "sim_soil_estimate", "sim_step_plate", "sim_walk", "sim_capture", "sim_follow")
@pytest.mark.parametrize("name", sorted(shipped_configs()))
def test_nothing_lies_over_anything_else_every_axis_has_its_unit_and_every_panel_its_data(name):
    config = load_config(name)
    experiment = experiment_named(config.experiment)
    if not experiment.figure:
        return
    record, summary = made_up(config)
    for width in ("screen", "single", "double"):
        figure = experiment.plot(record, summary, "run_8", FigureForm(width))
        figure.canvas.draw()
        assert list(faults_of(figure)) == [], width
        said = " ".join(text.get_text() for text in figure.texts)
        words = ("run run_8", "seed 1", "2026-11-29", f"config {name}", "real rig" if config.rig == "real" else "SIMUL")
        assert [word for word in words if word not in said] == [], width


@pytest.mark.parametrize(("overrides", "there"), [((), False), (("follow.held_back={}",), True)])
def test_a_pull_is_drawn_only_where_something_is_attached(overrides, there):
    config = load_config("sim_follow", overrides)
    record, summary = made_up(config)
    figure = experiment_named("follow").plot(record, summary, "run_8", FigureForm())
    assert ("Drawbar pull, load cell" in [axes.get_title(loc="left") for axes in figure.axes]) is there


@pytest.mark.slow
def test_what_follows_a_wheel_speed_is_held_against_the_rims():
    record, summary = made_up(load_config("sim_scan_torque"))
    figure = experiment_named("follow").plot(record, summary, "run_8", FigureForm())
    assert "Speed wanted less speed of the rims" in [axes.get_title(loc="left") for axes in figure.axes]
