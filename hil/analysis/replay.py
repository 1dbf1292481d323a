"""`hil replay`: would today's program have done the same with what the devices said?"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hil
from hil.analysis.differences import Difference, event_differences, tick_differences
from hil.analysis.digests import mismatch
from hil.analysis.events import carried_of, commands_of, faults_of, impacts_of, text_fingerprint
from hil.analysis.recorded_inputs import RecordedInputs
from hil.analysis.replayable import NEVER, CannotReplayError, known_until, replayable_config, replayable_ticks
from hil.config.rig import Rig
from hil.experiments.build_cycle import build_cycle
from hil.messages.fault import Fault
from hil.recording import RecordError, TrialRecord, read_trial
from hil.recording.run_folder import recorded_run, summary_of
from hil.recording.sinks import MemorySink
from hil.recording.tick_logger import carried_fault
from hil.runtime.cycle import Cycle
from hil.safety.fault_table import EXTERNAL_FAULTS

Rows = NDArray[np.void]

# What Safe alone decides, whatever the stages have taken in before.
IN_SAFE = ("safe", "cut", "valves", "set_speed_radps")


@dataclass(frozen=True)
class Replay:
    """What came of it.

    Attributes:
        ticks: replayed and compared.
        differences: none if today's program does the same, bit for bit.
        recorded_version: of the program that made the record.
        version: of this one.
        notes: what was left out, and why.
    """

    ticks: int
    differences: list[Difference]
    recorded_version: str
    version: str
    notes: list[str]


def replay(run: Path, *, unverified: bool = False) -> Replay:
    """Feed the recorded inputs of a run to today's estimator, twin, safety, trial and gate, and compare their outputs.

    It is the tick of `hil.runtime.cycle` itself, whose links hand out the record and whose sink keeps the rows. Faults
    whose cause lies outside of a tick's values come from the record's events.

    Args:
        run: folder of the run.
        unverified: replay it even if record and summary do not match their digests, and note it.

    Raises:
        FolderError: it holds no record, or its summary cannot be read.
        CannotReplayError: the record lacks what a replay needs, or is not what was recorded.
    """
    summary = summary_of(recorded_run(run))
    wrong = mismatch(run, summary)
    if wrong and not unverified:
        raise CannotReplayError(f"{run} is not replayed: {wrong} (--unverified replays it all the same)")
    try:
        done = _replayed(read_trial(run), summary)
        return replace(done, notes=[wrong, *done.notes]) if wrong else done
    except CannotReplayError as error:
        raise CannotReplayError(f"{run} cannot be replayed: {error}") from None
    except RecordError as error:
        raise CannotReplayError(f"{run} cannot be replayed: {error}") from None


def _replayed(record: TrialRecord, summary: Mapping[str, Any] | None) -> Replay:
    config = replayable_config(record)
    until = known_until(record, config.clock, summary)
    ticks, record_sink = replayable_ticks(record, until), MemorySink(config.layout)
    _, differences = run_again(record, Rig(config), ticks, record_sink)
    differences += differences_from(record, ticks, record_sink, until)
    differences.sort(key=lambda difference: difference.first_tick)
    notes = _notes(record, config.sha256(), len(record.tick) - len(ticks), until)
    return Replay(len(record_sink.ticks), differences, str(record.meta.get("version")), hil.__version__, notes)


def differences_from(
    record: TrialRecord, ticks: Rows, record_sink: MemorySink, until: int, tolerance: float = 0.0
) -> list[Difference]:
    """Where the record is not what `run_again` made of its inputs.

    Args:
        record: that was run again.
        ticks: those of its ticks that were.
        record_sink: what the cycle recorded.
        until: first tick of which only what Safe decides is compared (`known_until`).
        tolerance: of numbers, see `tick_differences`; 0: bit for bit.
    """
    new, events, fields = record_sink.ticks, record_sink.events, ticks.dtype.names or ()
    old = ticks[: len(new)]
    inputs = [one(record.events) for one in (carried_of, impacts_of, commands_of, faults_of)]
    before = np.concatenate(inputs)
    known = int(np.count_nonzero(old["tick"] < until))  # in order: slices, of rows that may take a GB
    differences = tick_differences(old[:known], new[:known], fields, tolerance)
    differences += tick_differences(
        old[known:], new[known:], [field for field in IN_SAFE if field in fields], tolerance
    )
    last = old["tick"][:known].max(initial=0)
    within = before[before["tick"] <= last], events[events["tick"] <= last]
    return differences + event_differences(*within, exact=not tolerance)


def run_again(record: TrialRecord, rig: Rig, ticks: Rows, record_sink: MemorySink) -> tuple[Cycle, list[Difference]]:
    """Run today's cycle over the inputs of a record.

    Args:
        record: with all sensor samples that those ticks took in.
        rig: of it.
        ticks: those of its ticks that are run, rows of `/tick`.
        record_sink: takes what the cycle records.

    Returns:
        The cycle, after the last of them, and the exception that ended it early, if one did.
    """
    recorded_inputs, faults = RecordedInputs(record, ticks, rig.layout), faults_of(record.events)
    cycle = build_cycle(
        rig, recorded_inputs.devices, record_sink, folder=None, attended=bool(record.meta.get("attended")),
        latched=[carried_fault(event) for event in carried_of(record.events)],
    )  # fmt: skip
    pending = deque(faults[np.isin(faults["id"], list(EXTERNAL_FAULTS))])

    def latch(until: int) -> None:
        while pending and pending[0]["tick"] <= until:
            fault = pending.popleft()
            numbers = (int(fault["tick"]), int(fault["t_ns"]), float(fault["value"]), float(fault["limit"]))
            cycle.safety.latch(Fault(fault["id"]), *numbers, fault["detail"].decode())

    number = 0
    for place, (number, safe) in enumerate(recorded_inputs.ticks[["tick", "safe"]].tolist()):
        # noticed at the beginning of its tick, or else at the end
        latch(number if safe else number - 1)
        try:
            cycle.run(recorded_inputs.seek(place))
        except Exception as error:
            return cycle, [Difference("exception", number, (), None, f"{type(error).__name__}: {error}", 1, None)]
    latch(number)
    return cycle, []


def _notes(record: TrialRecord, digest: str, left_out: int, until: int) -> list[str]:
    notes = []
    said = record.meta.get("config_sha256")
    if text_fingerprint(record) != said:
        notes.append("the config in the record is not the one of the run: its checksum differs")
    elif digest != said:
        notes.append("the config of the run lacks keys that this version has: they take their defaults")
    if left_out:
        notes.append(f"{left_out} ticks at the end were left out: their sensor samples are not in the record")
    if until < NEVER:
        what = f"of it and what follows only what Safe decides was compared: {', '.join(IN_SAFE)}"
        notes.append(f"tick {until} ended in an exception and has no row; {what}")
    return notes
