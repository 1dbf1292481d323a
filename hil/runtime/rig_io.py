"""The loop's access to its devices: read all, command all, and stop all on a path that cannot raise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any

from drivers.interfaces import Health, Link, Source
from drivers.messages import DaqBlock
from hil.messages.layout import COMMANDED, NEWEST, ROLES, SAMPLED, Layout, Role
from hil.messages.operator_input import OperatorQueue, OperatorSource
from hil.messages.stages import MOST_BLOCKS, Command, Samples

# Fields of `Samples` that are there in every rig.
_EXPECTED = Samples.__struct_fields__[: -len(Samples.__struct_defaults__)]
# What a rig without a source of blocks takes in: blocks, gap, age.
NO_BLOCKS: tuple[tuple[DaqBlock, ...], int, int] = ((), 0, 0)


class _Blocks:
    """Blocks of one source, in order."""

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
        devices: those that the rig has, by the names of their links.
        operator: source of an operator's commands from outside this process; None: none.

    Attributes:
        operator: queue of an operator's commands from this process.
    """

    def __init__(self, layout: Layout, devices: Mapping[str, Any], operator: OperatorSource | None = None) -> None:
        self._layout = layout
        self._daq, self._loads = (_Blocks(devices[name]) if name in devices else None for name in SAMPLED)
        self._links: Sequence[Link] = [devices[name] for name in ROLES if name in devices]
        # the newest of each, in the order of the fields of `Samples`; None of what this rig does not have
        self._newest: list[Any] = [
            ROLES[name].unread(layout) if name in (*devices, *_EXPECTED) else None for name in NEWEST
        ]
        self._reads = [(NEWEST.index(name), devices[name].read) for name in NEWEST if name in devices]
        given = [(ROLES[name], devices[name].write) for name in COMMANDED if name in devices]
        self._sends = [_sender(role, write) for role, write in given]
        self._stops = [(write, role.safe) for role, write in given]
        safe = {name: role.safe(0, layout) for name, role in ROLES.items() if role.command}
        held = {own: getattr(safe[name], one) for name in safe for one, own in ROLES[name].fields.items()}
        self._stopped = Command(-1, True, clamped=0, **held)
        self.operator, self._operator = OperatorQueue(), operator

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
        daq, loads, newest = self._daq, self._loads, self._newest
        blocks, gap, age_ns = daq.take(t_ns) if daq is not None else NO_BLOCKS
        for place, read in self._reads:
            if (sample := read(t_ns)) is not None:
                newest[place] = sample
        asked = self.operator.read()
        if self._operator:
            asked += self._operator.read()
        load_blocks, load_gap, load_age_ns = loads.take(t_ns) if loads is not None else NO_BLOCKS
        drives, valves, *others = newest
        return Samples(
            t_ns, blocks, age_ns, daq.sequence if daq is not None else 0, drives, valves, gap, asked,
            load_blocks, load_age_ns, loads.sequence if loads is not None else 0, load_gap, *others,
        )  # fmt: skip

    def command(self, t_ns: int, command: Command) -> None:
        """Send a command to every sink, a cut first. Raises DeviceError."""
        for send in self._sends:
            send(t_ns, command)

    def stop(self, t_ns: int) -> Command:
        """Make the rig safe: drives and servos cut, valves off. If a device fails, the next ones are still stopped.

        Returns what the devices were told, of no state of the experiment.
        """
        for write, safe in self._stops:
            with suppress(Exception):
                write(safe(t_ns, self._layout))
        return self._stopped


def _sender(role: Role, write: Callable[[Any], None]) -> Callable[[int, Command], None]:
    """Writes what a command of the loop has for a device of that role, at a time [ns]."""
    kind: Any = role.command
    values = attrgetter(*role.fields.values())
    if len(role.fields) == 1:
        return lambda t_ns, command: write(kind(t_ns, values(command)))
    return lambda t_ns, command: write(kind(t_ns, *values(command)))
