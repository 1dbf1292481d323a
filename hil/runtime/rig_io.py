"""The loop's access to its devices: read all, command all, and stop all on a path that cannot raise."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from drivers.interfaces import DriveLink, Health, Link, Source, ValveLink
from drivers.messages import DaqBlock, DriveCommand, DriveSample, ValveCommand, ValveSample
from hil.messages.layout import Layout
from hil.messages.operator_input import OperatorQueue, OperatorSource
from hil.messages.stages import MOST_BLOCKS, Command, Samples


class RigIO:
    """All links of a rig.

    Args:
        layout: of the rig.
        daq: the force sensors; None: the rig has none.
        drives: the wheel drives.
        valves: the cylinders' valves; None: the rig has none.
        operator: source of an operator's commands from outside this process; None: none.

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
    ) -> None:
        self._layout = layout
        self._daq, self._drives, self._valves = daq, drives, valves
        self.operator, self._operator = OperatorQueue(), operator
        self._newest_ns = self._sequence = 0
        self._drive = DriveSample(0, 0, layout.zero_speeds, -1)
        self._valve = ValveSample(0, 0, ((0.0, 0.0),) * len(layout.cylinders), -1)

    @property
    def _links(self) -> Sequence[Link]:
        return [link for link in (self._daq, self._drives, self._valves) if link is not None]

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
        blocks: list[DaqBlock] = []
        daq, gap = self._daq, 0
        for _ in range(MOST_BLOCKS):
            if daq is None or (block := daq.read(t_ns)) is None:
                break
            if (step := block.sequence - self._sequence) <= 0:
                continue
            blocks.append(block)
            gap = max(gap, step - 1)
            self._newest_ns, self._sequence = int(block.t_ns[-1]), block.sequence
        self._drive = self._drives.read(t_ns) or self._drive
        if self._valves is not None:
            self._valve = self._valves.read(t_ns) or self._valve
        age_ns = 0 if daq is None else t_ns - self._newest_ns
        asked = self.operator.read()
        if self._operator:
            asked += self._operator.read()
        return Samples(t_ns, tuple(blocks), age_ns, self._sequence, self._drive, self._valve, gap, asked)

    def command(self, t_ns: int, command: Command) -> None:
        """Send a command to every sink. Raises DeviceError."""
        self._drives.write(DriveCommand(t_ns, command.cut, command.speed_radps))
        if self._valves is not None:
            self._valves.write(ValveCommand(t_ns, command.valves))

    def stop(self, t_ns: int) -> None:
        """Make the rig safe: drives cut, valves off. If a device fails, the next ones are still stopped."""
        with suppress(Exception):
            self._drives.write(DriveCommand(t_ns, True, self._layout.zero_speeds))
        if self._valves is not None:
            with suppress(Exception):
                self._valves.write(ValveCommand(t_ns, self._layout.valves_off))
