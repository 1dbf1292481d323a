"""A streaming device on a line in virtual time, and an instrument of a plant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from drivers.messages import Reading
from drivers.sim.protocol.line import Line, LineFault
from drivers.sim.virtual.host import VirtualHost
from drivers.sim.virtual.schedule import START_NS, VirtualTime
from drivers.sim.virtual.serial import VirtualLines

KEPT_READINGS = 100


class PlantInstrument:
    """An instrument of a plant that measures at a steady rate from `began_ns` on; a test sets what."""

    def __init__(self, channels: tuple[str, ...], rate_hz: float, now_ns: Callable[[], int], began_ns: int) -> None:
        self.channels, self.rate_hz = channels, rate_hz
        self.period_ns = round(1e9 / rate_hz)
        self.lost: Callable[[int], bool] = lambda _number: False
        self.values: Callable[[int], tuple[float, ...]] = lambda number: (float(number),) * len(channels)
        self._now_ns, self._began_ns = now_ns, began_ns

    def at_ns(self, number: int) -> int:
        return self._began_ns + number * self.period_ns

    def since(self, sequence: int) -> Sequence[tuple[int, int, tuple[float, ...]]]:
        newest = (self._now_ns() - self._began_ns) // self.period_ns
        kept = range(max(sequence, newest - KEPT_READINGS) + 1, newest + 1)
        return [(one, self.at_ns(one), self.values(one)) for one in kept if not self.lost(one)]


class StreamBench:
    """A streaming device on a line in virtual time, and what a driver at the other end has read."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.host = VirtualHost(self.time)
        self.rests = 0
        rest = self.host.rest

        def counted(seconds: float) -> None:
            self.rests += 1
            rest(seconds)

        self.host.rest = counted  # type: ignore[method-assign]

    def instrument(self, channels: tuple[str, ...], rate_hz: float) -> PlantInstrument:
        return PlantInstrument(channels, rate_hz, lambda: self.time.now_ns, START_NS)

    def connect(self, device: Any, baud: int, port: str = "/dev/streams") -> Line:
        self.line = Line(Path(port), device, baud, 500_000, self.host.terminal)
        VirtualLines(self.time, {"streams": self.line}, self.host.ports)
        return self.line

    def inject_fault(self, kind: Any, **how: Any) -> None:
        self.line.inject_fault(LineFault(kind, **how))

    def readings(self, driver: Any, seconds: float) -> list[Reading]:
        """Steps a driver for so long; all that it hands out meanwhile."""
        until_ns, found = self.time.now_ns + round(seconds * 1e9), []
        while self.time.now_ns < until_ns:
            driver.step()
            if reading := driver.read(self.time.now_ns):
                found.append(reading)
        return found
