"""What drivers of instruments that send by themselves have in common."""

from __future__ import annotations

from drivers.messages import Reading
from drivers.serial.listening import ListeningLink


class StreamedInstrument:
    """An `InstrumentDevice` but for opening, closing and health; a subclass keeps the newest reading in `_reading`.

    Args:
        link: passes each message to the subclass.
    """

    def __init__(self, link: ListeningLink) -> None:
        self._link = link
        self._reading: Reading | None = None

    def step(self) -> None:
        """Rest until the next message can be there, and take what has come. Raises DeviceError."""
        self._link.step()

    def read(self, t_ns: int) -> Reading | None:  # noqa: ARG002
        """The newest reading, once."""
        reading, self._reading = self._reading, None
        return reading
