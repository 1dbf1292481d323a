"""The readings of an instrument of motion in the rhythm in which a simulated device sends them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque

from drivers.sim.protocol.plant_ports import NEVER_NS, Instrument

# A reading that is not there when it is due is looked for so often, a quarter of a period apart, and then it is lost;
# after many lost ones in a row it is looked for once.
LOOKS, MANY = 3, 10


class ReadingStream:
    """When the message of each reading begins: a fixed delay after its measurement, once the device streams.

    Args:
        instrument: of the plant.
        delay_ns: from a measurement until its message begins [ns].
    """

    def __init__(self, instrument: Instrument, delay_ns: int) -> None:
        self._instrument, self._delay_ns = instrument, delay_ns
        self._plant_ns = round(1e9 / instrument.rate_hz)
        self._period_ns = self._plant_ns
        self._waiting: deque[tuple[int, tuple[float, ...] | None]] = deque()  # begin of the message, values
        self._streams, self._number = False, 0
        self._lost = self._looks = 0  # readings that were not there in a row, and looks for the next one
        self._next_ns = self._look_ns = self._expected_ns = self._began_ns = 0

    def start(self, now_ns: int, rate_hz: float) -> None:
        """Stream from now on, readings whose message begins later; of a lower rate than the plant's, some only."""
        self._period_ns, self._streams = round(1e9 / rate_hz), True
        self._waiting.clear()
        self._number = self._lost = self._looks = 0
        self._next_ns = self._look_ns = self._began_ns = now_ns
        self._expected_ns = now_ns + self._plant_ns

    def stop(self) -> None:
        """Send no more."""
        self._streams = False
        self._waiting.clear()

    def due(self, now_ns: int) -> list[tuple[int, tuple[float, ...] | None]]:
        """Messages that begin up to now: when [ns], and the values; None: the instrument lost this reading."""
        if not self._streams:
            return []
        if now_ns >= self._look_ns:
            self._look(now_ns)
        come: list[tuple[int, tuple[float, ...] | None]] = []
        while self._waiting and self._waiting[0][0] <= now_ns:
            began_ns, values = self._waiting.popleft()
            if began_ns < max(self._next_ns - self._plant_ns // 2, self._began_ns):
                continue  # between two that are sent, or before the start
            self._next_ns = max(self._next_ns, began_ns - self._plant_ns) + self._period_ns
            come.append((began_ns, values))
        return come

    @property
    def wake_ns(self) -> int:
        """When there may be more [ns]; NEVER_NS: it does not stream."""
        if not self._streams:
            return NEVER_NS
        return min(self._waiting[0][0], self._look_ns) if self._waiting else self._look_ns

    def newest(self) -> tuple[float, ...] | None:
        """Returns the values of the newest reading, for a device that is asked for one; None: there is none."""
        readings = self._instrument.since(0)
        return readings[-1][2] if readings else None

    def _look(self, now_ns: int) -> None:
        readings = self._instrument.since(self._number)
        for number, t_ns, values in readings:
            began_ns = t_ns + self._delay_ns
            gap = number - self._number - 1 - self._lost if self._number else 0
            self._waiting += [(began_ns - lost * self._plant_ns, None) for lost in range(gap, 0, -1)]
            self._waiting.append((began_ns, values))
            self._number, self._expected_ns = number, began_ns + self._plant_ns
            self._lost = self._looks = 0
        if not readings and now_ns >= self._expected_ns:
            self._looks += 1
            if self._looks < LOOKS and self._lost < MANY:
                self._look_ns = now_ns + self._plant_ns // 4
                return
            self._waiting.append((now_ns, None))
            self._lost, self._looks = self._lost + 1, 0
            self._expected_ns = max(self._expected_ns + self._plant_ns, now_ns)
        self._look_ns = max(self._expected_ns, now_ns + 1)


class StreamingDevice(ABC):
    """What simulated devices that stream the readings of one instrument have in common.

    Args:
        instrument: of the plant.
        delay_ns: from a measurement until its message begins [ns].
    """

    def __init__(self, instrument: Instrument, delay_ns: int) -> None:
        self._stream = ReadingStream(instrument, delay_ns)
        self._outbox: list[tuple[int, bytes]] = []

    def wake(self, now_ns: int) -> int:
        """Collect what is to be sent; when there may be more [ns]."""
        for began_ns, values in self._stream.due(now_ns):
            if message := self._message(values):
                self._outbox.append((began_ns, message))
        return self._stream.wake_ns

    def unasked(self, now_ns: int) -> list[tuple[int, bytes]]:  # noqa: ARG002
        """Returns what it has begun to send since the last call."""
        outbox, self._outbox = self._outbox, []
        return outbox

    def press(self, pressed: bool) -> None:  # noqa: ARG002
        """Raises ValueError: it reads no emergency stop."""
        raise ValueError("this device has no emergency stop")

    @abstractmethod
    def _message(self, values: tuple[float, ...] | None) -> bytes:
        """Returns what it sends of a reading; None: the instrument lost it; b"": nothing."""
