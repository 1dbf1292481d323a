"""What is recovered from noisy samples against the plant's true load: a small part of docs/explanation/sensing.md."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[3] / "docs" / "figures" / "sensing_accuracy.py"
TRIALS = range(0, 24, 2)


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location(SCRIPT.stem, SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


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
