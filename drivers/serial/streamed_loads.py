"""What drivers of load cells that send by themselves have in common: samples, as they come, become blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from drivers.driver_type import LoadSetup
from drivers.messages import DaqBlock
from drivers.serial.listening import ListeningLink, Message

# Blocks that are kept unread.
MOST_UNREAD = 1000


class StreamedLoads:
    """A `DaqDevice` but for opening, closing and health; a subclass calls `_add` with the values of each message.

    A sample has the time when its message began on the line, less `delay_ns`. A block has `setup.block_samples` samples
    that follow one another. If one of them was lost or damaged, the block is lost, and the numbers of the blocks have a
    gap, which the safety monitor sees as for every data acquisition.

    Args:
        link: passes each message to the subclass.
        setup: of the rig's load channels.
        delay_ns: from a measurement until its message begins [ns].

    Attributes:
        filter_delay_ns: delay_ns, which the sample times are free of.
    """

    def __init__(self, link: ListeningLink, setup: LoadSetup, delay_ns: int = 0) -> None:
        self._link, self._setup, self.filter_delay_ns = link, setup, delay_ns
        self._full = np.array([cell.full_scale for cell in setup.cells])
        self._blocks: deque[DaqBlock] = deque(maxlen=MOST_UNREAD)
        self._rows: list[tuple[int, Sequence[float]]] = []
        self._number = self._newest_ns = 0

    def step(self) -> None:
        """Rest until the next message can be there, and take what has come. Raises DeviceError."""
        self._link.step()

    def read(self, t_ns: int) -> DaqBlock | None:  # noqa: ARG002
        """The oldest block not yet read, or None."""
        return self._blocks.popleft() if self._blocks else None

    def _begin(self) -> None:
        """The device is set up, and sends: forget older samples, and let silence and damage be failures."""
        self._blocks.clear()
        self._rows, self._number, self._newest_ns = [], 0, 0
        self._link.begin()

    def _add(self, message: Message, values: Sequence[float]) -> None:
        """Take in a sample of all channels, in their order and in the unit of each (`LoadChannelSetup`)."""
        count = self._setup.block_samples
        place = (message.number - 1) % count
        if message.number != self._number + 1 or place == 0:
            self._rows = []
        self._number = message.number
        # two messages that come at once may seem to have begun together
        self._newest_ns = max(message.began_ns - self.filter_delay_ns, self._newest_ns + 1)
        self._rows.append((self._newest_ns, values))
        if place < count - 1 or len(self._rows) < count:
            return
        t_ns = np.array([at_ns for at_ns, _ in self._rows], np.int64)
        readings = np.array([row for _, row in self._rows], float)
        over = tuple((np.abs(readings) >= self._full).any(axis=0).tolist())
        sequence = (message.number - 1) // count + 1
        self._blocks.append(DaqBlock(sequence, t_ns, readings, over, message.arrived_ns))
