"""A simulated rig in the loop's process, in virtual time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from typing_extensions import override

from hil.app.console import Console
from hil.app.run_loop import Backend, record_meta, simulated_rig_io
from hil.app.warm_up import warm_up
from hil.config.rig import Rig
from hil.experiments.registry import build_cycle
from hil.messages.fault import Event
from hil.operator.telemetry import open_publisher
from hil.realtime import RealtimeRight
from hil.recording import open_writer
from hil.recording.sinks import FileAndTelemetrySink
from hil.runtime.loop import LockstepClock, Loop, PacedClock
from hil.simulator.ground_truth import GroundTruth
from hil.simulator.simulated_rig import build_simulated_rig

Progress = Callable[[str], None]
# How often the record of a run that would be made again goes to disk [ms].
FLUSH_MS_OF_MANY = 1000.0
# How often a long run says how far it has come [s], and after how many ticks it looks at the clock.
_SAY_EVERY_S, _LOOK_EVERY = 10.0, 4096


class _ProgressMessages:
    """Says now and then how far a long run has come; nothing of a short one."""

    def __init__(self, rate_hz: int, progress: Progress) -> None:
        self._rate_hz, self._progress = rate_hz, progress
        self._ticks = 0
        self._began_s = self._said_s = time.monotonic()

    def tick(self) -> None:
        """A tick is over."""
        self._ticks += 1
        if self._ticks % _LOOK_EVERY:
            return
        now_s = time.monotonic()
        if now_s - self._said_s >= _SAY_EVERY_S:
            self._said_s = now_s
            done_s = self._ticks / self._rate_hz
            self._progress(f"{done_s:.0f} s of the run done, {done_s / (now_s - self._began_s):.1f} times real time")


class LockstepBackend(Backend):
    """Everything in one process, in virtual time.

    Args:
        rig: of the config; the experiment is in it.
        console: of the operator, for whom virtual time is never ahead of the wall clock; None: nobody watches.
        one_of_many: every kernel has run in this process already, and a run that is killed is made again: its record
            goes to disk in large pieces, which takes a quarter of the time of a trial less.
    """

    def __init__(
        self,
        rig: Rig,
        folder: Path,
        progress: Progress,
        stack: ExitStack,
        *,
        attended: bool = False,
        console: Console | None = None,
        one_of_many: bool = False,
    ) -> None:
        self._rig, self._attended, self._console = rig, attended, console
        self._progress = progress
        publisher = stack.enter_context(open_publisher(rig.config.telemetry, rig.rate_hz, rig.layout, progress))
        flush_ms = FLUSH_MS_OF_MANY if one_of_many else None
        recorder = open_writer(folder, rig.config, record_meta(rig, attended=attended), flush_ms=flush_ms)
        self.file_sink = FileAndTelemetrySink(recorder, publisher)
        stack.callback(self._close_file)
        if not one_of_many:
            warm_up(self._rig, progress)
        progress("settling the rover on its ground")
        self._build(folder)

    def _build(self, folder: Path, latched: Sequence[Event] = ()) -> None:
        rate_hz, console = self._rig.rate_hz, self._console
        self.simulated_rig = build_simulated_rig(self._rig)
        self.rig_io = simulated_rig_io(self._rig.layout, self.simulated_rig, console)
        self.cycle = build_cycle(
            self._rig, self.rig_io, self.file_sink, folder, attended=self._attended, latched=latched
        )
        if console is None:
            clock = LockstepClock(self.simulated_rig, rate_hz)
            self.loop = Loop(clock, self.cycle, feed=_ProgressMessages(rate_hz, self._progress).tick)
        else:
            clock = PacedClock(self.simulated_rig, rate_hz, console.host)
            console.attend(self.cycle, folder, self._rig)
            self.loop = Loop(clock, self.cycle, (console.alarm,), console.tick)

    @override
    def next_run(
        self, folder: Path, latched: Sequence[Event], rig: Rig | None = None, *, attended: bool | None = None
    ) -> None:
        """The rover is at its start position again."""
        self._rig = rig or self._rig
        self._attended = self._attended if attended is None else attended
        recorder = open_writer(folder, self._rig.config, record_meta(self._rig, attended=self._attended))
        self.file_sink = FileAndTelemetrySink(recorder, self.file_sink.publisher)
        self._build(folder, latched)

    @property
    def ground_truth(self) -> GroundTruth:
        """The ground truth of the simulated rig."""
        return GroundTruth.of(self.simulated_rig.plant)

    def granted(self) -> Sequence[RealtimeRight]:
        """None: there are no other processes."""
        return ()

    def plant_loop(self) -> dict[str, Any] | None:
        """None: the clock advances the plant."""
        return None

    def links(self) -> dict[str, Any] | None:
        """None: the rig is simulated in this process."""
        return None

    def start_clock(self) -> None:
        """Virtual time begins with the first tick."""
        self.file_sink.publisher.starts_at(time.time())

    def hold(self) -> None:
        """Virtual time stops."""

    def close_record(self) -> None:
        """Finish the record."""
        try:
            with suppress(OSError):  # a full disk has ended the run, and its fault says so
                for row in self.ground_truth.events(self._rig.rate_hz):
                    self.file_sink.recorder.event(row)
        finally:
            self._close_file()

    def _close_file(self) -> None:
        self.file_sink.recorder.close()

    def lost(self) -> str:
        """Nothing: there are no other processes."""
        return ""

    def publish(self, summary: Mapping[str, Any]) -> None:
        """Send the summary to viewers."""
        self.file_sink.publisher.trial(summary)
