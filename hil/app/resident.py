"""A rig that is opened once and runs as often as it is asked to, with settings changed between two runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from hil.app.camera.capture import Capture, camera_marks
from hil.app.console import Console, obstacle_shown
from hil.app.pace_check import refuse_without_pace
from hil.app.run_loop import Backend, Signals, rights_wanted, run_loop
from hil.config import ConfigError
from hil.config.operator_settings import SEED, ChangeableKeys, Settings, Value, as_overrides
from hil.config.rig import Rig
from hil.config.schema.sensors import CameraConfig
from hil.experiments.base import Experiment, FinishedRun, Summary, samples_of
from hil.experiments.registry import draw, experiment_named, summarise
from hil.experiments.summary import with_digests, write_summary
from hil.messages.fault import Alarm, Event, Fault
from hil.messages.operator_input import ChoosePlan, Set
from hil.recording import RecordError, open_trial
from hil.recording.run_folder import RunFrame
from hil.recording.writer import add_events
from hil.residuals.judgement import mark_events
from hil.safety.fault_table import FAULT_TABLE

Progress = Callable[[str], None]


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended: the exit status of the command, the summary as written, and the run's folder."""

    exit_code: int
    summary: Summary
    folder: Path


class Resident:
    """Makes runs on a rig that stays open between them.

    Each run has a folder, its record, its summary and its figure, and begins as the first does: sensors zeroed,
    estimator, twin and experiment new, a simulated rover at its start place. Between two runs whoever has the devices
    holds them cut, and takes no command (decision 0023). A fault that a run ends with stays latched in the next,
    where an operator clears it (`ClearFault`); an unattended run ends at once for it.

    After an exception no further run can be made, and once the rig is closed the record has its summary made of it
    (`hil.analysis.recompute.summarise_afterwards`), as `hil.app.run.run_repeatedly` does.

    Args:
        progress: called with what is going on, a line at a time.
    """

    def __init__(self, described: Rig, rig: Backend, signals: Signals, progress: Progress) -> None:
        self._described, self._signals, self._progress = described, signals, progress
        self.rig = rig

    @property
    def faults(self) -> list[str]:
        """Names of the faults that are latched now."""
        return self.rig.cycle.safety.faults

    @property
    def latched(self) -> list[Event]:
        """The faults that are latched now; between two runs an operator may add to them, and take from them."""
        return self.rig.cycle.safety.events

    @property
    def lost(self) -> str:
        """Between two runs: which processes of the rig are gone, in words; empty: none is, and it can run again."""
        return self.rig.lost()

    def make_no_run(self) -> None:
        """Hold the rig and close the record without a run, so that the next run may be of another config.

        Raises:
            DeviceError: the record cannot be closed.
        """
        self.rig.hold()
        self.rig.close_record()

    def next_run(self, folder: Path, described: Rig | None = None, *, attended: bool | None = None) -> None:
        """Make the rig ready for another run; `run` has to have come to its end.

        Args:
            folder: of that run; exists and is empty.
            described: rig of that run and those that follow, the same with the same layout; None: as before.
            attended: an operator arms and starts them; None: as before.

        Raises:
            DeviceError: the rig cannot run again: a process of it is gone, or a link is lost.
        """
        self._described = described or self._described
        latched = [event._replace(tick=0, t_ns=0) for event in self.latched]
        self.rig.next_run(folder, latched, described, attended=attended)

    def run(self, folder: Path, *, figure: bool = True) -> RunOutcome:
        """Make a run; leave trial.h5, summary.json and the experiment's figure in its folder.

        Raises:
            DeviceError: a link is lost, or nothing was recorded.
            NotArmedError: without real-time rights, this machine does not hold the loop's rate.
        """
        config, rig = self._described.config, self.rig
        experiment = rig.cycle.experiment
        assert isinstance(experiment, Experiment)
        what = f"{experiment.name}, {experiment.headline()}, {config.loop.rate_hz} Hz, {config.clock}"
        wanted, refuse = (
            rights_wanted(config.realtime, config.clock, config.rig),
            partial(refuse_without_pace, self._described),
        )
        camera = Capture(folder, config.camera) if config.camera and config.camera.v4l2 else None
        if camera and camera.problem:
            self._progress(f"{camera.problem}: the run is not filmed, or not from its start")
        try:
            wall_s = run_loop(rig, self._signals, self._progress, what, wanted=wanted, refuse=refuse)
        finally:
            frames = camera.end(getattr(rig.loop.clock, "start_ns", None)) if camera else []
        return self.conclude(folder, wall_s, figure=figure, filmed=(camera, frames) if camera else None)

    def conclude(
        self, folder: Path, wall_s: float, *, figure: bool = True, filmed: tuple[Capture, list[RunFrame]] | None = None
    ) -> RunOutcome:
        """Write the summary of a run whose loop has ended, publish it, draw the figure.

        Args:
            folder: of the run; its record is closed.
            wall_s: how long the loop ran [s].
            figure: whether one is drawn.
            filmed: the camera of the run, and its frames; None: none has filmed it.
        """
        config, rig = self._described.config, self.rig
        kind = experiment_named(config.experiment)
        with open_trial(folder, trusted=True) as record:
            finished = FinishedRun(
                self._described, rig.cycle, rig.loop.clock, rig.ground_truth, record.tick, record.timing, record.events,
                rig.plant_loop(), rig.links(), wall_s, *samples_of(record, config.record),
            )  # fmt: skip
            summary = summarise(finished)
            last, meta = record.tick[-1:], record.meta
        marks = [*mark_events(summary, *last[["tick", "t_ns"]][0].tolist())] if len(last) else []
        if config.camera and len(last):
            with open_trial(folder, trusted=True) as record:
                camera, frames = filmed or (None, None)
                found = camera_marks(config.camera, record.tick, frames, camera.problem if camera else "")
            for (mark,) in found:
                self._progress(f"{mark['name'].decode()}: {mark['detail'].decode()}")
            marks += found
        if marks:
            add_events(folder, marks)
        summary = with_digests(summary, folder, meta, trusted=True)
        write_summary(folder, summary)
        rig.publish(summary)
        if figure and kind.figure:
            self._progress(f"drawing {kind.figure}")
            with open_trial(folder, trusted=True) as record:
                draw(kind, record, summary, folder)
        if config.camera and not config.camera.device:
            self._draw_frames(folder, config.camera)
        return RunOutcome(exit_code(finished), summary, folder)

    def _draw_frames(self, folder: Path, camera: CameraConfig) -> None:
        """The frames of a simulated camera; a run without them is a run all the same."""
        from hil.app.camera.simulated import film  # with what draws, which a run without a camera does not import

        self._progress("drawing the frames of the simulated camera")
        try:
            with open_trial(folder, trusted=True) as record:
                film(record, folder, camera)
        except (OSError, RecordError) as error:
            self._progress(f"camera: no frames: {error}")


