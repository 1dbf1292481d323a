"""Cases of the cylinders in lockstep, on a rig that measures their pressures (rows 17, 30, 31)."""

from __future__ import annotations

from collections.abc import Iterator

from drivers.sim.rig import VALVES_TIMEOUT_NS
from hil.app.faults.case import Case, Expected
from hil.app.faults.faulty_device import DeviceFault
from hil.app.faults.lockstep import LockstepRun
from hil.app.faults.lockstep_cases import inject, lockstep_case
from hil.config import load_config
from hil.messages.fault import Fault
from hil.safety.fault_table import FAULT_TABLE, ReactionTimes

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


def cylinder_cases() -> Iterator[Case]:
    """Faults of the cylinders, on a rig that measures their pressures (rows 17, 30, 31)."""
    config = load_config(VALVE_RIG, VALVE_SETTINGS)
    powered = int(LockstepRun(config).run().ticks["valves"].any(axis=(1, 2)).argmax())
    # it takes no command any more, the last one included: its own time-out switches it off
    own_ms = VALVES_TIMEOUT_NS * 1e-6 + ReactionTimes(config).tick_ms
    after_command, full = powered + 2, powered + round(FULL_AFTER_S * config.loop.rate_hz)
    too_high = DeviceFault("wrong", factor=OVERPRESSURE)
    for row, limit, fault, tick in (
        (Fault.VALVE_STUCK, "", DeviceFault("stuck"), after_command),
        (Fault.MEASURED_OUT_OF_LIMIT, "safe_above", too_high, full),
        (Fault.MEASURED_NEAR_LIMIT, "warn_above", too_high, full),
    ):
        if limit:
            config = load_config(VALVE_RIG, [*VALVE_SETTINGS, f"limits.pressure_kPa={{{limit}: {LIMIT_KPA:g}}}"])
        bound_ms = FAULT_TABLE[row].bound_for(ReactionTimes(config)) or 0.0
        react_ms = own_ms if row == Fault.VALVE_STUCK else bound_ms if FAULT_TABLE[row].latched else None
        expected = Expected(frozenset({row}), bound_ms, react_ms)
        yield lockstep_case(config, row, fault.kind, "valves", "jog", tick, inject("valves", fault), expected)
