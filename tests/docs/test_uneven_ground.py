"""The table of uneven-ground.md is what its script computes, and tends to what the lengths of the contacts say."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import pytest

MADE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "reproduce" / "uneven_ground.py"), run_name="table")


def test_the_page_has_the_errors_that_the_script_computes(pages):
    for ratio, hollow, crest in MADE["rows"]():
        assert f"| {ratio:g} | {hollow:+.1%} | {crest:+.1%} |" in pages["docs/reproduce/uneven-ground.md"]


def test_on_gently_curved_ground_the_error_is_that_of_the_contacts_length():
    ratio, hollow, crest = MADE["rows"]()[-1]
    assert hollow == pytest.approx(math.sqrt(1.0 - 1.0 / ratio) - 1.0, abs=0.005)
    assert crest == pytest.approx(math.sqrt(1.0 + 1.0 / ratio) - 1.0, abs=0.005)


def test_the_foot_point_is_found_in_hollows_nearly_as_narrow_as_the_wheel():
    assert max(distance_m for _, distance_m in MADE["foot_errors"]()) < 1e-8