def exit_code(run: FinishedRun) -> int:
    """The exit status of a run's command (docs/reference/command-line.md)."""
    experiment = run.experiment
    if experiment.done and not run.cycle.safety.safe:
        return 0
    return 3 if experiment.refused else 1


# Name of the event of a run for a fault that an operator cleared before it.
CLEARED_BEFORE = "cleared before"


class LatchedFaults:
    """The latch of a rig while no loop runs; it outlives a rig that is closed and opened again.

    Attributes:
        events: the faults.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._cleared: list[Event] = []

    def __str__(self) -> str:
        return ", ".join(in_words(event.alarm.fault) for event in self.events)

    @property
    def refusal(self) -> str:
        """Why nothing may move; empty: nothing is latched."""
        return f"latched: {self}; clear each by its number first" if self.events else ""

    def latch_stop(self, reason: str) -> None:
        """Latch fault 18: an emergency stop."""
        if all(event.alarm.fault is not Fault.STOP_BY_OPERATOR for event in self.events):
            self.events.append(Event(Alarm(Fault.STOP_BY_OPERATOR, math.nan, math.nan, reason), 0, 0))

    def clear(self, number: int) -> str:
        """Clear a fault by its number. Returns its number and name; empty if it is not latched."""
        cleared = [event for event in self.events if event.alarm.fault == number]
        self.events = [event for event in self.events if event.alarm.fault != number]
        self._cleared += cleared
        return in_words(cleared[0].alarm.fault) if cleared else ""

    def hand_over(self, resident: Resident) -> None:
        """Latch them in the run that comes, where its loop goes on with them."""
        resident.latched[:] = self.events

    def note_cleared(self, resident: Resident) -> None:
        """Record in the run that comes what was cleared before it."""
        for event in self._cleared:
            resident.rig.cycle.tick_logger.log_event(CLEARED_BEFORE, in_words(event.alarm.fault))
        self._cleared.clear()

    def take_over(self, latched: Sequence[Event]) -> None:
        """Take the faults that a run ends with."""
        self.events = list(latched)


def in_words(fault: Fault) -> str:
    """Number and name of a fault."""
    return f"{int(fault)} {FAULT_TABLE[fault].name}"


class CampaignRuns(Protocol):
    """A campaign that an operator leads by commands (`hil.campaign.commanded`)."""

    @property
    def offered(self) -> Sequence[str]:
        """Names of the plans that may be chosen."""

    @property
    def planned(self) -> bool:
        """A plan is chosen."""

    @property
    def paused(self) -> bool:
        """Trials are left, with which its next start goes on."""

    def choose(self, plan: str, overrides: Sequence[str], seed: Any) -> None:
        """Make the trials of another plan.

        Args:
            plan: one of `offered`.
            overrides: of the config, in addition to those of the command line.
            seed: replaces that of the command line; None: it does not.

        Raises:
            ConfigError: problems of the plan or of its trials; then nothing is changed.
        """

    def prepare(self, overrides: Sequence[str], seed: Any) -> None:
        """Make the trials of the chosen plan, if there is one, with another config; as `choose`."""

    def shown(self) -> dict[str, Any] | None:
        """The chosen plan as operators see it: its name, that of the choice, trials; None: none is chosen."""

    def go_on(self, operator: str, latched: LatchedFaults) -> None:
        """Make trials until it is paused, ended or done, each on a rig that is opened for it.

        Args:
            operator: name of the operator.
            latched: faults of its trials, and an E-stop between two of them, are latched here; an operator clears
                them before the next trial.

        Raises:
            KeyboardInterrupt: a signal ended a trial.
            DeviceError, NotArmedError: a trial could not begin.
            ConfigError, FolderError: it cannot go on where it was paused.
        """

    def end(self) -> None:
        """It will not go on: the next start begins a new one."""


# Called with the rig, and with the plan as operators see it, whenever one of them is another.
Show: TypeAlias = Callable[[Rig, Mapping[str, Any] | None], None]


class CommandRefusedError(Exception):
    """A command that cannot be done now; the message says why, and what to do."""


class Changes:
    """Takes one change at a time: it is done as a whole, or refused and everything is as it was.

    Args:
        settings: config of the rig, and what was changed of it.
        console: of the operator; its status tells how each request ended.
        campaign: that an operator may start; None: there are no plans to choose from.
        show: see `Show`.
    """

    def __init__(self, settings: Settings, console: Console, campaign: CampaignRuns | None, show: Show) -> None:
        self._settings, self._console, self._campaign, self._show = settings, console, campaign, show
        self._gathered: dict[str, Value] = {}
        self._of: str | None = None  # who sent what is gathered

    def forget(self) -> None:
        """Another command has come: what was gathered for a change is dropped."""
        self._gathered = {}

    def take(self, command: Set | ChoosePlan) -> str:
        """Do what a command asks for; what was done, in words; empty: more is to follow.

        Raises:
            CommandRefusedError, ConfigError: nothing was changed.
        """
        try:
            if (holder := self._console.holder) is None:
                raise CommandRefusedError("no client holds the operator lease; take it first")
            if holder != self._of:
                self._gathered, self._of = {}, holder
            if self._campaign is not None and self._campaign.paused:
                raise CommandRefusedError("a campaign is paused; end it first (campaign end)")
            done = self._choose(command.name) if isinstance(command, ChoosePlan) else self._gather(command)
        except ConfigError as error:
            self._gathered = {}
            self._console.answer([str(problem) for problem in error.problems])
            raise
        except CommandRefusedError as error:
            self._gathered = {}
            self._console.answer([str(error)])
            raise
        return f"{holder}: {done}" if done else ""

    def _gather(self, command: Set) -> str:
        self._gathered[command.key] = command.value
        if command.more:
            return ""
        values, self._gathered = self._gathered, {}
        settings, before = self._settings, ChangeableKeys(self._settings.config).values()
        config, changed = settings.with_values(values)
        if self._campaign is not None:
            self._campaign.prepare(as_overrides(changed), changed.get(SEED))
        settings.config, settings.changed = config, changed
        self._console.status.settings.changed = changed
        self._console.status.obstacle = obstacle_shown(config.trial, config.section)
        self._show_now()
        now = ChangeableKeys(config).values()
        done = ", ".join(f"{key} is {_plain(now[key])} (was {_plain(before[key])})" for key in values)
        return "; ".join(filter(None, [done, settings.differences()]))

    def _choose(self, name: str) -> str:
        if self._campaign is None or name not in self._campaign.offered:
            offered = ", ".join(self._campaign.offered) if self._campaign else "none"
            raise CommandRefusedError(f"no plan {name!r} is offered; allowed: {offered}")
        changed = self._settings.changed
        self._campaign.choose(name, as_overrides(changed), changed.get(SEED))
        self._console.status.settings.plan = name
        self._show_now()
        return f"the plan is {name}"

    def _show_now(self) -> None:
        self._show(Rig(self._settings.config), self._campaign.shown() if self._campaign else None)

    def done(self) -> None:
        """A change is in force: say so."""
        self._console.answer()


def _plain(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
