"""summary.json of a run that did not come to it by itself: it was killed, or something ended it early."""

from __future__ import annotations

from pathlib import Path

from hil.analysis.digests import mismatch
from hil.analysis.recompute import recompute
from hil.analysis.recording_checks import schema_mismatch, wrong_channels
from hil.analysis.recovery import EndedByItselfError, Recovered
from hil.analysis.recovery import recover as recover_record
from hil.config import ConfigError, parse_config
from hil.config.rig import Rig
from hil.experiments.base import Summary
from hil.experiments.summary import FILE_NAME as SUMMARY
from hil.experiments.summary import with_digests, write_summary
from hil.recording import OpenRecord, RecordError, open_trial
from hil.recording.run_folder import FolderError, summary_of

KILLED = "summary.killed.json"


def summarise_afterwards(run: Path, why: str) -> Summary:
    """Make the summary of a run from its record, as far as that goes, and write it.

    Args:
        run: its folder; the record in it is closed.
        why: it has none, as `recovered: ...` or `ended early: ...`; the first of its reasons, unless the run had gone
            through to its end and was killed after that.

    Raises:
        RecordError: there is no record that can be read, or it is not one of this version.
    """
    with open_trial(run) as record:
        judged = _summary(record)
        if not judged["accepted"]:  # else it had come to its end: what ended it was after that
            judged = {**judged, "accepted": False, "reasons": [why, *judged["reasons"]]}
    summary = with_digests(judged, run, record.meta)
    write_summary(run, summary)
    return summary


def recover(run: Path) -> tuple[Recovered | None, str]:
    """Make record and summary of a killed run whole.

    A summary that does not match the record is kept as `summary.killed.json`. Returns what was made of the record, None
    if it was whole; and what became of the summary, in words.

    Raises NothingToRecoverError: record and summary are there, or the run is still going on, or left nothing; OSError:
    the disk is full or the folder cannot be written.
    """
    place, made, matches = run / SUMMARY, None, False
    try:
        made = recover_record(run)
        matches = place.is_file() and not mismatch(run, summary_of(run))
    except EndedByItselfError:
        if place.is_file():
            raise
    except FolderError:  # a summary that cannot be read
        pass
    if matches:
        return made, "made by the run itself"
    if place.is_file():
        place.replace(run / KILLED)
    try:
        summarise_afterwards(run, "recovered: killed before its end")
    except RecordError as error:
        return made, f"none: {error}"
    return made, "made from the record"


def _summary(record: OpenRecord) -> Summary:
    try:
        config = parse_config(str(record.meta.get("config", "")), "/meta/config")
    except ConfigError as error:
        raise RecordError(f"its config is not one of this version: {error.problems[0]}") from None
    if wrong := schema_mismatch(record, config.layout) or wrong_channels(record, config.layout):
        raise RecordError(f"its summary cannot be made by this version: {wrong}")
    recomputed = recompute(record, Rig(config), None)
    summary = dict(recomputed.summary)
    if recomputed.lacking:
        summary["reasons"] = [*summary["reasons"], f"recovered: it cannot be judged, {recomputed.lacking}"]
        summary["accepted"] = False
    return summary
