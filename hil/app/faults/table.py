"""The case table: every injection that can be made here, in the order of the fault table, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from drivers.extensions import DRIVERS, installed_names
from hil.app.faults.case import NO_RUN, Case, FaultResult
from hil.app.faults.command_cases import command_cases, run_case
from hil.app.faults.disk_cases import cannot_mount, disk_cases
from hil.app.faults.instrument_cases import instrument_cases, instrument_wire_cases
from hil.app.faults.joint_cases import servo_cases, servo_wire_cases
from hil.app.faults.lockstep import state_ticks
from hil.app.faults.lockstep_cases import LockstepCases, cylinder_cases
from hil.app.faults.opening_cases import opening_cases
from hil.app.faults.process_cases import process_cases
from hil.app.faults.protocol_cases import protocol_cases
from hil.app.faults.status_cases import status_cases
from hil.config import Config, ConfigError, parse_config
from hil.config.rig import Rig
from hil.config.schema.devices import DevicesConfig
from hil.config.text_io import write_yaml
from hil.messages.fault import Fault
from hil.safety.fault_table import FAULT_TABLE

CONFIG_WRONG = 25
# What no key of a config may be.
NONSENSE = "\N{WARNING SIGN} nonsense"


def config_cases(config: Config) -> Iterator[Case]:
    """Each section of a config wrong, and all at once."""
    sections = [key for key, value in config.model_dump(mode="json").items() if isinstance(value, dict) and value]
    for name, wrong in (*((section, [section]) for section in sections), ("all sections", sections)):
        refused = partial(_refused, wrong, config)
        yield Case(CONFIG_WRONG, "every value wrong", name, "-", NO_RUN, config, run_case, refused)


def _refused(sections: Sequence[str], config: Config) -> tuple[str, str]:
    """Every value of the sections is replaced; each must be named, all at once."""
    raw = config.model_dump(mode="json")
    for section in sections:
        raw[section] = _spoilt(raw[section])
    try:
        parse_config(write_yaml(raw), config.name)
    except ConfigError as error:
        named = {str(problem).partition(".")[0].partition(":")[0] for problem in error.problems}
        missing = [section for section in sections if section not in named]
        wrong = f"nothing is said of {', '.join(missing)}" if missing else ""
        return wrong, f"refused, {len(error.problems)} problems named at once"
    return "it was accepted", ""


def _spoilt(value: Any) -> Any:
    return {key: _spoilt(one) for key, one in value.items()} if isinstance(value, dict) else NONSENSE


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
    states = state_ticks(Rig(config))
    yield from LockstepCases(config, states).every()
    yield from LockstepCases(whole, state_ticks(Rig(whole), WHOLE_S)).implausible()
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


def own_drivers(devices: DevicesConfig | None) -> list[str]:
    """Drivers of installed packages that a config names: no case breaks their lines."""
    named = {getattr(section, "driver", None) for _, section in devices or ()}
    return [name for name in installed_names(DRIVERS) if name in named]


def inject_all(
    every: Iterable[Case], only: Collection[int], done: Callable[[int, int], object]
) -> tuple[list[FaultResult], list[RowLeftOut]]:
    """Make every case; the results in the order of the fault table, and the rows without any.

    Args:
        every: of `all_cases`.
        only: rows of the fault table; empty: all.
        done: told how many of all cases are made.
    """
    cases = [case for case in every if not only or case.row in only]
    cases.sort(key=lambda case: case.row)
    results: list[FaultResult] = []
    for number, case in enumerate(cases, 1):
        results.append(case.result())
        done(number, len(cases))
    made = {result.case.row for result in results}
    wanted = set(only) or set(FAULT_TABLE)
    return results, [RowLeftOut(row, _reason(row)) for row in sorted(wanted - made)]


def _reason(row: int) -> str:
    """Why a row was not injected."""
    return cannot_mount() or "-" if row == Fault.DISK_FULL else "this rig has no device for it"
