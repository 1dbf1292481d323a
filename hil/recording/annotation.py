"""A note and tags on a run, in a file next to its record that no digest covers: the record stays as it was."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hil.config.files import read_json, write_whole
from hil.recording.run_folder import FolderError, file_in

FILE_NAME = "annotation.json"
# What a folder of a run or campaign holds at least one of.
_OF_A_RUN = ("trial.h5", "summary.json", "campaign.json", "campaign.csv")
MOST_NOTE, MOST_TAG, MOST_TAGS = 2000, 40, 32
_MOST_BYTES = 2**16


class Annotation(NamedTuple):
    """What people wrote on a run."""

    note: str = ""  # a text, which may have several lines; "": none
    tags: tuple[str, ...] = ()  # without repeats, in alphabetical order


def annotation_of(folder: Path) -> Annotation:
    """The note and tags of a run or campaign; empty ones if nobody wrote any.

    Raises FolderError: the file is a link, or holds something else.
    """
    place = file_in(folder, FILE_NAME)
    try:
        found = read_json(place, _MOST_BYTES)
        return _checked(found)
    except FileNotFoundError:
        return Annotation()
    except (OSError, ValueError) as error:
        raise FolderError(f"{place} cannot be read: {error}: correct it, or remove it") from None


def annotate(folder: Path, note: str | None = None, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Annotation:
    """Change the note and tags of a run or campaign; record and summary stay as they are.

    A note takes the place of the former one; "" removes it, None leaves it. To remove a tag that it has not is no
    error. Returns what is in the file now.

    Raises FolderError: the folder holds no run, or cannot be written to; ValueError: a note or tag is not allowed;
    nothing is changed.
    """
    if not any(file_in(folder, name).is_file() for name in _OF_A_RUN):
        raise FolderError(f"{folder} holds no run: give a folder with {' or '.join(_OF_A_RUN[:2])}, or a campaign's")
    added, removed = [_tag(one) for one in add], {_tag(one) for one in remove}
    written = None if note is None else _note(note)
    try:
        with _locked(folder):
            before = annotation_of(folder)
            tags = tuple(sorted({*before.tags, *added} - removed))
            if len(tags) > MOST_TAGS:
                raise ValueError(f"{len(tags)} tags, allowed: {MOST_TAGS}")
            after = Annotation(before.note if written is None else written, tags)
            if after != before:
                text = json.dumps({"note": after.note, "tags": after.tags}, ensure_ascii=False, indent=1)
                write_whole(folder / FILE_NAME, text + "\n")
    except OSError as error:
        raise FolderError(f"{folder / FILE_NAME} cannot be written: {error.strerror}") from None
    return after


def _checked(found: Any) -> Annotation:
    """Raises ValueError: it is none."""
    if not isinstance(found, dict) or not found.keys() <= {"note", "tags"}:
        raise ValueError("allowed: an object with note and tags")
    note, tags = found.get("note", ""), found.get("tags", [])
    if not isinstance(note, str) or not isinstance(tags, list) or len(tags) > MOST_TAGS:
        raise ValueError(f"note: allowed is a text; tags: allowed is a list of at most {MOST_TAGS}")
    return Annotation(_note(note), tuple(sorted({_tag(one) for one in tags})))


def _note(text: str) -> str:
    text = text.strip()
    if len(text) > MOST_NOTE or not all(one.isprintable() or one in "\n\t" for one in text):
        raise ValueError(f"a note of {len(text)} characters; allowed: {MOST_NOTE}, and no control characters")
    return text


def _tag(text: Any) -> str:
    tag = text.strip() if isinstance(text, str) else ""
    if not 0 < len(tag) <= MOST_TAG or not tag.isprintable() or "," in tag:
        raise ValueError(f"tag {str(text)[:60]!r}: allowed: 1 to {MOST_TAG} characters on one line, without commas")
    return tag


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One writer at a time: the page and a terminal may add a tag in the same moment."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
