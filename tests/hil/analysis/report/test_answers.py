"""What a report says first: that it is true of the trials, and that no more is said than they bear."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.analysis.campaign import RecordedCampaign, row_of
from hil.analysis.report import answers
from hil.analysis.report.groups import FORCE, WITH, WITHOUT, Group, Trial
from hil.analysis.statistics import spread_of
from hil.cli.trial import spread_cells

ENERGY = {40.0: 0.10, 50.0: 0.13, 60.0: 0.17, 70.0: 0.21, 80.0: 0.25, 90.0: 0.28}
JITTER = (0.98, 1.01, 1.03, 0.98)  # of the trials of an angle


def entry(number, angle=60.0, force=100.0, status="kept", attempt=1, **summary):
    broken = summary.pop("broken", ())
    return {
        "number": number, "attempt": attempt, "status": status, "folder": "", "settings": {"angle_deg": angle},
        "operator": summary.pop("operator", None),
        "summary": {
            "accepted": status == "kept", "aborted": status == "faulted", FORCE: force, WITH: ENERGY.get(angle, 0.2),
            WITHOUT: 0.2, "quality": [{"rule": rule, "ok": False} for rule in broken], **summary,
        },
    }  # fmt: skip


def campaign_of(entries, **meta):
    rows = [row_of(one) for one in entries]
    meta = {"plan": {}, "config": "name: sim_impact\nrig: simulated\n"} | meta
    return RecordedCampaign("the plan", rows, meta, entries, Path(), "")


def trials_of(campaign):
    return [Trial(row, None, {}, "") for row in campaign.rows]


def group_of(entries, kind="firm"):
    return Group("hard ground", kind, tuple(trials_of(campaign_of(entries))))


def over_angle(force_at, jitter=JITTER):
    """Four trials at each angle, with a force over the angle."""
    forces = [(angle, force_at(angle) * part) for angle in ENERGY for part in jitter]
    return [entry(number, angle, force) for number, (angle, force) in enumerate(forces, 1)]


def opening(campaign, times=()):
    return answers.opening(campaign, trials_of(campaign), None, times)


TIMES = ("2026-11-25T09:41:07Z", "2026-11-25T09:17:30Z")


def test_the_first_sentence_says_what_was_done_on_what_by_whom_and_when():
    operator = {"name": "Müller", "verdict": "keep", "word": ""}
    campaign = campaign_of([entry(1, 40.0, operator=operator), entry(2, 90.0, operator=operator)])
    assert opening(campaign, TIMES) == (
        "2 impact trials of the plan “the plan” at 2 angles from 40° to 90°, on a SIMULATED rig, a model: no hardware "
        "moved; led by Müller; 2026-11-25, 09:17 to 09:41 UTC."
    )


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("rig: simulated", "SIMULATED rig, a model"),
        ("rig: simulated_wire", "SIMULATED rig, devices simulated at the protocol level"),
        ("rig: real", "on the rig itself, real hardware"),
        ("", "does not say whether it was simulated"),
    ],
)
def test_what_is_simulated_is_called_so_and_nothing_else_is(config, said):
    sentence = opening(campaign_of([entry(1)], config=f"name: x\n{config}\n"))
    assert said in sentence
    assert ("SIMULATED" in sentence) == ("simulated" in config)


def test_each_figure_says_of_which_campaign_it_is_and_whether_anything_real_moved():
    assert answers.source_line(campaign_of([entry(1)], seed=7), TIMES) == (
        "campaign the plan   seed 7   2026-11-25, 09:17 to 09:41 UTC   SIMULATED rig"
    )
    assert answers.source_line(campaign_of([entry(1)], config="")).endswith("rig unknown")


def test_what_is_not_known_is_not_said():
    sentence = opening(campaign_of([entry(1)]))
    assert "without an operator" in sentence
    assert "when is not known" in sentence
    assert "2026-11-24 23:50 to 2026-11-25 00:10 UTC" in opening(
        campaign_of([entry(1)]), ("2026-11-25T00:10:00Z", "2026-11-24T23:50:00Z", "")
    )


MIXED = [
    entry(1),
    entry(2, status="dropped", broken=("first_hit", "veer")),
    entry(3, status="dropped", broken=("first_hit",)),
    entry(4, status="faulted", reasons=["fault 32: rover twin: least wheel load 0", "the rover veered"]),
    entry(4, attempt=2),
    entry(5, status="dropped", reasons=["the rig fell over"]),
    entry(6, force=500.0, operator={"name": "N", "verdict": "repeat", "word": "somebody stepped on the plate"}),
]


def test_each_trial_that_was_not_kept_stands_under_each_of_its_reasons():
    campaign = campaign_of(MIXED)
    found = {why.words: why.trials for why in answers.reasons_against(campaign, trials_of(campaign))}
    assert found == {
        "first hit outside the sensing triangle": ("2", "3"),
        "the rover veered": ("2",),
        "ended early, fault 32: rover twin": ("4",),
        "the rig fell over": ("5",),
        "rejected by the operator": ("6",),
    }
    assert next(iter(found)) == "first hit outside the sensing triangle"  # the commonest first


def test_trials_of_which_the_twin_says_the_same_untrue_thing_stand_together_whatever_its_numbers_are():
    false = "not so by the simulated rig: speed at the impact {} m/s, there 0.02; allowed: 0.009 apart"
    mixed = [entry(n, status="dropped", reasons=[false.format(speed)]) for n, speed in enumerate((0.07, 0.0618), 1)]
    campaign = campaign_of(mixed)
    (why,) = answers.reasons_against(campaign, trials_of(campaign))
    assert why.words == "not so by the simulated rig: speed at the impact"
    assert why.trials == ("1", "2")


def test_what_the_rules_a_fault_and_the_operator_leave_out_is_counted_apart():
    assert answers.kept_sentence(trials_of(campaign_of(MIXED))) == (
        "2 of 7 trials count; 3 dropped by the rules, 1 ended by a fault, 1 rejected by the operator alone."
    )
    assert answers.kept_sentence(trials_of(campaign_of(MIXED[:1] * 3))) == "All 3 trials count."


def test_a_trial_that_the_operator_rejects_is_in_no_mean():
    assert group_of(MIXED).over_angle(FORCE)[60.0].n == 2
    assert [row["counts"] for row in campaign_of(MIXED).rows] == [True, False, False, False, True, False, False]


@pytest.mark.parametrize(
    ("force_at", "said", "not_said"),
    [
        (lambda angle: 200.0 * ENERGY[angle] ** 0.5, "The force follows T_c", ("differs", "does not show")),
        (lambda angle: 200.0 * ENERGY[angle] ** -0.5, "differs from that of T_c", ("follows", "does not show")),
        (lambda angle: 100.0 + 40.0 * (angle % 20.0 > 5.0), "does not show a trend", ("follows", "differs")),
    ],
    ids=["as the root of T_c", "falling", "up and down"],
)
def test_the_trend_is_said_in_words_with_its_number(force_at, said, not_said):
    group = group_of(over_angle(force_at))
    sentence, found = answers.trend_sentence(group, WITH), group.exponent(WITH)
    assert said in sentence
    assert not any(words in sentence for words in not_said)
    assert (
        f"b = {found.b:.2f}, 95 % interval {found.low:.2f} to {found.high:.2f} over the means of 6 angles" in sentence
    )
    assert f"rank correlation of the means {group.trend(WITH).of_means.rho:+.2f}, p = " in sentence


def test_a_trend_that_follows_with_an_angle_off_it_says_so():
    group = group_of(over_angle(lambda angle: 200.0 * ENERGY[angle] ** 0.5 * (1.15 if angle == 60.0 else 1.0)))
    sentence = answers.trend_sentence(group, WITH)
    assert "follows T_c" in sentence
    assert "Yet the means lie farther from F = a √T_c than the scatter of the trials explains" in sentence
    assert "most at 60°: +1" in sentence


@pytest.mark.parametrize(
    ("energy", "why"), [(WITHOUT, "T_c does not change"), (WITH, "2 angles with trials that count")]
)
def test_what_cannot_be_judged_is_said_to_be_so(energy, why):
    entries = over_angle(lambda angle: 100.0 + angle)
    group = group_of(entries if energy == WITHOUT else [one for one in entries if one["settings"]["angle_deg"] < 60.0])
    sentence = answers.trend_sentence(group, energy)
    assert "cannot be judged" in sentence
    assert why in sentence


def test_the_spread_names_the_angle_where_it_is_widest():
    entries = over_angle(lambda _: 100.0)
    entries[8]["summary"][FORCE] = 140.0  # at 60 degrees
    group = group_of(entries)
    sentence = answers.spread_sentence(group)
    assert f"lie {100 * group.mean_deviation():.1f} % from their mean" in sentence
    assert "most at 60°" in sentence
    assert "no spread" in answers.spread_sentence(group_of(entries[::4]))


def test_an_outlier_is_named_by_its_trial_and_counts():
    entries = over_angle(lambda _: 100.0, (0.95, 1.01, 1.05, 0.98))
    entries[8]["summary"][FORCE] = 200.0
    entries.append(entry(99, 60.0, 900.0, status="dropped"))
    group = group_of(entries)
    ((trial, found),) = group.outliers
    assert (trial.label, found.outlying) == ("9", True)
    assert group.over_angle(FORCE)[60.0].n == 4
    assert f"{100 * found.share:+.0f} % against the others" in answers.outlier_words(found.share, found.p)


def test_one_trial_has_no_spread():
    assert spread_cells(spread_of([80.0])) == ("1", "80", "-", "-")


def test_what_released_the_drives_is_said_with_the_number_of_trials():
    summaries = [{"release": "automatic"}, {"release": "automatic"}, {"release": "operator"}, {}]
    trials = [Trial(entry(1)["settings"], None, summary, "") for summary in summaries]
    assert answers.release_sentence(trials) == (
        "The drives were released by the program at the impact in 2 trials, by an operator after the impact in 1 trial."
    )
    assert answers.release_sentence(trials[3:]) == ""
