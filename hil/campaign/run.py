"""A campaign of simulated trials, which continues where it stopped; the plans to choose from."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

from hil.analysis.campaign import contradictions, read_campaign
from hil.campaign.folder import (
    CampaignFolder,
    Trial,
    recorded_trial,
    refuse_other_head,
    remove_unfinished,
    set_aside,
    trial_of,
    write_files,
)
from hil.campaign.plan import Plan, PlannedTrial, shipped_plans
from hil.campaign.trial import Job, TrialResult
from hil.campaign.workers import Workers, run_jobs
from hil.config import Config
from hil.config.files import read_text
from hil.config.text_io import MOST_BYTES, read_yaml
from hil.config.unchecked_config import fingerprint
from hil.recording.run_folder import verdict_of
from hil.version import running_version

# What must be the same when a campaign is resumed, and its name in messages.
_SAME = {
    "version": "rover-hil", "plan_sha256": "--plan", "config_sha256": "CONFIG", "seed": "--seed", "kept": "kept",
    "runs_sha256": "configs of the trials",
}  # fmt: skip


class ProgressReporter(Protocol):
    """Receives the progress of a campaign."""

    def text(self, line: str) -> None:
        """Something happened."""

    def done(self, count: int, total: int) -> None:
        """So many of all trials are done."""


@dataclass(frozen=True)
class CampaignOrder:
    """A campaign to make."""

    plan: Plan
    base: Config
    trials: Sequence[PlannedTrial]
    seed: int | None
    folders: bool = True
    figures: bool = False

    def shown(self) -> dict[str, Any]:
        """What an operator sees of it: name, and of each trial its settings and how the obstacle's frame stands."""
        trials = [{"number": trial.number, **trial.settings, "frame": trial.frame()} for trial in self.trials]
        return {"name": self.plan.name, "trials": trials}

    def head(self) -> dict[str, Any]:
        """What campaign.json holds besides trials, processor and digests."""
        plan = self.plan.model_dump(mode="json")
        return {
            "name": self.plan.name,
            "plan": plan,
            "plan_sha256": fingerprint(plan),
            "config_sha256": self.base.sha256(),
            "config": self.base.to_yaml(),
            "runs_sha256": fingerprint([trial.config.sha256() for trial in self.trials]),
            "version": running_version(),
            "seed": self.seed,
            "kept": "folders" if self.folders else "summaries",
            "planned": len(self.trials),
        }


class CampaignStop:
    """Ctrl-C, SIGHUP and SIGTERM end a campaign once the trials that run are over; a second one ends it at once."""

    def __init__(self, report: ProgressReporter) -> None:
        self._report, self._before = report, dict[int, Any]()
        self.wanted = False

    def now(self) -> bool:
        """Whether no further trial shall start."""
        return self.wanted

    def _signalled(self, _number: int, _frame: object) -> None:
        if self.wanted:
            raise KeyboardInterrupt
        self.wanted = True
        self._report.text("stopping: the trials that run come to their end; --resume goes on from here")

    def __enter__(self) -> Self:
        with suppress(ValueError):  # not the main thread: the caller handles signals
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                self._before[number] = signal.signal(number, self._signalled)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


