"""Faults of the devices of a rig in lockstep: each kind, each device, each state."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from drivers.faults import DeviceFault
from drivers.sim.rig import VALVES_TIMEOUT_NS
from hil.app.faults.expectation import expected_mark, expected_of, table_faults
from hil.app.faults.injection import LOCKSTEP, Case, Expected, Injection, Outcome, times_wrong
from hil.app.faults.lockstep import Disturb, LockstepResult, LockstepRun
from hil.app.faults.oracle import latched, unsafe
from hil.config import Config, load_config
from hil.experiments.registry import summarise
from hil.messages.fault import Fault
from hil.residuals.judgement import marks_of
from hil.safety.fault_table import FAULT_TABLE
from hil.safety.fault_table.row import period_ms

# The rig of the cylinders' faults: it measures the pressures of its chambers, and powers one valve.
VALVE_RIG = "sim_wire"
VALVE_SETTINGS = (
    "rig=simulated", "clock=lockstep", "telemetry.endpoint=''", "experiment=jog", "jog.wheels=[]",
    "jog.valve=left_extend", "devices.valves.baud=19200", "devices.valves.moves_within_s=0.05",
    "devices.valves.pressure_registers={left_extend: 0, left_retract: 1, right_extend: 2, right_retract: 3, "
    "kPa_per_count: 0.1}",
)  # fmt: skip
# A regulator that lets through so much more than the supply of that rig, limits between the two, and how long a chamber
# takes to fill [s].
OVERPRESSURE, LIMIT_KPA, FULL_AFTER_S = 1.5, 250.0, 0.5


def device_cases(config: Config, states: Mapping[str, int]) -> Iterator[Case]:
    """Every kind of fault of every device in every state, but for plausible wrong values.

    Args:
        config: of the rig, in lockstep.
        states: a tick in each state (`state_ticks`).
    """
    for device in config.layout.links:
        for row, fault in table_faults(config, device):
            if row == Fault.IMPLAUSIBLE_VALUE:
                continue
            for state, tick in states.items():
                injection = Injection(row, fault.kind, device, state, LOCKSTEP, config.name)
                run = partial(run_disturbed, config, tick, inject(device, fault))
                expected = expected_of(config, device, fault)
                if row == Fault.ADC_SATURATED and state != "idle":  # sensors are not judged while they are zeroed
                    expected = Expected(frozenset({row}), FAULT_TABLE[row].bound_for(config))
                if row == Fault.MODEL_NOT_FINITE and state == "run_up":  # wheels that stand have no speed to be wrong
                    bound_ms = FAULT_TABLE[row].bound_for(config) or 0.0
                    expected = Expected(frozenset({row}), bound_ms, bound_ms + config.links.drives_delay_ms)
                yield Case(injection, expected, run)


def implausible_cases(config: Config, states: Mapping[str, int]) -> Iterator[Case]:
    """Plausible wrong values of every device in every state; the end of the run notices them (row 34).

    Args:
        config: of the rig, in lockstep; its experiment goes on to its end.
        states: a tick in each state.
    """
    for device in config.layout.links:
        for row, fault in table_faults(config, device):
            for state, tick in states.items() if row == Fault.IMPLAUSIBLE_VALUE else ():
                injection = Injection(row, fault.kind, device, state, LOCKSTEP, config.name)
                run = partial(run_implausible, config, tick, inject(device, fault))
                yield Case(injection, expected_mark(config, device, fault, state), run)


def cylinder_cases() -> Iterator[Case]:
    """Faults of the cylinders, on a rig that measures their pressures (rows 17, 30, 31)."""
    config = load_config(VALVE_RIG, VALVE_SETTINGS)
    powered = int(LockstepRun(config).run().ticks["valves"].any(axis=(1, 2)).argmax())
    # it takes no command any more, the last one included: its own time-out switches it off
    own_ms = VALVES_TIMEOUT_NS * 1e-6 + period_ms(config)
    stuck = DeviceFault("stuck")
    yield _of_cylinders(config, Fault.VALVE_STUCK, stuck, powered + 2, own_ms)  # the tick after the command
    full = powered + round(FULL_AFTER_S * config.loop.rate_hz)
    too_high = DeviceFault("wrong", factor=OVERPRESSURE)
    for row, key in ((Fault.MEASURED_OUT_OF_LIMIT, "safe_above"), (Fault.MEASURED_NEAR_LIMIT, "warn_above")):
        config = load_config(VALVE_RIG, [*VALVE_SETTINGS, f"limits.pressure_kPa={{{key}: {LIMIT_KPA:g}}}"])
        react_ms = FAULT_TABLE[row].bound_for(config) if FAULT_TABLE[row].latched else None
        yield _of_cylinders(config, row, too_high, full, react_ms)


def _of_cylinders(config: Config, row: int, fault: DeviceFault, tick: int, react_ms: float | None) -> Case:
    expected = Expected(frozenset({row}), FAULT_TABLE[row].bound_for(config) or 0.0, react_ms)
    injection = Injection(row, fault.kind, "valves", "jog", LOCKSTEP, VALVE_RIG)
    return Case(injection, expected, partial(run_disturbed, config, tick, inject("valves", fault)))


def inject(device: str, fault: DeviceFault) -> Disturb:
    """Injects a fault into a device."""
    return lambda run: run.devices[device].inject_fault(fault)


def run_disturbed(config: Config, tick: int, disturb: Disturb, expected: Expected) -> Outcome:
    """Make a run, disturb it in a tick, and judge it."""
    run = LockstepRun(config)
    run.at(tick, disturb)
    return judge(run.run(), expected)


def run_implausible(config: Config, tick: int, disturb: Disturb, expected: Expected) -> Outcome:
    """The same of a plausible wrong value: what no tick has noticed, the residuals of the whole run may show."""
    disturbed = LockstepRun(config, stopped_after_s=math.inf)
    disturbed.at(tick, disturb)
    result = disturbed.run()
    if len(result.faults):
        return judge(result, expected)
    wrong, residuals = unsafe(result), summarise(result.finished)["residuals"]
    if found := marks_of(residuals):
        return Outcome(wrong=tuple(wrong), remark=f"marked at the end of the run: {found[0].short()}")
    why = "no residuals.calibration" if residuals is None else residuals["not_judged"]
    why = f"not judged: {why}" if why else "no residual is over its threshold"
    if not expected.optional:
        wrong.append(f"not noticed, {why}")
    return Outcome(wrong=tuple(wrong), remark=f"not noticed, {why}; nothing unsafe")


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
