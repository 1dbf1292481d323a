"""Checks of `hil verify`: did the devices do what was commanded, and was what had to be commanded?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.analysis.events import carried_of, commands_of, faults_of, impacts_of
from hil.experiments.impact.experiment import ImpactState
from hil.experiments.impact.release import Release
from hil.messages.check import Check
from hil.messages.fault import Fault
from hil.messages.operator_input import ClearFault, command_of

Rows = NDArray[np.void]
_EVER = 2**62
# Faults after which a link may be opened again. A worker reports only its first: its link may be lost after an
# emergency stop.
REOPENED_AFTER = (Fault.LINK_LOST, Fault.FRAMES_DAMAGED, Fault.STOP_BY_OPERATOR)


def confirmed_in_order(device: str, ticks: Rows, events: Rows) -> Check:
    """What a device has confirmed was commanded before, and is never taken back.

    A link that was lost and opened again has confirmed nothing yet, which is recorded as -1.

    Args:
        device: its name.
        ticks: in order, rows of `/tick`.
        events: of the record.
    """
    confirmed_ns = ticks[f"{device}_acknowledged_ns"]
    ahead = confirmed_ns >= ticks["t_ns"]
    faults = faults_of(events)
    lost = faults["tick"][np.isin(faults["id"], REOPENED_AFTER)]
    opened_again = (confirmed_ns == -1) & (ticks["tick"] >= lost.min(initial=_EVER))
    back = (confirmed_ns < np.maximum.accumulate(confirmed_ns)) & ~opened_again
    found = "in order"
    for wrong, what in ((ahead, "not given yet"), (back, "older than one confirmed before")):
        if wrong.any():
            at = int(wrong.argmax())
            found = f"tick {ticks['tick'][at]}: confirmed is the command of {confirmed_ns[at]} ns, {what}"
            break
    allowed = "confirmed once given, and never taken back while the link is open"
    return Check(f"{device}: order", not (ahead | back).any(), found, allowed)


def confirmed_in_time(device: str, ticks: Rows, fields: Sequence[str], limit_ns: int, delay: str = "") -> Check:
    """Every command that is not the one of the tick before is confirmed within the limit, itself or a newer one.

    Args:
        device: its name.
        ticks: in order, rows of `/tick`.
        fields: of its command.
        limit_ns: [ns].
        delay: what it consists of, besides the dead-man's time and a tick.
    """
    item, t_ns = f"{device}: confirmed", ticks["t_ns"]
    allowed = f"each within {limit_ns * 1e-6:g} ms: {delay}the dead-man's time and a tick"
    if not ticks.size:
        return Check(item, True, "no command", allowed)
    new = np.ones(len(ticks), bool)
    new[1:] = np.any([_changes(ticks[field]) for field in fields if field in (ticks.dtype.names or ())], axis=0)
    given_ns = t_ns[new]
    seen = np.searchsorted(np.maximum.accumulate(ticks[f"{device}_acknowledged_ns"]), given_ns)
    lag_ns = t_ns[np.minimum(seen, len(ticks) - 1)] - given_ns  # of one never confirmed: to the end of the record
    late, worst = lag_ns > limit_ns, int(lag_ns.argmax())
    found = f"{given_ns.size} commands, longest lag {lag_ns[worst] * 1e-6:.4g} ms, tick {ticks['tick'][new][worst]}"
    if late.any():
        found += f"; {late.sum()} too late, {(late & (seen == len(ticks))).sum()} of them never"
    return Check(item, not late.any(), found, allowed)


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether a tick's numbers differ from those of the tick before."""
    rows = values.reshape(len(values), -1)
    changes: NDArray[np.bool_] = (rows[1:] != rows[:-1]).any(axis=1)
    return changes


def cut_in_safe(ticks: Rows) -> Check:
    """In Safe the drives are cut and the valves off."""
    safe = ticks[ticks["safe"] == 1]
    powered = safe["valves"].any(axis=(1, 2)) if "valves" in (ticks.dtype.names or ()) else np.zeros(len(safe), bool)
    wrong = safe[(safe["cut"] != 1) | powered]
    found = f"{len(safe)} ticks in Safe"
    if wrong.size:
        found += f", not cut or valves on in {len(wrong)} of them, first {wrong['tick'][0]}"
    return Check("cut in Safe", not wrong.size, found, "drives cut and valves off in each tick in Safe")


def safe_after_fault(ticks: Rows, events: Rows, only_recorded: Collection[Fault]) -> Check:
    """Safe is latched by a fault, in its tick or the next, and stays until an operator has cleared each fault.

    Args:
        ticks: in order, rows of `/tick`.
        events: of the record.
        only_recorded: faults that latch nothing.
    """
    item, allowed = "Safe after a fault", "Safe from the first fault on, until each is cleared, and not before"
    changes = _latched_after(events, only_recorded)
    first = next((change for change in changes if change[1]), None)
    found = f"{first[2]} in tick {first[0]}" if first else "no fault"
    good = True
    for (since, faults, _), (until, *_) in zip([(-1, 0, ""), *changes], [*changes, (_EVER, 0, "")], strict=True):
        # in the tick of a change it is the one or the other
        inside = ticks[(ticks["tick"] > since) & (ticks["tick"] < until)]
        wrong = inside["tick"][inside["safe"] != bool(faults)]
        if wrong.size:
            good = False
            found += f", {'not Safe' if faults else 'Safe'} in tick {wrong[0]}"
            break
    return Check(item, good, found, allowed)


def _latched_after(events: Rows, only_recorded: Collection[Fault]) -> list[tuple[int, int, str]]:
    """Tick of each change, how many faults are latched from then on, and the name of what changed it."""
    latched = {int(event["value"]) for event in carried_of(events)}
    changes = [(0, len(latched), "a fault of the run before")] if latched else []
    faults = faults_of(events)
    faults = faults[~np.isin(faults["id"], list(only_recorded))]
    noted = [(int(fault["tick"]), int(fault["id"]), fault["name"].decode()) for fault in faults]
    for event in commands_of(events):
        if isinstance(command := command_of(event), ClearFault):
            noted.append((int(event["tick"]), -command.fault, "clear"))
    for tick, fault, name in sorted(noted):  # of one tick the clearing first: what is there still latches again
        latched = latched - {-fault} if fault < 0 else latched | {fault}
        changes.append((tick, len(latched), name))
    return changes


def _tick_of_cut(impact: np.void, ticks: Rows, release: Release | None) -> int:
    """Number of the tick in which the drives must be cut, the reaction tick or a later one."""
    number = int(impact["reaction_tick"])
    began_ns = ticks["t_ns"][ticks["state"] == ImpactState.RUN_UP]
    if release is None or release.kind == "automatic" or not began_ns.size:
        return number
    due_ns = release.due_ns(int(began_ns[0]), int(impact["t_ns"]))
    later = ticks["tick"][(ticks["t_ns"] >= due_ns) & (ticks["tick"] >= number)]
    return int(later[0]) if later.size else int(ticks["tick"].max(initial=0)) + 1


def cut_at_impact(ticks: Rows, events: Rows, release: Release | None = None) -> Check:
    """The drives are cut in the tick that reacts to an impact, or when the release of the trial is due.

    Args:
        ticks: in order, rows of `/tick`.
        events: of the record.
        release: of an impact trial; None: any other experiment.
    """
    item, allowed = "cut at the impact", "drives cut in the reaction tick"
    if release is not None and release.kind != "automatic":
        allowed = f"drives cut once the release is due, trial.release {release.kind}"
    impacts = impacts_of(events)
    cuts = []
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
