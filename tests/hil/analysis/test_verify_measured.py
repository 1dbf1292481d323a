"""`hil verify` works out what was measured from all samples, too, and knows summaries that were made before that."""

from __future__ import annotations

import json
import shutil

import pytest

from hil.analysis.recompute import SENSED
from hil.analysis.verify import verify
from hil.experiments.summary import summary_sha256, write_summary

pytestmark = pytest.mark.slow


@pytest.fixture
def changed(recorded, tmp_path):
    """A copy of a run whose summary was changed and signed again."""

    def copy(name, change):
        folder = tmp_path / "copy"
        shutil.copytree(recorded(name), folder)
        summary = json.loads((folder / "summary.json").read_text())
        change(summary)
        summary["digests"]["summary"] = summary_sha256(summary)
        write_summary(folder, summary)
        return {check.item: check for check in verify(folder)}

    return copy


def test_every_measured_number_is_worked_out_again(changed):
    check = changed("good", lambda _: None)["summary"]
    assert check.ok, check.found
    assert "onset_s" not in check.found  # in none of the keys that no record holds


@pytest.mark.parametrize("key", ["onset_s", "impulse_Ns", "peak_force_u95_N", "impact_speed_measured_mps"])
def test_changed_measured_number_is_noticed(changed, key):
    check = changed("good", lambda summary: summary.update({key: summary[key] * 1.001}))["summary"]
    assert not check.ok
    assert key in check.found


def test_changed_verdict_of_a_rule_is_noticed(changed):
    check = changed("good", lambda summary: summary["quality"][2].update(value=0.1))["summary"]
    assert not check.ok
    assert "quality.2.value" in check.found


def test_summary_made_before_the_analysis_of_samples_is_verified_without_it(changed):
    def earlier(summary):
        for key in SENSED:
            del summary[key]
        summary["accepted"], summary["reasons"] = False, ["a rule that is no more"]

    check = changed("good", earlier)["summary"]
    assert check.ok, check.found
    assert "made by a version without the analysis of samples" in check.found
    assert "onset_s" in check.found


def with_vibration_left_in(summary):
    """As a version wrote it whose leading peaks were those of the corrected readings."""
    summary["filtered_peak_N"], summary["filtered_peak_u95_N"] = summary["peak_force_N"], summary["peak_force_u95_N"]
    for name in ("peak_force", "sum_of_peaks"):
        for what in ("_N", "_u95_N"):
            summary[f"{name}{what}"] = summary.pop(f"corrected_{name}{what}")


def test_summary_made_while_peaks_had_vibration_left_in_is_held_to_those_peaks(changed):
    check = changed("good", with_vibration_left_in)["summary"]
    assert check.ok, check.found
    assert "made by a version that left vibration in peak_force_N" in check.found


def test_other_peak_in_such_a_summary_is_noticed(changed):
    def forged(summary):
        with_vibration_left_in(summary)
        summary["peak_force_N"] *= 1.01

    check = changed("good", forged)["summary"]
    assert not check.ok
    assert "peak_force_N" in check.found


def test_summary_made_before_long_ticks_were_noted_is_verified_without_them(changed):
    check = changed("good", lambda summary: summary["loop"].pop("long_ticks"))["summary"]
    assert check.ok, check.found
    assert "loop" in check.found


def test_one_measured_number_that_is_missing_is_noticed(changed):
    check = changed("good", lambda summary: summary.pop("onset_s"))["summary"]
    assert not check.ok
    assert "onset_s is not there" in check.found


def test_summary_made_before_the_analysis_is_still_held_to_its_other_numbers(changed):
    def earlier(summary):
        for key in SENSED:
            del summary[key]
        summary["peak_force_N"] = 999.0

    check = changed("good", earlier)["summary"]
    assert not check.ok
    assert "peak_force_N" in check.found


def test_burst_has_no_measured_numbers_and_rules_that_need_them_do_not_judge(recorded):
    summary = json.loads((recorded("burst") / "summary.json").read_text())
    assert {summary[key] for key in SENSED if key not in ("quality", "impact_speed_measured_mps")} == {None}
    unjudged = {row["rule"] for row in summary["quality"] if row["ok"] is None}
    assert unjudged >= {"droop", "snap_back"}
    assert summary["accepted"]