class CampaignProgress:
    """What is done of a campaign, and what comes next."""

    def __init__(self, wanted: CampaignOrder, ledger: CampaignFolder, report: ProgressReporter) -> None:
        self.wanted, self.ledger, self._report = wanted, ledger, report
        self._done = 0

    def pending(self, resume: bool) -> list[tuple[PlannedTrial, int]]:
        """Trials that are still to be made, each with its next attempt; what is there is checked and taken."""
        if not resume:
            return [(trial, 1) for trial in self.wanted.trials]
        remove_unfinished(self.ledger.folder)
        kept = {} if self.wanted.folders else self._of_summaries()
        attempts = [(trial, self._next_attempt(trial, kept)) for trial in self.wanted.trials]
        left = [(trial, attempt) for trial, attempt in attempts if attempt is not None]
        self._report.text(f"{len(attempts) - len(left)} of {len(attempts)} trials are there already")
        return left

    def take(
        self,
        trial: PlannedTrial,
        attempt: int,
        summary: dict[str, Any],
        processor: str,
        operator: dict[str, str] | None = None,
    ) -> int | None:
        """Take an attempt that is over. Returns the attempt that is to follow, if one is."""
        folder = self.ledger.place(trial.number, attempt).name if self.wanted.folders else ""
        taken = trial_of(trial.number, attempt, folder, trial.attempt(attempt)[0], summary, operator)
        self.ledger.add(taken, processor)
        return self._after(taken)

    def _after(self, taken: Trial) -> int | None:
        plan, status = self.wanted.plan, taken["status"]
        again = status == "faulted" or (status == "dropped" and plan.repeat_dropped)
        again = again and taken["attempt"] < plan.attempts
        if taken["operator"]:  # who was there knows better
            again = taken["operator"]["verdict"] == "repeat"
        if again:
            reason = "; ".join(taken["summary"].get("reasons") or ()) or status
            if taken["operator"]:
                reason = f"the operator says repeat: {taken['operator']['word']}".rstrip(": ")
            self._report.text(f"trial {taken['number']}, attempt {taken['attempt']}: {reason}; repeated")
            return int(taken["attempt"]) + 1
        self._done += 1
        self._report.done(self._done, len(self.wanted.trials))
        return None

    def _of_summaries(self) -> dict[tuple[int, int], Trial]:
        kept = read_campaign(self.ledger.folder)
        if wrong := kept.wrong or next(contradictions(kept), ""):
            self._report.text(f"{wrong}; all trials are run again")
            return {}
        return {(trial["number"], trial["attempt"]): trial for trial in kept.trials}

    def _next_attempt(self, trial: PlannedTrial, kept: dict[tuple[int, int], Trial]) -> int | None:
        attempt: int | None = 1
        while attempt is not None:
            settings, config = trial.attempt(attempt)
            place = self.ledger.place(trial.number, attempt)
            if self.wanted.folders:
                summary, wrong = recorded_trial(place, config.sha256())
                said = verdict_of(place) if summary else None
                taken = summary and trial_of(trial.number, attempt, place.name, settings, summary, said)
                if wrong:
                    self._report.text(f"{place.name}: {wrong}; it is now {set_aside(place).name}, and run again")
            else:
                taken = kept.get((trial.number, attempt))
            if taken is None:
                return attempt
            self.ledger.add(taken)
            attempt = self._after(taken)
        return None


def refuse_other(wanted: CampaignOrder, folder: Path) -> list[str]:
    """Check that the campaign in a folder is the wanted one. Returns the processors it ran on so far.

    Raises:
        FolderError: there is no campaign there.
        ConfigError: it is another one, of another version, plan, config or seed.
    """
    head = read_campaign(folder).meta
    refuse_other_head(head, wanted.head(), _SAME, folder, "--resume of campaign")
    return [name for name in str(head.get("processor", "")).split("; ") if name]


def begin(
    wanted: CampaignOrder, folder: Path, report: ProgressReporter, resume: bool
) -> tuple[CampaignProgress, list[tuple[PlannedTrial, int]]]:
    """A campaign in its folder, and the trials that are left with their next attempts; raises as `run_campaign`."""
    ledger = CampaignFolder(folder, wanted.head(), refuse_other(wanted, folder) if resume else ())
    progressing = CampaignProgress(wanted, ledger, report)
    return progressing, progressing.pending(resume)


def run_campaign(
    wanted: CampaignOrder,
    folder: Path,
    workers: Callable[[], AbstractContextManager[Workers]],
    report: ProgressReporter,
    stop: CampaignStop,
    *,
    resume: bool = False,
) -> list[Trial]:
    """Run the trials of a campaign that are not there yet.

    Whatever ends it, campaign.csv, campaign.json and the run folders are whole, and `resume` goes on from there.
    The folder exists, and is empty or to be resumed.

    Returns:
        All trials that are there, by number and attempt.

    Raises:
        FolderError, ConfigError: it cannot be resumed.
        DeviceError: trials cannot run, or a simulated rig failed.
        OSError: a file cannot be written.
    """
    progressing, left = begin(wanted, folder, report, resume)
    ledger = progressing.ledger
    try:
        ledger.write()
        if left:
            _run(progressing, left, workers, stop)
    finally:
        ledger.write()
    return ledger.trials


