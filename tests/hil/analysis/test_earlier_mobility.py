"""Summaries of versions that took the forces of hits for loads are verified: in full of a run that had no hits."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hil.analysis.verify import verify
from hil.experiments import mobility

pytestmark = pytest.mark.slow


@pytest.fixture
def earlier(edited, sealing):
    """Makes the folder of a run whose summary is as such a version has left it, then changed."""

    def make(change=lambda _: None):
        folder = edited("good")
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        assert summary["mobility"].pop("disturbed_s") == 0.0
        change(summary["mobility"])
        sealing(folder, summary)
        return folder

    return make


def summary_check(folder):
    return next(check for check in verify(folder) if check.item == "summary")


def test_without_hits_all_its_numbers_hold(earlier):
    check = summary_check(earlier())
    assert check.ok
    assert "mobility" not in check.found


def test_without_hits_a_changed_number_does_not_pass(earlier):
    check = summary_check(earlier(lambda found: found["load_share"]["front_left"].update(least=0.1)))
    assert not check.ok
    assert "mobility.load_share.front_left.least" in check.found


def test_with_hits_mobility_is_not_compared_and_that_is_said(earlier, monkeypatch):
    folder = earlier()
    monkeypatch.setattr(mobility, "UNBALANCED", 1e-3)  # then the start of the drive counts for a hit
    check = summary_check(folder)
    assert check.ok
    assert "made by a version that took the forces of hits for loads in mobility" in check.found


def test_of_a_run_whose_wheels_lifted_it_is_not_compared_either(earlier, monkeypatch):
    folder = earlier()
    monkeypatch.setattr(mobility, "_extreme_shares", lambda *_: (np.zeros(6), np.ones(6), 0))
    check = summary_check(folder)
    assert check.ok
    assert "mobility, which is not compared" in check.found


def test_with_hits_a_summary_of_this_version_is_compared(edited, monkeypatch):
    folder = edited("good")
    monkeypatch.setattr(mobility, "UNBALANCED", 1e-3)
    check = summary_check(folder)
    assert not check.ok
    assert "mobility.disturbed_s is 0.0" in check.found
