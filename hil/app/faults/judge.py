"""Judges the outcome of a case by the record and the simulated devices, not by the controller's own checks.

A runner of any level reports what it observed (`Observation`); there is one judgement on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.sim.devices import SimDrives, SimServos
from hil.app.faults.case import ExpectedOutcome, InjectionOutcome, expect, within
from hil.app.faults.faulty_device import DeviceFault
from hil.app.faults.lockstep import LockstepResult
from hil.config import Config
from hil.config.residual_conditions import unlike
from hil.config.rig import Rig
from hil.config.schema.equipment import LimitsConfig
from hil.experiments.base import State
from hil.messages.fault import GAP_ALLOWED, RECORD_LOST_NS, Fault
from hil.messages.layout import SAMPLED
from hil.safety.fault_table import ReactionTimes, bound_ms, only_marks, warnings_for

# Noticed at the end of a tick, whose row holds the command before: the devices are stopped in the same tick.
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
        late: what this machine or the simulated rig did late at the same time, in words.
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


def judge(seen: Observation, expected: ExpectedOutcome) -> InjectionOutcome:
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


def judge_refusal(error: str, unsafe: Sequence[str], expected: ExpectedOutcome) -> InjectionOutcome:
    """What came of a case whose devices were not opened. `expected`: what must come of the case."""
    wrong = list(unsafe)
    if not expected.refused_with or expected.refused_with not in error:
        wrong.append(f"refused with: {error}, expected: {expected.refused_with or 'it is opened'}")
    return InjectionOutcome(wrong=tuple(wrong), remark=f"refused with: {error}")


def _unnoticed(seen: Observation, expected: ExpectedOutcome, in_words: str) -> tuple[list[str], str]:
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


def times_wrong(expected: ExpectedOutcome, detected_ms: float | None, reacted_ms: float | None) -> list[str]:
    """Times over their bounds, in words."""
    pairs = (("noticed", detected_ms, expected.detect_ms), ("stopped", reacted_ms, expected.react_ms))
    return [
        f"{what} after {found_ms:.1f} ms, allowed: {allowed_ms:.1f}"
        for what, found_ms, allowed_ms in pairs
        if found_ms is not None and allowed_ms is not None and found_ms > allowed_ms + 1e-6
    ]


def latched(rig: Rig, events: NDArray[np.void]) -> NDArray[np.void]:
    """Events of the faults that must have latched Safe on a rig, oldest first; the others only mark the run."""
    return events[(events["id"] > 0) & ~np.isin(events["id"], list(warnings_for(rig))) & ~only_marks(events)]


def unsafe(run: LockstepResult) -> Iterator[str]:
    """What is unsafe about the outcome of a run in lockstep, in words."""
    faults, ticks, rig = latched(Rig(run.config), run.events), run.ticks, run.rig
    yield from _commands(run.config.limits, run.config.cylinders.supply_kPa, run.config.loop.rate_hz, ticks)
    if len(faults):
        since = faults["reaction_tick"][0] + (faults["id"][0] in AFTER_THE_COMMAND)
        yield from _after_the_fault(f"after fault {faults['id'][0]}", ticks[ticks["tick"] >= since])
    elif not run.over:
        yield "the experiment did not end"
    if not len(faults) and ticks["cut"][-1] != 1:
        yield "the last command was no cut"
    yield from (f"{role} have power at the end" for role in rig.active())
    fastest = float(np.abs(rig.plant.wheel_speed).max())
    stood_ns = rig.plant.t_ns - rig.drives.off_ns
    if rig.drives.off_ns >= 0 and stood_ns > STANDING_AFTER_NS and not fastest <= STANDING_RADPS:
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


# A gain with which noise alone reaches the end of any converter's range.
CLIPPING = 1e6
# With it a speed is finite, and the state of the twin that follows from it is not.
OVERFLOWING = 1e300
# Devices that stop by themselves once they get no command.
OWN_TIMEOUT_NS = {"drives": SimDrives.timeout_ns, "servos": SimServos.timeout_ns}
# What a plausible wrong reading, or one that is lost now and then, may lead to; it may also lead to nothing.
_SAMPLES = frozenset({Fault.SENSOR_DROPOUT, Fault.SENSOR_STALE, Fault.ADC_SATURATED, Fault.SEQUENCE_GAP})
_SPEEDS = frozenset({Fault.SENSOR_STALE, Fault.MODEL_NOT_FINITE, Fault.COMMAND_OUT_OF_LIMIT, Fault.OUTSIDE_MODEL})
_ANGLES = _SPEEDS | {Fault.JOINT_NOT_FOLLOWING, Fault.JOINT_OUT_OF_RANGE}
_SUSPECT = {
    "daq": _SAMPLES, "loads": _SAMPLES, "drives": _SPEEDS, "valves": _SPEEDS | {Fault.VALVE_STUCK}, "servos": _ANGLES,
}  # fmt: skip


class Expectations:
    """Of one rig in lockstep."""

    def __init__(self, config: Config) -> None:
        self._times, self._delay_ms = ReactionTimes(config), config.links.drives_delay_ms
        # a plausible wrong value is judged after an impact, against thresholds of runs like this one
        self._judged = config.experiment == "impact" and config.residuals.calibration is not None and not unlike(config)
        daq, limits = config.daq, config.limits
        noisy = daq is not None and all(one.noise_V > 0.0 for one in daq.channels)
        self._equal = {"daq": noisy and limits.frozen_samples > 0, "loads": limits.loads_frozen_samples > 0}

    def of(self, device: str, fault: DeviceFault) -> ExpectedOutcome:
        """What must come of a fault: the drives are cut at the latest after the detection and the link's own delay.

        Drives and servos that take no command stop by their own time-out. A command that is under way on a delayed link
        cannot be called back: the cut arrives behind it.
        """
        expected = self._noticed(device, fault)
        if expected.detect_ms is None:
            return expected
        late_ms = fault.ms if device in OWN_TIMEOUT_NS and fault.kind == "delayed" else 0.0
        cut_ms, timeout_ms = expected.detect_ms + self._delay_ms + late_ms, OWN_TIMEOUT_NS.get(device, 0) * 1e-6
        return replace(expected, react_ms=max(cut_ms, timeout_ms))

    def mark(self, device: str, fault: DeviceFault, state: str) -> ExpectedOutcome:
        """What must come of a plausible wrong value: a mark at the end of the run, where its true value is not 0."""
        moves = device in ("daq", "drives") and state in ("idle", "armed", "run_up")
        seen = self._judged and (fault.kind == "garbage" or moves)
        return ExpectedOutcome(_SUSPECT[device] | {Fault.IMPLAUSIBLE_VALUE}, optional=not seen, marked=True)

    def faults(self, device: str) -> Sequence[tuple[int, DeviceFault]]:
        """For the printed table: a fault of each kind, beyond the limits of the config, and the row that it is."""
        limit_ms, block_ms = self._times.age(device), self._times.samples(device)
        silence = self._times.ages[device].fault
        lost = max(round(2.0 * limit_ms / block_ms), 2)
        faults: list[tuple[int, DeviceFault]] = [
            (silence, DeviceFault("off")),
            (silence, DeviceFault("intermittent", ms=1.5 * limit_ms + 2.0 * block_ms)),
            (silence, DeviceFault("delayed", ms=1.5 * limit_ms + 2.0 * block_ms)),
            (silence, DeviceFault("slow", every=lost)),
            (Fault.SENSOR_STALE, DeviceFault("stuck")),
        ]
        if device in SAMPLED:
            faults += [
                (Fault.SAMPLE_NOT_FINITE, DeviceFault("garbage")),
                (Fault.ADC_SATURATED, DeviceFault("wrong", factor=CLIPPING)),
                (Fault.SEQUENCE_GAP, DeviceFault("slow", every=GAP_ALLOWED + 2)),
            ]
        else:
            faults.append(
                (Fault.IMPLAUSIBLE_VALUE if device == "valves" else Fault.SAMPLE_NOT_FINITE, DeviceFault("garbage"))
            )
        if device == "drives":
            faults.append((Fault.MODEL_NOT_FINITE, DeviceFault("wrong", factor=OVERFLOWING)))
        return [*faults, (Fault.IMPLAUSIBLE_VALUE, DeviceFault("wrong", factor=1.5))]

    def _noticed(self, device: str, fault: DeviceFault) -> ExpectedOutcome:
        tick_ms, limit_ms, block_ms = self._times.tick_ms, self._times.age(device), self._times.samples(device)
        suspect = ExpectedOutcome(_SUSPECT[device], optional=True)
        if fault.kind == "wrong":
            clips = device in SAMPLED and abs(fault.factor) >= CLIPPING
            return ExpectedOutcome(frozenset({Fault.ADC_SATURATED}), optional=True) if clips else suspect
        if fault.kind == "garbage":
            if device == "valves":  # a pressure that is no number is one that is not measured
                return suspect
            return within(self._times, Fault.SAMPLE_NOT_FINITE, device=device, stop_ms=None)
        if fault.kind == "stuck" and device in SAMPLED:
            # equal samples in a row are a fault only where the noise of the sensors changes every sample
            stale = within(self._times, Fault.SENSOR_STALE, device=device, stop_ms=None)
            return stale if self._equal[device] else suspect
        if fault.kind == "stuck" and device == "valves":
            return suspect  # its answers keep coming, under new times
        # off and stuck drives are silent for ever; the others at times
        silent_ms = {"slow": fault.every * block_ms, "delayed": fault.ms, "intermittent": fault.ms}.get(fault.kind)
        if silent_ms is None or silent_ms > limit_ms + 2.0 * (block_ms + tick_ms):
            return expect(self._times.ages[device].fault, detect_ms=limit_ms + tick_ms)
        if fault.kind != "delayed" and device in SAMPLED and silent_ms >= (GAP_ALLOWED + 2) * block_ms:
            gap_ms = bound_ms(Fault.SEQUENCE_GAP, self._times)
            return expect(Fault.SEQUENCE_GAP, Fault.SENSOR_DROPOUT, detect_ms=max(gap_ms, limit_ms + tick_ms))
        return suspect
