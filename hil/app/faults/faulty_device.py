"""Faults injected into a device in this process: a wrapper around the device, and the kinds of faults.

All fault injection uses these kinds. Devices simulated at the protocol level (drivers.sim.protocol.line and
drivers.ni.simulated) have those of them that apply to bytes, under the same names, and some that only a line or a
library can have.

off           the device returns no samples and ignores commands
stuck         the device ignores commands, and its readings freeze: drives and servos repeat their last sample, time
              included, sensors and valves repeat its numbers with new times
garbage       the readings are not finite
wrong         the readings are plausible and wrong: multiplied by `factor`
slow          the device returns one sample in `every` and drops the others
delayed       samples and commands are late by `ms`
intermittent  the device is off for `ms`, then works for `ms`, and so on
swapped       two channels of an instrument of motion are interchanged; of one that has one channel, its sign is wrong
jump          the first channel of an instrument of motion is off by `offset`
playback      an instrument of motion plays a recording back

Only devices of a simulated rig are wrapped, never real ones.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any, Generic, Literal, TypeVar, get_args

import msgspec
import numpy as np

from drivers.interfaces import DeviceError, Health
from drivers.messages import DaqBlock, DriveSample, JointSample, Reading, ValveSample

FaultKind = Literal[
    "off", "stuck", "garbage", "wrong", "slow", "delayed", "intermittent", "swapped", "jump", "playback"
]
# Kinds of an instrument of motion, and of any device.
MOTION_KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
KINDS = MOTION_KINDS[:-3]
# The readings in a sample.
_FIELDS: dict[type, str] = {
    DaqBlock: "values", DriveSample: "speed_radps", ValveSample: "pressure_Pa", Reading: "value",
    JointSample: "angle_rad",
}  # fmt: skip
S = TypeVar("S", DaqBlock, DriveSample, ValveSample, Reading, JointSample)
C = TypeVar("C")


class DeviceFault(msgspec.Struct, frozen=True):
    """A fault of a device.

    Attributes:
        kind: see the module.
        ms: of delayed and intermittent [ms].
        factor: of wrong.
        every: of slow: one in so many samples is returned.
        channels: of swapped.
        offset: of jump, in SI.
    """

    kind: FaultKind
    ms: float = 100.0
    factor: float = 10.0
    every: int = 10
    channels: tuple[int, int] = (0, 1)
    offset: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in MOTION_KINDS:
            raise ValueError(f"kind: {self.kind!r}, allowed: {', '.join(MOTION_KINDS)}")
        if not 0.0 < self.ms < math.inf or self.every < 1 or not math.isfinite(self.factor):
            settings = f"ms {self.ms}, every {self.every}, factor {self.factor}"
            raise ValueError(f"{settings}; allowed: ms above 0, every from 1 on, factor finite")


class FaultyDevice(Generic[S, C]):
    """A device that works until a fault is injected; `open`, `close` and `health` are those of the wrapped device.

    Attributes:
        refusal: why it is not opened; empty: it is.
    """

    def __init__(self, device: Any) -> None:
        self._device = device
        self.refusal = ""
        self._fault: DeviceFault | None = None
        self._since_ns = 0
        self._t_ns = 0
        self._last: S | None = None
        self._count = 0
        self._samples: deque[tuple[int, S]] = deque()
        self._commands: deque[tuple[int, C]] = deque()

    def inject_fault(self, fault: DeviceFault | None) -> None:
        """Start a fault; it lasts until another one, or None. What is delayed still arrives at its time."""
        self._fault, self._since_ns = fault, self._t_ns

    @property
    def commands_under_way(self) -> bool:
        """Whether delayed commands have not arrived yet."""
        return bool(self._commands)

    def open(self) -> None:
        """Open the device. Raises DeviceError: it has a `refusal`."""
        if self.refusal:
            raise DeviceError(self.refusal)
        self._device.open()

    def close(self) -> None:
        """Close the device."""
        self._device.close()

    def health(self) -> Health:
        """State of the device's link."""
        health: Health = self._device.health()
        return health

    def write(self, command: C) -> None:
        """Pass a command to the device, unless the fault blocks or delays it."""
        self._obey_due()
        if self._effect == "delayed":
            self._commands.append((self._t_ns + self._ms_ns, command))
        elif self._effect not in ("off", "stuck"):
            self._device.write(command)

    def read(self, t_ns: int) -> S | None:
        """A sample as the fault changes it; the device is read in any case."""
        self._t_ns = t_ns
        self._obey_due()
        sample: S | None = self._device.read(t_ns)
        if sample is not None:
            self._samples.append((t_ns + self._ms_ns * (self._effect == "delayed"), sample))
        while self._samples and self._samples[0][0] <= t_ns:
            if (given := self._spoiled(self._samples.popleft()[1])) is not None:
                return given
        return None

    @property
    def _effect(self) -> FaultKind | None:
        """Kind of the fault at this time: an intermittent one is off and none by turns."""
        if self._fault is None:
            return None
        if self._fault.kind != "intermittent":
            return self._fault.kind
        return None if (self._t_ns - self._since_ns) // self._ms_ns % 2 else "off"

    @property
    def _ms_ns(self) -> int:
        return round(self._fault.ms * 1e6) if self._fault is not None else 0

    def _spoiled(self, sample: S) -> S | None:
        """The sample to return for one that is due; None: no sample."""
        fault, effect = self._fault, self._effect
        if fault is None or effect is None:
            self._last = sample
            return sample
        if effect == "slow":
            self._count += 1
        if effect == "off" or (effect == "slow" and self._count % fault.every):
            return None
        if effect == "stuck" and self._last is not None:
            return _stuck(self._last, sample)
        self._last = sample
        if effect in ("garbage", "wrong"):
            return _scaled(sample, math.nan if effect == "garbage" else fault.factor)
        if isinstance(sample, Reading) and effect in ("swapped", "jump", "playback"):
            return msgspec.structs.replace(sample, value=_displaced(sample.value, fault))
        return sample

    def _obey_due(self) -> None:
        while self._commands and self._commands[0][0] <= self._t_ns:
            self._device.write(self._commands.popleft()[1])


def _stuck(old: S, new: S) -> S:
    """What a stuck device returns instead of a new sample: a block of the last volts, or the drives' last answer."""
    if isinstance(new, DaqBlock) and isinstance(old, DaqBlock):
        return msgspec.structs.replace(new, values=np.tile(old.values[-1], (len(new.values), 1)))
    if isinstance(new, ValveSample | Reading):
        field = _FIELDS[type(new)]
        return msgspec.structs.replace(new, **{field: getattr(old, field)})
    return old


def _scaled(sample: S, factor: float) -> S:
    """The sample with all readings times a factor; a channel that leaves its range is not flagged."""
    field = _FIELDS[type(sample)]
    return msgspec.structs.replace(sample, **{field: _times(getattr(sample, field), factor)})


def _times(values: Any, factor: float) -> Any:
    return tuple([_times(each, factor) for each in values]) if isinstance(values, tuple) else values * factor


def _displaced(value: tuple[float, ...], fault: DeviceFault) -> tuple[float, ...]:
    """Values of an instrument with two of them interchanged, the first one displaced, or of a playback."""
    if fault.kind == "playback":
        return (math.inf,) * len(value)
    if fault.kind == "jump":
        return (value[0] + fault.offset, *value[1:])
    if len(value) == 1:
        return (-value[0],)
    spoiled, (one, other) = list(value), fault.channels
    spoiled[one], spoiled[other] = value[other], value[one]
    return tuple(spoiled)
