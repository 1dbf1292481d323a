"""A campaign with an operator: says what to set, waits, runs, shows the verdict, asks to keep or repeat.

The rig is opened anew for each trial. Between two trials people work on the obstacle and lift the rover: nothing of
this program then holds the drives, each record holds the config of its angle, and a fault ends with its trial. It
costs some seconds, next to the minutes that setting the obstacle takes.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from typing_extensions import override

from hil.campaign.folder import Trial
from hil.campaign.plan import PlannedTrial
from hil.campaign.run import CampaignOrder, CampaignProgress, CampaignStop, ProgressReporter, begin, interrupted
from hil.config import Config
from hil.config.files import replacing
from hil.experiments.impact.approach import frame_settings
from hil.experiments.registry import main_values
from hil.realtime.clock import processor_name
from hil.recording.run_folder import VERDICT, run_folder


class NoAnswerError(Exception):
    """The operator is gone, or ended the campaign instead of answering."""


@dataclass(frozen=True)
class Question:
    """A question to the operator."""

    key: str  #: what is asked: name, ready, verdict or word
    text: str  #: for people; what has to be done before the answer comes first
    choices: tuple[str, ...] = ()  #: the answers that count; empty: any text
    default: str = ""  #: the answer to an empty line
    trial: int = 0  #: number of the trial that it is about; 0: of none


class Operator(Protocol):
    """Answers questions."""

    def ask(self, question: Question) -> str:
        """The answer: one of `question.choices`, if it has any. Raises NoAnswerError."""


class TerminalOperator(Operator):
    """Whoever sits at the terminal. Ctrl-C at a question, and the end of the input, end the campaign."""

    @override
    def ask(self, question: Question) -> str:
        hint = f" [{'/'.join(question.choices)}]" if question.choices else ""
        default = f" ({question.default})" if question.default else ""
        try:
            with _signals_interrupt():
                while True:
                    answer = self._line(f"{question.text}{hint}{default}: ").strip() or question.default
                    matching = [choice for choice in question.choices if answer and choice.startswith(answer.lower())]
                    if not question.choices:
                        return answer
                    if len(matching) == 1:
                        return matching[0]
        except (EOFError, KeyboardInterrupt):
            raise NoAnswerError(question.key) from None

    @staticmethod
    def _line(prompt: str) -> str:
        import sys

        print(prompt, end="", file=sys.stderr, flush=True)  # noqa: T201  stdout is for the result
        return input()


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """A signal ends the wait for an answer."""
    before: dict[int, Any] = {}
    with suppress(ValueError):  # not the main thread
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


INCH_M = 0.0254
# Runs a trial in its folder and returns its summary.
Run = Callable[[Config, Path], dict[str, Any]]


def run_guided(
    wanted: CampaignOrder,
    folder: Path,
    operator: Operator,
    run: Run,
    report: ProgressReporter,
    stop: CampaignStop,
    *,
    resume: bool = False,
) -> list[Trial]:
    """Run the trials of a campaign one after the other, as the operator says; with `resume` those that are left.

    The folder exists, and is empty or to be resumed.

    Returns:
        All trials that are there, by number and attempt.

    Raises:
        FolderError, ConfigError: it cannot be resumed.
        DeviceError, NotArmedError: a trial could not begin.
    """
    progressing, left = begin(wanted, folder, report, resume)
    ledger = progressing.ledger
    before: PlannedTrial | None = None
    try:
        ledger.write()
        name = operator.ask(Question("name", "Name of the operator")) if left else ""
        for trial, first in left:
            attempt: int | None = first
            while attempt is not None and not stop.wanted:
                attempt = _one(progressing, trial, attempt, before, name, operator, run, stop)
                before = trial
    except NoAnswerError:
        stop.wanted = True
    finally:
        ledger.write()
    return ledger.trials


def _one(
    progressing: CampaignProgress,
    trial: PlannedTrial,
    attempt: int,
    before: PlannedTrial | None,
    name: str,
    operator: Operator,
    run: Run,
    stop: CampaignStop,
) -> int | None:
    """One attempt, from what to set to the verdict. Returns the attempt that is to follow, if one is."""
    wanted, ledger = progressing.wanted, progressing.ledger
    config = trial.attempt(attempt)[1]
    text = f"{_which(trial, attempt, len(wanted.trials))}\n{to_set(trial, before)}\nReady"
    if operator.ask(Question("ready", text, ("go", "stop"), "go", trial.number)) == "stop":
        raise NoAnswerError("ready")
    place = run_folder(ledger.place(trial.number, attempt), config.name, "")
    summary = run(config, place)
    if interrupted(summary):  # Ctrl-C during the trial: it is kept as it is, and repeated when the campaign goes on
        stop.wanted = True
        progressing.take(trial, attempt, summary, processor_name())
        return None
    default = "keep" if summary["accepted"] else "repeat"
    try:
        verdict = operator.ask(Question("verdict", verdict_text(summary), ("keep", "repeat"), default, trial.number))
        word = operator.ask(Question("word", "A word on it, if any"))
    except NoAnswerError:  # the rules' verdict stands
        progressing.take(trial, attempt, summary, processor_name())
        raise
    said = {"name": name, "verdict": verdict, "word": word}
    with replacing(place / VERDICT) as unfinished:
        unfinished.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    follows = progressing.take(trial, attempt, summary, processor_name(), said)
    ledger.write()
    return follows


def to_set(trial: PlannedTrial, before: PlannedTrial | None = None) -> str:
    """What the operator has to set for a trial, one line each; of what is set once, only what changes."""
    config, settings = trial.config, trial.settings
    frame = frame_settings(config.trial.angle_deg, config.wheel_radius_m)
    lines = []

    def changed(*keys: str) -> bool:
        return before is None or any(before.settings.get(key) != settings.get(key) for key in keys)

    if changed("ground"):
        lines.append(f"ground: {settings['ground']}")
    if changed("variant", "added_mass_kg"):
        lines.append(f"rover: {settings['variant']}, {settings['added_mass_kg']:g} kg added")
    if changed("wheels"):
        lines.append(f"wheels: {settings['wheels']}")
    if changed("angle_deg", "wheels"):
        lines.append(
            f"obstacle: {config.trial.angle_deg:g} degrees: {frame.bottom_link_m:.3f} m "
            f"({frame.bottom_link_m / INCH_M:.1f} in) between the feet of its two links; then measure the angle"
        )
        if config.triangle:
            lines.append(
                f"sensors: centre of the triangle {frame.contact_height_m * 1e3:.0f} mm over the ground, which is "
                f"{frame.along_plate_m * 1e3:.0f} mm along the plate from its foot"
            )
    shown = ("angle_deg", "ground", "variant", "added_mass_kg", "wheels", "seed")
    others = {key: value for key, value in settings.items() if key not in shown and value is not None}
    lines += [f"{key}: {value}" for key, value in others.items() if changed(key)]
    lines += [
        f"rover: {config.trial.start_distance_m:g} m before the obstacle, lifted once so that its legs hang free",
        "everybody clear; sensors are then zeroed, their baseline is recorded, and the rover drives by itself",
    ]
    return "\n".join(f"  - {line}" for line in lines)


def verdict_text(summary: dict[str, Any]) -> str:
    """How a trial came out, for the operator who is to keep or repeat it."""
    judged = "ended early" if summary["aborted"] else "accepted" if summary["accepted"] else "not accepted"
    numbers = ", ".join(" ".join(one) for one in main_values(summary))
    reasons = "".join(f"\n  - {reason}" for reason in summary.get("reasons") or ())
    return f"The trial is {judged}: {numbers or 'no impact'}{reasons}\nKeep it, or repeat it"


def _which(trial: PlannedTrial, attempt: int, total: int) -> str:
    again = f", attempt {attempt}" if attempt > 1 else ""
    return f"Trial {trial.number} of {total}{again}. Set:"
