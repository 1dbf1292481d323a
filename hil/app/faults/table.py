"""The case table: every injection that can be made here, in the order of the fault table, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from hil.app.faults.case import Case, FaultResult
from hil.app.faults.command_cases import command_cases
from hil.app.faults.config_cases import config_cases
from hil.app.faults.cylinder_cases import cylinder_cases
from hil.app.faults.disk_cases import cannot_mount, disk_cases
from hil.app.faults.instrument_cases import instrument_cases
from hil.app.faults.instrument_wire_cases import instrument_wire_cases
from hil.app.faults.lockstep import state_ticks
from hil.app.faults.lockstep_cases import LockstepCases
from hil.app.faults.opening_cases import opening_cases
from hil.app.faults.process_cases import process_cases
from hil.app.faults.protocol_cases import protocol_cases
from hil.app.faults.servo_cases import servo_cases
from hil.app.faults.servo_wire_cases import servo_wire_cases
from hil.app.faults.status_cases import status_cases
from hil.config import Config
from hil.messages.fault import Fault
from hil.safety.fault_table import FAULT_TABLE

Progress = Callable[[str], None]
# What a config of a simulated rig gets, so that its runs are short and alone.
IN_LOCKSTEP = ("rig=simulated", "clock=lockstep", "telemetry.endpoint=''")
SHORT_TRIAL = (
    "trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=1.3", "record.after_s=0.5", "trial.timeout_s=2",
)  # fmt: skip
WHOLE_S = 60.0  # longer than the experiments of the shipped configs


@dataclass(frozen=True)
class RowLeftOut:
    """A row of the fault table that was not injected, and why."""

    row: int
    reason: str


def all_cases(config: Config, whole: Config) -> Iterator[Case]:
    """Every case, by the level at which it runs.

    Args:
        config: of the rig, in lockstep; what needs a line or the operating system runs on a rig at the protocol level.
        whole: the same with the experiment as long as it is: plausible wrong values are noticed at its end.
    """
    states = state_ticks(config)
    yield from LockstepCases(config, states).every()
    yield from LockstepCases(whole, state_ticks(whole, WHOLE_S)).implausible()
    yield from cylinder_cases()
    yield from servo_cases()
    yield from instrument_cases(config, states)
    yield from command_cases(config)
    yield from config_cases(config)
    if not cannot_mount():
        yield from disk_cases(config)
    yield from protocol_cases()
    yield from servo_wire_cases()
    yield from status_cases()
    yield from opening_cases()
    yield from process_cases()
    yield from instrument_wire_cases(config)


def inject_all(
    every: Iterable[Case], only: Collection[int], progress: Progress
) -> tuple[list[FaultResult], list[RowLeftOut]]:
    """Make every case; the results in the order of the fault table, and the rows without any.

    Args:
        every: of `all_cases`.
        only: rows of the fault table; empty: all.
        progress: told what is going on, a line at a time.
    """
    cases = [case for case in every if not only or case.row in only]
    cases.sort(key=lambda case: case.row)
    results: list[FaultResult] = []
    for number, case in enumerate(cases, 1):
        progress(f"{number} of {len(cases)}: {case.row} {case.fault}, {case.kind} of {case.device} in {case.state}")
        results.append(case.result())
    made = {result.case.row for result in results}
    wanted = set(only) or set(FAULT_TABLE)
    return results, [RowLeftOut(row, _reason(row)) for row in sorted(wanted - made)]


def _reason(row: int) -> str:
    """Why a row was not injected."""
    return cannot_mount() or "-" if row == Fault.DISK_FULL else "this rig has no device for it"
