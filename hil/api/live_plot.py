"""A plot that follows the telemetry of a rig."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import zmq
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hil.api.notebook import figures_as_pictures, shown_in_cell

FIELDS = ("force_sum_N", "speed_mps")
# Between two pictures, at least [s], and how long to wait for a tick at a time [ms].
_EVERY_S, _POLL_MS = 0.25, 100
# Points of a line: telemetry brings 100 of them a second.
_MOST_POINTS = 2000


class LivePlot:
    """A figure that shows the last seconds of some quantities; in a notebook it changes where it was made.

    Args:
        endpoint: of the telemetry.
        units: by name of a field of its topic `tick`; each field has a panel.
        seconds: how long a time it shows [s].

    Attributes:
        figure: as it is now.
    """

    def __init__(self, endpoint: str, units: Mapping[str, str], seconds: float) -> None:
        self._endpoint, self._units, self._seconds = endpoint, dict(units), seconds
        self._lines: dict[str, deque[tuple[float, float]]] = {}
        self._sent_s, self._later_s = -math.inf, 0.0
        height = 0.9 + 1.6 * len(units)
        self.figure = Figure(figsize=(8.0, height))  # without a layout engine, which takes half as long again
        self.figure.subplots_adjust(left=0.13, right=0.98, bottom=0.6 / height, top=1.0 - 0.3 / height, hspace=0.25)
        panels = self.figure.subplots(len(units), 1, sharex=True, squeeze=False)[:, 0]
        self._axes = dict(zip(units, panels, strict=True))
        self._drawn: dict[str, Line2D] = {}
        for (field, unit), axes in zip(units.items(), panels, strict=True):
            axes.set_ylabel(f"{field}\n[{unit}]")
            axes.set_xlim(-seconds, 0.0)
        panels[-1].set_xlabel("time before now [s]")
        figures_as_pictures()
        self._shown = shown_in_cell(self.figure)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="live plot", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Follow no longer; the last picture stays. May be called twice."""
        self._ended.set()
        self._thread.join()

    def __repr__(self) -> str:
        lines = list(self._lines.values())  # at once: the plot's thread adds lines
        return f"<LivePlot of {', '.join(self._units)}: {sum(map(len, lines))} points>"

    def _follow(self) -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=1)
        socket = context.socket(zmq.SUB)
        socket.setsockopt(zmq.SUBSCRIBE, b"tick")
        socket.connect(self._endpoint)
        next_s, more = 0.0, False
        try:
            while not self._ended.is_set():
                more = self._take_all(socket) or more
                if more and (begun_s := time.monotonic()) >= next_s:
                    self._draw()
                    # A slow computer draws less often: the thread that keeps the lease needs the interpreter, too.
                    next_s, more = begun_s + max(_EVERY_S, 2.0 * (time.monotonic() - begun_s)), False
            self._take_all(socket)
            self._draw()
        finally:
            context.destroy(linger=0)

    def _take_all(self, socket: zmq.Socket[bytes]) -> bool:
        """Take what has come, and wait a moment for it; whether something came."""
        came = bool(socket.poll(_POLL_MS))
        while socket.poll(0):
            self._take(msgspec.msgpack.decode(socket.recv_multipart()[1]))
        return came

    def _take(self, tick: dict[str, Any]) -> None:
        sent_s = float(tick["timestamp"])
        # In virtual time a run may begin before the end of the last one: it is shown after it, the line broken between.
        if broken := sent_s < self._sent_s:
            self._later_s += self._sent_s - sent_s
        self._sent_s = sent_s
        for field in self._units:
            for name, value in _numbers(field, tick.get(field)):
                line = self._lines.setdefault(name, deque(maxlen=_MOST_POINTS))
                if broken:
                    line.append((sent_s + self._later_s, math.nan))
                line.append((sent_s + self._later_s, value))

    def _draw(self) -> None:
        newest_s = max((line[-1][0] for line in self._lines.values()), default=0.0)
        for name, line in self._lines.items():
            if name not in self._drawn:
                field, _, element = name.partition(".")
                self._drawn[name] = self._axes[field].plot([], [], label=element)[0]
                if element:
                    self._axes[field].legend(loc="upper left", fontsize=7)
            points = [(at_s - newest_s, value) for at_s, value in line if newest_s - at_s <= self._seconds]
            self._drawn[name].set_data([at_s for at_s, _ in points], [value for _, value in points])
        for axes in self._axes.values():
            axes.relim()
            axes.autoscale_view(scalex=False)
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
