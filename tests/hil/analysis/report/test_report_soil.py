"""The soil estimated, in a report: a row for each trial that has it."""

from __future__ import annotations

from hil.analysis.report.groups import Trial
from hil.analysis.report.page import soil_rows


def trial(number, summary):
    return Trial({"number": number, "status": "kept"}, None, summary, "")


def test_a_row_has_value_and_interval_and_says_what_is_not_observable():
    seen = {"value": 0.21423, "low": 0.18512, "high": 0.2481, "observable": True}
    unseen = {"value": 1.432e6, "low": 8.9e5, "high": 2.3e6, "observable": False}
    (row,) = soil_rows([trial(3, {"soil_estimate": {"parameters": {"stiffness": unseen, "slip_modulus": seen}}})])
    assert row.values == ("1.43e+06 (8.9e+05 to 2.3e+06), not observable", "–", "0.214 (0.185 to 0.248)")


def test_trials_without_an_estimate_and_estimates_without_numbers_are_no_error():
    assert soil_rows([trial(1, {}), trial(2, {"soil_estimate": None}), trial(3, {"soil_estimate": {}})]) == []
    nothing = dict.fromkeys(("value", "low", "high"))
    (row,) = soil_rows([trial(4, {"soil_estimate": {"parameters": {"rebound": nothing}}})])
    assert row.values == ("–", "–", "–")
