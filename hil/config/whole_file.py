"""Writes files and folders that are there as a whole, or are as they were before."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What a program writes to directly, whatever is connected there.
_STREAMS = ("/dev", "/dev/fd")


@contextmanager
def replacing(path: Path, *, new: bool = False) -> Iterator[Path]:
    """A name beside a file or folder, with the same ending, to write it under; it takes its place once it is good.

    An exception leaves what was there before as it was. Nobody else has the name: what another program writes at the
    same time, or left when it was killed, is not touched and is not in the way.

    Args:
        path: of the file or folder.
        new: nothing may be there.

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
    terminal or pipe is written to.

    Raises:
        OSError: it cannot be written.
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
