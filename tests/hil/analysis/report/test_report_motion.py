"""Measured motion in a report: rows and figure, from the summaries of trials."""

from __future__ import annotations

import pytest

from hil.analysis.report import drawing
from hil.analysis.report.groups import Trial
from hil.analysis.report.page import motion_over_trials, motion_rows, roles_of


def source(**changed):
    one = {
        "readings": 200,
        "used": 190,
        "rejected": 10,
        "left_out": False,
        "stale": False,
        "innovation": 1.1,
        "age_ms": 9,
    }
    return one | changed


def trial(number, **estimation):
    errors = {"speed_error_mps": 0.002, "slip_error": 0.03, "load_error_N": 4.0, "nees": 0.9}
    return Trial({"number": number, "status": "kept"}, None, {"estimation": errors | estimation}, "")


MEASURED = [
    trial(1, sources={"motion": source(), "imu": source(innovation=0.8)}),
    trial(2, sources={"motion": source(left_out=True, innovation=40.0), "imu": source(stale=True)}),
    trial(3, sources={"motion": source(readings=0, used=0, innovation=None)}, speed_error_mps=None, slip_error=None,
          load_error_N=None, nees=None),
]  # fmt: skip


def test_a_row_says_what_became_of_each_instrument_and_the_errors_in_their_units():
    first, second, third = motion_rows(MEASURED)
    assert first.errors == pytest.approx((2.0, 3.0, 4.0))
    assert (first.sources["motion"]["used"], first.sources["motion"]["ended"]) == (95.0, "used")
    assert [second.sources[role]["ended"] for role in ("motion", "imu")] == ["left out", "stale"]
    assert third.sources["motion"] == {"used": None, "rejected": 10, "innovation": None, "ended": "no reading"}
    assert third.errors == (None, None, None)


def test_trials_without_instruments_have_no_row():
    assert motion_rows([Trial({"number": 1}, None, {}, ""), *MEASURED[:1]])[0].label == "1"
    assert motion_rows([Trial({"number": 1}, None, {"estimation": None}, "")]) == []


def test_roles_are_in_the_order_of_the_record():
    assert roles_of(motion_rows(MEASURED)) == ["motion", "imu"]


def test_the_figure_has_a_line_for_each_error_and_each_instrument():
    with drawing.styled():
        left, right = motion_over_trials(motion_rows(MEASURED)).axes
    assert [line.get_label() for line in left.lines] == ["speed [mm/s]", "slip [%]", "load [N]"]
    assert [list(line.get_xdata()) for line in left.lines] == [[1, 2, 3]] * 3
    assert [line.get_label() for line in right.lines][:3] == [
        "motion, innovation",
        "imu, innovation",
        "errors over sd, squared",
    ]


def test_on_a_real_rig_the_errors_are_said_to_be_unknown():
    unknown = dict.fromkeys(("speed_error_mps", "slip_error", "load_error_N", "nees"))
    with drawing.styled():
        left, right = motion_over_trials(motion_rows([trial(1, sources={"motion": source()}, **unknown)])).axes
    assert [text.get_text() for text in left.texts] == ["the truth is not known"]
    assert right.lines
