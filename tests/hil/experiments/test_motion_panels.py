"""Panels of measured motion in the figures of runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from matplotlib.figure import Figure

from hil.config import load_config
from hil.experiments.figure_form import FigureForm
from hil.experiments.motion_panels import innovation_panel, instruments_of, measured_motion, speed_panel
from hil.messages.signals import tick_dtype
from hil.messages.stages import SOURCE_STATES

SPEED_MPS, SD_MPS = 0.06, 0.004
CONFIG = load_config("sim_impact", ["motion={measures: position, origin_m: [1, 0, 0], turn_deg: [0, 0, 90]}", "imu={}"])


class Record(NamedTuple):
    """What the panels read of a record."""

    tick: np.ndarray
    meta: dict[str, Any]


@pytest.fixture
def record():
    """Three seconds at 1 kHz: a steady drive, seen by an instrument that stands across at 100 Hz."""
    tick = np.zeros(3000, tick_dtype(CONFIG.layout))
    tick["t_ns"] = np.arange(1, 3001) * 1_000_000
    for role, every in (("motion", 10), ("imu", 5)):
        tick[f"{role}_t_ns"] = tick["t_ns"] // (every * 1_000_000) * every * 1_000_000
        tick[f"{role}_t_ns"][: every - 1] = -1
    place = SPEED_MPS * tick["motion_t_ns"] * 1e-9 - 1.0
    tick["motion_reading"][:, 1] = -place  # the rig's x is its -y
    tick["speed_mps"], tick["speed_sd_mps"] = SPEED_MPS, SD_MPS
    tick["innovation"], tick["source"] = 1.0, SOURCE_STATES.index("used")
    tick["innovation"][:500] = np.nan
    tick["source"][2000:2100, 0] = SOURCE_STATES.index("rejected")
    return Record(tick, {"layout": CONFIG.layout.to_json(), "config": CONFIG.to_yaml()})


@pytest.fixture
def axes():
    return Figure().add_subplot()


def test_the_measured_speed_is_that_of_the_base_along_the_rigs_x(record):
    found = measured_motion(record, record.tick)
    assert len(found.t_s) == 300
    np.testing.assert_allclose(found.speed_mps, SPEED_MPS, atol=1e-9)
    np.testing.assert_allclose(found.ahead_m[[0, -1]], [SPEED_MPS * 0.01, SPEED_MPS * 3.0], atol=1e-9)


def test_the_band_is_two_standard_deviations_on_either_side(record, axes):
    speed_panel(axes, FigureForm(), record, origin_s=1.0)
    (band,) = axes.collections
    low, high = band.get_paths()[0].get_extents().intervaly
    assert (low, high) == pytest.approx((1e3 * (SPEED_MPS - 2 * SD_MPS), 1e3 * (SPEED_MPS + 2 * SD_MPS)), rel=1e-6)
    lines = {line.get_label(): line for line in axes.lines}
    assert set(lines) == {"measured, outside", "estimated"}
    assert lines["estimated"].get_xdata()[0] == pytest.approx(-0.999)


def test_each_instrument_has_its_bound_and_what_was_not_used_is_marked(record, axes):
    innovation_panel(axes, FigureForm(), record)
    lines = {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}
    assert set(lines) == {"outside", "inertial unit", "outside, not used"}
    assert len(lines["outside, not used"].get_xdata()) == 10
    assert sum(line.get_ls() == ":" for line in axes.lines) == 2


def test_a_record_whose_config_cannot_be_read_shows_the_estimate_alone(record, axes):
    speed_panel(axes, FigureForm(), record._replace(meta=record.meta | {"config": "rig: nothing of this version"}))
    assert [line.get_label() for line in axes.lines] == ["estimated"]


def test_a_record_without_layout_has_no_instruments(record):
    assert instruments_of(record) == ("motion", "imu")
    assert instruments_of(record._replace(meta={})) == ()
