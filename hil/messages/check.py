"""A check: what was found, what is allowed, and what to do; a line of `hil check`, of arming and of `hil verify`."""

from __future__ import annotations

import msgspec


class Check(msgspec.Struct, frozen=True):
    """One line of `hil check`.

    Attributes:
        item: that is checked.
        ok: it passes.
        found: the value found.
        allowed: the value allowed.
        to_do: what the person at the rig can do about it; "" where it passes.
    """

    item: str
    ok: bool
    found: str
    allowed: str
    to_do: str = ""

    def __post_init__(self) -> None:
        """Who makes a check need not look whether it passes to say what to do."""
        if self.ok:
            msgspec.structs.force_setattr(self, "to_do", "")

    def __str__(self) -> str:
        """All of it in a sentence."""
        return f"{self.item} is {self.found}, allowed: {self.allowed}" + (f"; {self.to_do}" if self.to_do else "")
