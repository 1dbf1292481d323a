"""Entry point: `python -m hil.app.page.record RUN WHAT [SERIES...]` prints what the page shows of a run.

WHAT is impact, timing, traces, replay or replay@FROM:TO with times in seconds, or a format of `hil export`.

A process of its own: the page server stays small, a damaged record harms nobody else, and a running loop comes first.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from hil.app.page.impact import impact_of
from hil.app.page.replay import replay_of
from hil.app.page.timing import timing_of
from hil.app.page.traces import traces_of
from hil.recording import RecordError, open_trial
from hil.recording.run_folder import FolderError, summary_of


def shown(run: Path, what: str, names: Sequence[str]) -> bytes:
    """What the page shows of a run.

    Args:
        run: its folder.
        what: impact, timing, traces or replay, as JSON, replay@FROM:TO of a time [s]; or the format of an export that
            is one file: tdms, mat or mcap.
        names: of the series, of traces.

    Raises:
        LookupError: the run has nothing of that.
        RecordError: the record cannot be read.
        FolderError: the summary cannot be read.
    """
    what, _, span = what.partition("@")
    if what not in ("impact", "timing", "traces", "replay"):
        return _exported(run, what)
    with open_trial(run) as record:
        summary = summary_of(run) or {}
        if what == "replay":
            from_s, to_s = map(float, span.split(":")) if span else (None, None)
            return msgspec.json.encode(replay_of(record, summary, from_s, to_s))
        if what == "traces":
            return msgspec.json.encode(traces_of(record, summary, names))
        return msgspec.json.encode(timing_of(record, summary) if what == "timing" else impact_of(record, summary))


def _exported(run: Path, to: str) -> bytes:
    # imported here: it takes longer than all else together
    from hil.analysis.dataset import MissingPackageError, UnverifiedRunError
    from hil.analysis.export.run import export

    with tempfile.TemporaryDirectory() as folder:
        try:
            return export(run, to, Path(folder) / f"trial.{to}").path.read_bytes()
        except (MissingPackageError, UnverifiedRunError) as error:
            raise LookupError(str(error)) from None


def main(run: Path, what: str, names: Sequence[str]) -> int:
    """Print it; the exit status is 1, and the reason on stderr, if there is nothing."""
    os.setpriority(os.PRIO_PROCESS, 0, 10)
    try:
        content = shown(run, what, names)
    except (LookupError, RecordError, FolderError) as error:
        print(error.args[0], file=sys.stderr)  # noqa: T201
        return 1
    sys.stdout.buffer.write(content)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
