"""What is known of each trial of a campaign, and whether its files are those that the campaign was made of."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hil.analysis.campaign import CSV, JSON, RecordedCampaign, contradictions, other_cell, status_of
from hil.analysis.digests import digests_of, mismatch
from hil.recording.annotation import Annotation, annotation_of
from hil.recording.digests import file_sha256
from hil.recording.run_folder import FolderError, file_in, summary_of

KEPT = "kept"
# Columns of the campaign that a summary does not have, or has in another form.
_NOT_OF_SUMMARY = {"number", "attempt", "seed", "added_mass_kg"}


@dataclass(frozen=True)
class Trial:
    """One trial of a campaign.

    Attributes:
        row: of campaign.csv.
        folder: with its record; None where the campaign keeps none.
        summary: summary.json; empty without a folder.
        wrong: why row, summary and record are not those of one trial, as it left them; empty if they are.
        annotation: note and tags that people wrote on it.
    """

    row: Mapping[str, Any]
    folder: Path | None
    summary: Mapping[str, Any]
    wrong: str
    annotation: Annotation = field(default_factory=Annotation)

    @property
    def kept(self) -> bool:
        """Whether it counts."""
        return self.row.get("status") == KEPT

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
