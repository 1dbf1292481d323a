"""Trials that may be compared with each other, and what their forces say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hil.analysis import statistics
from hil.analysis.campaign import RecordedCampaign
from hil.analysis.outliers import TrialDeviation, outliers
from hil.analysis.report.trials import Trial
from hil.analysis.statistics import Fit, RankCorrelation, SampleSpread
from hil.analysis.trend import Exponent, exponent_over_angles
from hil.config import Config, ConfigError, parse_config

FORCE = "sum_of_peaks_N"
FORCES = {FORCE: "sum of the channels' peaks", "peak_force_N": "peak of the sum"}
STRAIN = {"strain_peak_N": "peak by strain gauges"}  # of rigs that have them
WITHOUT, WITH = "effective_kinetic_energy_J", "effective_kinetic_energy_on_ground_J"
ENERGIES = {WITHOUT: "T_c without ground", WITH: "T_c with the ground's active constraints"}
# The T_c that belongs to a ground, chosen before the forces are looked at. Soil gives way like no ground at all: by
# simulation the force over sqrt(T_c) then changes least (docs/explanation/contact.md).
FITTING = {"none": WITHOUT, "soil": WITHOUT, "firm": WITH, "rigid": WITH, "nonsmooth": WITH}
# What makes trials different in kind, beside the angle: column, and how it is said.
_KINDS = (("ground", "{} ground"), ("variant", "{}"), ("added_mass_kg", "{:g} kg added"), ("wheels", "{} wheels"))


@dataclass(frozen=True)
class _Trend:
    """How the force goes with T_c.

    Attributes:
        energy: key of the T_c.
        fits: whether that is the one that belongs to the ground.
        of_trials: over all trials.
        of_means: over the means of the angles; trials of one angle are no independent proof of a trend.
        laws: sqrt and power law, fitted to all trials.
    """

    energy: str
    fits: bool
    of_trials: RankCorrelation | None
    of_means: RankCorrelation | None
    laws: tuple[Fit, ...]


@dataclass(frozen=True)
class Group:
    """Trials of one kind, kept or not.

    Attributes:
        label: what they have in common, in words.
        kind: of the ground: none, soil, firm, rigid, or unknown.
        trials: all of them.
    """

    label: str
    kind: str
    trials: tuple[Trial, ...]

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
        laws = (statistics.fit_sqrt(T, F), statistics.fit_power(T, F))
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
