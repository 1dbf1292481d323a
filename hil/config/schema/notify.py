"""The command that is told how a run has ended."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from hil.config.schema.base import Section

# What stands in an argument for something of the run.
PLACEHOLDERS = ("folder", "config", "state", "words")
_BRACED = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class NotifyConfig(Section):
    """A program of the user that is told how each run has ended (docs/how-to/operate.md)."""

    command: list[str] = Field(
        default_factory=list,
        max_length=50,
        description="a program in the user's folder rover-hil/notify, by name, and its arguments; empty: none",
        json_schema_extra={"note": "in an argument {folder}, {config}, {state}, {words} stand for what they say"},
    )
    timeout_s: float = Field(30.0, ge=0.1, le=600, description="after which the program is killed")

    @field_validator("command")
    @classmethod
    def _checked(cls, command: list[str]) -> list[str]:
        if command and not _NAME.fullmatch(command[0]):
            raise ValueError(
                f"{command[0]!r} is no name of a file: letters, digits, '.', '-' and '_'; the program is looked for in "
                "the user's folder rover-hil/notify alone, so that no config from elsewhere can name another one"
            )
        for argument in command:
            if len(argument) > 1000 or not argument.replace("\n", "").isprintable():
                raise ValueError(f"{argument[:40]!r}: allowed: at most 1000 printable characters")
            for name in _BRACED.findall(argument):
                if name not in PLACEHOLDERS:
                    raise ValueError(f"{{{name}}} stands for nothing: allowed: {', '.join(PLACEHOLDERS)} in braces")
        return command
