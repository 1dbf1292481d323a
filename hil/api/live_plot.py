"""A plot that follows the telemetry of a rig."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import zmq
from matplotlib.figure import Figure

from hil.api.notebook import shown_in_cell
from hil.config.units import unit_of

FIELDS = ("force_sum_N", "speed_mps")
# Between two pictures [s], and how long to wait for a tick at a time [ms].
_EVERY_S, _POLL_MS = 0.25, 100
# Points of a line: telemetry brings 100 of them a second.
_MOST_POINTS = 2000


class LivePlot:
    """A figure that shows the last seconds of some quantities; in a notebook it changes where it was made.

    Args:
        endpoint: of the telemetry.
        fields: of its topic `tick`, a panel each.
        seconds: how long a time it shows [s].

    Attributes:
        figure: as it is now.
    """

    def __init__(self, endpoint: str, fields: Sequence[str], seconds: float) -> None:
        self._endpoint, self._fields, self._seconds = endpoint, tuple(fields), seconds
        self._lines: dict[str, deque[tuple[float, float]]] = {}
        self.figure = Figure(figsize=(8.0, 1.2 + 1.6 * len(self._fields)), layout="constrained")
        panels = self.figure.subplots(len(self._fields), 1, sharex=True, squeeze=False)[:, 0]
        self._axes = dict(zip(self._fields, panels, strict=True))
        self._shown = shown_in_cell(self.figure)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="live plot", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Follow no longer; the last picture stays. May be called twice."""
        self._ended.set()
        self._thread.join()

    def __repr__(self) -> str:
        return f"<LivePlot of {', '.join(self._fields)}: {sum(map(len, self._lines.values()))} points>"

    def _follow(self) -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=1)
        socket = context.socket(zmq.SUB)
        socket.setsockopt(zmq.SUBSCRIBE, b"tick")
        socket.connect(self._endpoint)
        drawn_s = 0.0
        try:
            while not self._ended.is_set():
                if socket.poll(_POLL_MS):
                    self._take(msgspec.msgpack.decode(socket.recv_multipart()[1]))
                if (now := time.monotonic()) - drawn_s >= _EVERY_S:
                    drawn_s = now
                    self._draw()
            self._draw()
        finally:
            context.destroy(linger=0)

    def _take(self, tick: dict[str, Any]) -> None:
        at_s = float(tick["timestamp"])
        for field in self._fields:
            for name, value in _numbers(field, tick.get(field)):
                line = self._lines.setdefault(name, deque(maxlen=_MOST_POINTS))
                if line and at_s < line[-1][0]:  # another run has begun
                    line.clear()
                line.append((at_s, value))

    def _draw(self) -> None:
        newest_s = max((line[-1][0] for line in self._lines.values() if line), default=0.0)
        for field, axes in self._axes.items():
            axes.clear()
            axes.set_ylabel(f"{field}\n[{unit_of(field, '')}]")
            for name, line in self._lines.items():
                if name.partition(".")[0] == field:
                    points = [(at_s - newest_s, value) for at_s, value in line if newest_s - at_s <= self._seconds]
                    axes.plot(*zip(*points, strict=True), label=name.partition(".")[2])
            if "." in "".join(name for name in self._lines if name.partition(".")[0] == field):
                axes.legend(loc="upper left", fontsize=7)
            axes.set_xlim(-self._seconds, 0.0)
        self._axes[self._fields[-1]].set_xlabel("time before now [s]")
        if self._shown is not None:
            self._shown.update(self.figure)


def _numbers(field: str, value: Any) -> Iterator[tuple[str, float]]:
    """Name of a line and its number."""
    if isinstance(value, dict):
        yield from ((f"{field}.{name}", float(one)) for name, one in value.items())
    elif isinstance(value, list):
        yield from ((f"{field}.{place}", float(one)) for place, one in enumerate(value) if not isinstance(one, list))
    elif isinstance(value, int | float):
        yield field, float(value)
