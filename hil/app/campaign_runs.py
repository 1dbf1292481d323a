"""What the resident process needs of a campaign."""

from __future__ import annotations

from typing import Protocol

from hil.messages.operator_input import EStop


class CampaignRuns(Protocol):
    """A campaign that an operator leads by commands (`hil.campaign.commanded`)."""

    def go_on(self, operator: str) -> EStop | None:
        """Make trials until it is paused, ended or done, each on a rig of its own.

        Args:
            operator: name of the operator.

        Returns:
            The E-stop that ended it between two trials, if one did.

        Raises:
            KeyboardInterrupt: a signal ended a trial.
            DeviceError, NotArmedError: a trial could not begin.
            ConfigError, FolderError: it cannot go on where it was paused.
        """

    def end(self) -> None:
        """It will not go on: the next start begins a new one."""
