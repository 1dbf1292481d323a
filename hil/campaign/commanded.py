"""A campaign whose operator is a client of the command server: questions stand in the status, commands answer them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from typing_extensions import override

from hil.app.console import Console, ConsoleQuestion
from hil.app.resident import CampaignRuns, LatchedFaults
from hil.app.run import run_experiment
from hil.campaign.folder import locked
from hil.campaign.guided import NoAnswerError, Operator, Question, run_guided
from hil.campaign.run import CampaignStop, PlanChoice, interrupted
from hil.config import Config
from hil.messages.operator_input import Campaign, ClearFault, EStop, OperatorCommand, Start, Stop, Verdict
from hil.recording.run_folder import run_folder

# The commands that answer a question.
ANSWERS = {"ready": ("start", "campaign pause", "campaign end"), "verdict": ("verdict keep", "verdict repeat")}
Progress = Callable[[str], None]


class CommandedOperator(Operator):
    """Answers the questions of a campaign by commands (`hil.campaign.guided.Operator`).

    Args:
        console: of the operator.
        name: of the operator.
        latched: an E-stop between two trials is latched here; while a fault is, no trial begins.
    """

    def __init__(self, console: Console, name: str, latched: LatchedFaults) -> None:
        self._console, self._name, self._word, self._latched = console, name, "", latched
        self._paused = False
        self.ended = False

    @override
    def ask(self, question: Question) -> str:
        """What came before the question was shown does not answer it; it can only end the campaign."""
        if question.key == "name":
            return self._name
        if question.key == "word":  # it came with the verdict
            return self._word
        if question.key not in ANSWERS:  # no command has such an answer
            return question.default
        early = [one for one in self._console.take_all() if isinstance(one, EStop | Stop | Campaign)]
        for one in sorted(early, key=lambda one: not isinstance(one, EStop)):  # the first may end the campaign
            self._answer(question.key, one)
        self._console.ask(ConsoleQuestion(question.key, question.text, ANSWERS[question.key], question.trial))
        try:
            while True:
                if self._paused and question.key == "ready":
                    raise NoAnswerError(question.key)
                command = self._console.wait()
                if command is not None and (answer := self._answer(question.key, command)):
                    return answer
        finally:
            self._console.ask(None)

    def _answer(self, key: str, command: OperatorCommand) -> str:
        """The answer that a command gives; empty: none. Raises NoAnswerError: it ends the campaign for now."""
        if isinstance(command, EStop):
            self._latched.latch_stop(command.reason or "operator: E-stop")
            self._console.show_latched(self._latched.events)
            raise NoAnswerError(key)
        if isinstance(command, ClearFault) and self._latched.clear(command.fault):
            self._console.show_latched(self._latched.events)
            return ""
        if isinstance(command, Campaign) and command.do != "start":
            self._paused, self.ended = True, command.do == "end"
            return ""
        if isinstance(command, Stop):
            if key == "ready":
                raise NoAnswerError(key)
            return ""  # nothing moves: it was done when it came
        if key == "ready" and isinstance(command, Start) and not self._latched.events:
            return "go"
        if key == "verdict" and isinstance(command, Verdict):
            self._word = command.word
            return command.verdict
        why = self._latched.refusal if isinstance(command, Start) else ""
        why = why or f"a campaign asks {key}; allowed: {', '.join(ANSWERS[key])}"
        self._console.show(message=self._console.refuse(command, why))
        return ""


class CommandedCampaign(CampaignRuns):
    """A campaign that starts, pauses and ends by commands (`hil.app.resident.CampaignRuns`).

    Args:
        plans: the chosen plan, and those that are offered.
        out: its folders are made in this one.
        console: of the operator.
        progress: called with what is going on, a line at a time.
        run: makes a trial; as `hil.app.run.run_experiment`.
        report: writes the report of a campaign that is over, from its folder; what is wrong with it, or nothing.
    """

    def __init__(
        self,
        plans: PlanChoice,
        out: Path,
        console: Console,
        progress: Progress,
        run: Callable[..., Any] = run_experiment,
        report: Callable[[Path], str] = lambda _: "",
    ) -> None:
        self._plans, self._out, self._console, self._progress, self._run = plans, out, console, progress, run
        self._report = report
        self._folder: Path | None = None
        self._count = 0
        self._interrupted = self._left = False

    @property
    @override
    def offered(self) -> Sequence[str]:
        return [*self._plans.offered]

    @property
    @override
    def planned(self) -> bool:
        return self._plans.wanted is not None

    @property
    @override
    def paused(self) -> bool:
        return self._folder is not None and self._left

    @override
    def choose(self, plan: str, overrides: Sequence[str], seed: Any) -> None:
        self._plans.choose(plan, overrides, seed)
        self.end()

    @override
    def prepare(self, overrides: Sequence[str], seed: Any) -> None:
        self._plans.prepare(overrides, seed)
        self.end()

    @override
    def shown(self) -> dict[str, Any] | None:
        return self._plans.shown()

    @override
    def go_on(self, operator: str, latched: LatchedFaults) -> None:
        wanted, resume, self._left = self._plans.wanted, self._folder is not None, True
        assert wanted is not None
        folder = self._folder or self._new_folder()
        asked, stop = CommandedOperator(self._console, operator, latched), CampaignStop(self)
        with locked(folder):
            trials = run_guided(wanted, folder, asked, partial(self._trial, latched), self, stop, resume=resume)
        if self._interrupted:
            raise KeyboardInterrupt
        self._left = stop.wanted and not asked.ended
        over = "paused" if self._left else "over"
        self.text(f"the campaign is {over}, {len(trials)} attempts in {folder}")
        if over == "over" and trials:
            self._write_report(folder)
        if asked.ended:
            self.end()

    def _write_report(self, folder: Path) -> None:
        said = self._console.status.message
        self.text(f"{said}; its report is written")
        problem = self._report(folder)
        self.text(f"{said}; without a report: {problem}" if problem else said)

    @override
    def end(self) -> None:
        self._folder = None

    def text(self, line: str) -> None:
        """Show a line to the operator."""
        self._console.show(message=line)
        self._progress(line)

    def done(self, count: int, total: int) -> None:
        """Show how many trials are done."""
        self.text(f"{count} of {total} trials are done")

    def _new_folder(self) -> Path:
        self._count += 1
        self._folder = run_folder(self._out / f"campaign_{self._count}", "", "")
        return self._folder

    def _trial(self, latched: LatchedFaults, config: Config, folder: Path) -> dict[str, Any]:
        """One trial, on a rig that is opened for it; its faults stay latched."""
        self._console.show("preparing")
        figure = bool(self._plans.wanted and self._plans.wanted.figures)
        with watched(self._console, latched):
            summary: dict[str, Any] = self._run(config, folder, self.text, figure=figure, console=self._console).summary
        show_end(self._console, summary)
        self._interrupted = interrupted(summary)
        return summary


@contextmanager
def watched(console: Console, latched: LatchedFaults) -> Iterator[None]:
    """A run of a campaign: whatever ends it, its faults stay latched."""
    try:
        yield
    finally:
        latched.take_over(console.latched)
        console.show_latched(latched.events)


def show_end(console: Console, summary: dict[str, Any]) -> None:
    """A run of a campaign is over: show its summary, and that the campaign goes on."""
    console.finished(summary)
    console.show("campaign")
