"""The resident process's end of the command server: operators' commands, the watched lease, and the status."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from drivers.host import COMPUTER, Host
from hil.config.rig import Rig
from hil.config.schema.experiment_section import ExperimentSection
from hil.config.schema.trial import TrialConfig
from hil.experiments.base import ARMED, IDLE, Experiment
from hil.ipc.shared_types import LEASE, MOST_STATUS_BYTES, STATUS, CommandMemory, SharedOperator
from hil.messages.fault import CONSOLE_SILENT_NS, Alarm, Check, Event, Fault
from hil.messages.operator_input import (
    NOTICES,
    Campaign,
    ChoosePlan,
    ClearFault,
    ConsoleLost,
    Jog,
    JogJoint,
    OperatorCommand,
    OperatorInput,
    Set,
    Valve,
    Verdict,
    shortened,
)
from hil.runtime.loop import Cycle
from hil.safety.fault_table import FAULT_TABLE

# Numbers of a summary that are shown, entries of a list, and the lengths that texts are cut to until all fits.
MOST_NUMBERS = 12
MOST_ENTRIES = 10
LENGTHS = (1000, 200, 80, 20)
# Numbers of a summary that tell nothing about the run.
_NOT_SHOWN = ("seed",)


class ConsoleFault(msgspec.Struct, frozen=True):
    """A fault that is latched or recorded: its number in docs/reference/faults.md, its name, and what was found."""

    number: int
    name: str
    detail: str


class ConsoleQuestion(msgspec.Struct, frozen=True):
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


class ConsoleSettings(msgspec.Struct):
    """What an operator has changed between two runs (`hil.config.operator_settings`).

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
    faults: list[ConsoleFault] = msgspec.field(default_factory=list)
    warnings: list[ConsoleFault] = msgspec.field(default_factory=list)
    refused: list[str] = msgspec.field(default_factory=list)
    checks: Sequence[Check] = ()
    checks_t_s: float = 0.0
    run: str = ""
    obstacle: dict[str, float] | None = None
    runs: int = 0
    summary: dict[str, Any] | None = None
    holder: str | None = None
    question: ConsoleQuestion | None = None
    settings: ConsoleSettings = msgspec.field(default_factory=ConsoleSettings)
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


def faults_shown(events: Sequence[Event]) -> list[ConsoleFault]:
    """Faults as clients see them."""
    alarms = [event.alarm for event in events]
    return [ConsoleFault(int(one.fault), FAULT_TABLE[one.fault].name, one.detail) for one in alarms]


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


# Between two statuses [ns], and between two looks at the commands where no loop runs [s].
STATUS_EVERY_NS = 50_000_000
LOOK_S = 0.02
# Between two looks at the lease in a run, where it may be released [ns]; that it expires is seen in its tick.
LOOK_NS = 10_000_000


