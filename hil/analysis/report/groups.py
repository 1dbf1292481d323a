"""What is known of each trial, whether its files are those of the campaign, and which trials may be compared."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hil.analysis import statistics
from hil.analysis.campaign import CSV, JSON, RecordedCampaign, contradictions, counts, other_cell, status_of
from hil.analysis.digests import digests_of, mismatch
from hil.analysis.statistics import (
    Exponent,
    Fit,
    RankCorrelation,
    SampleSpread,
    TrialDeviation,
    exponent_over_angles,
    outliers,
)
from hil.config import Config, ConfigError, parse_config
from hil.recording.child_reader import file_sha256
from hil.recording.run_folder import Annotation, FolderError, annotation_of, file_in, summary_of

# Columns of the campaign that a summary does not have, or has in another form.
_NOT_OF_SUMMARY = {"number", "attempt", "seed", "added_mass_kg"}


@dataclass(frozen=True)
class Trial:
    """One trial of a campaign."""

    row: Mapping[str, Any]  # of campaign.csv
    folder: Path | None  # with its record; None where the campaign keeps none
    summary: Mapping[str, Any]  # summary.json; empty without a folder
    wrong: str  # why row, summary and record are not those of one trial, as it left them; empty if they are
    annotation: Annotation = field(default_factory=Annotation)  # note and tags that people wrote on it

    @property
    def kept(self) -> bool:
        """Whether it counts: by the rules and, where one was asked, by the operator."""
        return counts(self.row)

    @property
    def rejected(self) -> bool:
        """Whether the operator has said that it is to be repeated."""
        return self.row.get("operator_verdict") == "repeat"

    @property
    def label(self) -> str:
        """Its number, and its attempt if that is not the first."""
        attempt = self.row.get("attempt")
        return f"{self.row.get('number')}" + (f".{attempt}" if attempt not in (None, 1) else "")


def doubts(campaign: RecordedCampaign, trials: Sequence[Trial]) -> tuple[str, ...]:
    """Why files of a campaign are not to be trusted: a sentence for each file, or trial, concerned."""
    problems = [campaign.wrong] if campaign.wrong else []
    path = campaign.folder / CSV
    try:
        if file_sha256(path) != (campaign.meta.get("digests") or {}).get("csv"):
            problems.append(f"{CSV} does not match its digest in {JSON}: it was changed")
        elif wrong := other_cell(path.read_bytes().decode(), campaign.rows):
            problems.append(f"{CSV} has {wrong}")
    except (OSError, ValueError, csv.Error) as error:
        problems.append(f"{CSV} cannot be read: {getattr(error, 'strerror', None) or error}")
    return (*problems, *(trial.wrong for trial in trials if trial.wrong), *contradictions(campaign))


def trials_of(campaign: RecordedCampaign) -> list[Trial]:
    """All trials, in the order of the plan; a trial whose files are damaged is there too, with what is wrong."""
    return [_trial(campaign.folder, row) for row in campaign.rows]


def _trial(folder: Path, row: Mapping[str, Any]) -> Trial:
    name = str(row.get("folder") or "")
    if not name:
        return Trial(row, None, {}, "")
    try:
        run = file_in(folder, name)
        summary = summary_of(run)
    except FolderError as error:
        return Trial(row, None, {}, str(error))
    if summary is None:
        return Trial(row, None, {}, f"{name} has no summary.json")
    wrong = mismatch(run, summary)
    if not wrong and digests_of(summary).get("content") != row.get("content"):
        wrong = f"{name} holds another trial than {JSON} says: content digests differ"
    if not wrong:
        changed = next(_changed(row, summary), None)
        wrong = f"{JSON} has {changed[0]} {changed[1]!r}, summary.json {changed[2]!r}" if changed else ""
    try:
        written = annotation_of(run)
    except FolderError as error:
        written = Annotation(str(error))
    return Trial(row, run, summary, f"{name}: {wrong}" if wrong and not wrong.startswith(name) else wrong, written)


def _changed(row: Mapping[str, Any], summary: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Numbers of the row that are not those of the summary."""
    if row.get("accepted") != summary.get("accepted"):
        yield "accepted", row.get("accepted"), summary.get("accepted")
    if row.get("status") != status_of(summary):
        yield "status", row.get("status"), status_of(summary)
    said = dict(_numbers(summary))
    for key, value in row.items():
        if key in _NOT_OF_SUMMARY or key not in said or isinstance(value, str):
            continue
        other = said[key]
        same = value is other if value is None or other is None else math.isclose(value, other, rel_tol=1e-12)
        if not same:
            yield key, value, other


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, float | None]]:
    """Numbers and nulls of a summary by their flat keys, as in `load_point_m.0`."""
    if isinstance(value, Mapping | list):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, item in items:
            yield from _numbers(item, f"{path}.{key}" if path else str(key))
    elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield path, value


