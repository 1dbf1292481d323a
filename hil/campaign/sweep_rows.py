"""The rows of a sweep as they come, a line each in a file: what a sweep that was stopped or killed goes on from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from hil.analysis.campaign import MOST_BYTES
from hil.campaign.resume import refuse_other_head
from hil.config.json_io import parse_json
from hil.config.text_file import read_text
from hil.config.whole_file import replacing
from hil.recording.run_folder import MOST_SUMMARY_BYTES, FolderError, file_in

UNFINISHED = "sweep.unfinished.jsonl"
# What must be the same when a sweep is resumed, and its name in messages.
_SAME = {"version": "rover-hil", "config_sha256": "CONFIG", "runs_sha256": "--over"}


class SweepRows:
    """The rows so far, in memory and in `UNFINISHED`, whose first line is the head.

    Args:
        folder: of the sweep.
        head: what must be the same when it is resumed.
        resume: go on with the rows that are there.

    Raises:
        FolderError: there is nothing to resume, or its first line is damaged.
        ConfigError: it is another sweep, or of another version.
        OSError: the file cannot be read or written.
    """

    def __init__(self, folder: Path, head: Mapping[str, Any], resume: bool) -> None:
        self._path = folder / UNFINISHED
        self._rows: dict[int, dict[str, Any]] = {}
        if resume:
            self._read(head)
        with replacing(self._path) as unfinished:  # without the half line of a process that was killed
            lines = [head, *self.rows]
            unfinished.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        self._file = self._path.open("a", encoding="utf-8")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All rows, by number."""
        return [self._rows[number] for number in sorted(self._rows)]

    def __contains__(self, number: int) -> bool:
        return number in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: dict[str, Any]) -> None:
        """Take a row; a kill from now on does not lose it."""
        self._rows[row["number"]] = row
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()

    def whole(self) -> None:
        """All rows are in the table: nothing is left to resume."""
        self._path.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _read(self, head: Mapping[str, Any]) -> None:
        if not self._path.is_file():
            raise FolderError(f"{self._path.parent}: no sweep to resume: it has no {UNFINISHED}, or it came to its end")
        try:
            lines = read_text(file_in(self._path.parent, UNFINISHED), MOST_BYTES).splitlines()
        except ValueError as error:
            raise FolderError(f"{self._path} cannot be read: {error}") from None
        begun = _parsed(lines[0]) if lines else None
        if begun is None or not _SAME.keys() <= begun.keys():
            wrong = "its first line, which says what the sweep is of, is damaged"
            raise FolderError(f"{self._path} cannot be resumed: {wrong}; start another sweep with --out")
        refuse_other_head(begun, head, _SAME, self._path.parent, "--resume of sweep")
        rows = [row for row in map(_parsed, lines[1:]) if row is not None]
        self._rows = {row["number"]: row for row in rows if isinstance(row.get("number"), int)}


def _parsed(line: str) -> dict[str, Any] | None:
    """The object of a line; None: it is cut short."""
    try:
        row = parse_json(line, MOST_SUMMARY_BYTES)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None
