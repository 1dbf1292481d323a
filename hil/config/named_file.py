"""The files that a config names: read in the config's folder; the config then has what is in them."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Protocol

from typing_extensions import override

from hil.config.problems import Problem
from hil.config.text_file import read_text


class NamedFile(Protocol):
    """A file that a config may name."""

    def path(self, raw: Any) -> str | None:
        """Its path in a raw config; None: the config names none, or has its content already."""

    def put(self, raw: dict[str, Any], folder: Traversable) -> list[Problem]:
        """Replace the path, if the raw config has one, by what is in the file.

        Args:
            raw: the config as read; changed in place. What is no path is left to the check of the config.
            folder: of the config.

        Returns:
            The problems of the file; the key of one that has any is left out.
        """


class WrongContentError(ValueError):
    """What is in a file is wrong: what was found, and what is allowed."""

    def __init__(self, *problems: tuple[str, str]) -> None:
        super().__init__("; ".join(found for found, _ in problems))
        self.problems = problems


@dataclass(frozen=True)
class TextFile(NamedFile):
    """A `NamedFile` of text.

    Attributes:
        key: of its path in the config, a dot between its parts.
        most_bytes: largest size of the file.
        allowed: what the file should be, in words.
        content: of its text, what takes the place of the path; may raise ValueError or csv.Error.
        several_lines: a text of several lines is the content itself.
    """

    key: str
    most_bytes: int
    allowed: str
    content: Callable[[str], Any]
    several_lines: bool = False

    @override
    def path(self, raw: Any) -> str | None:
        path = named_path(raw, self.key)
        return None if path is None or (self.several_lines and "\n" in path) else path

    @override
    def put(self, raw: dict[str, Any], folder: Traversable) -> list[Problem]:
        path = self.path(raw)
        if path is None:
            return []
        *sections, last = self.key.split(".")
        section: dict[str, Any] = raw
        for name in sections:
            section = section[name]
        del section[last]
        if not path or "\0" in path:
            return [Problem(self.key, repr(path), self.allowed)]
        file = Path(str(folder / path))
        try:
            section[last] = self.content(read_text(file, self.most_bytes).removeprefix("\ufeff"))  # as spreadsheets do
        except WrongContentError as error:
            return [Problem(self.key, f"{path}: {found}", needed or self.allowed) for found, needed in error.problems]
        except (OSError, ValueError, csv.Error) as error:
            reason = getattr(error, "strerror", None) or str(error) or "cannot be read"
            return [Problem(self.key, f"{path}: {reason}", f"{self.allowed}; looked for {file}")]
        return []


def named_path(raw: Any, key: str) -> str | None:
    """The text that a raw config has for a key, a dot between its parts; None: none."""
    for name in key.split("."):
        raw = raw.get(name) if isinstance(raw, dict) else None
    return raw if isinstance(raw, str) else None


def lines_of(text: str) -> str:
    """A text with one kind of line end, one at its end, too."""
    return "\n".join([*text.splitlines(), ""])
