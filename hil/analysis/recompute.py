"""Ticks and summary of a run, computed again from its recorded inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hil.analysis.digests import mismatch
from hil.analysis.recorded_inputs import NEVER, CannotReplayError, known_until, replayable_config, replayable_ticks
from hil.analysis.recording_checks import schema_mismatch, text_fingerprint, wrong_channels
from hil.analysis.recovery import EndedByItselfError, Recovered, holes_of
from hil.analysis.recovery import recover as recover_record
from hil.analysis.replay import Difference, Progress, run_again
from hil.config import ConfigError, parse_config
from hil.config.rig import Rig
from hil.experiments.base import FinishedRun, Summary, samples_of
from hil.experiments.impact.approach import KEYS as MEASURED
from hil.experiments.impact.sensing import GROUSER_KEYS, KEYS, PEAK_KEYS, PEAKS
from hil.experiments.mobility import LEFT_OUT
from hil.experiments.registry import summarise
from hil.experiments.summary import FILE_NAME as SUMMARY
from hil.experiments.summary import with_digests, write_summary
from hil.experiments.summary_table import FALSE, TRUTH_CHECK
from hil.messages.fault import Alarm
from hil.messages.stages import Tick
from hil.recording import OpenRecord, RecordError, open_trial
from hil.recording.content import first_rows, in_blocks
from hil.recording.run_folder import FolderError, summary_of
from hil.recording.sample_writer import RECOVERED
from hil.runtime.loop import Cycle
from hil.simulator.ground_truth import GroundTruth

# Equal up to this share: another processor rounds the last bits otherwise.
TOLERANCE = 1e-9
# What a killed or early ended run has against it, and the room on the disk: no record says so.
NO_ROOM = "not armed: disk space"
GIVEN = (NO_ROOM, "ended early: ", "recovered: ")
# What only a cycle that has run can judge.
JUDGED = ("accepted", "reasons", "aborted", "quality", "residuals")
# Keys of an impact trial that came with the analysis of all samples.
SENSED = (*KEYS, "impact_speed_measured_mps", "quality")
# What an analysis that did not follow short contacts yet says of an impact: other numbers than today's.
FORMER = {*KEYS, *PEAK_KEYS, *GROUSER_KEYS, "filtered_peak_N", "filtered_peak_u95_N", "quality"} - set(PEAKS)


class Recomputed(NamedTuple):
    """Ticks and summary worked out from a record."""

    summary: Summary  # without digests; None for what no record holds
    left_out: tuple[str, ...]  # keys of those, as in `loop.late`
    lacking: str  # why the cycle could not be run again, so that what it alone knows is None, too; empty if it could
    ticks: int  # that were run again
    differences: list[Difference]  # of those ticks and their events from the record, beyond TOLERANCE


@dataclass
class _RecordedClock:
    """What a record tells of its clock (`hil.runtime.loop.Clock`)."""

    name: str
    late: int
    skipped: int
    alarm: Alarm | None = None
    wake_us: dict[str, float] | None = None

    def next(self) -> Tick:
        """It has run down."""
        raise StopIteration


def recompute(
    record: OpenRecord, rig: Rig, summary: Mapping[str, Any] | None, progress: Progress = lambda *_: None
) -> Recomputed:
    """Work out a run's ticks and summary from its record alone.

    Estimator, twin, safety and experiment are run again over the recorded inputs (`hil.analysis.replay`); what only a
    simulated rig knows comes from its events, the rest from rows and config. Only a summary of the run knows how many
    ticks the clock skipped.

    Raises ValueError: today's program raises an exception on it.
    """
    config = rig.config
    cycle, lacking, ticks, differences = _cycle(record, rig, summary, progress)
    missing = sum(last - first + 1 for first, last in holes_of(rows["tick"] for rows in in_blocks(record.tick)))
    live = config.clock == "realtime"
    known = not (missing and live and RECOVERED in record.meta)  # else skipped, or lost: nobody knows
    samples, load_samples = samples_of(record, config.record)
    finished = FinishedRun(
        rig=rig,
        cycle=cycle,
        clock=_RecordedClock(config.clock, late=0, skipped=missing),
        ground_truth=GroundTruth.recorded(record.events),
        ticks=record.tick,
        timing=record.timing,
        events=record.events,
        plant_loop=None,
        links=None,
        wall_s=0.0,
        samples=samples,
        load_samples=load_samples,
    )
    left_out = ["real_time_factor"]
    if live:
        left_out += ["loop.late", "loop.wake_us"]
    if config.rig != "simulated":
        left_out.append("links")
    if config.rig == "simulated_wire" or (live and config.rig == "simulated"):
        left_out += ["loop.plant_us", "loop.far_end"]
    if summary and "long_ticks" not in (summary.get("loop") or {}):  # of a version that did not note them
        left_out.append("loop.long_ticks")
    computed = summarise(finished)
    # keys that the config of an earlier version lacks count for none
    computed["config_sha256"] = text_fingerprint(record)
    computed["loop"]["ticks"] = len(record.tick)
    for key in (*left_out, *(() if known else ("loop.skipped",))):
        section, _, name = key.rpartition(".")
        (computed[section] if section else computed)[name] = None
    return Recomputed(computed, tuple(left_out), lacking, ticks, differences)


def disagreements(said: Mapping[str, Any], found: Recomputed) -> tuple[list[str], list[str], int]:
    """Hold a summary against the one worked out from the record.

    Returns what differs, in words; keys that could not be worked out; how many numbers and words could.
    """
    said, computed = ({**one, "reasons": list(one.get("reasons") or ())} for one in (said, found.summary))
    given = [reason for reason in said["reasons"] if str(reason).startswith(GIVEN)]
    computed["reasons"] = [*given, *(one for one in computed["reasons"] if one not in given)]
    said["reasons"] = [*given, *(one for one in said["reasons"] if one not in given)]
    computed["accepted"] = computed["accepted"] and not given
    said.pop("digests", None)
    if "residuals" not in said and computed["residuals"] is None:  # of a version without them
        del computed["residuals"]
    if "mobility" not in said:  # likewise
        computed.pop("mobility", None)
    if TRUTH_CHECK not in said:  # of a version that did not compare, or knew less of the truth
        computed.pop(TRUTH_CHECK, None)
        false = [one for one in computed["reasons"] if one.startswith(FALSE)]
        computed["reasons"] = [one for one in computed["reasons"] if one not in false]
        if false:
            computed["accepted"] = not computed["reasons"] and not computed["aborted"]
    _drop_unmeasured(said, computed)
    earlier, former, hits = lacking_keys(said), peaks_as_read(said), _hits_as_loads(said, computed)
    if former:
        computed |= {name: computed.pop(f"corrected_{name}") for name in PEAKS}
    old, new = dict(_leaves(said)), dict(_leaves(computed))
    different, left_out, count = [], set(found.left_out), 0
    for key in sorted(old.keys() | new.keys()):
        whole = next((part for part in found.left_out if key == part or key.startswith(f"{part}.")), None)
        if whole:
            continue
        top = key.partition(".")[0]
        unknown = earlier and (top in SENSED or top in ("accepted", "reasons"))
        unknown = unknown or (hits and top == "mobility")
        if unknown or (former and top in FORMER) or (found.lacking and (top in JUDGED or new.get(key) is None)):
            left_out.add(top)
        elif key in old and key in new and _same(old[key], new[key]):
            count += 1
        else:
            different.append(f"{key} is {_word(old, key)}, the record gives {_word(new, key)}")
    return different, sorted(left_out), count


def _drop_unmeasured(said: Mapping[str, Any], computed: dict[str, Any]) -> None:
    """Leave out what a version without instruments of motion did not write, where none measured it, either."""
    if any(key in said for key in MEASURED):
        return
    for key in MEASURED:
        if computed.get(key) is None:
            computed.pop(key, None)
    rules = {row.get("rule") for row in said.get("quality") or () if isinstance(row, Mapping)}
    if isinstance(rows := computed.get("quality"), list):
        computed["quality"] = [row for row in rows if row["rule"] in rules or row["ok"] is not None]


def _hits_as_loads(said: Mapping[str, Any], computed: dict[str, Any]) -> bool:
    """Whether a version made the summary that took the forces of hits for loads, and there were any, or wheels lifted.

    Of other runs only the key is left out that it did not write; all others are today's numbers.
    """
    was, now = said.get("mobility"), computed.get("mobility")
    if not isinstance(was, Mapping) or LEFT_OUT in was:
        return False
    if now and now[LEFT_OUT] == 0.0 and all(share["least"] > 0.0 for share in now["load_share"].values()):
        computed["mobility"] = {key: value for key, value in now.items() if key != LEFT_OUT}
        return False
    return True


def lacking_keys(said: Mapping[str, Any]) -> bool:
    """Whether a summary is of a version that did not analyse the samples yet: it has none of those keys, not one.

    Then it has no quality rules either, so what it accepts is that version's word.
    """
    return "peak_force_N" in said and not any(key in said for key in SENSED)


def peaks_as_read(said: Mapping[str, Any]) -> bool:
    """Whether a summary is of a version whose `peak_force_N` and `sum_of_peaks_N` had the vibration left in."""
    return "peak_force_N" in said and "corrected_peak_force_N" not in said


def _cycle(
    record: OpenRecord, rig: Rig, summary: Mapping[str, Any] | None, progress: Progress
) -> tuple[Cycle, str, int, list[Difference]]:
    """A cycle that has been through the record, or has not, and why; its ticks, and where they differ."""
    lacking, ticks = "", first_rows(record.tick, 0)
    try:
        if len(record.tick):
            until = known_until(record, replayable_config(record).clock, summary)
            ticks = replayable_ticks(record, until)
            if until < NEVER:
                before = sum(int(np.count_nonzero(rows["tick"] < until)) for rows in in_blocks(ticks))
                ticks = first_rows(ticks, before)
                lacking = f"tick {until} ended in an exception and has no row"
    except CannotReplayError as error:
        lacking = str(error)
    again = run_again(record, rig, ticks, tolerance=TOLERANCE, progress=progress)
    for raised in again.raised:
        raise ValueError(f"today's program raises in tick {raised.first_tick}: {raised.replayed}")
    return again.cycle, lacking, len(ticks), again.differences


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every number and word by its key; an empty list or section is one, too."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    leaves = [pair for key, item in items for pair in _leaves(item, f"{path}.{key}" if path else str(key))]
    yield from leaves or [(path, value)]


def _same(one: Any, other: Any) -> bool:
    numbers = isinstance(one, float) and isinstance(other, int | float) and not isinstance(other, bool)
    return math.isclose(one, other, rel_tol=TOLERANCE) if numbers else type(one) is type(other) and bool(one == other)


def _word(leaves: Mapping[str, Any], key: str) -> str:
    return repr(leaves[key])[:60] if key in leaves else "not there"


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
