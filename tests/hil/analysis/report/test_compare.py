import json

import numpy as np
import pytest
from scipy import stats

from hil.analysis.compare import compare, draw_comparison
from hil.analysis.report.make import DoubtedError
from hil.cli import run
from hil.recording.run_folder import FolderError

pytestmark = pytest.mark.slow

FIRST = {50.0: (80.0, 84.0, 79.0), 70.0: (90.0, 95.0, 91.0, 92.0), 90.0: (60.0,)}
SECOND = {50.0: (100.0, 104.0, 95.0, 99.0), 70.0: (93.0, 92.0, 99.0)}


@pytest.fixture
def both(campaign_of, tmp_path):
    return campaign_of(tmp_path / "a", FIRST), campaign_of(tmp_path / "b", SECOND)


def test_each_angle_has_the_difference_of_the_trials_that_count(both):
    found = compare(*both)
    assert [row.angle_deg for row in found.rows] == [50.0, 70.0, 90.0]
    for row in found.rows[:2]:
        test = stats.ttest_ind(SECOND[row.angle_deg], FIRST[row.angle_deg], equal_var=False)
        interval = test.confidence_interval()
        assert row.difference.value == pytest.approx(np.mean(SECOND[row.angle_deg]) - np.mean(FIRST[row.angle_deg]))
        assert (row.difference.low, row.difference.high) == pytest.approx((interval.low, interval.high))
        assert row.difference.p == pytest.approx(test.pvalue)


def test_an_angle_of_one_campaign_alone_is_shown_and_does_not_count(both):
    found = compare(*both)
    assert found.rows[2].second is found.rows[2].difference is None
    differences = [np.mean(SECOND[angle]) - np.mean(FIRST[angle]) for angle in SECOND]
    assert found.overall.value == pytest.approx(np.mean(differences))
    assert found.overall.low < found.overall.value < found.overall.high


def test_the_other_way_round_the_difference_has_the_other_sign(both):
    there, back = compare(*both).overall, compare(*both[::-1]).overall
    assert (there.value, there.low, there.high) == pytest.approx((-back.value, -back.high, -back.low))


def test_grounds_are_kept_apart_where_both_campaigns_have_the_same(campaign_of, tmp_path):
    soil = campaign_of(tmp_path / "a", FIRST)
    assert {row.ground for row in compare(soil, campaign_of(tmp_path / "b", SECOND)).rows} == {"soil"}
    assert {row.ground for row in compare(soil, campaign_of(tmp_path / "c", SECOND, "firm")).rows} == {""}


def test_campaigns_without_a_common_angle_have_no_overall_difference(campaign_of, tmp_path):
    found = compare(campaign_of(tmp_path / "a", {50.0: (1.0, 2.0)}), campaign_of(tmp_path / "b", {60.0: (1.0, 2.0)}))
    assert found.overall is None
    draw_comparison(found)


def test_a_quantity_that_is_not_there_is_refused(both):
    with pytest.raises(FolderError, match="no trial that counts has the number peak_N"):
        compare(*both, quantity="peak_N")


def test_a_campaign_that_does_not_match_its_digests_is_refused(campaign_folder, tmp_path, both):
    doubtful = campaign_folder(tmp_path)
    (doubtful / "trial_0001" / "summary.json").unlink()
    with pytest.raises(DoubtedError, match="not compared: trial_0001 has no summary"):
        compare(both[0], doubtful)
    assert compare(both[0], doubtful, unverified=True).wrong


def test_the_command_prints_the_difference_and_draws_one_figure(campaign_of, tmp_path, capsys):
    first, second = campaign_of(tmp_path / "a", FIRST, name="[red]$x^$"), campaign_of(tmp_path / "b", SECOND)
    out = tmp_path / "out"
    assert run(["compare", str(first), str(second), "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["names"] == ["[red]$x^$", "b"]
    assert found["overall"]["value"] == pytest.approx(compare(first, second).overall.value)
    assert {path.name for path in out.iterdir()} == {"compare.png", "compare.pdf", "compare.svg"}
    assert run(["compare", str(first), str(second), "--out", str(tmp_path / "again")]) == 0
    printed = capsys.readouterr().out
    assert "sum_of_peaks_N: A [red]$x^$, B b" in printed
    assert f"{compare(first, second).overall.value:+.4g}" in printed


def test_campaigns_of_one_name_are_told_apart_by_folder_at_80_columns(campaign_of, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    folders = [
        campaign_of(tmp_path / name, forces, name="same") for name, forces in (("heavy", FIRST), ("light", SECOND))
    ]
    found = compare(*folders)
    assert found.names == ("heavy", "light")
    assert draw_comparison(found).axes[0].get_legend_handles_labels()[1] == ["A: heavy", "B: light"]
    assert run(["compare", *map(str, folders), "--out", str(tmp_path / "out")]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in rows if line[0] in "┏┃┡│└") <= 80
    (row,) = [line.split() for line in rows if " 50 " in line]  # a row of the table an angle, not a list of its cells
    assert {f"{np.mean(FIRST[50.0]):.4g},", f"{np.mean(SECOND[50.0]):.4g},"} <= set(row)


def test_the_command_refuses_what_is_no_campaign(campaign_of, tmp_path, capsys):
    assert run(["compare", str(campaign_of(tmp_path / "a", FIRST)), str(tmp_path / "none")]) == 2
    assert "none holds no campaign.json" in capsys.readouterr().err


def test_of_two_runs_each_number_that_differs_is_listed_with_its_difference(recorded, capsys):
    good, delayed = recorded("good"), recorded("delayed")
    assert run(["compare", str(good), str(delayed), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    a, b = (json.loads((folder / "summary.json").read_text()) for folder in (good, delayed))
    numbers = [key for key in a if isinstance(a[key], float) and isinstance(b[key], float) and a[key] != b[key]]
    numbers.remove("real_time_factor")  # of the computer
    assert numbers
    assert set(numbers) <= set(found)
    assert not [key for key in found if key.startswith("loop.")]
    for key in numbers:
        assert found[key] == {"a": a[key], "b": b[key], "difference": b[key] - a[key]}
    assert run(["compare", str(good), str(good)]) == 0
    assert ": 0 numbers differ" in " ".join(capsys.readouterr().out.split())
