"""Reads files that people or other programs wrote: of limited size, whatever is at their path, and once if need be."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path


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

    Args:
        path: of the file.
        most_bytes: the largest size that is read [bytes].

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
