"""What is recovered from noisy samples against the plant's true load: a small part of docs/explanation/sensing.md."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from hil.app.run import run
from hil.config import load_config
from hil.experiments.impact.sensing import sensor_channels
from hil.signals.impact import measure_impact

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[3] / "docs" / "figures" / "sensing_accuracy.py"
TRIALS = range(0, 24, 2)


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location(SCRIPT.stem, SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPT.parent)
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(scope="module")
def trials(script):
    return [script.trial(number, 90_000) for number in TRIALS]


@pytest.mark.parametrize(
    ("quantity", "largest"), [("`peak_force_N` [N]", 0.02), ("`impulse_Ns` [N s]", 0.02), ("onset [s]", 5e-4)]
)
def test_recovered_quantity_is_near_the_truth_and_mostly_within_its_interval(trials, quantity, largest):
    errors = [one.errors[quantity] for one in trials]
    assert not any(math.isnan(one.error) for one in errors)
    assert all(abs(one.error) < largest * one.ground_truth for one in errors)
    covered = sum(abs(one.error) <= one.u95 for one in errors)
    assert covered >= len(errors) - 3
    assert all(one.u95 < largest * one.ground_truth for one in errors)  # no interval is wide for safety's sake


def test_good_trials_are_not_dropped(trials):
    assert [one.reasons for one in trials] == [[]] * len(trials)


@pytest.mark.ci_cases("stiff, ring unknown")
@pytest.mark.parametrize("plate", ["stiff, ring unknown", "hard, ring unknown"])
def test_on_a_stiff_plate_the_leading_peak_is_within_one_percent_of_the_truth(script, plate):
    """Left in, an unknown ring takes up to its whole share, 20 %, from the peak."""
    settings, ring_known = script.PLATES[plate]
    found = [script.trial(number, 91_000, settings, ring_known=ring_known) for number in range(1, 12, 2)]
    led, left_in = (
        [abs(script.share(one.errors[name])) for one in found] for name in (script.PEAK, script.PEAK_LEFT_IN)
    )
    assert max(led) < 0.01
    assert max(left_in) > 0.05


@pytest.mark.parametrize(("offset_deg", "encoded"), [(-6.0, False), (0.0, False), (5.0, False), (5.0, True)])
def test_offset_of_the_grouser_that_hits_is_that_of_the_first_load_point(offset_deg, encoded):
    """At 90 degrees a tip at alpha above the line of contact hits R sin(alpha) above C."""
    encoder = "joints={encoders: [{joint: front_right, zero_deg: 40, reversed: true}]}" if encoded else "joints=null"
    config = load_config(
        "sim_impact",
        [
            "telemetry.endpoint=''", "trial.start_distance_m=0.1", "trial.settle_s=1", "record.after_s=1",
            "trial.angle_deg=90", "wheel.grousers=22", f"wheel.grouser_offset_deg={offset_deg}",
            "plant.spread.start_m=0", "ground.kind=firm", encoder,
        ],
    )  # fmt: skip
    result = run(config)
    if encoded:
        assert (result.summary["estimation"]["sources"], result.summary["judged_without"]) == (
            {},
            [],
        )  # corrects nothing
        angle_deg, number = result.summary["wheel_angle_deg"], result.summary["grouser_number"]
        assert angle_deg == pytest.approx(math.degrees(0.1 / config.wheel_radius_m), abs=6.0)
        at_deg = result.summary["grouser_offset_deg"] + number * 360.0 / 22.0
        assert math.remainder(offset_deg - angle_deg - at_deg, 360.0) == pytest.approx(0.0, abs=1e-9)
    found = measure_impact(*result.samples, round(result.summary["impact_time_s"] * 1e9), sensor_channels(config))
    up_m = found.points_m[0, 1] + np.mean([up for _, up in config.daq.places_m])
    offset = result.summary["grouser_offset_deg"]
    assert result.summary["grouser_pitch_deg"] == pytest.approx(360.0 / 22.0)
    assert up_m == pytest.approx(config.wheel_radius_m * math.sin(math.radians(offset)), abs=0.004)
