"""Each residual shows its own wrong value in one run, and a good run shows none."""

import math
from typing import get_args

import numpy as np
import pytest

from hil.config import load_config
from hil.config.schema.residuals import ResidualName
from hil.messages.signals import tick_dtype
from hil.residuals.evidence import RunEvidence, extreme_mean, lag_s
from hil.residuals.judgement import judge, marks
from hil.residuals.table import RESIDUALS, measured


def late(values, ticks):
    """The same, so many rows later."""
    return np.concatenate([np.repeat(values[:1], ticks, axis=0), values[:-ticks]])


def marked(evidence):
    return {one.name: one.element for one in marks(judge(evidence.config, measured(evidence)))}


def scaled(values, place, factor):
    values[:, place] *= factor
    return values


def test_every_residual_of_a_config_is_in_the_table():
    assert tuple(RESIDUALS) == get_args(ResidualName)


def test_a_good_run_has_no_mark(impact, loads):
    assert not marked(impact.evidence())
    assert not marked(loads.evidence())


@pytest.mark.parametrize(
    ("residual", "element", "volts"),
    [
        ("force_share", "top", lambda volts, _: scaled(volts, 0, 1.2)),
        ("force_share", "lower_right", lambda volts, _: scaled(volts, 2, 0.8)),
        ("force_middle", "lower_left", lambda volts, rate: np.column_stack(
            [volts[:, 0], late(volts[:, 1], rate // 1000), volts[:, 2]])),
        ("force_peak", "sum", lambda volts, _: 1.1 * volts),
        ("force_impulse", "sum", lambda volts, _: 0.9 * volts),
        ("force_share", "top or lower_left", lambda volts, _: volts[:, [1, 0, 2]]),  # both are off by as much
        ("way_to_impact", "sum", lambda volts, rate: late(volts, rate // 20)),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_a_wrong_force_is_shown_by_its_residual(impact, residual, element, volts):
    found = marked(impact.evidence(volts=volts(impact.volts, impact.config.daq.rate_hz)))
    assert found[residual] in element.split(" or ")


def test_two_peaks_that_differ_by_more_than_both_intervals_are_shown(gauges):
    said = gauges.result.summary
    assert not marked(RunEvidence(gauges.judged, gauges.result.ticks, said))
    for wrong in (0.75, 1.25):
        summary = {**said, "strain_peak_N": wrong * said["strain_peak_N"]}
        assert marked(RunEvidence(gauges.judged, gauges.result.ticks, summary)) == {"strain_peak": "sum"}


@pytest.mark.parametrize(
    ("residual", "element", "field", "wrong"),
    [
        ("force_at_rest", "lower_left", "force_N", lambda good: good + np.array([0.0, 0.5, 0.0])),
        ("way_to_impact", "sum", "speed_mps", lambda good: 1.02 * good),
        ("wheel_speed", "rear_right", "wheel_speed_radps", lambda good: scaled(good, 5, 1.01)),
        ("wheel_speed", "front_left", "wheel_speed_radps", lambda good: good + np.array([0.004, 0, 0, 0, 0, 0])),
        ("speed_lag", "middle_left", "wheel_speed_radps", lambda good: np.column_stack(
            [late(one, 3) if place == 2 else one for place, one in enumerate(good.T)])),
        ("current_share", "rear_left", "current_A", lambda good: scaled(good, 4, 1.1)),
        ("current_sum", "sum", "current_A", lambda good: 1.1 * good),
        ("supply", "rig", "supply_V", lambda good: good - 0.1),
        ("pressure", "right_retract", "pressure_Pa", lambda good: good + np.array([[0.0, 0.0], [0.0, 1e3]])),
        ("pressure_missing", "left_extend", "pressure_Pa", lambda good: np.where(
            np.arange(len(good))[:, None, None] > 1000, [[[math.nan, 0.0], [0.0, 0.0]]], good)),
        ("age", "daq", "daq_age_ns", lambda good: good + 1_000_000),
        ("age", "drives", "drives_t_ns", lambda good: good - 1_000_000),
        ("sample_clock", "daq", "daq_age_ns", lambda good: good + np.arange(len(good)) * 200),  # 200 ppm
    ],
)  # fmt: skip
def test_a_wrong_value_of_a_rig_with_an_obstacle_is_shown_by_its_residual(impact, residual, element, field, wrong):
    assert marked(impact.evidence(**{field: wrong(impact.field(field))}))[residual] == element


@pytest.mark.parametrize(
    ("residual", "element", "field", "wrong"),
    [
        ("load_sum", "sum", "wheel_load_N", lambda good: 1.1 * good),
        ("wheel_load", "front_right", "wheel_load_N", lambda good: good + np.array([0.0, 5.0, 0.0, 0.0, 0.0, 0.0])),
        ("pressure", "right_extend", "pressure_Pa", lambda good: good * [[1.0, 1.0], [1.1, 1.0], [1.0, 1.0]]),
        ("pressure_lag", "rear_retract", "pressure_Pa", lambda good: np.stack(
            [good[:, 0], good[:, 1], np.stack([good[:, 2, 0], late(good[:, 2, 1], 20)], axis=1)], axis=1)),
        ("age", "loads", "load_age_ns", lambda good: good + 1_000_000),
    ],
)  # fmt: skip
def test_a_wrong_value_of_a_rig_with_leg_sensors_is_shown_by_its_residual(loads, residual, element, field, wrong):
    assert marked(loads.evidence(**{field: wrong(loads.field(field))}))[residual] == element


def test_exchanged_loads_of_two_wheels_are_shown_by_the_residual_of_one_of_them(loads):
    exchanged = loads.field("wheel_load_N")[:, [4, 1, 2, 3, 0, 5]]
    assert marked(loads.evidence(wheel_load_N=exchanged))["wheel_load"] in ("front_left", "rear_left")


@pytest.mark.slow
def test_a_wrong_load_cell_is_shown_by_the_thrust_of_the_motors(make_good):
    good = make_good("sim_drawbar")
    assert not marked(good.evidence())
    assert marked(good.evidence(pull_N=1.05 * good.field("pull_N"))) == {"pull": "sum"}


def test_two_lower_sensors_that_are_swapped_look_the_same_where_the_wheel_hits_between_them(impact):
    """Said in docs/explanation/residuals.md: their shares are equal there."""
    found = measured(impact.evidence(volts=impact.volts[:, [0, 2, 1]]))["force_share"]
    assert found == pytest.approx(measured(impact.evidence())["force_share"], abs=0.02)


def test_the_mean_over_a_window_is_known_once_the_quantity_was_there_for_so_long():
    values = np.full((2000, 2), np.nan)
    values[100:700, 0] = 2.0
    values[300:700, 0] = -3.0
    values[:499, 1] = 1.0
    first, second = extreme_mean(values, 1000)
    assert first == pytest.approx((100 * 2.0 - 400 * 3.0) / 500)
    assert math.isnan(second)


@pytest.mark.parametrize("gain", [1.0, 1.3])
def test_a_delay_is_found_whatever_the_gain(gain):
    t_s = np.arange(3000) / 1000.0
    commanded = np.minimum(t_s, 1.0)[:, None]
    measured_late = gain * np.minimum(np.maximum(t_s - 0.02, 0.0), 1.0)[:, None]
    assert lag_s(measured_late, commanded, 1000) == pytest.approx(0.02, rel=0.1)


def test_a_rig_without_an_impact_says_nothing_of_forces(loads):
    assert not {name for name in measured(loads.evidence()) if name.startswith(("force", "way"))}


def test_a_run_without_rows_says_nothing(impact):
    config = load_config("sim_impact")
    assert set(measured(RunEvidence(config, impact.result.ticks[:2], {}))) <= {
        "age",
        "pressure_missing",
        "sample_clock",
    }


@pytest.mark.parametrize(("slips", "each_turn"), [(0.0, False), (0.03, True)])
def test_a_coupling_that_slips_is_shown_by_the_encoder_at_the_axle(slips, each_turn):
    config = load_config("sim_impact", ["joints={encoders: [{joint: rear_left, reversed: true}, {joint: left_bogie}]}"])
    ticks = np.zeros(5000, tick_dtype(config.layout))
    ticks["t_ns"] = np.arange(5000) * 1_000_000
    ticks["wheel_speed_radps"], ticks["joints_t_ns"] = 0.6, ticks["t_ns"] // 20_000_000 * 20_000_000
    turned = -0.6 * (1.0 - slips) * 1e-9 * ticks["joints_t_ns"]
    ticks["joints_reading"][:, 1] = np.remainder(turned, math.tau) if each_turn else turned
    assert RESIDUALS["wheel_turn"].elements(config.layout) == ("rear_left",)
    assert RESIDUALS["wheel_turn"].values(RunEvidence(config, ticks, {})) == pytest.approx([-slips], abs=2e-3)
