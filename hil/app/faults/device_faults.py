"""Faults of the devices of a rig in lockstep: each kind, each device, each state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from drivers.faults import DeviceFault
from hil.app.faults.expectation import expected_of, table_faults
from hil.app.faults.injection import LOCKSTEP, Case, Expected, Injection, Outcome, times_wrong
from hil.app.faults.lockstep import Disturb, LockstepResult, LockstepRun
from hil.app.faults.oracle import latched, unsafe
from hil.config import Config
from hil.messages.fault import Fault
from hil.safety.fault_table import FAULT_TABLE


def device_cases(config: Config, states: Mapping[str, int]) -> Iterator[Case]:
    """Every kind of fault of every device in every state.

    Args:
        config: of the rig, in lockstep.
        states: a tick in each state (`state_ticks`).
    """
    for device in config.layout.links:
        for row, fault in table_faults(config, device):
            for state, tick in states.items():
                injection = Injection(row, fault.kind, device, state, LOCKSTEP, config.name)
                run = partial(run_disturbed, config, tick, inject(device, fault))
                expected = expected_of(config, device, fault)
                if row == Fault.ADC_SATURATED and state != "idle":  # sensors are not judged while they are zeroed
                    expected = Expected(frozenset({row}), FAULT_TABLE[row].bound_for(config))
                yield Case(injection, expected, run)


def inject(device: str, fault: DeviceFault) -> Disturb:
    """Injects a fault into a device."""
    return lambda run: run.devices[device].inject_fault(fault)


def run_disturbed(config: Config, tick: int, disturb: Disturb, expected: Expected) -> Outcome:
    """Make a run, disturb it in a tick, and judge it."""
    run = LockstepRun(config)
    run.at(tick, disturb)
    return judge(run.run(), expected)


def judge(run: LockstepResult, expected: Expected) -> Outcome:
    """What came of a fault, and whether it is what must come of it."""
    wrong = unsafe(run)
    faults = run.faults
    if not len(faults):
        lasted = _lasted(run, expected)
        if not expected.optional and expected.rows and lasted:
            wrong.append(f"not noticed, expected: fault {_in_words(expected)}")
        remark = "not noticed, and nothing unsafe" if lasted else "the run ended before its bound"
        return Outcome(wrong=tuple(wrong), remark=remark if expected.rows else "")
    first = faults[0]
    if first["id"] not in expected.rows:
        wrong.append(f"noticed as fault {first['id']}, expected: {_in_words(expected)}")
    detected_ms = float(first["t_ns"] - run.injected_ns) * 1e-6
    reacted_ms = reaction_ms(run)
    wrong += times_wrong(expected, detected_ms, reacted_ms)
    return Outcome(detected_ms, reacted_ms, tuple(wrong))


def reaction_ms(run: LockstepResult) -> float | None:
    """From the injection until Safe is latched and the simulated drives and valves are without power [ms].

    None: it did not go to Safe.
    """
    faults = latched(run.config, run.events)
    if not len(faults):
        return None
    safe_ns = int(faults["reaction_tick"][0]) * 1_000_000_000 // run.config.loop.rate_hz
    return (max(safe_ns, run.rig.cut_ns, run.rig.off_ns) - run.injected_ns) * 1e-6


def _lasted(run: LockstepResult, expected: Expected) -> bool:
    """Whether the run went on for as long as noticing may take."""
    return bool(np.max(run.ticks["t_ns"]) - run.injected_ns >= (expected.detect_ms or 0.0) * 1e6)


def _in_words(expected: Expected) -> str:
    return " or ".join(f"{row:d}" for row in sorted(expected.rows)) or "none"
