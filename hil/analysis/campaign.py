"""The files of a campaign: campaign.json, and campaign.csv, which is made of it row by row."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.config.files import read_json
from hil.config.text_io import no_formula, write_rows
from hil.config.unchecked_config import fingerprint
from hil.recording.run_folder import FolderError, file_in

JSON, CSV = "campaign.json", "campaign.csv"
# A trial takes 6 kB: ten thousand of them.
MOST_BYTES = 2**26
# Keys of a summary that differ from run to run though the trial is the same, or from file to file.
NOT_COMPARED = ("loop", "links", "machine", "simulated_rig", "real_time_factor")
# Of a summary, what a row has under another name or not at all.
_ELSEWHERE = frozenset({"angle_deg", "seed", "accepted", "reasons", "aborted"})
_OPERATOR = ("name", "verdict", "word")
_RUN_FOLDER = re.compile(r"trial_\d{4,}(_\d+)?")


@dataclass(frozen=True)
class RecordedCampaign:
    """A campaign as its folder has it."""

    name: str  # of the plan
    # of campaign.csv, by its column names, values as in campaign.json: numbers, text, true or false, None.
    rows: list[dict[str, Any]]
    meta: dict[str, Any]  # campaign.json without its trials
    trials: list[dict[str, Any]]  # those of campaign.json
    folder: Path  # where it is
    wrong: str  # why campaign.json is not as it was written; empty if it is


def read_campaign(folder: Path) -> RecordedCampaign:
    """Read a campaign's folder. Raises FolderError: there is no campaign in it, or its file cannot be read."""
    path = file_in(folder, JSON)
    try:
        content = read_json(path, MOST_BYTES)
    except FileNotFoundError:
        raise FolderError(
            f"{folder} holds no {JSON}: give the folder of a campaign (hil campaign); hil runs lists single runs"
        ) from None
    except (OSError, ValueError) as error:
        raise FolderError(f"{path} cannot be read: {error}") from None
    try:
        trials = content.pop("trials")
        rows = [row_of(trial) for trial in trials]
        if not all(isinstance(trial[key], int) for trial in trials for key in ("number", "attempt")):
            raise TypeError("number or attempt of a trial is no whole number")
        name = str(content["name"])
        wrong = "" if own_digest({**content, "trials": trials}) == content["digests"]["campaign"] else "it was changed"
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FolderError(f"{path} is no file of a campaign ({type(error).__name__}: {error})") from None
    return RecordedCampaign(name, rows, content, trials, folder, wrong and f"{JSON} does not match its digest: {wrong}")


def own_digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of campaign.json without its digests: of its JSON with sorted keys and no spaces."""
    return fingerprint({key: value for key, value in content.items() if key != "digests"})


def compared(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A summary without times of this machine, which differ from run to run."""
    kept = {key: value for key, value in summary.items() if key not in NOT_COMPARED}
    digests = summary.get("digests")
    return {**kept, "digests": {"content": digests["content"]}} if isinstance(digests, dict) else kept


def status_of(summary: Mapping[str, Any]) -> str:
    """What the rules make of a trial by its summary: faulted, kept or dropped."""
    return "faulted" if summary.get("aborted") else "kept" if summary.get("accepted") else "dropped"


def counts(row: Mapping[str, Any]) -> bool:
    """Whether a trial counts: the rules keep it, and no operator has said that it is to be repeated."""
    return bool(row.get("status") == "kept" and row.get("operator_verdict") != "repeat")


