"""Reads files that people or other programs wrote: of limited size, whatever is at their path."""

from __future__ import annotations

import os
import stat
from pathlib import Path


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
