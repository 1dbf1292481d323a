"""All problems of a config, as messages for the person who edits it."""

from __future__ import annotations

from collections.abc import Sequence

from drivers.section import Problem

__all__ = ["ConfigError", "CrossCheckError", "Problem"]


# Problems that a message lists; a file of another kind can have thousands.
MOST_LISTED = 50


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