def contradictions(campaign: RecordedCampaign) -> Iterator[str]:
    """Where plan, trials, statuses and run folders of a campaign contradict each other, a sentence each.

    Planned trials that are not there are none: the campaign was stopped, or goes on.
    """
    meta, trials = campaign.meta, campaign.trials
    if "plan_sha256" in meta and fingerprint(meta.get("plan")) != meta["plan_sha256"]:
        yield f"{JSON}: its plan is not the one of plan_sha256"
    planned, listed = meta.get("planned"), [(trial["number"], trial["attempt"]) for trial in trials]
    for place, (trial, (number, attempt)) in enumerate(zip(trials, listed, strict=True)):
        name = f"{JSON}: trial {number}, attempt {attempt}"
        if (number, attempt) in listed[:place]:
            yield f"{name} is listed twice"
        if isinstance(planned, int) and not 1 <= number <= planned:
            yield f"{name} is listed, but {planned} trials were planned"
        if attempt > 1 and (number, attempt - 1) not in listed:
            yield f"{name} is listed, but attempt {attempt - 1} is not"
        if trial["status"] != (status := status_of(trial["summary"])):
            yield f"{name} is {trial['status']}, its summary says {status}"
        if "kept" in meta and bool(trial["folder"]) != (meta["kept"] == "folders"):
            yield f"{name} has the folder {trial['folder']!r}, but the campaign keeps {meta['kept']}"
    named = {str(trial["folder"]) for trial in trials}
    for path in sorted(campaign.folder.iterdir()):
        # without a summary it is of a run that was killed
        if _RUN_FOLDER.fullmatch(path.name) and path.name not in named and (path / "summary.json").is_file():
            yield f"{path.name} is there, but {JSON} does not list it: hil campaign --resume takes it in"


def row_of(trial: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a trial: what it was, how it was judged, and every number of its summary."""
    summary, said = trial["summary"], trial.get("operator") or {}
    operator = {f"operator_{key}": said.get(key) for key in _OPERATOR}
    return {
        **{key: trial[key] for key in ("number", "attempt", "status", "folder")},
        "counts": counts({**trial, **operator}),
        **trial["settings"],
        "accepted": summary.get("accepted"),
        "reasons": "; ".join(map(str, summary.get("reasons") or ())),
        **operator,
        "content": (summary.get("digests") or {}).get("content"),
        **numbers_of(summary),
    }


def numbers_of(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers of a summary by flat key: `key`, `key.inner`, and `key.0` of a list. What is null has its key, too."""
    numbers: dict[str, Any] = {}
    for key, value in summary.items():
        if key not in _ELSEWHERE and key not in NOT_COMPARED:
            _flatten(key, value, numbers)
    return numbers


def columns_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Names of all columns, in the order in which the rows name them."""
    return list(dict.fromkeys(key for row in rows for key in row))


def table_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as CSV: a header, floats so that they read back to the same bits, nothing for null."""
    rows, text = list(rows), io.StringIO(newline="")
    columns = columns_of(rows)
    write_rows(text, [*([columns] if columns else []), *([_cell(row.get(one)) for one in columns] for row in rows)])
    return text.getvalue()


def other_cell(text: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """The first cell in which a table is not that of the rows, in words; empty if there is none.

    Columns that only one of both has are those of another version, and not compared.
    """
    rows, lines = list(rows), list(csv.DictReader(io.StringIO(text, newline="")))
    if len(lines) != len(rows):
        return f"{len(lines)} rows, {JSON} has {len(rows)} trials"
    for number, (line, row) in enumerate(zip(lines, rows, strict=True), start=1):
        for column in row.keys() & line.keys():
            wanted = _cell(row[column])
            if line[column] not in (wanted, no_formula(wanted)):  # the latter since formulas are kept from spreadsheets
                return f"{column} {line[column]!r} in row {number}, {JSON} has {wanted!r}"
    return ""


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return repr(float(value))  # of numpy's floats repr names the type, too
    return repr(value) if isinstance(value, int) else json.dumps(value)


def _flatten(key: str, value: Any, found: dict[str, Any]) -> None:
    if isinstance(value, Mapping):
        for name, item in value.items():
            _flatten(f"{key}.{name}", item, found)
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            if not isinstance(item, Mapping):
                _flatten(f"{key}.{place}", item, found)
    elif value is None or isinstance(value, bool | int | float):
        found[key] = value
