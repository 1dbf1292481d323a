"""The page of Petersen's soil identification: its numbers are what comes out, and its coverage is what is claimed."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("reproducing")

PAGE = "docs/reproduce/petersen_identification.md"


@pytest.fixture
def rows(pages):
    """Cells of each row of the page, by the first one."""
    lines = [line.strip("| ").split(" | ") for line in pages[PAGE].splitlines() if line.startswith("| ")]
    return {cells[0]: cells[1:] for cells in lines}


def test_his_three_soils_have_traction_curves_close_together(rows):
    from petersen_identification import LOAD, RESULTS, state

    slips = np.array([0.2, 0.4, 0.8])
    pulls = np.array([state(soil, slips)[0] for soil in RESULTS.values()])
    assert (pulls.max(axis=0) - pulls.min(axis=0)).max() < 0.05 * LOAD
    # docs/reproduce: a wheel of Juno pulls about nothing at 20 % slip, and about 0.3 of its load at 80 %
    assert np.abs(pulls[:, 0]).max() < 15.0
    assert pulls[:, 2].min() > 200.0
    for low, high in zip(pulls.min(axis=0), pulls.max(axis=0), strict=True):
        assert f"{low:.0f} to {high:.0f} N" in rows["Fig. 6.11"][1]


def test_two_of_the_four_eigenvalues_of_his_cost_are_zero(rows):
    from petersen_identification import RESULTS, eigenvalues

    values = eigenvalues(RESULTS[2])
    assert values[1] > 1e-3
    assert np.abs(values[2:]).max() < 1e-8 * values[0]
    assert f"{values[0]:.1e}, {values[1]:.1e}" in rows["6.2, cost"][1]


def test_a_soil_that_fits_has_no_cost_and_a_wrong_one_has():
    from petersen_identification import RESULTS, residuals

    ground_truth = RESULTS[2]
    assert np.abs(residuals(ground_truth, ground_truth)).max() < 1e-8
    for name in ground_truth:
        assert np.abs(residuals({**ground_truth, name: 1.2 * ground_truth[name]}, ground_truth)).max() > 1e-3
    soft = {**ground_truth, "stiffness": 3e4}  # more resistance: it stops
    assert np.abs(residuals(soft, ground_truth)).max() > 0.029  # its speed over R, weighted, over the root of the steps


@pytest.mark.slow
def test_his_search_from_another_start_fits_with_another_soil(rows):
    from petersen_identification import RESULTS, searched

    start = {"stiffness": 1.6e5, "exponent": 0.6, "rebound": 0.2, "slip_modulus": 0.7}
    found, cost = searched(start, RESULTS[2])
    assert cost < 1e-3
    assert abs(found["rebound"] / RESULTS[2]["rebound"] - 1.0) > 0.2
    assert "the answer follows the start" in rows["6.2, starts"][2]


@pytest.mark.slow
def test_the_ladder_of_experiments_tells_what_the_page_says(rows):
    from petersen_identification import LADDER, rung

    for name in LADDER:
        values, determined, factors, whole = rung(name)
        cells = rows[name]
        assert cells[:2] == [str(values), f"{determined} of 4"]
        for factor, cell in zip(factors.values(), cells[2:6], strict=True):
            assert cell == "not determined" if factor >= 10.0 else float(cell) == pytest.approx(factor, abs=0.011)
        assert (cells[6] != "-") == whole


def test_the_stated_coverage_is_that_of_the_claim(rows, pages):
    from petersen_identification import LADDER

    seeds = int(re.search(r"share of (\d+) seeds", " ".join(pages[PAGE].split()))[1])
    stated = [re.findall(r"\d+\.\d", rows[name][6]) for name in LADDER if rows[name][6] != "-"]
    assert len(stated) >= 3
    shares = [float(share) for cells in stated for share in cells]
    assert len(shares) == 4 * len(stated)
    chance = 300.0 * math.sqrt(0.95 * 0.05 / seeds)  # three standard deviations
    assert all(abs(share - 95.0) <= chance for share in shares)
    assert abs(sum(shares) / len(shares) - 95.0) <= 0.6 * chance
