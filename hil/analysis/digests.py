"""Are record and summary those of one run, as it left them? Their digests say so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hil.experiments.summary import summary_sha256
from hil.messages.fault import Check
from hil.recording.child_reader import file_sha256
from hil.recording.reader import Digests, RecordError, file_of, read_digests

Summary = Mapping[str, Any]


def digests_of(summary: Summary | None) -> Summary:
    """Digests that a summary holds; none if there is no summary, or one without."""
    digests = (summary or {}).get("digests")
    return digests if isinstance(digests, dict) else {}


def same_bytes(run: Path, summary: Summary | None) -> bool:
    """Whether the record is byte for byte the one that the summary is of. Nothing but its bytes is read."""
    try:
        place = file_of(run)
        return place.is_file() and file_sha256(place) == digests_of(summary).get("file")
    except (OSError, RecordError):
        return False


def digest_checks(found: Digests, summary: Summary | None, run: Path) -> list[Check]:
    """Checks of `hil verify`: each digest is the one that was noted when the run ended."""
    said = digests_of(summary)
    own = Check("summary digest", False, "there is no summary.json", f"one; hil recover {run} makes it")
    if summary is not None:
        digest = _own_digest(summary)
        own = Check("summary digest", digest == said.get("summary"), digest, _noted(said.get("summary")))
    content = {"/meta": found.stored} | ({} if summary is None else {"summary.json": said.get("content")})
    allowed = ", ".join(f"{value or 'none'} in {where}" for where, value in content.items())
    return [
        Check("file digest", found.file == said.get("file"), found.file, _noted(said.get("file"))),
        Check("content digest", all(digest == found.content for digest in content.values()), found.content, allowed),
        own,
    ]


def _noted(digest: str | None) -> str:
    return f"{digest or 'none'} in summary.json"


def mismatch(run: Path, summary: Summary | None) -> str:
    """Why record and summary are not those of one run, as it left them, in words; empty if they are.

    A record whose writer was killed has no digest, and while it has no summary either, nothing is held against it.
    """
    if summary is not None:
        if not digests_of(summary):
            return "summary.json holds no digests: it is of an older version, or was changed"
        if _own_digest(summary) != digests_of(summary).get("summary"):
            return "summary.json does not match its digest: it was changed"
        wrong = "trial.h5 does not match its digest: it was changed, or is another run's"
        return "" if same_bytes(run, summary) else wrong
    try:
        digests = read_digests(run)
    except RecordError as error:
        return str(error)
    if digests.closed and digests.stored != digests.content:
        return "trial.h5 does not match its digest: it was changed, or is of an older version"
    return ""


def _own_digest(summary: Summary) -> str:
    """Of the summary as it stands; in words, if it holds what no summary does."""
    try:
        return summary_sha256({**summary, "digests": digests_of(summary)})
    except (ValueError, RecursionError) as error:
        return f"none ({error})"
