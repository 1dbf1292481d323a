"""`hil.operate`: a rig that stays open, started from Python and operated from there."""

from __future__ import annotations

import json
import math
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, Any, NoReturn

import msgspec
import zmq
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hil.api.notebook import figures_as_pictures, shown_in_cell
from hil.api.result import Result
from hil.api.result import open as open_run
from hil.api.running import Progress, lines_to
from hil.config import Config, ConfigError, Problem, load_config
from hil.messages.signals import TICK
from hil.operator.client import CommandClient, CommandError
from hil.operator.runtime_folder import read_token

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


# How long the process may take to end a run and close the rig, before it is killed [s].
_CLOSE_S = 30.0
# Lines of the process that are kept for a message.
_KEPT_LINES = 20


class OperatedRig(CommandClient):
    """A rig that this program has opened (`hil.operate`), and holds the operator lease of.

    Beside what is here it has all of `hil.operator.client.CommandClient`: `status`, `stop`, `e_stop`, `clear`, `set`,
    `set_point`, `wait_until`. The lease is kept by a thread: a program that keeps the interpreter for half a second
    loses it, and the run ends as `operator.console_lost` says.

    Args:
        process: that has opened the rig (`hil operate`).
        doors: what it has printed: `command_endpoint` and `token_file`.
        config: of the rig.
        folder: with the config's file; it is removed at the end.
    """

    def __init__(self, process: _Process, doors: dict[str, Any], config: Config, folder: Path) -> None:
        self._process, self._rig_config, self._files = process, config, folder
        self._started_after = 0
        self._plots: list[LivePlot] = []
        super().__init__(doors["command_endpoint"], token=read_token(Path(doors["token_file"])))

    @classmethod
    def running(cls, name: str | None = None) -> NoReturn:  # noqa: ARG003
        """There is none to be found: `hil.operate` opens one. Raises TypeError."""
        raise TypeError("OperatedRig: hil.operate opens one; CommandClient.running finds the one that is running")

    def arm(self, within_s: float = 60.0) -> None:
        """Arm the rig, and wait until it is armed.

        Args:
            within_s: how long that may take [s].

        Raises:
            CommandError: arming was refused, or a fault is latched: its words say why.
        """
        super().arm()
        found = self.wait_until(lambda status: status["armed"] or status["refused"] or status["faults"], within_s)
        if not found["armed"]:
            why = "; ".join(map(str, found["refused"])) or str(found["message"])
            raise CommandError(f"not armed: {why}", "refused")

    def start(self) -> None:
        """Start the run. Raises CommandError: it is not armed."""
        self._started_after = int(self.status()["runs"])
        super().start()

    def result(self, within_s: float = 600.0) -> Result:
        """The run that was started, once it is over.

        Args:
            within_s: how long to wait for its end [s].

        Raises:
            CommandError: it is not over in time.
        """
        found = self.wait_until(lambda status: status["runs"] > self._started_after, within_s)
        return open_run(Path(str(found["run"])).absolute())

    def live_plot(self, fields: str | Sequence[str] = FIELDS, seconds: float = 10.0) -> LivePlot:
        """A plot that follows what the rig measures, in a notebook or as a figure.

        Args:
            fields: of `/tick` (docs/reference/record.md), a panel each; a quantity of each wheel has a line for each.
            seconds: how long a time it shows [s].

        Raises:
            ValueError: this rig has no such field, or its config publishes no telemetry, or only to viewers with keys.
        """
        telemetry = self._rig_config.telemetry
        if not telemetry.endpoint or telemetry.keys is not None:
            found = "keys" if telemetry.endpoint else "no endpoint"
            raise ValueError(
                f"live_plot: telemetry has {found}; allowed: telemetry.endpoint tcp://127.0.0.1:PORT, no keys"
            )
        chosen = (fields,) if isinstance(fields, str) else fields
        units = {signal.name: signal.unit for signal in TICK if signal.present(self._rig_config.layout)}
        if wrong := [field for field in chosen if field not in units]:
            near = get_close_matches(wrong[0], units, 3)
            raise ValueError(
                f"live_plot: this rig has no field {wrong[0]!r}; allowed: a field of /tick of its record, as "
                f"{', '.join(near or FIELDS)}"
            )
        self._plots.append(LivePlot(telemetry.endpoint, {field: units[field] for field in chosen}, seconds))
        return self._plots[-1]

    def close(self) -> None:
        """End a run in Safe, close the rig and its process; may be called twice."""
        for plot in self._plots:
            plot.stop()
        super().close()
        self._process.end()
        shutil.rmtree(self._files, ignore_errors=True)

    def __repr__(self) -> str:
        state = (self._process.alive and self.status().get("state")) or "closed"
        return f"<OperatedRig {self._rig_config.name}: {state}>"


