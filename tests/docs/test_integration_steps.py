"""Errors of the plant's steps on the page: what is beyond its tolerance stands out, and the page names it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hil.config import load_config
from hil.config.loading import shipped_configs

pytestmark = pytest.mark.usefixtures("reproducing")
PAGE = "docs/explanation/limits.md"


@pytest.fixture
def script():
    import integration_steps

    return integration_steps


@pytest.fixture
def tables(script):
    """Rows of both tables as the page's file has them."""
    from page_data import data_of

    found = data_of(PAGE)["tables"]
    return {name: [row for row in found[name]["rows"] if isinstance(row, list)] for name in script.TABLES}


@pytest.mark.slow
def test_every_simulated_rover_of_lockstep_stands_in_the_table(script, tables):
    simulated = {f"`{name}`" for name in shipped_configs() if script.has_rover(load_config(name))}
    assert {row[0] for row in tables["integration steps"][2:]} == simulated


def test_tolerances_of_the_tables_are_those_that_are_declared(script, tables):
    for name, at_impact in script.TABLES.items():
        which = [one for one in script.QUANTITIES if one.at_impact == at_impact]
        assert tables[name][0][1:] == [one.name for one in which]
        assert [float(cell) for cell in tables[name][1][1:]] == [one.within for one in which]


def test_what_is_beyond_its_tolerance_is_in_bold_and_named_below(script, tables, pages):
    named = re.search(r"Beyond their tolerance: (.*?)\.\s", pages[PAGE], re.DOTALL)
    beyond = [one for rows in tables.values() for one in script.beyond(rows)]
    bold = [
        f"{row[0]} {head}"
        for rows in tables.values()
        for row in rows[2:]
        for head, cell in zip(rows[0], row, strict=True)
        if "**" in cell
    ]
    assert beyond == bold
    assert " ".join(named[1].split()) == ", ".join(beyond)


def test_a_tolerance_that_is_broken_is_noticed(script, tables):
    for rows in tables.values():
        before = script.beyond(rows)
        for row in rows[2:]:
            for column, most in enumerate(rows[1][1:], 1):
                kept, row[column] = row[column], f"{1.01 * float(most):.4f}/0.0000"
                assert len(script.beyond(rows)) == len(before) + ("**" not in kept)
                row[column] = kept


def test_an_error_is_the_largest_difference_over_the_mean_amount(script):
    true = script.Motion(np.array([100.0, 300.0]), np.zeros(2), np.zeros(2), 0.1, np.nan, 50.0, 10.0, 0.0)
    found = true._replace(load=np.array([100.1, 299.8]), speed=0.0999, peak=50.5, onset_ms=9.98, unexplained=0.002)
    errors = {one.name: one.error(found, true) for one in script.QUANTITIES}
    assert errors["loads"] == pytest.approx(0.1)
    assert errors["speed"] == pytest.approx(0.1)
    assert errors["peak"] == pytest.approx(1.0)
    assert errors["onset [ms]"] == pytest.approx(0.02)
    assert errors["energy balance"] == pytest.approx(0.2)
    assert np.isnan(errors["T_c"])
    assert np.isnan(errors["sinkage"])
