"""Exit statuses, and error messages of commands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from textwrap import fill

import typer

FAULT = 1
USAGE = 2
REFUSED = 3


def printable(text: str) -> str:
    """A text whose control characters, which a file may have put there to command the terminal, are escapes."""
    return "".join(one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in text)


def complain(text: str) -> None:
    """Print the text on stderr without markup; a line that is longer than the terminal is broken between words.

    Control characters are written as escapes.
    """
    print(wrapped(f"hil: {printable(text)}"), file=sys.stderr)


def wrapped(text: str) -> str:
    """A text for stderr, its lines as wide as the terminal and continued with an indent; unchanged without one."""
    if not sys.stderr.isatty():
        return text
    width = get_terminal_size().columns
    return "\n".join(
        line
        if len(line) <= width
        else fill(line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


@contextmanager
def usage_errors() -> Iterator[None]:
    """Wrong configs, wrong folders and missing devices end the command with exit status 2 and no traceback.

    A rig that cannot be armed because of a measurement before the first tick ends it with exit status 3.
    """
    from drivers.interfaces import DeviceError
    from hil.config import ConfigError
    from hil.recording.run_folder import FolderError
    from hil.safety.arming import NotArmedError

    try:
        yield
    except (ConfigError, FolderError, DeviceError) as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    except NotArmedError as error:
        complain(str(error))
        raise typer.Exit(REFUSED) from None
