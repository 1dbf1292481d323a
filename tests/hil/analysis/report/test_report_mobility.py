"""How the rover stood, in a report: a row for each trial that has it, with the worst of each metric."""

from __future__ import annotations

from hil.analysis.report.groups import Trial
from hil.analysis.report.page import mobility_rows


def trial(number, summary):
    return Trial({"number": number, "status": "kept"}, None, summary, "")


def test_a_row_has_the_wheel_with_the_least_share_and_the_worst_of_margin_and_friction():
    shares = {
        "front_left": {"start": 0.2, "least": 0.11, "largest": 0.3},
        "rear_left": {"start": 0.1, "least": 0.07, "largest": 0.2},
    }
    margin = {"start": 30.0, "least": 12.5, "least_at_s": 1.5}
    friction = {"start": 0.1, "largest": 0.4, "largest_at_s": 2.0}
    metrics = {"load_share": shares, "stability_deg": margin, "friction_needed": friction}
    (row,) = mobility_rows([trial(3, {"mobility": metrics})])
    assert (row.label, row.wheel) == ("3", "rear left")
    assert (round(row.share, 9), row.stability_deg, row.friction) == (7.0, 12.5, 0.4)


def test_trials_without_metrics_and_metrics_without_numbers_are_no_error():
    assert mobility_rows([trial(1, {}), trial(2, {"mobility": None})]) == []
    nothing = {"load_share": {}, "stability_deg": {"least": None}, "friction_needed": {"largest": None}}
    (row,) = mobility_rows([trial(4, {"mobility": nothing})])
    assert row[1:] == (None, "–", None, None)
