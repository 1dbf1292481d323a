"""Offset, time constant and sensitivity from made-up records of a calibration."""

from __future__ import annotations

import numpy as np
import pytest

from hil.config.schema.sensors import NO_DROOP_S
from hil.signals.calibration_fits import CalibrationError, fading, fit_droop, fit_offset, fit_sensitivity

RATE = 3000.0
NOISE_V = 0.0005


def coupled(volts, droop_s):
    """The reading of an AC coupling, exact for steps that are long against a sample."""
    kept, out = 0.0, np.empty_like(volts)
    for place, value in enumerate(volts):
        kept += (value - kept) / (RATE * droop_s)
        out[place] = value - kept
    return out


def pressed(droop_s, seconds=0.4, after_s=2.0, seed=1):
    force = np.repeat([0.0, 1.0, 0.0], [round(0.3 * RATE), round(seconds * RATE), round(after_s * RATE)])
    smooth = np.convolve(force, np.ones(60) / 60.0, mode="same")  # a thumb
    noise = NOISE_V * np.random.default_rng(seed).standard_normal(len(force))
    return 0.02 + coupled(smooth, droop_s) + noise


@pytest.mark.parametrize("droop_s", [0.2, 0.5, 2.0])
@pytest.mark.parametrize("seconds", [0.15, 0.8])
def test_time_constant_of_a_pressed_and_released_sensor_is_recovered(droop_s, seconds):
    found = fit_droop(pressed(droop_s, seconds), RATE)
    assert found.value == pytest.approx(droop_s, rel=0.02)
    assert 0.0 < found.u95 < 0.05 * droop_s


def test_interval_of_the_time_constant_covers_it_about_as_often_as_stated():
    found = [fit_droop(pressed(0.5, seed=seed), RATE) for seed in range(40)]
    assert sum(abs(one.value - 0.5) <= one.u95 + 0.001 for one in found) >= 34  # the thumb's edges count 0.001 s


@pytest.mark.parametrize(
    ("volts", "message"),
    [
        (np.random.default_rng(2).normal(0.0, NOISE_V, 6000), "no press"),
        (pressed(0.5)[: round(0.5 * RATE)], "no press|swing negative"),
        (pressed(0.5)[: round(0.72 * RATE)], "swing negative"),
        (np.zeros(10), "no press"),
    ],
)
def test_record_without_press_and_release_is_refused(volts, message):
    with pytest.raises(CalibrationError, match=message):
        fit_droop(volts, RATE)


def weighed(weights, sensitivity=0.011, droop_s=2.0):
    steps, lengths = [0.0], [round(0.3 * RATE)]
    for weight in weights:
        steps += [weight, 0.0]
        lengths += [round(0.8 * RATE), round(0.5 * RATE)]
    volts = coupled(sensitivity * np.repeat(steps, lengths), droop_s)
    return volts + 0.01 + NOISE_V * np.random.default_rng(3).standard_normal(len(volts))


@pytest.mark.parametrize("weights", [[50.0], [20.0, 50.0, 100.0], [100.0, 20.0]])
def test_sensitivity_follows_from_known_weights(weights):
    found = fit_sensitivity(weighed(weights), RATE, 2.0, 0.0, weights)
    assert found.value == pytest.approx(0.011, rel=0.003)
    assert found.u95 < 0.02 * 0.011


@pytest.mark.parametrize("true_s", [0.2, 0.5, 2.0, 10.0, NO_DROOP_S])
@pytest.mark.parametrize("said_s", [0.2, 0.5, 2.0, 10.0, NO_DROOP_S])
def test_a_sensor_whose_held_load_fades_otherwise_than_the_config_says_is_not_calibrated(true_s, said_s):
    weights = [20.0, 50.0]
    volts = weighed(weights, droop_s=true_s)
    if true_s == said_s:
        assert fading(volts, RATE, said_s)[0]
        assert fit_sensitivity(volts, RATE, said_s, 0.0, weights).value == pytest.approx(0.011, rel=0.003)
        return
    with pytest.raises(
        CalibrationError, match=r"a held load fades by .* a second, allowed: .*; correct the input's kind"
    ):
        fit_sensitivity(volts, RATE, said_s, 0.0, weights)


@pytest.mark.parametrize("said_s", [0.5, NO_DROOP_S])
@pytest.mark.parametrize("count", [10, 4500])
def test_where_no_force_was_held_nothing_is_said_of_the_coupling(said_s, count):
    ok, found, _ = fading(np.random.default_rng(1).normal(0.02, NOISE_V, count), RATE, said_s)
    assert (ok, found) == (True, "not seen: no force was put on and held")


def test_uncertain_time_constant_makes_the_sensitivity_uncertain():
    weights = [50.0, 100.0]
    known, unsure = (fit_sensitivity(weighed(weights), RATE, 2.0, u95, weights).u95 for u95 in (0.0, 0.05))
    assert unsure > known + 0.005 * 0.011


def test_other_number_of_loads_than_weights_is_refused():
    with pytest.raises(CalibrationError, match="2 loads in the record, allowed: 3"):
        fit_sensitivity(weighed([20.0, 50.0]), RATE, 2.0, 0.0, [20.0, 50.0, 80.0])


def test_offset_is_the_mean_of_a_quiet_record():
    volts = 0.0123 + NOISE_V * np.random.default_rng(4).standard_normal(3000)
    found = fit_offset(volts, RATE)
    assert abs(found.value - 0.0123) < 2.0 * found.u95
    assert found.u95 < 1e-4


def test_offset_of_a_sensor_under_a_force_is_refused():
    with pytest.raises(CalibrationError, match="a force acts"):
        fit_offset(pressed(0.5), RATE)
