"""What a report says first: what was done, which trials count and why others do not, and what the forces say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hil.analysis.campaign import RecordedCampaign
from hil.analysis.report.groups import ENERGIES, FORCE, Group, Trial
from hil.analysis.statistics import SPRING, Exponent, TrendVerdict
from hil.experiments.drawing import rig_in_words
from hil.experiments.summary_table import FALSE

# Of `rig`.
_RIGS = {
    "simulated": "on a SIMULATED rig, a model: no hardware moved",
    "simulated_wire": "on a SIMULATED rig, devices simulated at the protocol level: no hardware moved",
    "real": "on the rig itself, real hardware",
}
# Why a trial does not count, by the quality rule that it broke; its own sentence stands in the table of trials.
_BROKEN = {
    "first_hit": "first hit outside the sensing triangle",
    "contact_ended": "the contact did not end",
    "contact_s": "the wheel stayed on the obstacle",
    "weight": "weight or a push of the drives, larger than the impact",
    "snap_back": "the shield snapped back",
    "double_hit": "second hit",
    "saturated": "a sensor at the end of its range",
    "speed": "speed at the impact",
    "cut_late": "the drives were cut late",
    "droop": "droop that cannot be inverted",
    "sensor_dead": "a sensor without signal",
    "veer": "the rover veered",
    "approach": "the rover pointed askew",
}
# Of `trial.release`.
_RELEASES = {
    "automatic": "by the program at the impact",
    "operator": "by an operator after the impact",
    "timed": "at a set time",
}
REJECTED = "rejected by the operator"
_LAW_IN_DOUBT = 0.05  # of p_of_spring


@dataclass(frozen=True)
class _RejectionReason:
    """A reason against trials."""

    words: str  # the reason
    trials: tuple[str, ...]  # labels of the trials that it is one against


def opening(campaign: RecordedCampaign, trials: Sequence[Trial], rig: str | None, times: Sequence[str]) -> str:
    """What was done, on what, by whom and when, in one sentence.

    `rig` is None where the config is not one of this version.
    """
    plan = campaign.meta.get("plan")
    angles = sorted({row["angle_deg"] for row in campaign.rows if row.get("angle_deg") is not None})
    at = f" at {len(angles)} angles from {angles[0]:g}° to {angles[-1]:g}°" if len(angles) > 1 else ""
    at = f" at {angles[0]:g}°" if len(angles) == 1 else at
    of = f"the plan “{campaign.name}”" if isinstance(plan, Mapping) else f"“{campaign.name}”"
    names = sorted({str(row["operator_name"]) for row in campaign.rows if row.get("operator_name")})
    listed = names[-1:] if len(names) < 2 else [", ".join(names[:-1]), names[-1]]
    by = f"led by {' and '.join(listed)}" if names else "without an operator"
    where = _RIGS.get(_rig(campaign, rig), "on a rig of which campaign.json does not say whether it was simulated")
    count = f"{len(trials)} impact trial{'s' if len(trials) != 1 else ''}"
    return f"{count} of {of}{at}, {where}; {by}; {_when(times)}."


def source_line(campaign: RecordedCampaign, times: Sequence[str] = ()) -> str:
    """Of which campaign a figure is, in a line: its name, seed and time, and whether anything real moved.

    Without `times`, `wall_time` of the records, nothing is said of the time.
    """
    rig, when = _rig(campaign, None), f"   {_when(times)}" * any(times)
    return f"campaign {campaign.name}   seed {campaign.meta.get('seed', 'unknown')}{when}   {rig_in_words(rig)}"


def _rig(campaign: RecordedCampaign, rig: str | None) -> str:
    """A config of another version still says which rig it was."""
    found = re.search(r"^rig: (\w+)", str(campaign.meta.get("config", "")), re.MULTILINE)
    return rig or (found[1] if found else "")


def _when(times: Sequence[str]) -> str:
    known = sorted(time for time in times if time)
    if not known:
        return "when is not known, for no records were kept"
    (first_day, first), (last_day, last) = ((time[:10], time[11:16]) for time in (known[0], known[-1]))
    if first_day != last_day:
        return f"{first_day} {first} to {last_day} {last} UTC"
    return f"{first_day}, {first} to {last} UTC" if first != last else f"{first_day}, {first} UTC"


def reasons_against(campaign: RecordedCampaign, trials: Sequence[Trial]) -> list[_RejectionReason]:
    """Why trials do not count, the commonest reason first; a trial that broke two rules stands under both."""
    against: dict[str, list[str]] = {}
    for trial, entry in zip(trials, campaign.trials, strict=True):
        if not trial.kept:
            by_rules = [] if trial.row.get("status") == "kept" else _reasons(entry["summary"])
            for words in [*by_rules, *[REJECTED] * trial.rejected]:
                against.setdefault(words, []).append(trial.label)
    return [
        _RejectionReason(words, tuple(labels))
        for words, labels in sorted(against.items(), key=lambda item: -len(item[1]))
    ]


def _reasons(summary: Mapping[str, Any]) -> list[str]:
    """What ended a trial early; or else the rules that it broke, in words; or else its own sentences."""
    said = [str(reason) for reason in summary.get("reasons") or ()]
    if summary.get("aborted"):  # the first sentence has the fault's number and name, and then what was found
        return [f"ended early, {': '.join(said[0].split(': ')[:2])}" if said else "ended early"]
    rules = [rule for rule in summary.get("quality") or () if isinstance(rule, Mapping) and rule.get("ok") is False]
    names = [str(rule.get("rule")) for rule in rules]
    found = [_BROKEN.get(name, name) for name in names] or list(map(_without_numbers, said))
    return list(dict.fromkeys(found)) or ["no reason was recorded"]


def _without_numbers(reason: str) -> str:
    """A claim of the twin that is false, without the numbers by which no two trials would have the same reason."""
    return re.split(r" [-+]?\d", reason, maxsplit=1)[0] if reason.startswith(FALSE) else reason


def kept_sentence(trials: Sequence[Trial]) -> str:
    """How many trials count, and how many do not by the rules, by a fault and by the operator alone."""
    kept = sum(trial.kept for trial in trials)
    by_rules = Counter(str(trial.row.get("status")) for trial in trials)
    found = {
        "dropped by the rules": by_rules["dropped"],
        "ended by a fault": by_rules["faulted"],
        f"{REJECTED} alone": by_rules["kept"] - kept,
    }
    if kept == len(trials):
        return f"All {kept} trials count."
    return f"{kept} of {len(trials)} trials count; {', '.join(f'{n} {words}' for words, n in found.items() if n)}."


def release_sentence(trials: Sequence[Trial]) -> str:
    """What cut the drives; "" where no trial says it."""
    found = Counter(str(one) for trial in trials if (one := trial.summary.get("release")))
    if not found:
        return ""
    parts = [f"{_RELEASES.get(kind, kind)} in {_counted(n, 'trial')}" for kind, n in found.most_common()]
    return f"The drives were released {', '.join(parts)}."


def spread_sentence(group: Group) -> str:
    """How far the trials of an angle lie from each other."""
    deviation = group.mean_deviation()
    if deviation is None:
        return "No angle has two trials that count, so there is no spread."
    of_angles = {
        angle: one.mean_absolute_deviation / one.mean for angle, one in group.over_angle(FORCE).items() if one.n > 1
    }
    widest = max(of_angles, key=lambda angle: of_angles[angle])
    return (
        f"Trials of one angle lie {_percent(deviation)} from their mean (mean absolute deviation over "
        f"{_counted(len(of_angles), 'angle')}), most at {widest:g}°: {_percent(of_angles[widest])}. "
        "MacMahon 2016: about 10 %."
    )


def trend_sentence(group: Group, energy: str) -> str:
    """Whether the force over the angle goes as this T_c, with the numbers that say so."""
    found, ranks = group.exponent(energy), group.trend(energy).of_means
    with_what = ENERGIES[energy].removeprefix("T_c ")
    if found.verdict == TrendVerdict.TOO_FEW:
        why = "T_c does not change" if found.angles > 2 else f"{_counted(found.angles, 'angle')} with trials that count"
        return f"Whether the force follows T_c ({with_what}) cannot be judged: {why}; it takes three angles."
    said = {
        TrendVerdict.FOLLOWS: f"The force follows T_c ({with_what})",
        TrendVerdict.DIFFERS: f"The trend of the force differs from that of T_c ({with_what}): {found.how}",
        TrendVerdict.NOT_SHOWN: f"The force does not show a trend with T_c ({with_what}); these trials are too few, or "
        "scatter too much, to exclude one",
    }[found.verdict]
    holds = {
        TrendVerdict.FOLLOWS: f"holds the {SPRING:g} of F = a √T_c and not 0",
        TrendVerdict.DIFFERS: f"does not hold the {SPRING:g} of F = a √T_c",
        TrendVerdict.NOT_SHOWN: f"holds both 0 and the {SPRING:g} of F = a √T_c",
    }[found.verdict]
    rank = f"; rank correlation of the means {ranks.rho:+.2f}, {p_words(ranks.p)}" if ranks else ""
    return (
        f"{said}. F = a T_c^b has b = {found.b:.2f}, 95 % interval {found.low:.2f} to {found.high:.2f} over the means "
        f"of {found.angles} angles, which {holds}{rank}.{_off_the_law(found)}"
    )


def _off_the_law(found: Exponent) -> str:
    """That the law does not tell all, where a trend follows it and yet the means stray by more than their scatter."""
    if found.verdict != TrendVerdict.FOLLOWS or found.p_of_spring is None or found.p_of_spring >= _LAW_IN_DOUBT:
        return ""
    return (
        " Yet the means lie farther from F = a √T_c than the scatter of the trials explains "
        f"({p_words(found.p_of_spring)}), most at {found.farthest_deg:g}°: {100.0 * found.farthest_share:+.0f} %."
    )


def outlier_words(share: float, p: float) -> str:
    """How far a trial lies from the others of its angle."""
    return f"{100.0 * share:+.0f} % against the others at its angle, {p_words(p)}"


def p_words(p: float) -> str:
    """A probability: `p = 0.03`, or `p < 0.0001`."""
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f} %"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
