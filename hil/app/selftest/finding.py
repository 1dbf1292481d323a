"""What a part of `hil selftest` gets and gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

Progress = Callable[[str], None]


class Bench(NamedTuple):
    """Where parts are tried.

    Attributes:
        folder: temporary, empty at first; the run of the part "trial" is in its folder `run`.
        runs: where runs would be recorded.
        progress: receives progress lines.
    """

    folder: Path
    runs: Path
    progress: Progress

    @property
    def run(self) -> Path:
        """Folder of the run."""
        return self.folder / "run"


class Outcome(NamedTuple):
    """Whether a part works, what was seen, and how it would work."""

    works: bool
    found: str
    to_do: str = ""
