"""Reads the files that a config names, in its folder and of limited size; writes files that are whole or as before."""

from __future__ import annotations

import csv
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Protocol

from typing_extensions import override

from hil.config.problems import Problem


class OpenedFiles:
    """The content that files had when they were first read: what a rig was opened with stays, whatever is written."""

    def __init__(self) -> None:
        self._contents: dict[Path, bytes] = {}

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Until its end, this thread reads each file once, and then has it from here."""
        before = _opened.set(self._contents)
        try:
            yield
        finally:
            _opened.reset(before)

    def changed(self) -> list[Path]:
        """The files in which something else stands now, or which cannot be read."""
        return [path for path, content in self._contents.items() if _now(path, len(content)) != content]


_opened: ContextVar[dict[Path, bytes]] = ContextVar("opened files")


def read_text(path: Path, most_bytes: int) -> str:
    """The text of a file.

    Raises:
        OSError: it cannot be opened or read.
        ValueError: it is no regular file, is too large, or is not text in UTF-8; the message says which.
    """
    try:
        return read_bytes(path, most_bytes).decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("not text in UTF-8") from None


def read_bytes(path: Path, most_bytes: int) -> bytes:
    """The content of a file; arguments and errors as of `read_text`, any content."""
    opened, place = _opened.get(None), path.absolute()
    if opened is not None and place in opened:
        return opened[place]
    content = _read(path, most_bytes)
    if opened is not None:
        opened[place] = content
    return content


def is_file(path: Path) -> bool:
    """Whether there is such a file, or was when it was opened. Raises OSError and ValueError as `Path.is_file`."""
    return path.absolute() in _opened.get({}) or path.is_file()


def _now(path: Path, most_bytes: int) -> bytes | None:
    try:
        return _read(path, most_bytes)
    except (OSError, ValueError):
        return None


def _read(path: Path, most_bytes: int) -> bytes:
    # without O_NONBLOCK, opening a pipe that nobody writes to waits for ever
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("no regular file, but a folder, device, pipe or socket")
        if status.st_size > most_bytes:
            raise ValueError(f"{status.st_size} bytes, allowed are {most_bytes}")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(most_bytes)
    finally:
        os.close(descriptor)


# What a program writes to directly, whatever is connected there.
_STREAMS = ("/dev", "/dev/fd")


@contextmanager
def replacing(path: Path, *, new: bool = False) -> Iterator[Path]:
    """A name next to a file or folder, with the same ending, to write it under; it takes its place once it is good.

    An exception leaves what was there before as it was. Nobody else has the name: what another program writes at the
    same time, or left when it was killed, is not touched and is not in the way.

    Raises:
        FileExistsError: with `new`, something is there by then.
        OSError: it cannot be moved there.
    """
    unfinished = path.with_name(f"{path.stem}.{secrets.token_hex(4)}.unfinished{path.suffix}")
    try:
        yield unfinished
        if unfinished.exists():  # an experiment may find that there is nothing to draw
            if new and os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
            unfinished.replace(path)
    finally:
        if unfinished.is_dir():
            shutil.rmtree(unfinished)
        unfinished.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text file that a user may have named; after an error its former content is there.

    A link of the user stays, and the file that it leads to is replaced; that has the rights of the former one. A
    terminal or pipe is written to. Raises OSError: it cannot be written.
    """
    if str(path.parent) in _STREAMS or (path.exists() and not path.is_file()):
        path.write_text(text, encoding="utf-8", newline="")
        return
    place = path.resolve()
    with replacing(place) as unfinished:
        with unfinished.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            shutil.copymode(place, unfinished)


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
    """A `NamedFile` of text."""

    key: str  #: of its path in the config, a dot between its parts
    most_bytes: int  #: largest size of the file
    allowed: str  #: what the file should be, in words
    content: Callable[[str], Any]  #: of its text, what takes the place of the path; may raise ValueError or csv.Error
    several_lines: bool = False  #: a text of several lines is the content itself

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
