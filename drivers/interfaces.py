"""The narrow interfaces that every device kind stands behind, real or simulated."""

from __future__ import annotations

import math
from typing import Protocol, TypeVar

import msgspec

from drivers.messages import DaqBlock, DriveCommand, DriveSample, ValveCommand, ValveSample

Sample_co = TypeVar("Sample_co", covariant=True)
Command_contra = TypeVar("Command_contra", contravariant=True)


class DeviceError(RuntimeError):
    """A device or its link failed; the message names the device, what was found and what to do."""


class LinkLostError(DeviceError):
    """The link is gone: unplugged, hung up, or no answer any more (row 13 of the fault table)."""


class DamagedError(DeviceError):
    """Too many answers came damaged (row 14)."""


class SamplesLostError(DeviceError):
    """The device had to throw samples away, for nobody took them (row 6)."""


class Health(msgspec.Struct, frozen=True, gc=False):
    """How a link is doing.

    Attributes:
        device: name for people.
        open: whether the link is up.
        errors: failures since it was opened.
        detail: what the device says of itself.
        retries: requests that had to be made twice.
        rate_hz: complete samples a second, lately; NaN where that is not counted.
        age_ms: of its newest answer [ms]; NaN where that is not counted.
        e_stop: the device reports that its emergency stop is pressed.
    """

    device: str
    open: bool
    errors: int
    detail: str
    retries: int = 0
    rate_hz: float = math.nan
    age_ms: float = math.nan
    e_stop: bool = False


class ControllerState(msgspec.Struct, frozen=True):
    """What a motor controller has told of itself.

    Attributes:
        where: its place, for people.
        version: what it is.
        supply_V: of the motors [V]; NaN before it was asked.
        currents_A: of its motors [A]; NaN before it was asked.
        trouble: what it reports, beside an emergency stop, in words or as its status; "" for nothing.
    """

    where: str
    version: str
    supply_V: float
    currents_A: tuple[float, ...]
    trouble: str

    @property
    def known(self) -> bool:
        """It was asked for everything."""
        return all(map(math.isfinite, (self.supply_V, *self.currents_A)))


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


class PolledDevice(Link, Protocol):
    """A device whose transactions take their time: its worker calls `step` again and again, and nothing else waits.

    `write` and `read` of such a device only touch memory: what has been commanded is sent, and what is read has come,
    in a step.
    """

    def step(self) -> None:
        """Make the most urgent transaction, a cut before all others, and return when it is over.

        Raises:
            DeviceError: of the kind that says what to do about it.
        """


class IoDevice(msgspec.Struct, frozen=True):
    """A device as its maker's library lists it, with the names of its channels and lines."""

    name: str
    product: str
    serial: str
    ai: tuple[str, ...]
    ao: tuple[str, ...]
    di: tuple[str, ...]
    do: tuple[str, ...]


class StopFrames(msgspec.Struct, frozen=True):
    """What has to be written to a serial port to stop what hangs on it, without asking anything back.

    Attributes:
        device: name for people.
        port: path of the port.
        baud: its speed.
        frames: one after the other, each answered or not.
        pause_s: silence between two frames.
    """

    device: str
    port: str
    baud: int
    frames: tuple[bytes, ...]
    pause_s: float = 0.0


class DriveLink(Source[DriveSample], Sink[DriveCommand], Protocol):
    """Wheel drives: encoders out, speeds in."""


class ValveLink(Source[ValveSample], Sink[ValveCommand], Protocol):
    """The cylinders' valves: pressures out, coils in."""


class DrivesDevice(PolledDevice, DriveLink, Protocol):
    """Wheel drives whose transactions take their time."""

    def states(self) -> tuple[ControllerState, ...]:
        """What each controller says of itself."""

    def stop_frames(self) -> tuple[StopFrames, ...]:
        """What stops the devices without their driver; nothing: they stop by themselves."""


class ValvesDevice(PolledDevice, ValveLink, Protocol):
    """Valves whose transactions take their time."""

    def stop_frames(self) -> tuple[StopFrames, ...]:
        """See DrivesDevice."""


class DaqDevice(PolledDevice, Source[DaqBlock], Protocol):
    """The data acquisition.

    Attributes:
        filter_delay_ns: delay of the converters' filters [ns], taken off the sample times; known once it is open.
    """

    filter_delay_ns: int
