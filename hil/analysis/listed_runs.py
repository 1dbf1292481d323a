"""The runs in a folder, a row each: what their summaries say, and what people wrote on them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hil.analysis.campaign import numbers_of
from hil.analysis.run_filter import FilterError, RunFilter
from hil.recording.annotation import annotation_of
from hil.recording.reader import FILE_NAME as RECORD
from hil.recording.run_folder import FolderError, summary_of

SUMMARY = "summary.json"
# Folders under the given one: trials of a campaign are in its folder, and campaigns in that of all runs.
_DEEPEST = 3


def listed_runs(folder: Path, warn: list[str] | None = None) -> list[dict[str, Any]]:
    """The runs in a folder and in the folders of its campaigns, by name; a run of a link is not among them.

    Args:
        folder: of runs; of one run: that run alone.
        warn: takes a sentence on each file that cannot be read; its run is listed without what the file holds.

    Returns:
        For each run `run` (its folder, from the given one), `experiment`, `accepted`, `reasons` (a text), `note`,
        `tags` (a tuple), and every number of its summary by flat name, in the units that the names end with. What a
        run does not have is missing from its row.

    Raises:
        FolderError: there is no such folder.
    """
    if not folder.is_dir():
        raise FolderError(f"{folder} is no folder: give the folder of your runs (runs, if --out was not given)")
    problems: list[str] = [] if warn is None else warn
    return [_row(one, one.relative_to(folder).as_posix(), problems) for one in _runs_in(folder, _DEEPEST)]


def chosen(rows: Iterable[dict[str, Any]], where: str = "", tags: Iterable[str] = ()) -> list[dict[str, Any]]:
    """The rows that a condition holds of, and that have all of the tags.

    Args:
        rows: of `listed_runs`.
        where: a condition (`RunFilter`); "": none.
        tags: which a run must have.

    Raises:
        FilterError: the condition is not allowed, or asks for a value that no run has.
    """
    rows, wanted = list(rows), set(tags)
    condition = RunFilter(where) if where else None
    if condition and rows:
        known = sorted({key for row in rows for key in row})
        for name in condition.names:
            if name not in known:
                near = difflib.get_close_matches(name, known, 3, 0.5)
                meant = f": did you mean {', '.join(near)}?" if near else ""
                raise FilterError(f"condition {where!r}: no run has a value {name!r}{meant}")
    return [row for row in rows if wanted <= set(row["tags"]) and (condition is None or condition(row))]


def _runs_in(folder: Path, deepest: int) -> Iterator[Path]:
    if any((folder / name).is_file() for name in (RECORD, SUMMARY)):
        yield folder
    elif deepest:
        for inner in sorted(folder.iterdir()):
            if inner.is_dir() and not inner.is_symlink() and not inner.name.startswith("."):
                yield from _runs_in(inner, deepest - 1)


def _row(folder: Path, name: str, problems: list[str]) -> dict[str, Any]:
    row: dict[str, Any] = {"run": name}
    try:
        row |= _values(summary_of(folder) or {})
    except FolderError as error:
        problems.append(str(error))
    try:
        written = annotation_of(folder)
    except FolderError as error:
        problems.append(str(error))
        return {**row, "note": "", "tags": ()}
    return {**row, "note": written.note, "tags": written.tags}


def _values(summary: Mapping[str, Any]) -> dict[str, Any]:
    plain = {key: summary[key] for key in ("experiment", "accepted", "angle_deg", "seed", "aborted") if key in summary}
    return {**plain, "reasons": "; ".join(map(str, summary.get("reasons") or ())), **numbers_of(summary)}
