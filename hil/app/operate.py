"""`hil operate`: the resident process of a rig, which does what the clients of the command server ask for."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from drivers.interfaces import DeviceError
from hil.app.console import Console
from hil.app.resident import CampaignRuns, Changes, CommandRefusedError, LatchedFaults, Resident, RunOutcome, Show
from hil.app.run import begin_again, open_backend, summarise_what_there_is
from hil.app.run_loop import Backend, Signals
from hil.config import ConfigError
from hil.config.operator_settings import Settings
from hil.config.rig import Rig
from hil.experiments.base import Summary
from hil.experiments.jog import jog_overrides
from hil.messages.fault import Fault
from hil.messages.operator_input import (
    Arm,
    Campaign,
    ChoosePlan,
    ClearFault,
    EStop,
    Jog,
    JogJoint,
    OperatorCommand,
    Set,
    Stop,
    Valve,
)
from hil.recording import RecordError
from hil.recording.run_folder import FolderError, run_folder
from hil.safety.arming import NotArmedError

Progress = Callable[[str], None]
OpenBackend = Callable[..., Backend]
# The rig is opened without a run; its files lie here until the first run takes them.
OPENING = ".opening"
# A jog ends with its console, whatever the config says of other runs.
HOLD_TO_RUN = "operator.console_lost=stop"


class ResidentProcess:
    """Waits for commands on an open rig, and makes runs one after the other.

    Between two runs whoever has the devices holds them cut (decision 0023). A run begins with `arm`, and goes on
    with `start`; a jog or the motion of a valve is a short separate run, which nobody has to start. A latched fault
    is cleared by its number; until then no run begins.

    If the rig fails, it is closed, and the next arm or jog opens it again.

    Args:
        settings: config of the rig and the experiment, and what an operator changes of it.
        out: folder of the runs; exists and is empty.
        progress: called with what is going on, a line at a time.
        opener: opens the rig (`hil.app.run.open_backend`).
        campaign: that an operator may start; None: there are no plans.
        show: called with config and plan whenever one of them is another.

    Attributes:
        last: how the last run ended; None: none was made.
    """

    def __init__(
        self,
        settings: Settings,
        out: Path,
        console: Console,
        signals: Signals,
        progress: Progress,
        *,
        opener: OpenBackend = open_backend,
        campaign: CampaignRuns | None = None,
        show: Show = lambda *_: None,
    ) -> None:
        self._settings, self._out, self._console, self._signals = settings, out, console, signals
        self._report, self._open_backend, self._campaign = progress, opener, campaign
        self._changes = Changes(settings, console, campaign, show)
        self._resident: Resident | None = None
        self._layout = settings.config.layout
        self._stack = ExitStack()
        self._latched = LatchedFaults()
        self._runs = 0
        self.last: RunOutcome | None = None

    def serve(self) -> None:
        """Do what is asked for until a signal comes; then the rig is closed.

        Raises:
            DeviceError: the rig cannot be opened the first time.
        """
        try:
            self._open(Rig(self._settings.config))
            self._after()  # opening can take a minute
            self._console.show(message="ready: take the lease and arm")
            while not self._signals.ended:
                if (command := self._console.wait()) is not None:
                    self._take(command)
                else:
                    self._close_if_lost()
        except KeyboardInterrupt:
            self._progress("ended by a signal")
        finally:
            self._close()

    def _take(self, command: OperatorCommand) -> None:
        """Do what a command asks for, or show why it is refused."""
        self._console.status.refused = []
        try:
            self._do(command)
        except (CommandRefusedError, ConfigError) as error:
            self._console.status.refused = [str(error)]
            self._progress(f"{command.__struct_config__.tag} refused: {error}")

    def _do(self, command: OperatorCommand) -> None:
        if not isinstance(command, Set | ChoosePlan):
            self._changes.forget()
        if isinstance(command, EStop):
            self._latch(command.reason or "operator: E-stop")
        elif isinstance(command, ClearFault):
            self._clear(command.fault)
        elif isinstance(command, Arm):
            self._refuse_to_move()
            self._run(Rig(self._settings.config), attended=True)
        elif isinstance(command, Jog | JogJoint | Valve):
            self._refuse_to_move()
            self._run(Rig(self._settings.vary([*jog_overrides(command), HOLD_TO_RUN])), attended=False)
        elif isinstance(command, Campaign):
            self._lead(command)
        elif isinstance(command, Stop):
            self._progress("stop: nothing runs")
        elif isinstance(command, Set | ChoosePlan):
            self._change(command)
        else:
            raise CommandRefusedError("no run is armed; arm first")

    def _change(self, command: Set | ChoosePlan) -> None:
        """Change a setting or the plan. With other settings the rig is opened again: nothing in it has the old ones."""
        if not (done := self._changes.take(command)):
            return
        if isinstance(command, Set) and self._resident is not None:
            self._close()
            self._reopen()
        self._changes.done()
        self._progress(done if self._resident else f"{done}; the rig is closed, arm opens it again")
        self._after()

    def _refuse_to_move(self) -> None:
        """Say what stands on disk and was not opened. Raises CommandRefusedError: a fault is latched, or no lease."""
        if self._latched.events:
            raise CommandRefusedError(self._latched.refusal)
        if self._console.holder is None:
            raise CommandRefusedError("no client holds the operator lease; take it first")
        if differs := self._settings.differences():
            self._progress(differs)

    def _latch(self, reason: str) -> None:
        self._latched.latch_stop(reason)
        self._console.show_latched(self._latched.events)
        self._progress(f"fault {Fault.STOP_BY_OPERATOR:d} latched: {reason}")

    def _clear(self, number: int) -> None:
        if not (fault := self._latched.clear(number)):
            raise CommandRefusedError(f"fault {number} is not latched")
        self._console.show_latched(self._latched.events)
        if number == Fault.DEVICE_FAULT and self._resident is not None:  # a device keeps its error until it is opened
            self._close()
            self._reopen()
        self._progress(f"fault {fault} cleared by the operator")

    def _lead(self, command: Campaign) -> None:
        """Start or go on with the campaign, or end it where it was paused."""
        if self._campaign is None or not self._campaign.planned:
            raise CommandRefusedError("no plan; choose one, or start hil operate with --plan PLAN")
        if command.do != "start":
            if command.do == "end":
                self._campaign.end()
            self._progress(f"campaign {command.do}: no trial is under way")
            return
        self._refuse_to_move()
        self._close()  # people work at the rig between two trials, and each trial opens it with its own config
        self._console.show("campaign")
        try:
            self._campaign.go_on(command.operator or self._console.holder or "", self._latched)
        except (DeviceError, NotArmedError, ConfigError, FolderError, OSError) as error:
            self._progress(str(error))
        message = self._console.status.message
        self._reopen()
        self._after()
        self._console.show(message=message)

    def _run(self, rig: Rig, *, attended: bool) -> None:
        """Make a run; a rig that fails is closed."""
        self._runs += 1
        try:
            folder = run_folder(self._out / f"run_{self._runs}", rig.config.name, "")
        except FolderError as error:
            raise CommandRefusedError(str(error)) from None
        try:
            resident = self._rig_for(rig)
            self._console.show("preparing")
            self._latched.hand_over(resident)
            resident.next_run(folder, rig, attended=attended)
            self._latched.note_cleared(resident)
            shutil.rmtree(self._out / OPENING, ignore_errors=True)
            if attended:
                resident.rig.rig_io.operator.put(Arm())
            self.last = resident.run(folder)
            self._latched.take_over(resident.latched)
            self._console.finished(self.last.summary)
            self._console.show("idle")
            self._progress(f"{folder.name} is over: {_verdict(self.last.summary)}")
        except (DeviceError, NotArmedError, RecordError, OSError) as error:
            self._fail(folder, error)
        except KeyboardInterrupt as error:
            self._close()
            summarise_what_there_is(folder, error, self._report)
            raise
        finally:
            self._signals.release()
        self._after()

    def _fail(self, folder: Path, error: Exception) -> None:
        """The rig cannot run again: it is closed, and its record gets a summary."""
        if self._resident is not None:
            self._latched.take_over(self._resident.latched)
        self._close()
        summarise_what_there_is(folder, error, self._progress)
        self._show_closed(str(error))

    def _close_if_lost(self) -> None:
        """A process of the rig was lost between two runs: its devices are stopped, and no run can begin on it."""
        if self._resident is not None and (lost := self._resident.lost):
            self._close()
            self._show_closed(f"{lost}, between two runs")

    def _show_closed(self, why: str) -> None:
        self._console.show("closed")
        self._progress(f"{why}; the rig is closed, arm opens it again")

    def _after(self) -> None:
        """Commands that came while nobody could take them would surprise people now: only an E-stop counts.

        A stop was done when it came: nothing moves where no loop runs. So it is not refused, and hides no message.
        """
        self._console.show_latched(self._latched.events)
        for command in self._console.take_all():
            if isinstance(command, EStop):
                self._take(command)
            elif not isinstance(command, Stop):
                self._progress(self._console.refuse(command, "it came while the process was busy"))

    def _rig_for(self, rig: Rig) -> Resident:
        """The open rig; closed, lost, or of another layout, it is opened."""
        self._close_if_lost()
        if self._resident is None or self._layout != rig.layout:
            self._close()
            return self._open(rig)
        return self._resident

    def _reopen(self) -> None:
        try:
            self._open(Rig(self._settings.config))
        except DeviceError as error:
            self._close()
            self._console.show("closed", f"{error}; arm opens the rig again")

    def _open(self, rig: Rig) -> Resident:
        """Open the rig, held cut. Raises DeviceError."""
        self._console.show("opening")
        self._resident = resident = begin_again(partial(self._opened, rig), self._progress)
        self._layout, self._console.status.run = rig.layout, ""
        self._console.show("idle")
        return resident

    def _opened(self, described: Rig) -> Resident:
        folder = self._out / OPENING
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        with ExitStack() as stack:
            rig = self._open_backend(described, folder, self._progress, stack, attended=True, console=self._console)
            resident = Resident(described, rig, self._signals, self._progress)
            resident.make_no_run()
            self._stack = stack.pop_all()
        return resident

    def _close(self) -> None:
        """Close the rig; its processes end."""
        self._resident = None
        self._stack.close()
        shutil.rmtree(self._out / OPENING, ignore_errors=True)

    def _progress(self, text: str) -> None:
        """Show a line to clients, and tell it."""
        self._console.show(message=text)
        self._report(text)


def _verdict(summary: Summary) -> str:
    judged = "accepted" if summary.get("accepted") else "not accepted"
    return "; ".join([judged, *summary.get("reasons", ())])
