"""`hil replay`: would today's program have done the same, bit for bit, with what the devices said?"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from drivers.messages import DaqBlock
from hil.analysis.digests import mismatch
from hil.analysis.recorded_inputs import (
    NEVER,
    CannotReplayError,
    RecordedInputs,
    known_until,
    replayable_config,
    replayable_ticks,
)
from hil.analysis.recording_checks import carried_of, commands_of, faults_of, impacts_of, text_fingerprint
from hil.config.rig import Rig
from hil.experiments.registry import build_cycle
from hil.messages.fault import Alarm, Fault
from hil.recording import OpenRecord, RecordError, open_trial
from hil.recording.content import Recorded, in_blocks
from hil.recording.run_folder import recorded_run, summary_of
from hil.recording.sinks import MemorySink, carried_fault
from hil.runtime.loop import Cycle
from hil.safety.fault_table import EXTERNAL_FAULTS, only_marks
from hil.version import running_version

Rows = NDArray[np.void]


class Difference(NamedTuple):
    """A field of the ticks that differs somewhere; or `event` or `exception`, with their names for numbers."""

    field: str  # its name
    first_tick: int  # first tick in which it differs
    element: tuple[int, ...]  # which number of the field differs there first, empty if it is one number
    recorded: float | str | None  # that number as recorded, None where there is nothing
    replayed: float | str | None  # and as replayed
    ticks: int  # how many ticks differ
    largest: float | None  # largest difference, None where one of both is no finite number


def tick_differences(
    recorded: Rows, replayed: Rows, fields: Sequence[str], allowed: Callable[[str], float | None] = lambda _: None
) -> list[Difference]:
    """Differences in those fields.

    `allowed` gives the difference of a field that counts for none; None: bit for bit. It is asked only where bits
    differ.
    """
    differences = []
    for field in fields:
        old, new = recorded[field], replayed[field]
        unlike = _unlike(old, new, partial(allowed, field))
        if not unlike.any():
            continue
        places = np.argwhere(unlike)
        place = tuple(places[0].tolist())
        differences.append(
            Difference(
                field,
                int(recorded["tick"][place[0]]),
                place[1:],
                old[place].item(),
                new[place].item(),
                len(np.unique(places[:, 0])),
                _largest(old[unlike], new[unlike]),
            )
        )
    return differences


def together(differences: Sequence[Difference]) -> Difference:
    """Differences of one field in several parts of a record, in order, as one."""
    largest = [difference.largest for difference in differences]
    return differences[0]._replace(
        ticks=sum(difference.ticks for difference in differences),
        largest=None if None in largest else max(number for number in largest if number is not None),
    )


def event_differences(recorded: Rows, replayed: Rows, *, exact: bool = True) -> list[Difference]:
    """Events that are in one of both only, in whatever order.

    They are compared bit for bit if `exact`; else numbers to nine digits.
    """
    old, new = ({_identity(row, exact): row for row in rows} for rows in (recorded, replayed))
    lost, more = ([rows[key] for key in rows.keys() - others.keys()] for rows, others in ((old, new), (new, old)))
    if not lost and not more:
        return []
    first = min(int(row["tick"]) for row in (*lost, *more))
    before, now = (_in_words(rows, first) for rows in (lost, more))
    return [Difference("event", first, (), before, now, len({int(row["tick"]) for row in (*lost, *more)}), None)]


def _identity(row: np.void, exact: bool) -> tuple[Any, ...]:
    return (row.tobytes(),) if exact else tuple(f"{v:.9g}" if isinstance(v, float) else v for v in row.tolist())


def _unlike(old: NDArray[Any], new: NDArray[Any], allowed: Callable[[], float | None]) -> NDArray[np.bool_]:
    if old.dtype.kind != "f":
        different: NDArray[np.bool_] = old != new
        return different
    whole = f"i{old.dtype.itemsize}"
    bits, other_bits = (np.ascontiguousarray(values).view(whole) for values in (old, new))
    unlike: NDArray[np.bool_] = (bits != other_bits) & ~(np.isnan(old) & np.isnan(new))
    if unlike.any() and (most := allowed()) is not None:
        with np.errstate(invalid="ignore"):
            unlike &= ~(np.abs(new - old) <= most)
    return unlike


def _largest(old: NDArray[Any], new: NDArray[Any]) -> float | None:
    with np.errstate(invalid="ignore"):
        largest = float(np.abs(new.astype(float) - old.astype(float)).max())
    return largest if np.isfinite(largest) else None


def _in_words(rows: Sequence[np.void], tick: int) -> str | None:
    """What the events of a tick say."""
    words = [
        f"{row['name'].decode()}, {row['t_ns']} ns" + (f": {row['detail'].decode()}" if row["detail"] else "")
        for row in rows
        if row["tick"] == tick
    ]
    return "; ".join(sorted(words)) or None


Progress = Callable[[int, int], None]

# What Safe alone decides, whatever the stages have taken in before.
IN_SAFE = ("safe", "cut", "valves", "set_speed_radps", "servos_cut")


@dataclass(frozen=True)
class Replay:
    """What came of it."""

    ticks: int  # replayed and compared
    differences: list[Difference]  # none if today's program does the same, bit for bit
    recorded_version: str  # of the program that made the record
    version: str  # of this one
    notes: list[str]  # what was left out, and why


def replay(run: Path, *, unverified: bool = False, progress: Progress = lambda *_: None) -> Replay:
    """Feed the recorded inputs of a run to today's estimator, twin, safety, trial and gate, and compare their outputs.

    It is the tick of `hil.runtime.loop` itself, whose links hand out the record and whose sink keeps the rows. Faults
    whose cause lies outside of a tick's values come from the record's events. With `unverified` a run that does not
    match its digests is replayed, and that is noted.

    Raises FolderError: it holds no record, or its summary cannot be read; CannotReplayError: the record lacks what a
    replay needs, or is not what was recorded.
    """
    summary = summary_of(recorded_run(run))
    wrong = mismatch(run, summary)
    if wrong and not unverified:
        raise CannotReplayError(f"{run} is not replayed: {wrong} (--unverified replays it all the same)")
    try:
        with open_trial(run) as record:
            config = replayable_config(record)
            until = known_until(record, config.clock, summary)
            ticks = replayable_ticks(record, until)
            again = run_again(record, Rig(config), ticks, until, progress=progress)
            differences = sorted([*again.raised, *again.differences], key=lambda difference: difference.first_tick)
            notes = [wrong] * bool(wrong) + _notes(record, config.sha256(), len(record.tick) - len(ticks), until)
            return Replay(again.ticks, differences, str(record.meta.get("version")), running_version(), notes)
    except (CannotReplayError, RecordError) as error:
        raise CannotReplayError(f"{run} cannot be replayed: {error}") from None


class _RepeatedRun(NamedTuple):
    """What came of a cycle that was run again."""

    cycle: Cycle  # after the last tick
    ticks: int  # that have a row
    raised: list[Difference]  # the exception that ended it early, if one did
    differences: list[Difference]  # of its ticks and events from the record


class _Outputs(MemorySink):
    """Keeps the rows of the ticks until they are taken, and all events."""

    def take(self) -> Rows:
        """The rows since the last time."""
        rows = self.ticks
        self._ticks = []
        return rows

    @override
    def timing(self, rows: Rows) -> None:
        """Not compared."""

    @override
    def block(self, block: DaqBlock, group: str = "daq") -> None:
        """An input."""


class _Comparison:
    """Holds the rows of a cycle that is run again against those of a record.

    Args:
        ticks: of the record, that are run again.
        until: first tick of which only what Safe decides is compared (`known_until`).
        tolerance: difference that counts for none, as a share of a field's largest recorded number; 0: bit for bit.
    """

    def __init__(self, ticks: Recorded, until: int, tolerance: float) -> None:
        self._ticks, self._until, self._tolerance = ticks, until, tolerance
        self._fields = ticks.dtype.names or ()
        self._found: dict[tuple[bool, str], list[Difference]] = {}
        self._largest: dict[str, float] = {}
        self.last = self.count = 0  # newest tick that is compared as a whole; rows

    def add(self, old: Rows, new: Rows) -> None:
        """Rows of the same ticks, recorded and new."""
        known = int(np.count_nonzero(old["tick"] < self._until))  # in order
        self.count += len(new)
        self.last = max(self.last, int(old["tick"][:known].max(initial=0)))
        allowed = self._allowed if self._tolerance else lambda _: None
        in_safe = [field for field in IN_SAFE if field in self._fields]
        for safe_only, part, fields in ((False, slice(known), self._fields), (True, slice(known, None), in_safe)):
            for difference in tick_differences(old[part], new[part], fields, allowed):
                self._found.setdefault((safe_only, difference.field), []).append(difference)

    @property
    def differences(self) -> list[Difference]:
        """So far, in the order of the fields."""
        places = [(False, field) for field in self._fields] + [(True, field) for field in IN_SAFE]
        return [together(self._found[place]) for place in places if place in self._found]

    def _allowed(self, field: str) -> float | None:
        if not self._largest:  # of all fields at once: it takes a reading of the record
            floats = [name for name in self._fields if self._ticks.dtype[name].base.kind == "f"]
            self._largest = dict.fromkeys(floats, 0.0)
            for rows in in_blocks(self._ticks):
                for name in floats:
                    values = rows[name]
                    here = np.abs(values[np.isfinite(values)]).max(initial=0.0)
                    self._largest[name] = max(self._largest[name], float(here))
        # a number of 4 bytes may be rounded the other way
        return max(self._tolerance, float(np.finfo(self._ticks.dtype[field].base).eps)) * self._largest[field]


def run_again(
    record: OpenRecord,
    rig: Rig,
    ticks: Recorded,
    until: int = NEVER,
    tolerance: float = 0.0,
    progress: Progress = lambda *_: None,
) -> _RepeatedRun:
    """Run today's cycle over the inputs of a record, and compare what it does with what is recorded.

    Args:
        record: with all sensor samples that those ticks took in.
        rig: of it.
        ticks: those of its ticks that are run, rows of `/tick`.
        until: first tick of which only what Safe decides is compared (`known_until`).
        tolerance: difference that counts for none, as a share of a field's largest recorded number; 0: bit for bit.
        progress: called now and then, of a long record, with how many ticks were run and how many there are.
    """
    outputs, comparison = _Outputs(rig.layout), _Comparison(ticks, until, tolerance)
    recorded_inputs, faults = RecordedInputs(record, ticks[:0], rig.layout), faults_of(record.events)
    cycle = build_cycle(
        rig, recorded_inputs.devices, outputs, folder=None, attended=bool(record.meta.get("attended")),
        latched=[carried_fault(event) for event in carried_of(record.events)],
    )  # fmt: skip
    pending = deque(faults[np.isin(faults["id"], list(EXTERNAL_FAULTS))])

    def latch(until: int) -> None:
        while pending and pending[0]["tick"] <= until:
            fault = pending.popleft()
            found, allowed, detail = float(fault["value"]), float(fault["limit"]), fault["detail"].decode()
            alarm = Alarm(Fault(fault["id"]), found, allowed, detail, bool(only_marks(fault)))
            cycle.safety.report(alarm, int(fault["tick"]), int(fault["t_ns"]))

    number, raised = 0, list[Difference]()
    for rows in in_blocks(ticks):
        recorded_inputs.ticks = rows
        for place, (number, safe) in enumerate(rows[["tick", "safe"]].tolist()):
            # noticed at the beginning of its tick, or else at the end
            latch(number if safe else number - 1)
            try:
                cycle.run(recorded_inputs.seek(place))
            except Exception as error:
                what = f"{type(error).__name__}: {error}"
                raised.append(Difference("exception", number, (), None, what, 1, None))
                break
        new = outputs.take()
        comparison.add(rows[: len(new)], new)
        if raised:
            break
        if len(rows) < len(ticks):
            progress(comparison.count, len(ticks))
    else:
        latch(number)
    before = np.concatenate([one(record.events) for one in (carried_of, impacts_of, commands_of, faults_of)])
    within = [events[events["tick"] <= comparison.last] for events in (before, outputs.events)]
    differences = comparison.differences + event_differences(within[0], within[1], exact=not tolerance)
    return _RepeatedRun(cycle, comparison.count, raised, differences)


def _notes(record: OpenRecord, digest: str, left_out: int, until: int) -> list[str]:
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
