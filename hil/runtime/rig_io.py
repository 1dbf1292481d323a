"""The loop's access to its devices: read all, command all, and stop all on a path that cannot raise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from drivers.interfaces import DriveLink, Health, Link, ServoLink, Source, ValveLink
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
from hil.messages.layout import INSTRUMENTS, Layout
from hil.messages.operator_input import OperatorQueue, OperatorSource
from hil.messages.stages import MOST_BLOCKS, Command, Samples

# What a rig without a source of blocks takes in: blocks, gap, age.
NO_BLOCKS: tuple[tuple[DaqBlock, ...], int, int] = ((), 0, 0)


class _Blocks:
    """Blocks of one source, in order.

    Attributes:
        sequence: number of the newest block so far, 0 before the first.
    """

    def __init__(self, source: Source[DaqBlock]) -> None:
        self._source, self._newest_ns, self.sequence = source, 0, 0

    def take(self, t_ns: int) -> tuple[tuple[DaqBlock, ...], int, int]:
        """New blocks, the largest gap before one of them, and the age of the newest sample [ns]. Raises DeviceError."""
        blocks: list[DaqBlock] = []
        gap, read = 0, self._source.read
        for _ in range(MOST_BLOCKS):
            if (block := read(t_ns)) is None:
                break
            if (step := block.sequence - self.sequence) <= 0:
                continue
            blocks.append(block)
            gap = max(gap, step - 1)
            self._newest_ns, self.sequence = block.t_ns.item(-1), block.sequence
        return tuple(blocks), gap, t_ns - self._newest_ns


class RigIO:
    """All links of a rig.

    Args:
        layout: of the rig.
        daq: the force sensors; None: the rig has none.
        drives: the wheel drives.
        valves: the cylinders' valves, and a camera's trigger line; None: the rig has neither.
        operator: source of an operator's commands from outside this process; None: none.
        loads: the leg sensors and the load cell; None: the rig has none.
        instruments: of motion, those that the rig has, by role.
        servos: of the driven joints; None: the rig has none.

    Attributes:
        operator: queue of an operator's commands from this process.
    """

    def __init__(
        self,
        layout: Layout,
        daq: Source[DaqBlock] | None,
        drives: DriveLink,
        valves: ValveLink | None,
        operator: OperatorSource | None = None,
        loads: Source[DaqBlock] | None = None,
        instruments: Mapping[str, Source[Reading]] = {},
        servos: ServoLink | None = None,
    ) -> None:
        self._layout = layout
        self._drives, self._valves, self._servos = drives, valves, servos
        self._daq, self._loads = (None if source is None else _Blocks(source) for source in (daq, loads))
        links = (daq, drives, valves, loads, *instruments.values(), servos)
        self._links: Sequence[Link] = [link for link in links if link is not None]
        self._instruments = [(INSTRUMENTS.index(role), source.read) for role, source in instruments.items()]
        # the newest of each instrument, then of the servos, as the last fields of `Samples`
        self._readings: list[Any] = [
            Reading.unread(len(layout.instrument_channels(role))) if role in instruments else None
            for role in INSTRUMENTS
        ]
        self.operator, self._operator = OperatorQueue(), operator
        self._drive = DriveSample(0, 0, layout.zero_speeds, -1, power=layout.no_power)
        self._valve = ValveSample(0, 0, ((0.0, 0.0),) * len(layout.cylinders), -1)
        unknown = (math.nan,) * len(layout.servos)
        unread = JointSample(0, 0, unknown, -1, current_A=unknown)
        self._readings.append(None if servos is None else unread)

    def open(self) -> None:
        """Open every link. Raises DeviceError."""
        for link in self._links:
            link.open()

    def close(self) -> None:
        """Stop and close every link, even if one fails."""
        self.stop(0)
        for link in self._links:
            with suppress(Exception):
                link.close()

    def health(self) -> list[Health]:
        """State of every link."""
        return [link.health() for link in self._links]

    def sample(self, t_ns: int) -> Samples:
        """All samples that have arrived by t_ns, except blocks that are not newer than the last. Raises DeviceError."""
        daq, loads = self._daq, self._loads
        blocks, gap, age_ns = daq.take(t_ns) if daq is not None else NO_BLOCKS
        self._drive = self._drives.read(t_ns) or self._drive
        if self._valves is not None:
            self._valve = self._valves.read(t_ns) or self._valve
        asked = self.operator.read()
        if self._operator:
            asked += self._operator.read()
        sequence = daq.sequence if daq is not None else 0
        if self._servos is not None:
            self._readings[-1] = self._servos.read(t_ns) or self._readings[-1]
        elif loads is None and not self._instruments:
            return Samples(t_ns, blocks, age_ns, sequence, self._drive, self._valve, gap, asked)
        load_blocks, load_gap, load_age_ns = loads.take(t_ns) if loads is not None else NO_BLOCKS
        for place, read in self._instruments:
            self._readings[place] = read(t_ns) or self._readings[place]
        return Samples(
            t_ns, blocks, age_ns, sequence, self._drive, self._valve, gap, asked,
            load_blocks, load_age_ns, loads.sequence if loads is not None else 0, load_gap, *self._readings,
        )  # fmt: skip

    def command(self, t_ns: int, command: Command) -> None:
        """Send a command to every sink, a cut first. Raises DeviceError."""
        self._drives.write(DriveCommand(t_ns, command.cut, command.speed_radps, command.duty))
        if self._valves is not None:
            self._valves.write(ValveCommand(t_ns, command.valves, command.regulators_Pa, command.trigger))
        if self._servos is not None:
            self._servos.write(JointCommand(t_ns, command.servos_cut, command.joint_angle_rad))

    def stop(self, t_ns: int) -> Command:
        """Make the rig safe: drives and servos cut, valves off. If a device fails, the next ones are still stopped.

        Returns what the devices were told, of no state of the experiment.
        """
        zero, off, closed = self._layout.zero_speeds, self._layout.valves_off, self._layout.regulators_closed
        angles = (0.0,) * len(self._layout.servos)
        with suppress(Exception):
            self._drives.write(DriveCommand(t_ns, True, zero))
        if self._valves is not None:
            with suppress(Exception):
                self._valves.write(ValveCommand(t_ns, off, closed))
        if self._servos is not None:
            with suppress(Exception):
                self._servos.write(JointCommand(t_ns, True, angles))
        return Command(-1, True, True, zero, off, 0, closed, joint_angle_rad=angles, servos_cut=True)
