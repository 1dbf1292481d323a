"""Settings and plan, as an operator changes them between two runs of a resident process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from hil.app.console import Console, obstacle_shown
from hil.app.resident import LatchedFaults
from hil.config import ConfigError
from hil.config.operator_settings import SEED, ChangeableKeys, Settings, Value, as_overrides
from hil.config.rig import Rig
from hil.messages.operator_input import ChoosePlan, Set


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
