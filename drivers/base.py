"""The narrow interfaces that every device kind stands behind, real or simulated."""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec

Sample_co = TypeVar("Sample_co", covariant=True)
Command_contra = TypeVar("Command_contra", contravariant=True)


class DeviceError(RuntimeError):
    """A device or its link failed; the message names the device, what was found and what to do."""


class Health(msgspec.Struct, frozen=True, gc=False):
    """How a link is doing.

    Attributes:
        device: name for people.
        open: whether the link is up.
        errors: failures since it was opened.
        detail: what the device says of itself.
    """

    device: str
    open: bool
    errors: int
    detail: str


class Link(Protocol):
    """Life cycle shared by sources and sinks."""

    def open(self) -> None:
        """Take hold of the device. Raises DeviceError."""

    def close(self) -> None:
        """Let go of it; never raises, may be called twice."""

    def health(self) -> Health:
        """State of the link; never blocks."""


class Source(Link, Protocol[Sample_co]):
    """A device that is read."""

    def read(self, t_ns: int) -> Sample_co | None:
        """The oldest sample not yet read, or None; never blocks. Raises DeviceError."""


class Sink(Link, Protocol[Command_contra]):
    """A device that is commanded."""

    def write(self, command: Command_contra) -> None:
        """Hand a command over; never blocks. Raises DeviceError."""
