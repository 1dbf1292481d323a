"""The status that the resident process shows to clients of the command server."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hil.config.schema.experiment_section import ExperimentSection
from hil.config.schema.trial import TrialConfig
from hil.ipc.command_memory import MOST_STATUS_BYTES
from hil.messages.check import Check
from hil.messages.fault import Event
from hil.safety.fault_table import FAULT_TABLE

# Numbers of a summary that are shown, entries of a list, and the lengths that texts are cut to until all fits.
MOST_NUMBERS = 12
MOST_ENTRIES = 10
LENGTHS = (1000, 200, 80, 20)
# Numbers of a summary that tell nothing about the run.
_NOT_SHOWN = ("seed",)


class FaultShown(msgspec.Struct, frozen=True):
    """A fault that is latched or recorded: its number in docs/reference/faults.md, its name, and what was found."""

    number: int
    name: str
    detail: str


class ShownQuestion(msgspec.Struct, frozen=True):
    """What the operator is asked.

    Attributes:
        key: ready or verdict.
        text: for people.
        choices: the answers that count.
        trial: number of the trial in the plan; 0: of none.
    """

    key: str
    text: str
    choices: tuple[str, ...]
    trial: int = 0


class SettingsShown(msgspec.Struct):
    """What an operator has changed between two runs (`hil.config.settings`).

    Attributes:
        answered: requests for a change so far: of settings, or of the plan.
        refused: why the last of them was refused, a line for each key; empty: it was done.
        changed: settings that differ from those of the start.
        plan: name of the plan of the next campaign; empty: none is chosen.
    """

    answered: int = 0
    refused: list[str] = msgspec.field(default_factory=list)
    changed: dict[str, bool | int | float | str | None] = msgspec.field(default_factory=dict)
    plan: str = ""


class ConsoleStatus(msgspec.Struct):
    """What clients see.

    Attributes:
        t_ns: when it was written [ns of CLOCK_MONOTONIC].
        state: of the experiment while the loop runs; else opening, idle, preparing, concluding, campaign or closed.
        running: the loop runs.
        experiment: its name.
        armed: the rig is armed, or moves.
        safe: a fault is latched; drives cut, valves off.
        faults: latched.
        warnings: faults that were only recorded in the run.
        refused: arming checks that failed last, or why a command between two runs was refused.
        checks: of the last arming, passed or failed.
        checks_t_s: when they were made, in Unix seconds; 0: none were.
        run: folder of the newest run.
        obstacle: of that run, or of the settings since: `angle_deg`, `distance_m` from the front wheels at the start;
            null: none.
        runs: number of runs that are over.
        summary: main numbers of the last of them.
        holder: client that holds the operator lease.
        question: to the operator.
        settings: what was changed between two runs.
        message: the newest line for people.
    """

    t_ns: int = 0
    state: str = "opening"
    running: bool = False
    experiment: str = ""
    armed: bool = False
    safe: bool = False
    faults: list[FaultShown] = msgspec.field(default_factory=list)
    warnings: list[FaultShown] = msgspec.field(default_factory=list)
    refused: list[str] = msgspec.field(default_factory=list)
    checks: Sequence[Check] = ()
    checks_t_s: float = 0.0
    run: str = ""
    obstacle: dict[str, float] | None = None
    runs: int = 0
    summary: dict[str, Any] | None = None
    holder: str | None = None
    question: ShownQuestion | None = None
    settings: SettingsShown = msgspec.field(default_factory=SettingsShown)
    message: str = ""


_ENCODER = msgspec.json.Encoder()


def encoded(status: ConsoleStatus) -> bytes:
    """The status as JSON that fits into the shared memory; texts and lists that are too long for it are cut."""
    content = _ENCODER.encode(status)
    for length in LENGTHS:
        if len(content) <= MOST_STATUS_BYTES:
            break
        content = _ENCODER.encode(_cut(msgspec.to_builtins(status), length))
    return content


def faults_shown(events: Sequence[Event]) -> list[FaultShown]:
    """Faults as clients see them."""
    return [FaultShown(int(event.fault), FAULT_TABLE[event.fault].name, event.detail) for event in events]


def obstacle_shown(trial: TrialConfig, section: ExperimentSection) -> dict[str, float] | None:
    """The obstacle of a config as clients see it; None: its experiment has none."""
    return {"angle_deg": trial.angle_deg, "distance_m": trial.start_distance_m} if section.obstacle else None


def main_numbers(summary: Mapping[str, Any]) -> dict[str, Any]:
    """What is shown of a summary: accepted, aborted, reasons, and its first numbers."""
    numbers = {
        key: value
        for key, value in summary.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }
    shown = [key for key in numbers if key not in _NOT_SHOWN][:MOST_NUMBERS]
    outcome = {key: summary[key] for key in ("accepted", "aborted", "reasons") if key in summary}
    return {**outcome, **{key: numbers[key] for key in shown}}


def _cut(value: Any, length: int) -> Any:
    """A value with shorter texts and lists."""
    if isinstance(value, str):
        return value[:length]
    if isinstance(value, dict):
        return {key: _cut(item, length) for key, item in value.items()}
    return [_cut(item, length) for item in value[:MOST_ENTRIES]] if isinstance(value, list | tuple) else value
