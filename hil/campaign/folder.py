"""The folder of a campaign: its two files are whole at any time, and what may be resumed is checked."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hil.analysis.campaign import CSV, JSON, compared, own_digest, row_of, status_of, table_text
from hil.analysis.digests import mismatch
from hil.config import ConfigError, Problem
from hil.config.files import replacing
from hil.recording.run_folder import FolderError, summary_of

# Of the time that a campaign runs, at most this part goes into writing its files while it runs.
_WRITING_SHARE = 0.05
Trial = dict[str, Any]


class CampaignFolder:
    """The trials of a campaign, and the files that list them.

    Args:
        folder: of the campaign.
        head: what campaign.json holds besides its trials.
        processors: of earlier parts of the campaign.
    """

    def __init__(self, folder: Path, head: Mapping[str, Any], processors: Iterable[str] = ()) -> None:
        self.folder = folder
        self._head = dict(head)
        self._processors = set(processors)
        self._trials: dict[tuple[int, int], Trial] = {}
        self._due = 0.0

    @property
    def trials(self) -> list[Trial]:
        """All trials so far, by number and attempt."""
        return [self._trials[key] for key in sorted(self._trials)]

    def place(self, number: int, attempt: int) -> Path:
        """The run folder of an attempt."""
        return self.folder / (f"trial_{number:04d}" if attempt == 1 else f"trial_{number:04d}_{attempt}")

    def add(self, trial: Trial, processor: str = "") -> None:
        """Take a trial that is over; the files follow at once, or a little later if they are many."""
        self._trials[trial["number"], trial["attempt"]] = trial
        if processor:
            self._processors.add(processor)
        if time.monotonic() >= self._due:
            self.write()

    def write(self) -> None:
        """Write campaign.csv and campaign.json, each as a whole."""
        began = time.monotonic()
        table = table_text([row_of(trial) for trial in self.trials])
        content = {**self._head, "processor": "; ".join(sorted(self._processors)), "trials": self.trials}
        digests = {"csv": hashlib.sha256(table.encode()).hexdigest(), "campaign": own_digest(content)}
        with replacing(self.folder / CSV) as unfinished:
            unfinished.write_text(table, encoding="utf-8", newline="")
        with replacing(self.folder / JSON) as unfinished:
            text = json.dumps({**content, "digests": digests}, indent=1, allow_nan=False)
            unfinished.write_text(text + "\n", encoding="utf-8")
        now = time.monotonic()
        self._due = now + (now - began) / _WRITING_SHARE


def trial_of(
    number: int,
    attempt: int,
    folder: str,
    settings: Mapping[str, Any],
    summary: Mapping[str, Any],
    operator: Mapping[str, str] | None,
) -> Trial:
    """A trial as campaign.json lists it; no `folder`: none is kept; no `operator`: nobody was asked."""
    return {
        "number": number,
        "attempt": attempt,
        "status": status_of(summary),
        "folder": folder,
        "settings": dict(settings),
        "operator": dict(operator) if operator else None,
        "summary": compared(summary),
    }


def recorded_trial(place: Path, config_sha256: str) -> tuple[dict[str, Any] | None, str]:
    """The summary of a run folder that is whole and is of this config; else why it cannot be used."""
    if not place.is_dir():
        return None, ""
    try:
        summary = summary_of(place)
    except FolderError as error:
        return None, str(error)
    if summary is None:
        return None, "it has no summary.json: the run was killed"
    if wrong := mismatch(place, summary):
        return None, wrong
    if summary.get("config_sha256") != config_sha256:
        return None, "it is a run of another config"
    return summary, ""


def set_aside(place: Path) -> Path:
    """Rename a run folder that cannot be used; nothing in it is lost."""
    number = 1
    while (aside := place.with_name(f"{place.name}.aside_{number}")).exists():
        number += 1
    place.rename(aside)
    return aside


def remove_unfinished(folder: Path) -> None:
    """Remove what simulated runs left that were killed: the same seed gives it again."""
    for left in sorted(folder.glob("trial_*.unfinished")):
        shutil.rmtree(left, ignore_errors=True)


def write_files(place: Path, files: Mapping[str, bytes]) -> None:
    """A run folder of files that came from elsewhere; it is there as a whole or not at all."""
    unfinished = place.with_name(f"{place.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    for name, content in files.items():
        (unfinished / name).write_bytes(content)
    unfinished.rename(place)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One campaign at a time in a folder. Raises FolderError: another process is at it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            wrong = f"{folder}: another process runs a campaign in it: wait until it ends, or stop it"
            raise FolderError(wrong) from None
        yield
    finally:
        os.close(descriptor)


def refuse_other_head(
    found: Mapping[str, Any], wanted: Mapping[str, Any], same: Mapping[str, str], folder: Path, what: str
) -> None:
    """Check that a folder was begun with what is wanted now; `same` has the names of its keys in messages.

    Raises ConfigError: one of them differs.
    """
    problems = [
        Problem(name, str(wanted[key]), f"{found.get(key)}, as {folder} was begun with; start another with --out")
        for key, name in same.items()
        if found.get(key) != wanted[key]
    ]
    if problems:
        raise ConfigError(str(folder), problems, what)