class Console:
    """What an operator asks for and gets to know, for a loop and between two runs.

    In a run the loop reads the commands (`read`), calls `alarm` at the beginning of each tick and `tick` at its end.
    Between two runs the resident process takes the commands one by one (`wait`). Both read one stream: a command that
    comes behind one that begins a run, a stop above all, is read by the first tick of that run.

    The lease is watched in each tick. A run that has not started ends if it is lost, and says so. From
    the start on it is fault 19; `operator.console_lost` says whether the run finishes or goes Safe.

    Args:
        host: whose clock is used; heartbeats of the lease are times of it.
        idle: called where no loop runs, at least every LOOK_S.

    Attributes:
        status: shown to clients; `show` makes what was changed visible.
    """

    def __init__(self, memory: CommandMemory, host: Host = COMPUTER, idle: Callable[[], None] = lambda: None) -> None:
        self.host, self._idle = host, idle
        self._commands = SharedOperator(memory.commands)
        self._lease, self._status = memory.lease, memory.status
        self._row, self._content = np.zeros(1, LEASE), np.zeros(1, STATUS)
        self._held, self._beat_ns = self._row["held"], self._row["t_ns"]
        self._for_campaign: deque[Campaign] = deque()  # asked for in a run
        self._cycle: Cycle | None = None
        self._lost: Alarm | None = None
        self._now_ns = host.now_ns
        self._due_ns = self._look_ns = 0
        self.status = ConsoleStatus()

    @property
    def holder(self) -> str | None:
        """Name of the client that holds the operator lease; None: nobody does."""
        return None if self._lease_age_ns() is None else self._row["holder"][0].decode(errors="replace")

    @property
    def latched(self) -> Sequence[Event]:
        """The faults latched in the newest run."""
        return () if self._cycle is None else self._cycle.safety.events

    def attend(self, cycle: Cycle, folder: Path, rig: Rig) -> None:
        """Watch the lease for a run, and show its state."""
        self._cycle, self._lost, self._look_ns = cycle, None, 0
        self.status.run, self.status.experiment = str(folder), rig.config.experiment
        self.status.obstacle = obstacle_shown(rig.config.trial, rig.section)
        self.status.refused, self.status.warnings = [], []

    def read(self) -> OperatorInput:
        """The commands of a tick (`hil.messages.operator_input.OperatorSource`). Raises ValueError: not a command.

        The loop records them all. One for the campaign waits for the end of the run as well.
        """
        commands = self._commands.read()
        for command in commands:  # in most ticks none
            if isinstance(command, Campaign):
                self._for_campaign.append(command)
            elif isinstance(command, ClearFault) and self._experiment.state != IDLE:
                self.refuse(command, "a run is on; clear the fault after it")
            elif isinstance(command, Jog | JogJoint | Valve | Verdict | Set | ChoosePlan):
                self.refuse(command, "a run is on")
        return commands

    def alarm(self) -> Alarm | None:
        """Called at the beginning of each tick: fault 19 while the lease is lost in a run that has started."""
        if self._now_ns() < self._look_ns:
            return None
        return self._look_at_lease()

    def _look_at_lease(self) -> Alarm | None:
        """Look at the lease again; it cannot expire before the next look."""
        if (age_ns := self._lease_age_ns()) is not None:
            self._look_ns, self._lost = self._now_ns() + min(LOOK_NS, CONSOLE_SILENT_NS - age_ns), None
            return None
        if self._cycle is None:
            return None
        experiment = self._experiment
        if self._lost is None:
            self._lost = Alarm(Fault.CONSOLE_LOST, self._silent_ms(), CONSOLE_SILENT_NS * 1e-6, self._loss())
            if experiment.state <= ARMED:
                self._cycle.rig_io.operator.put(ConsoleLost(shortened(self._lost.detail)))
        ended = experiment.over or experiment.stopped
        return None if experiment.state <= ARMED or ended else self._lost

    def tick(self) -> None:
        """Called at the end of each good tick: write the status when it is due."""
        if self._now_ns() >= self._due_ns:
            self._write(in_run=True)

    def wait(self) -> OperatorCommand | None:
        """The next command where no loop runs; None after LOOK_S without one."""
        if self._for_campaign:
            return self._for_campaign.popleft()
        while (command := self._commands.read_one()) is not None:
            if not isinstance(command, NOTICES):  # what the command server reports is for the record of a run only
                return command
        self.rest()
        return None

    def rest(self) -> None:
        """Pass LOOK_S where no loop runs: clients see a new status."""
        self._idle()
        self.show()
        self.host.sleep(LOOK_S)

    def take_all(self) -> OperatorInput:
        """All commands that have come so far."""
        commands: list[OperatorCommand] = [*self._for_campaign]
        self._for_campaign.clear()
        while more := self._commands.read():
            commands += [command for command in more if not isinstance(command, NOTICES)]
        return tuple(commands)

    def show(self, state: str = "", message: str = "") -> None:
        """Write the status where no loop runs.

        Args:
            state: the new one; empty: unchanged.
            message: for people; empty: unchanged.
        """
        status = self.status
        status.state = state or ("concluding" if status.running else status.state)
        status.message = message or status.message
        self._write(in_run=False)

    def show_latched(self, latched: Sequence[Event]) -> None:
        """Show the faults that are latched where no loop runs."""
        self.status.faults, self.status.safe = faults_shown(latched), bool(latched)

    def ask(self, question: ConsoleQuestion | None) -> None:
        """Show a question to the operator, or that there is none."""
        self.status.question = question
        self.show()

    def refuse(self, command: OperatorCommand, why: str) -> str:
        """Say that a command is not done; the sentence, which the next status shows."""
        self.status.message = f"{command.__struct_config__.tag} refused: {why}"
        if isinstance(command, Set | ChoosePlan):
            self.answer([why])
        return self.status.message

    def answer(self, refused: Sequence[str] = ()) -> None:
        """A change of settings or plan is done; or refused, with what is wrong, a line for each key."""
        self.status.settings.answered += 1
        self.status.settings.refused = [*refused]

    def finished(self, summary: Mapping[str, Any]) -> None:
        """A run is over, and its summary is written."""
        self.status.runs += 1
        self.status.summary = main_numbers(summary)
        self._cycle = None

    def _write(self, *, in_run: bool) -> None:
        status, now_ns = self.status, self._now_ns()
        self._due_ns = now_ns + STATUS_EVERY_NS
        if in_run and not status.running:
            status.message = ""  # it was of what led to the run; the state says the rest
        status.t_ns, status.running = now_ns, in_run
        if (holder := self.holder) or not in_run or self._lost:  # in a run, no status lacks both a holder and fault 19
            status.holder = holder
        if in_run and self._cycle is not None:
            experiment, safety = self._experiment, self._cycle.safety
            status.state, status.armed = experiment.state.name.lower(), not experiment.over and experiment.state > 0
            status.faults, status.safe = faults_shown(safety.events), safety.safe
            status.warnings = faults_shown(safety.warnings)
            status.refused = [str(check) for check in experiment.checks if not check.ok]
            if experiment.checks and experiment.checks is not status.checks:
                status.checks, status.checks_t_s = experiment.checks, time.time()
        else:
            status.armed = False
        self._content["content"] = encoded(status)
        self._status.write(self._content)

    @property
    def _experiment(self) -> Experiment:
        """That of the run."""
        assert self._cycle is not None
        experiment = self._cycle.experiment
        assert isinstance(experiment, Experiment)
        return experiment

    def _lease_age_ns(self) -> int | None:
        """Time since the last heartbeat of the client that holds the lease [ns]; None: it is not held any more."""
        if self._lease.read(self._row) == 0 or not self._held[0]:
            return None
        age_ns = self._now_ns() - int(self._beat_ns[0])
        return age_ns if age_ns <= CONSOLE_SILENT_NS else None

    def _silent_ms(self) -> float:
        return (self._now_ns() - int(self._beat_ns[0])) * 1e-6

    def _loss(self) -> str:
        limit = f"allowed: {CONSOLE_SILENT_NS * 1e-6:.0f} ms"
        if not self._held[0]:
            return f"console: no client holds the operator lease any more; last heartbeat {limit} ago"
        holder = self._row["holder"][0].decode(errors="replace")
        return f"console: no heartbeat of {holder} for {self._silent_ms():.0f} ms, {limit}"