def _run(
    progressing: CampaignProgress,
    left: Sequence[tuple[PlannedTrial, int]],
    workers: Callable[[], AbstractContextManager[Workers]],
    stop: CampaignStop,
) -> None:
    wanted, ledger = progressing.wanted, progressing.ledger

    def job(trial: PlannedTrial, attempt: int) -> Job:
        place = ledger.place(trial.number, attempt)
        text = trial.attempt(attempt)[1].model_dump_json()
        return Job(text, "folder" if wanted.folders else "summary", str(place.resolve()), wanted.figures)

    def take(name: tuple[PlannedTrial, int], result: TrialResult) -> tuple[tuple[PlannedTrial, int], Job] | None:
        trial, attempt = name
        place = ledger.place(trial.number, attempt)
        if result.files:
            write_files(place, result.files)
        if interrupted(result.summary):  # with the realtime clock a signal ends the trial that runs
            stop.wanted = True
            if wanted.folders:
                set_aside(place)
            return None
        follows = progressing.take(trial, attempt, result.summary, result.processor)
        return None if follows is None else ((trial, follows), job(trial, follows))

    def jobs() -> Iterator[tuple[tuple[PlannedTrial, int], Job]]:
        return ((name, job(*name)) for name in left)

    run_jobs(workers, jobs(), take, stop.now)


def interrupted(summary: dict[str, Any]) -> bool:
    """Whether a signal ended a trial."""
    return bool(summary["aborted"]) and "operator: SIG" in json.dumps(summary.get("reasons") or ())


def last_attempts(trials: Sequence[Trial]) -> list[Trial]:
    """The last attempt of each trial."""
    return list({trial["number"]: trial for trial in trials}.values())


# Makes the campaign of a plan: its source or the plan as it was read, overrides of the config, and a seed (None: that
# of the command line).
# Raises ConfigError.
MakeCampaign: TypeAlias = Callable[[str | Plan, Sequence[str], Any], CampaignOrder]
# Files of a folder that are looked at, at most.
_MOST_FILES = 200


class PlanChoice:
    """The chosen plan, and those that may be chosen.

    Args:
        make: see `MakeCampaign`.
        offered: sources of the plans by the names that operators know.
        name: of the chosen one; None: none is.

    Raises:
        ConfigError: the chosen plan or its trials are not in order.
    """

    def __init__(self, make: MakeCampaign, offered: Mapping[str, str], name: str | None = None) -> None:
        self._make, self.offered, self._name = make, offered, name
        self.wanted: CampaignOrder | None = None
        if name is not None:
            self.choose(name, (), None)

    def shown(self) -> dict[str, Any] | None:
        """Returns the chosen plan for the status; None: none is chosen."""
        return None if self.wanted is None else {**self.wanted.shown(), "choice": self._name}

    def choose(self, name: str, overrides: Sequence[str], seed: Any) -> None:
        """Choose one of the offered plans, with overrides of the config."""
        self.wanted, self._name = self._make(self.offered[name], overrides, seed), name

    def prepare(self, overrides: Sequence[str], seed: Any) -> None:
        """Make the trials of the chosen plan again, with the overrides of now."""
        if self.wanted is not None:  # the plan stays as it was chosen, whatever stands in its file by now
            self.wanted = self._make(self.wanted.plan, overrides, seed)


def plans_for(config: str) -> dict[str, str]:
    """The plans offered for a config, by name: those next to its file or in its folder `plans`; the shipped."""
    offered = {}
    if Path(config).is_file():
        for prefix in ("", "plans/"):
            files = sorted((Path(config).parent / prefix).glob("*.yaml"))[:_MOST_FILES]
            offered.update({f"{prefix}{file.name}": str(file) for file in files if _is_plan(file)})
    return offered | {name: name for name in shipped_plans()}


def _is_plan(file: Path) -> bool:
    """Whether a file is a plan and not a config; what is wrong with it shows when it is chosen."""
    try:
        content, _ = read_yaml(read_text(file, MOST_BYTES), file.name)
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and "angles_deg" in content
