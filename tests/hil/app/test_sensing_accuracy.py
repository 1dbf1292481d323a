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
def trials():
    spec = importlib.util.spec_from_file_location(SCRIPT.stem, SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return [module.trial(number, 90_000) for number in TRIALS]


@pytest.mark.parametrize(
    ("quantity", "largest"), [("filtered peak [N]", 0.02), ("impulse [N s]", 0.02), ("onset [s]", 5e-4)]
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
