"""The plans that an operator may choose from, and the trials of the chosen one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from hil.campaign.plan import Plan, shipped_plans
from hil.campaign.run import CampaignOrder
from hil.config.files import read_text
from hil.config.text_io import MOST_BYTES, read_yaml

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
        """See `hil.app.changes.CampaignRuns`."""
        return None if self.wanted is None else {**self.wanted.shown(), "choice": self._name}

    def choose(self, name: str, overrides: Sequence[str], seed: Any) -> None:
        """See `hil.app.changes.CampaignRuns`."""
        self.wanted, self._name = self._make(self.offered[name], overrides, seed), name

    def prepare(self, overrides: Sequence[str], seed: Any) -> None:
        """See `hil.app.changes.CampaignRuns`."""
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
