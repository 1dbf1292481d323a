"""The whole fault table against a simulated rig: every injection that can be made here, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from hil.app.faults.console_process import console_process_cases
from hil.app.faults.device_faults import cylinder_cases, device_cases, implausible_cases
from hil.app.faults.disk_faults import cannot_mount, disk_cases
from hil.app.faults.injection import Case, FaultResult
from hil.app.faults.lockstep import state_ticks
from hil.app.faults.operator_faults import operator_cases
from hil.app.faults.process_faults import process_cases
from hil.app.faults.refusals import refusal_cases
from hil.app.faults.socket_faults import socket_cases
from hil.app.faults.stage_faults import stage_cases
from hil.app.faults.virtual_faults import virtual_cases
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
class LeftOut:
    """A row of the fault table that was not injected, and why."""

    row: int
    reason: str


def all_cases(config: Config, whole: Config) -> Iterator[Case]:
    """Every injection, by the level at which it runs.

    Args:
        config: of the rig, in lockstep; what needs a line or the operating system runs on a rig at the protocol level.
        whole: the same with the experiment as long as it is: plausible wrong values are noticed at its end.
    """
    states = state_ticks(config)
    yield from device_cases(config, states)
    yield from implausible_cases(whole, state_ticks(whole, WHOLE_S))
    yield from stage_cases(config, states)
    yield from cylinder_cases()
    yield from operator_cases(config, states)
    yield from socket_cases(config)
    yield from refusal_cases(config)
    if not cannot_mount():
        yield from disk_cases(config)
    yield from virtual_cases()
    yield from process_cases()
    yield from console_process_cases()


def inject_all(
    config: Config, whole: Config, only: Collection[int], progress: Progress
) -> tuple[list[FaultResult], list[LeftOut]]:
    """Make every injection; the results in the order of the fault table, and the rows without any.

    Args:
        config: of the rig, in lockstep.
        whole: as `all_cases`.
        only: rows of the fault table; empty: all.
        progress: told what is going on, a line at a time.
    """
    cases = [case for case in all_cases(config, whole) if not only or case.injection.row in only]
    cases.sort(key=lambda case: case.injection.row)
    results: list[FaultResult] = []
    for number, case in enumerate(cases, 1):
        one = case.injection
        progress(f"{number} of {len(cases)}: {one.row} {one.fault}, {one.kind} of {one.device} in {one.state}")
        results.append(case.result())
    made = {result.injection.row for result in results}
    wanted = set(only) or set(FAULT_TABLE)
    return results, [LeftOut(row, _reason(row)) for row in sorted(wanted - made)]


def _reason(row: int) -> str:
    """Why a row was not injected."""
    return cannot_mount() or "-" if row == Fault.DISK_FULL else "this rig has no device for it"
