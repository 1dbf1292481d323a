"""What the resident process needs of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from hil.app.latched_faults import LatchedFaults


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
            overrides: of the config, beside those of the command line.
            seed: replaces that of the command line; None: it does not.

        Raises:
            ConfigError: problems of the plan or of its trials; then nothing is changed.
        """

    def prepare(self, overrides: Sequence[str], seed: Any) -> None:
        """Make the trials of the chosen plan, if there is one, with another config; as `choose`."""

    def shown(self) -> dict[str, Any] | None:
        """The chosen plan as operators see it: its name, that of the choice, trials; None: none is chosen."""

    def go_on(self, operator: str, latched: LatchedFaults) -> None:
        """Make trials until it is paused, ended or done, each on a rig of its own.

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
