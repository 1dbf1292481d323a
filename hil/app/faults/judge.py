"""Judges what came of a case by the record and the simulated devices, not by the controller's own checks.

A runner of any level reports what it observed (`Observation`); there is one judgement on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.app.faults.case import Expected, InjectionOutcome
from hil.app.faults.lockstep import LockstepResult
from hil.config import Config
from hil.config.schema.equipment import LimitsConfig
from hil.experiments.base import State
from hil.messages.fault import Fault
from hil.messages.fault_bounds import RECORD_LOST_NS
from hil.safety.fault_table import only_marks, warnings_for

# Noticed at the end of a tick, whose row holds the command before: the devices are stopped beside it.
AFTER_THE_COMMAND = (Fault.DISK_FULL, Fault.RECORD_RING_FULL, Fault.EXCEPTION)
# A wheel slower than this stands [rad/s], so long after the cut [ns].
STANDING_RADPS, STANDING_AFTER_NS = 0.05, 300_000_000
# Names of the events in which other processes say that the loop is gone begin so.
OF_THE_LOOP = b"loop_"
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Observation:
    """What is left of a run in which a fault was injected.

    Attributes:
        events: rows of `EVENT`.
        injected_ns: when it was injected, or the latest time at which it had no effect yet [ns of the run].
        stopped_ms: from the injection until everything was stopped [ms]; None: nothing ran, or nothing had to stop;
            infinity: something has not stopped.
        unsafe: what is unsafe about the outcome, or missing in the record, in words.
        lasted_ms: how long the run went on after the injection [ms]; infinity: until all was over.
        late: what this machine or the simulated rig did late beside it, in words.
        mark: which residual marks the run.
        unmarked: why none does, where they were looked at.
    """

    events: NDArray[np.void]
    injected_ns: int
    stopped_ms: float | None = None
    unsafe: tuple[str, ...] = ()
    lasted_ms: float = math.inf
    late: tuple[str, ...] = ()
    mark: str = ""
    unmarked: str = ""


def judge(seen: Observation, expected: Expected) -> InjectionOutcome:
    """What came of a case, and whether it is what must come of it."""
    wrong, remark, reacted_ms = list(seen.unsafe), "", None if expected.goes_on else seen.stopped_ms
    if expected.refused_with:
        wrong.append(f"its devices were opened, expected: {expected.refused_with}")
    if reacted_ms == math.inf:  # the stop that a controller makes by itself, at its own button, is not recorded
        wrong += ["not every controller has stopped"] if expected.react_ms is not None else []
        reacted_ms = None
    faults, detected_ms = seen.events[seen.events["id"] > 0], None
    in_words = " or ".join(f"{row:d}" for row in sorted(expected.rows)) or "none"
    if len(faults):
        detected_ms = max(float(faults["t_ns"][0] - seen.injected_ns), 0.0) * 1e-6
        number, text = faults["id"][0], bytes(faults["detail"][0]).decode(errors="replace")
        if number not in expected.rows:
            wrong.append(f"noticed as fault {number}{f' ({text})' if text else ''}, expected: {in_words}")
        elif expected.says not in text:
            wrong.append(f"noticed as {text!r}, expected: {expected.says}")
        latching = faults[~only_marks(faults)]
        if expected.goes_on and len(latching):
            wrong.append(f"Safe by fault {latching['id'][0]}, expected: the run goes on")
        elif expected.react_ms is not None and not len(latching):
            wrong.append("only marked, expected: Safe")
    else:
        reacted_ms = reacted_ms if expected.react_ms else None
        unnoticed, remark = _unnoticed(seen, expected, in_words)
        wrong += unnoticed
    slow = times_wrong(expected, detected_ms, reacted_ms)
    if not seen.late:
        return InjectionOutcome(detected_ms, reacted_ms, (*wrong, *slow), remark)
    return InjectionOutcome(
        detected_ms, reacted_ms, tuple(wrong), "; ".join(slow) or remark, "; ".join(seen.late if slow else ())
    )


def judge_refusal(error: str, unsafe: Sequence[str], expected: Expected) -> InjectionOutcome:
    """What came of a case whose devices were not opened.

    Args:
        error: why they were not.
        unsafe: what was driven all the same, in words.
        expected: what must come of the case.
    """
    wrong = list(unsafe)
    if not expected.refused_with or expected.refused_with not in error:
        wrong.append(f"refused with: {error}, expected: {expected.refused_with or 'it is opened'}")
    return InjectionOutcome(wrong=tuple(wrong), remark=f"refused with: {error}")


def _unnoticed(seen: Observation, expected: Expected, in_words: str) -> tuple[list[str], str]:
    """What is wrong where no fault was noticed, and the remark on it."""
    must = bool(expected.rows) and not expected.optional
    if expected.refused:
        return [], "arming refused"
    if seen.mark:
        return [], f"marked at the end of the run: {seen.mark}"
    if seen.unmarked:
        return [f"not noticed, {seen.unmarked}"] if must else [], f"not noticed, {seen.unmarked}; nothing unsafe"
    if seen.lasted_ms < (expected.detect_ms or 0.0):
        return [], "the run ended before its bound" if expected.rows else ""
    remark = "not noticed, and nothing unsafe" if expected.rows else ""
    return [f"not noticed, expected: fault {in_words}"] if must else [], remark


def times_wrong(expected: Expected, detected_ms: float | None, reacted_ms: float | None) -> list[str]:
    """Times over their bounds, in words."""
    pairs = (("noticed", detected_ms, expected.detect_ms), ("stopped", reacted_ms, expected.react_ms))
    return [
        f"{what} after {found_ms:.1f} ms, allowed: {allowed_ms:.1f}"
        for what, found_ms, allowed_ms in pairs
        if found_ms is not None and allowed_ms is not None and found_ms > allowed_ms + 1e-6
    ]


def latched(config: Config, events: NDArray[np.void]) -> NDArray[np.void]:
    """Events of the faults that must have latched Safe on a rig, oldest first; the others only mark the run."""
    return events[(events["id"] > 0) & ~np.isin(events["id"], list(warnings_for(config))) & ~only_marks(events)]


def unsafe(run: LockstepResult) -> Iterator[str]:
    """What is unsafe about the outcome of a run in lockstep, in words."""
    faults, ticks, rig = latched(run.config, run.events), run.ticks, run.rig
    yield from _commands(run.config.limits, run.config.cylinders.supply_kPa, run.config.loop.rate_hz, ticks)
    if len(faults):
        since = faults["reaction_tick"][0] + (faults["id"][0] in AFTER_THE_COMMAND)
        yield from _after_the_fault(f"after fault {faults['id'][0]}", ticks[ticks["tick"] >= since])
    elif not run.over:
        yield "the experiment did not end"
    if not len(faults) and ticks["cut"][-1] != 1:
        yield "the last command was no cut"
    if rig.driven:
        yield "the drives have power at the end"
    if rig.powered:
        yield "a valve has power at the end"
    if rig.held:
        yield "the servos have power at the end"
    fastest = float(np.abs(rig.plant.wheel_speed).max())
    stood_ns = rig.plant.t_ns - rig.cut_ns
    if rig.cut_ns >= 0 and stood_ns > STANDING_AFTER_NS and not fastest <= STANDING_RADPS:
        yield f"a wheel turns at {fastest:.2f} rad/s at the end"


def _commands(limits: LimitsConfig, supply_kPa: float, rate_hz: int, ticks: NDArray[np.void]) -> Iterator[str]:
    """Every command that went out is within the limits of the config."""
    speeds, cut = ticks["set_speed_radps"], ticks["cut"] == 1
    if not np.isfinite(speeds).all() or (np.abs(speeds) > limits.wheel_speed_radps + _TOLERANCE).any():
        yield f"a wheel speed over limits.wheel_speed_radps ({limits.wheel_speed_radps:g}) was commanded"
    steps = np.abs(np.diff(speeds, axis=0, prepend=np.zeros((1, speeds.shape[1]))))
    if (steps[~cut] > limits.wheel_acceleration_radps2 / rate_hz + _TOLERANCE).any():
        yield "a change of speed over limits.wheel_acceleration_radps2 was commanded"
    if speeds[cut].any():
        yield "a cut was commanded together with a speed"
    if "valves" in (ticks.dtype.names or ()) and ticks["valves"].all(axis=2).any():
        yield "both valves of a cylinder were powered at once"
    if "regulator_Pa" in (ticks.dtype.names or ()):
        highest_Pa = supply_kPa * 1e3 + _TOLERANCE
        if not ((ticks["regulator_Pa"] >= 0.0) & (ticks["regulator_Pa"] <= highest_Pa)).all():
            yield "a regulator was set outside 0 to cylinders.supply_kPa"


def _after_the_fault(after: str, later: NDArray[np.void]) -> Iterator[str]:
    """From the tick of the first fault on: Safe, latched, all cut and off, and nothing begins."""
    if not (later["safe"] == 1).all():
        yield f"{after} Safe was not latched"
    if not (later["cut"] == 1).all():
        yield f"{after} the drives were not cut in every tick"
    if "servos_cut" in (later.dtype.names or ()) and not (later["servos_cut"] == 1).all():
        yield f"{after} the servos were not cut in every tick"
    if "valves" in (later.dtype.names or ()) and later["valves"].any():
        yield f"{after} a valve was powered"
    if not np.isin(later["state"][1:], (State.IDLE, State.DONE, State.ABORTED)).all():
        yield f"{after} the experiment went on"


def lost_ticks(ticks: NDArray[np.void], injected_ns: int) -> Iterator[str]:
    """Whether more of a record is missing than a kill may cost, in words; `injected_ns` [ns of the run]."""
    lost_ns = injected_ns - int(ticks["t_ns"][-1])
    if lost_ns > RECORD_LOST_NS:
        yield f"record: {lost_ns * 1e-6:.0f} ms of ticks lost, allowed: {RECORD_LOST_NS * 1e-6:g}"


def started_again(seen: Mapping[str, Any], after_ns: float) -> Iterator[str]:
    """Whether simulated controllers have recorded a start after a time [ns of their clock], in words."""
    if any(at_ns > after_ns for _, at_ns in seen["starts"]):
        yield "a controller was started again after the fault"


def stopped_ms(seen: Mapping[str, Any], acted_ns: int) -> float | None:
    """Until the last controller that ran has stopped, by a command or its time-out [ms].

    None: none ran. Infinity: one of them has not stopped.

    Args:
        seen: starts, stops and time-outs that the simulated controllers of a bus have recorded.
        acted_ns: when the fault was injected, on the same clock [ns].
    """
    running: set[int] = set()
    first: dict[int, int] = {}
    changes = [(at_ns, address, True) for address, at_ns in seen["starts"]]
    changes += [(at_ns, address, False) for what in ("stops", "timeouts") for address, at_ns in seen[what]]
    for at_ns, address, starts in sorted(changes):
        if at_ns <= acted_ns:
            (running.add if starts else running.discard)(address)
        elif not starts and address in running:
            first.setdefault(address, at_ns)
    if running - set(first):
        return math.inf
    return max(((at_ns - acted_ns) * 1e-6 for at_ns in first.values()), default=None)
