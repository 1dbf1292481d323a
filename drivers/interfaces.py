"""The narrow interface of each device kind, real or simulated, and how many of a device's answers were damaged."""

from __future__ import annotations

import math
from collections import deque
from typing import Protocol, TypeVar

import msgspec

from drivers.host import Characters
from drivers.messages import (
    DaqBlock,
    DriveCommand,
    DriveSample,
    JointCommand,
    JointSample,
    Reading,
    ValveCommand,
    ValveSample,
)
from drivers.reported import DeviceReport

Sample_co = TypeVar("Sample_co", covariant=True)
Command_contra = TypeVar("Command_contra", contravariant=True)


class DeviceError(RuntimeError):
    """A device or its link failed; the message names the device, what was found and what to do."""


class LinkLostError(DeviceError):
    """The link is lost: unplugged, disconnected, or no answer (row 13 of the fault table)."""


class DamagedError(DeviceError):
    """Too many answers were damaged (row 14)."""


class SamplesLostError(DeviceError):
    """The device discarded samples because they were not read in time (row 6)."""


class DeviceIdentity(msgspec.Struct, frozen=True, gc=False):
    """Which device of its kind an open one is.

    Attributes:
        where: its port, for messages.
        found: number that it says of itself, without leading zeros; "": none.
        needed: the same by the config; "": any.
        proof: what else proves it; "": nothing.
    """

    where: str
    found: str
    needed: str
    proof: str = ""

    def check(self) -> None:
        """Raises DeviceError: it is another device."""
        if self.needed and self.found != self.needed.lstrip("0"):
            raise DeviceError(
                f"{self.where}: its identity is {self.found or 'none'}, needed: {self.needed} (key identity); "
                "another device is connected there: put the cable where it belongs, or correct the port, or the "
                "identity once you have seen which device it is"
            )


class Health(msgspec.Struct, frozen=True, gc=False):
    """State of a link.

    Attributes:
        device: name for people.
        open: whether the link is up.
        errors: failures since it was opened.
        detail: what the device reports about itself.
        retries: requests that were sent twice.
        rate_hz: recent rate of complete samples [1/s]; NaN where not counted.
        age_ms: of its newest answer [ms]; NaN where not measured.
        e_stop: the device reports that its emergency stop is pressed.
        reports: what else it reports about itself now; not what is to be ignored.
        identities: which devices they are, where they can say so.
    """

    device: str
    open: bool
    errors: int
    detail: str
    retries: int = 0
    rate_hz: float = math.nan
    age_ms: float = math.nan
    e_stop: bool = False
    reports: tuple[DeviceReport, ...] = ()
    identities: tuple[DeviceIdentity, ...] = ()


class ControllerState(msgspec.Struct, frozen=True):
    """What a motor controller reports about itself.

    Attributes:
        where: its port and address, for messages.
        version: model and firmware.
        supply_V: of the motors [V]; NaN before the first reading.
        currents_A: of its motors [A]; NaN before the first reading.
        trouble: what it reports other than an emergency stop, in words or as its status; "" for nothing.

    Example:
        >>> ControllerState("0x80", "v4.2.8", supply_V=24.1, currents_A=(0.2, math.nan), trouble="").known
        False
    """

    where: str
    version: str
    supply_V: float
    currents_A: tuple[float, ...]
    trouble: str

    @property
    def known(self) -> bool:
        """Every value has been read."""
        return all(map(math.isfinite, (self.supply_V, *self.currents_A)))


class Link(Protocol):
    """Life cycle shared by sources and sinks."""

    def open(self) -> None:
        """Open the device. Raises DeviceError."""

    def close(self) -> None:
        """Close the device; never raises, may be called twice."""

    def health(self) -> Health:
        """Returns the state of the link; never blocks."""


class Source(Link, Protocol[Sample_co]):
    """A device that returns samples."""

    def read(self, t_ns: int) -> Sample_co | None:
        """The oldest sample not yet read, or None; never blocks. Raises DeviceError."""


