"""Checks of `hil verify`: did the devices do what was commanded, and was what had to be commanded?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.analysis.recording_checks import carried_of, commands_of, faults_of, impacts_of
from hil.experiments.impact.experiment import ImpactState
from hil.experiments.impact.predicted_force import Release
from hil.messages.fault import Check, Fault
from hil.messages.operator_input import ClearFault, command_of
from hil.messages.stages import IDLE_STATE
from hil.recording.content import Recorded, in_blocks

Rows = NDArray[np.void]
_EVER = 2**62
# Faults after which a link may be opened again. In records of earlier versions a link that was lost after an emergency
# stop is not reported.
REOPENED_AFTER = (Fault.LINK_LOST, Fault.FRAMES_DAMAGED, Fault.STOP_BY_OPERATOR)


def confirmed_in_order(device: str, ticks: Recorded, events: Rows) -> Check:
    """What a device has confirmed was commanded before, and is never taken back.

    A link that was lost and opened again has confirmed nothing yet, which is recorded as -1. A stop by the dead-man of
    a link (fault 43) was given by no tick.
    """
    faults = faults_of(events)
    opened = faults["tick"][np.isin(faults["id"], REOPENED_AFTER)].min(initial=_EVER)
    by_itself = faults["tick"][faults["id"] == Fault.DEAD_MAN_ACTED].min(initial=_EVER)
    ahead = back = ""
    newest_ns = -_EVER
    for rows in in_blocks(ticks):
        confirmed_ns = rows[f"{device}_acknowledged_ns"]
        newest = np.maximum.accumulate(np.append(newest_ns, confirmed_ns))
        opened_again = (confirmed_ns == -1) & (rows["tick"] >= opened)
        early = (confirmed_ns >= rows["t_ns"]) & (rows["tick"] < by_itself)
        late = (confirmed_ns < newest[1:]) & ~opened_again
        ahead = ahead or _first_wrong(rows["tick"], confirmed_ns, early, "not given yet")
        back = back or _first_wrong(rows["tick"], confirmed_ns, late, "older than one confirmed before")
        newest_ns = int(newest[-1])
    allowed = "confirmed once given, and never taken back while the link is open"
    return Check(f"{device}: order", not (ahead or back), ahead or back or "in order", allowed)


def _first_wrong(ticks: NDArray[Any], confirmed_ns: NDArray[Any], wrong: NDArray[np.bool_], what: str) -> str:
    if not wrong.any():
        return ""
    at = int(wrong.argmax())
    return f"tick {ticks[at]}: confirmed is the command of {confirmed_ns[at]} ns, {what}"


def confirmed_in_time(device: str, ticks: Recorded, fields: Sequence[str], limit_ns: int, delay: str = "") -> Check:
    """Every command that is not the one of the tick before is confirmed within the limit, itself or a newer one.

    `delay` says what the limit [ns] consists of, besides the dead-man's time and a tick.
    """
    item, lags = f"{device}: confirmed", _Lags(limit_ns)
    allowed = f"each within {limit_ns * 1e-6:g} ms: {delay}the dead-man's time and a tick"
    if not len(ticks):
        return Check(item, True, "no command", allowed)
    there, before = [field for field in fields if field in (ticks.dtype.names or ())], ticks[:0]
    for rows in in_blocks(ticks):
        new = np.ones(len(rows), bool)
        new[1 - len(before) :] = False
        for field in there:  # whose numbers differ from those of the tick before
            numbers = np.concatenate([before[field], rows[field]]).reshape(len(before) + len(rows), -1)
            new[1 - len(before) :] |= (numbers[1:] != numbers[:-1]).any(axis=1)
        lags.add(rows, new, rows[f"{device}_acknowledged_ns"])
        before = rows[-1:]
    lags.end(int(before["t_ns"][0]))
    found = f"{lags.count} commands, longest lag {lags.longest_ns * 1e-6:.4g} ms, tick {lags.longest_tick}"
    if lags.late:
        found += f"; {lags.late} too late, {lags.never} of them never"
    return Check(item, not lags.late, found, allowed)


class _Lags:
    """Until commands are confirmed. One over `limit_ns` is late."""

    def __init__(self, limit_ns: int) -> None:
        self._limit_ns, self._newest_ns = limit_ns, -_EVER
        self._open = np.zeros((2, 0), np.int64)  # times and ticks of commands that are not confirmed yet
        self.count = self.late = self.never = self.longest_tick = 0
        self.longest_ns = -_EVER

    def add(self, rows: Rows, new: NDArray[np.bool_], confirmed_ns: NDArray[np.int64]) -> None:
        """Take in ticks: which give a new command, and up to which one is confirmed [ns]."""
        self.count += int(np.count_nonzero(new))
        self._open = np.concatenate([self._open, [rows["t_ns"][new], rows["tick"][new]]], axis=1)
        newest = np.maximum.accumulate(np.append(self._newest_ns, confirmed_ns))
        seen = np.searchsorted(newest[1:], self._open[0])
        self._newest_ns = int(newest[-1])
        known = seen < len(rows)
        at_ns = rows["t_ns"][seen[known]]
        before = self._open[0][known] <= newest[0]  # confirmed in earlier rows: its time is not that of its tick
        self._take(self._open[:, known], np.where(before, self._open[0][known], at_ns))
        self._open = self._open[:, ~known]

    def end(self, t_ns: int) -> None:
        """The record ends: what is not confirmed by then never was."""
        before = self.late
        self._take(self._open, np.full(self._open.shape[1], t_ns))
        self.never = self.late - before

    def _take(self, commands: NDArray[np.int64], at_ns: NDArray[np.int64]) -> None:
        lag_ns = at_ns - commands[0]
        self.late += int(np.count_nonzero(lag_ns > self._limit_ns))
        if lag_ns.size and lag_ns.max() > self.longest_ns:
            self.longest_ns, self.longest_tick = int(lag_ns.max()), int(commands[1][lag_ns.argmax()])


def cut_in_safe(ticks: Recorded) -> Check:
    """In Safe drives and servos are cut, the valves off, and cameras' trigger lines, too."""
    count = number = first = 0
    for rows in in_blocks(ticks):
        safe = rows[rows["safe"] == 1]
        names = rows.dtype.names or ()
        powered = safe["valves"].any(axis=(1, 2)) if "valves" in names else np.zeros(len(safe), bool)
        if "camera_trigger" in names:
            powered |= safe["camera_trigger"] == 1
        if "camera_triggers" in names:
            powered |= safe["camera_triggers"].any(axis=1)
        if "servos_cut" in names:
            powered |= safe["servos_cut"] != 1
        wrong = safe["tick"][(safe["cut"] != 1) | powered]
        first = wrong[0] if wrong.size and not number else first
        count, number = count + len(safe), number + len(wrong)
    found = f"{count} ticks in Safe"
    if number:
        found += f", not cut or an output on in {number} of them, first {first}"
    return Check("cut in Safe", not number, found, "drives cut and all outputs off in each tick in Safe")


