"""Exit statuses, and error messages of commands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

FAULT = 1
USAGE = 2
REFUSED = 3


def complain(text: str) -> None:
    """Print the text on stderr without markup or wrapping.

    Control characters, which a file may have put there to command the terminal, are written as escapes.
    """
    plain = "".join(
        character if character.isprintable() or character == "\n" else ascii(character)[1:-1] for character in text
    )
    print(f"hil: {plain}", file=sys.stderr)


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