class Sink(Link, Protocol[Command_contra]):
    """A device that accepts commands."""

    def write(self, command: Command_contra) -> None:
        """Accept a command; never blocks. Raises DeviceError."""


class PolledDevice(Link, Protocol):
    """A device with slow transactions: its worker calls `step` repeatedly, and no other method blocks.

    `write` and `read` of such a device only touch memory. A step sends the commands and receives the samples.
    """

    def step(self) -> None:
        """Make the most urgent transaction and return when it is complete; a cut comes before all others.

        Raises:
            DeviceError: its class decides the reaction.
        """


class IoDevice(msgspec.Struct, frozen=True):
    """A device as listed by its maker's library, with the names of its channels and lines."""

    name: str
    product: str
    serial: str
    ai: tuple[str, ...]
    ao: tuple[str, ...]
    di: tuple[str, ...]
    do: tuple[str, ...]
    ci: tuple[str, ...] = ()


class StopFrames(msgspec.Struct, frozen=True):
    """Frames to write to a serial port to stop the devices on it, without waiting for answers.

    Attributes:
        device: name for people.
        port: path of the port.
        baud: its speed.
        frames: sent one after the other, answered or not.
        pause_s: silence between two frames.
        characters: of the port.
    """

    device: str
    port: str
    baud: int
    frames: tuple[bytes, ...]
    pause_s: float = 0.0
    characters: Characters = "8n1"


class ValvesDevice(PolledDevice, Source[ValveSample], Sink[ValveCommand], Protocol):
    """Valves whose transactions take their time."""

    def stop_frames(self) -> tuple[StopFrames, ...]:
        """Frames that stop the devices without their driver; empty: they stop by themselves."""


class _MotorControllers(PolledDevice, Protocol):
    """Motor controllers whose transactions take their time."""

    def states(self) -> tuple[ControllerState, ...]:
        """State that each controller reports."""

    def stop_frames(self) -> tuple[StopFrames, ...]:
        """Frames that stop the devices without their driver; empty: they stop by themselves."""


class DrivesDevice(_MotorControllers, Source[DriveSample], Sink[DriveCommand], Protocol):
    """Wheel drives."""


class ServosDevice(_MotorControllers, Source[JointSample], Sink[JointCommand], Protocol):
    """Servos of driven joints."""


class DaqDevice(PolledDevice, Source[DaqBlock], Protocol):
    """The data acquisition.

    Attributes:
        filter_delay_ns: delay of the converters' filters [ns], subtracted from the sample times; known once it is open.
    """

    filter_delay_ns: int


class InstrumentDevice(PolledDevice, Source[Reading], Protocol):
    """An instrument of motion. `read` returns each reading once; of several that have come, the newest."""


# So many of the last ten may be damaged.
DAMAGED_ALLOWED = 2
LOOKED_AT = 10


class DamageCount:
    """Counts them, and fails at one too many.

    Args:
        where: device and port, for messages.
        what: arrives there, in the plural.
        to_do: what the person at the rig does about it.
    """

    def __init__(self, where: str, what: str, to_do: str = "check cable, ground and baud rate") -> None:
        self._where, self._what, self._to_do = where, what, to_do
        self._newest: deque[bool] = deque(maxlen=LOOKED_AT)

    def forget(self) -> None:
        """Judge by later ones only."""
        self._newest.clear()

    def good(self) -> None:
        """One arrived whole."""
        self._newest.append(False)

    def damaged(self, found: str) -> None:
        """One was damaged. Raises DamagedError: more than DAMAGED_ALLOWED of the last ones."""
        self._newest.append(True)
        if sum(self._newest) > DAMAGED_ALLOWED:
            raise DamagedError(
                f"{self._where}: {sum(self._newest)} of the last {len(self._newest)} {self._what} damaged, "
                f"allowed: {DAMAGED_ALLOWED} of {LOOKED_AT}; newest: {found}; {self._to_do}"
            )


class BadFrameError(ValueError):
    """A damaged or unexpected answer; raised by its decoder."""