def safe_after_fault(ticks: Recorded, events: Rows, only_recorded: Collection[Fault]) -> Check:
    """Safe is latched by a fault, in its tick or the next, and stays until an operator has cleared each fault.

    Faults of `only_recorded` latch nothing.
    """
    item, allowed = "Safe after a fault", "Safe from the first fault on, until each is cleared, and not before"
    changes = _latched_after(ticks, events, only_recorded)
    first = next((change for change in changes if change[1]), None)
    found = f"{first[2]} in tick {first[0]}" if first else "no fault"
    # in the tick of a change it is the one or the other
    spans = list(zip([(-1, 0, ""), *changes], [*changes, (_EVER, 0, "")], strict=True))
    wrong: dict[int, tuple[bool, int]] = {}
    for rows in in_blocks(ticks):
        numbers, safe = rows["tick"], rows["safe"]
        for place, ((since, faults, _), (until, *_)) in enumerate(spans):
            other = numbers[(numbers > since) & (numbers < until) & (safe != bool(faults))]
            if other.size:
                wrong.setdefault(place, (bool(faults), int(other[0])))
    if wrong:
        faulty, tick = wrong[min(wrong)]
        found += f", {'not Safe' if faulty else 'Safe'} in tick {tick}"
    return Check(item, not wrong, found, allowed)