def operate(config: Config | str, out: str | Path | None = None, progress: Progress = False) -> OperatedRig:
    """Open a rig in a separate process (`hil operate`), take the operator lease, and hand back what operates it.

    Software is not the emergency stop.

    Args:
        config: of the rig and the experiment, or the name or file of one (`hil.load`). Where another program uses its
            telemetry port, a simulated rig publishes at a free one.
        out: folder of the runs, made or empty; None: `runs/<UTC>_<config>_operate/`.
        progress: see `hil.run`; lines come from another thread.

    Returns:
        The open rig, idle; `close` it, or use it as a context.

    Raises:
        ConfigError: the config asks for keys.
        CommandError: the process ended, with what it said.

    Example:
        with hil.operate(hil.load("sim_impact")) as rig:
            rig.arm()
            rig.start()
            rig.live_plot()
            result = rig.result()
    """
    config = load_config(config) if isinstance(config, str) else config
    if config.operator.keys is not None:
        raise ConfigError(
            config.name, [Problem("operator.keys", "keys", "null: this program and the rig share a token")]
        )
    if config.rig != "real" and config.telemetry.endpoint:
        config = config.replace({"telemetry.endpoint": _free(config.telemetry.endpoint)})
    folder = Path(mkdtemp(prefix="hil-operate-"))
    file = folder / f"{config.name}.yaml"
    file.write_text(config.to_yaml(), encoding="utf-8")
    where = [] if out is None else ["--out", str(Path(out).absolute())]
    process = _Process([sys.executable, "-P", "-m", "hil.cli", "operate", str(file), "--json", *where], progress)
    try:
        rig = OperatedRig(process, process.doors(), config, folder)
    except BaseException:
        process.end()
        shutil.rmtree(folder, ignore_errors=True)
        raise
    try:
        rig.wait_until(lambda status: process.check() and status["state"] == "idle", within_s=600.0)
        rig.take_lease()
    except BaseException:
        rig.close()
        raise
    return rig


def _free(endpoint: str) -> str:
    """The endpoint, or one of this computer with a free port where its own is used, or is not said."""
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    if not endpoint.startswith("tcp://"):
        return endpoint
    with socket.socket() as probe:
        try:
            if port.isdigit():
                probe.bind((host.strip("[]"), int(port)))
                return endpoint
        except OSError:
            pass
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"


class _Process:
    """`hil operate`, and what it says."""

    def __init__(self, command: list[str], progress: Progress) -> None:
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        # a separate session: Ctrl-C is for this program, which then closes the rig
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        assert self._process.stderr is not None
        self._listener = threading.Thread(target=self._listen, args=(self._process.stderr, progress), daemon=True)
        self._listener.start()

    @property
    def alive(self) -> bool:
        """It has not ended."""
        return self._process.poll() is None

    def doors(self) -> dict[str, Any]:
        """Where its clients connect. Raises CommandError: it ended before it said so."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self.check()
        doors: dict[str, Any] = json.loads(line)
        return doors

    def check(self) -> bool:
        """True. Raises CommandError: it has ended, with what it said."""
        if self.alive:
            return True
        self._listener.join(timeout=1.0)
        raise CommandError("hil operate has ended: " + "\n".join(self._lines))

    def end(self) -> None:
        """Ask it to end, as Ctrl-C does, and wait; it is killed if it does not. May be called twice."""
        if self.alive:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(_CLOSE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._listener.join(timeout=1.0)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _listen(self, stream: IO[str], progress: Progress) -> None:
        with lines_to(progress) as report:
            for line in stream:
                self._receive(line.rstrip("\n"), report)

    def _receive(self, line: str, report: Callable[[str], None]) -> None:
        self._lines.append(line)
        report(line)
