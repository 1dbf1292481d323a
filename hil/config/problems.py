"""All problems of a config, as messages for the person who edits it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from drivers.section import Problem

__all__ = ["ConfigError", "CrossCheckError", "Problem"]


# Problems that a message lists; a file of another kind can have thousands.
MOST_LISTED = 50


def suggestion(name: str, known: Iterable[str], most: int = 3, alike: float = 0.5) -> str:
    """Which of the known names may be meant by another, as a question; "": none is alike.

    Args:
        name: that is not known.
        known: names.
        most: number of names in the question.
        alike: from 0, nothing in common, to 1: `speed` and `speed_mps` are alike by 0.71, `port` and `power` by 0.67.
    """
    near = difflib.get_close_matches(name, [*known], most, alike)
    return f"did you mean {' or '.join(near)}?" if near else ""


class CrossCheckError(ValueError):
    """Values that are allowed alone but not together; pydantic passes this error on to the loader."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(map(str, problems)))


class ConfigError(ValueError):
    """A config, or a plan or sweep of configs, that cannot be used."""

    def __init__(self, source: str, problems: Sequence[Problem], what: str = "config") -> None:
        self.source = source  #: the file or shipped name
        self.problems = list(problems)  #: all of them, as (key path, found, allowed, ...)
        count = f"{len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}"
        lines = [f"  {problem}" for problem in self.problems[:MOST_LISTED]]
        if (more := len(self.problems) - MOST_LISTED) > 0:
            lines.append(f"  and {more} more")
        super().__init__("\n".join([f"{what} {source}: {count}", *lines]))
