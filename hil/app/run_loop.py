"""One run of a rig's loop, from opening its devices to closing its record, and the signals that end it early."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Self

from hil.app.backend import Backend
from hil.realtime import Right, RightsWanted, rights
from hil.runtime.loop import Loop

Progress = Callable[[str], None]


def run_loop(
    backend: Backend,
    signals: Signals,
    progress: Progress,
    what: str = "",
    *,
    wanted: RightsWanted,
    refuse: Callable[[Sequence[Right], Progress], None] = lambda *_: None,
) -> float:
    """Run the loop until its trial is over; then the devices are stopped and the record is closed, whatever happens.

    Args:
        backend: ready to run.
        signals: that end it early, in Safe.
        progress: receives progress lines.
        what: description of the run, reported once it runs.
        wanted: the rights to request from the kernel.
        refuse: raises if the machine cannot hold the loop's rate with the granted rights; by default never.

    Returns:
        How long the loop ran [s].

    Raises:
        DeviceError: a device could not be opened, or nothing was recorded.
        NotArmedError: without real-time rights, this machine does not hold the loop's rate.
    """
    try:
        backend.rig_io.open()
        signals.loop = backend.loop
        with rights(wanted) as granted:
            _note_rights([*granted, *backend.granted()], backend, progress)
            refuse(granted, progress)
            if what:
                progress(f"running: {what}")
            backend.start_clock()
            began = time.perf_counter()
            backend.loop.run()
            wall_s = time.perf_counter() - began
            backend.hold()
    finally:
        backend.rig_io.close()
    backend.close_record()
    return wall_s


def _note_rights(granted: Sequence[Right], backend: Backend, progress: Progress) -> None:
    """Record each right; report a refusal with a remedy."""
    for item in granted:
        outcome = "granted" if item.granted else "refused"
        detail = f"{item.name}: {item.wanted}, {item.detail}"
        backend.cycle.tick_logger.log_event(f"right {outcome}", detail)
        if not item.granted:
            progress(f"real time without {item.name} {item.wanted}: {item.detail}")


class Signals:
    """SIGINT (Ctrl-C), SIGHUP and SIGTERM end a run in Safe, with its record closed.

    Before there is a loop, the first signal raises KeyboardInterrupt. Further signals have no effect. One that comes
    while a run is concluded lets it be concluded, and ends what would follow.

    Attributes:
        loop: the loop to stop.
        ended: there was a signal.
        missed: there was one for which no run has ended, because its last tick was over.
    """

    def __init__(self) -> None:
        self.loop: Loop | None = None
        self.ended = self.missed = self._interrupted = False
        self._number = 0
        self._before: dict[int, Any] = {}

    def _stop(self, number: int, _frame: object) -> None:
        self.ended, self._number = True, number
        if self.loop:
            self.loop.stop(f"operator: {signal.Signals(number).name}")
        elif not self._interrupted:
            self._interrupted = True
            raise KeyboardInterrupt

    def release(self) -> None:
        """The run is concluded, or has failed: from now on there is no loop to stop."""
        loop, self.loop = self.loop, None
        self.missed = self.missed or (self.ended and loop is not None and loop.missed_stop)

    def pass_on(self) -> None:
        """Hand a missed signal to whoever handles signals now, after the run. Raises KeyboardInterrupt: nobody does."""
        if not self.missed:
            return
        handler = signal.getsignal(self._number)
        if not callable(handler):
            raise KeyboardInterrupt
        handler(self._number, None)

    def __enter__(self) -> Self:
        with suppress(ValueError):  # not the main thread: the caller handles signals
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                self._before[number] = signal.signal(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        for number, handler in self._before.items():
            signal.signal(number, handler)