FORCE = "sum_of_peaks_N"
FORCES = {FORCE: "sum of the channels' peaks", "peak_force_N": "peak of the sum"}
STRAIN = {"strain_peak_N": "peak by strain gauges"}  # of rigs that have them
WITHOUT, WITH = "effective_kinetic_energy_J", "effective_kinetic_energy_on_ground_J"
ENERGIES = {WITHOUT: "T_c without ground", WITH: "T_c with the ground's active constraints"}
# The T_c that belongs to a ground, chosen before the forces are looked at. Soil gives way like no ground at all: by
# simulation the force over sqrt(T_c) then changes least (docs/explanation/contact.md).
FITTING = {"none": WITHOUT, "soil": WITHOUT, "firm": WITH, "rigid": WITH, "nonsmooth": WITH}
# What makes trials different in kind, besides the angle: column, and how it is said.
_KINDS = (("ground", "{} ground"), ("variant", "{}"), ("added_mass_kg", "{:g} kg added"), ("wheels", "{} wheels"))


@dataclass(frozen=True)
class _Trend:
    """How the force goes with T_c."""

    energy: str  # key of the T_c
    fits: bool  # whether that is the one that belongs to the ground
    of_trials: RankCorrelation | None  # over all trials
    # over the means of the angles; trials of one angle are no independent proof of a trend.
    of_means: RankCorrelation | None
    laws: tuple[Fit, ...]  # sqrt law, fitted to all trials, and power law with the exponent of the means


@dataclass(frozen=True)
class Group:
    """Trials of one kind, kept or not."""

    label: str  # what they have in common, in words
    kind: str  # of the ground: none, soil, firm, rigid, or unknown
    trials: tuple[Trial, ...]  # all of them

    @cached_property
    def kept(self) -> list[Mapping[str, Any]]:
        """Rows of those that count."""
        return [trial.row for trial in self.trials if trial.kept]

    @property
    def fitting(self) -> str:
        """Key of the T_c that belongs to the ground."""
        return FITTING.get(self.kind, WITHOUT)

    @property
    def other(self) -> str:
        """Key of the other T_c."""
        return WITHOUT if self.fitting == WITH else WITH

    def over_angle(self, key: str) -> dict[float, SampleSpread]:
        """A quantity of the trials that count, at each angle."""
        pairs = list(statistics.paired(self.kept, "angle_deg", key))
        return statistics.over_angle([angle for angle, _ in pairs], [value for _, value in pairs])

    def trend(self, energy: str, force: str = FORCE) -> _Trend:
        """Of the force over one of the T_c."""
        rows = list(statistics.paired(self.kept, "angle_deg", energy, force))
        angles, T, F = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
        means = [
            [spread.mean for spread in statistics.over_angle(angles, values).values()] if rows else []
            for values in (T, F)
        ]
        laws = (statistics.fit_sqrt(T, F), statistics.power_law(self.exponent(energy, force), T, F))
        return _Trend(
            energy,
            energy == self.fitting,
            statistics.rank_correlation(T, F),
            statistics.rank_correlation(*means),
            tuple(law for law in laws if law is not None),
        )

    def exponent(self, energy: str, force: str = FORCE) -> Exponent:
        """Whether the force over the angle goes as one of the T_c."""
        rows = list(statistics.paired(self.kept, "angle_deg", energy, force))
        return exponent_over_angles(*(list(zip(*rows, strict=True)) or [(), (), ()]))

    @cached_property
    def outliers(self) -> list[tuple[Trial, TrialDeviation]]:
        """Trials whose force outlies, or else the one farthest from the others of its angle; none of too few."""
        rows = [
            (trial, angle, force)
            for trial in self.trials
            if trial.kept
            for angle, force in statistics.paired([trial.row], "angle_deg", FORCE)
            if force > 0.0
        ]
        found = outliers([angle for _, angle, _ in rows], [force for *_, force in rows])
        return [(rows[one.place][0], one) for one in found]

    def mean_deviation(self, key: str = FORCE) -> float | None:
        """Mean over the angles with several trials of the mean absolute deviation, as a share of the mean."""
        shares = [
            spread.mean_absolute_deviation / spread.mean for spread in self.over_angle(key).values() if spread.n > 1
        ]
        return float(np.mean(shares)) if shares else None


def groups_of(trials: Sequence[Trial], campaign: RecordedCampaign, ground: str | None) -> list[Group]:
    """Trials by ground, rover, mass and wheels; named after what differs, and after the ground."""
    differing = [
        (key, words) for key, words in _KINDS if key == "ground" or len({trial.row.get(key) for trial in trials}) > 1
    ]
    groups: dict[tuple[Any, ...], list[Trial]] = {}
    for trial in trials:
        groups.setdefault(tuple(trial.row.get(key) for key, _ in differing), []).append(trial)
    return [
        Group(
            ", ".join(
                words.format(value) for (_, words), value in zip(differing, kind, strict=True) if value is not None
            )
            or "all trials",
            _kind_of_ground(kind[0], campaign, ground),
            tuple(members),
        )
        for kind, members in sorted(groups.items(), key=lambda item: [str(part) for part in item[0]])
    ]


def _kind_of_ground(name: Any, campaign: RecordedCampaign, ground: str | None) -> str:
    """What `ground.kind` was on a ground of the plan: by the plan, by the name itself, or by the config."""
    plan = campaign.meta.get("plan")
    try:
        kind = plan["soils"][name]["set"]["ground.kind"] if isinstance(plan, Mapping) else name
    except (LookupError, TypeError):
        kind = name
    return str(kind) if kind in FITTING or ground is None else ground


def config_of(campaign: RecordedCampaign) -> Config | None:
    """The config that the plan starts from; None where it is not one of this version."""
    try:
        return parse_config(str(campaign.meta.get("config", "")), "campaign.json")
    except ConfigError:
        return None