def _latched_after(ticks: Recorded, events: Rows, only_recorded: Collection[Fault]) -> list[tuple[int, int, str]]:
    """Tick of each change, how many faults are latched from then on, and the name of what changed it."""
    latched = {int(event["value"]) for event in carried_of(events)}
    changes = [(0, len(latched), "a fault of the run before")] if latched else []
    faults = faults_of(events)
    faults = faults[~np.isin(faults["id"], list(only_recorded))]
    noted = [(int(fault["tick"]), int(fault["id"]), fault["name"].decode()) for fault in faults]
    asked_for = [(int(event["tick"]), command_of(event)) for event in commands_of(events)]
    clears = [(tick, asked) for tick, asked in asked_for if isinstance(asked, ClearFault)]
    held = _held_before(ticks, [tick for tick, _ in clears])
    for tick, asked in clears:
        since = max((at for at, fault, _ in noted if fault == asked.fault and at < tick), default=0)
        if since <= held[tick]:
            noted.append((tick, -asked.fault, "clear"))
    for tick, fault, name in sorted(noted):  # of one tick the clearing first: what is there still latches again
        latched = latched - {-fault} if fault < 0 else latched | {fault}
        changes.append((tick, len(latched), name))
    return changes


def _held_before(ticks: Recorded, numbers: Sequence[int]) -> dict[int, int]:
    """By tick, the one before it, if it was Safe and nothing was armed; -1: it was not, and nothing was cleared."""
    held = dict.fromkeys(numbers, -1)
    for rows in in_blocks(ticks) if numbers else ():
        for number in held:
            before = rows[rows["tick"] < number][-1:]
            if len(before):
                free = before["safe"][0] == 1 and before["state"][0] == IDLE_STATE
                held[number] = int(before["tick"][0]) if free else -1
    return held


def _tick_of_cut(impact: np.void, ticks: Rows, release: Release | None) -> int:
    """Number of the tick in which the drives must be cut, the reaction tick or a later one."""
    number = int(impact["reaction_tick"])
    began_ns = ticks["t_ns"][ticks["state"] == ImpactState.RUN_UP]
    if release is None or release.kind == "automatic" or not began_ns.size:
        return number
    due_ns = release.due_ns(int(began_ns[0]), int(impact["t_ns"]))
    later = ticks["tick"][(ticks["t_ns"] >= due_ns) & (ticks["tick"] >= number)]
    return int(later[0]) if later.size else int(ticks["tick"].max(initial=0)) + 1


def cut_at_impact(ticks: Recorded, events: Rows, release: Release | None = None) -> Check:
    """The drives are cut in the tick that reacts to an impact, or when the release of the trial is due.

    `release` is None but in an impact trial.
    """
    item, allowed = "cut at the impact", "drives cut in the reaction tick"
    if release is not None and release.kind != "automatic":
        allowed = f"drives cut once the release is due, trial.release {release.kind}"
    impacts, cuts = impacts_of(events), []
    ticks = ticks[["tick", "t_ns", "state", "cut"]] if len(impacts) else ticks[:0]
    for event in impacts:
        number = _tick_of_cut(event, ticks, release)
        tick = ticks[ticks["tick"] == number]
        if not tick.size and number > ticks["tick"].max(initial=0):
            cuts.append((True, f"tick {number}, after the end of the record"))
        else:
            cut = bool(tick.size) and tick["cut"][0] == 1
            cuts.append((cut, f"tick {number}, " + ("cut" if cut else "not cut" if tick.size else "missing")))
    text = "; ".join(words for _, words in cuts) or "no impact"
    return Check(item, all(good for good, _ in cuts), text, allowed)
