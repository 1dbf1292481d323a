"""Ends what hangs, and everything once the loop is gone: `python -m hil.workers.watchdog RUN PARENT NAME=PID...`.

It has no other work, so nothing can hold it up; it may run above the loop. Stopping what a killed worker has left takes
it some ms, in which that stop is all that matters.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from drivers.base import DeviceError, StopFrames
from drivers.host import COMPUTER, Host
from drivers.serial_link import send_stop
from hil.links.rows import START
from hil.links.shared import LINKS, Shared
from hil.links.stops import read_stops
from hil.realtime import Granted, RightsWanted, rights
from hil.rows import event_row
from hil.safety import Fault
from hil.shm import NEVER_NS
from hil.workers.life import Life, Reporter

PERIOD_S = 0.005
# The loop has not ended a good tick for so long: noted; the dead-man of each link has acted before.
LOOP_SILENT_NS = 50_000_000
# It has not even begun one: it hangs beyond hope, and is killed.
LOOP_HUNG_NS = 1_000_000_000
# A worker with a device has been silent for so long: it is killed, so that its port is free.
WORKER_SILENT_NS = 20_000_000
WITH_DEVICES = ("far_end", *LINKS)
# A killed process lets go of its port within ms.
FREE_WITHIN_S = 0.1
_LOOK_AGAIN_S = 0.001
# What the recorder gets to finish its file once the loop is gone.
FINISH_S = 20.0


class Watchdog:
    """Looks at heartbeats, kills what hangs, and keeps a note of it for the record.

    Args:
        shared: memory of the run.
        loop: process id of the loop.
        workers: process ids by name.
        stops: what to send to the ports of a worker that had to be killed, by its name.
        host: whose clock and ports are used.
        kill: ends a process, by its id.
    """

    def __init__(
        self,
        shared: Shared,
        loop: int,
        workers: Mapping[str, int],
        stops: Mapping[str, Sequence[StopFrames]],
        host: Host = COMPUTER,
        kill: Callable[[int], None] | None = None,
    ) -> None:
        self._shared, self._loop, self._workers, self._stops = shared, loop, dict(workers), stops
        self._host, self._kill = host, kill or _kill
        self._noted: set[str] = set()
        self._start = np.zeros(1, START)

    def look(self, now_ns: int) -> None:
        """One look at all of them [ns of CLOCK_MONOTONIC]."""
        age = self._shared.heartbeat.age
        silent_ns = age("loop", now_ns)
        if LOOP_SILENT_NS < silent_ns < NEVER_NS:
            self._note(now_ns, "loop_silent", silent_ns, LOOP_SILENT_NS, "loop: no good tick; the rig is stopped")
        hung_ns = age("loop_turn", now_ns)
        if LOOP_HUNG_NS < hung_ns < NEVER_NS:
            self._note(now_ns, "loop_hung", hung_ns, LOOP_HUNG_NS, "loop: hung, killed")
            self._kill(self._loop)
        for name in WITH_DEVICES:
            worker_ns = age(name, now_ns)
            if name in self._workers and WORKER_SILENT_NS < worker_ns < NEVER_NS:
                self._note(now_ns, f"{name}_silent", worker_ns, WORKER_SILENT_NS, f"{name}: silent, killed")
                self._kill(self._workers.pop(name))
                for stop in self._stops.get(name, ()):
                    self._stop(stop)

    def _stop(self, stop: StopFrames) -> None:
        """Send a stop as soon as the port is free."""
        began_ns = now_ns = self._host.now_ns()
        while True:
            try:
                send_stop(stop, self._host)
            except DeviceError as error:
                if now_ns - began_ns > FREE_WITHIN_S * 1e9:
                    detail = f"{stop.device}: could not be stopped; its own time-out has to: {error}"
                    self._note(now_ns, f"unstopped {stop.port}", now_ns - began_ns, round(FREE_WITHIN_S * 1e9), detail)
                    return
                self._host.sleep(_LOOK_AGAIN_S)
            else:
                row = event_row(
                    0, "stopped by the watchdog", 0, self._t_ns(now_ns), detail=f"{stop.device}: {stop.port}"
                )
                self._shared.watchdog_events.append(row)
                return
            now_ns = self._host.now_ns()

    def _t_ns(self, now_ns: int) -> int:
        """Time of the run, 0 before it."""
        begun = self._shared.start.read(self._start) > 0
        return max(now_ns - int(self._start["start_ns"][0]), 0) if begun else 0

    def _note(self, now_ns: int, name: str, found_ns: int, allowed_ns: int, detail: str) -> None:
        if name not in self._noted:
            self._noted.add(name)
            t_ns = self._t_ns(now_ns)  # says which sensor samples are kept
            tick = t_ns * self._shared.config.loop.rate_hz // 1_000_000_000
            row = event_row(Fault.PROCESS_LOST, name, tick, t_ns, found_ns * 1e-6, allowed_ns * 1e-6, detail=detail)
            self._shared.watchdog_events.append(row)


def main(run: Path, parent: int, workers: Mapping[str, int]) -> None:
    """Watch until told to end; once the loop process is gone, end the others first."""
    life = Life(parent)
    shared = Shared(run)
    watchdog = Watchdog(shared, parent, workers, read_stops(shared))
    wanted = shared.config.realtime
    priority = wanted.fifo_priority + 1 if wanted.fifo_priority else 0
    asked = RightsWanted(fifo_priority=min(priority, 98), lock_memory=wanted.lock_memory, freeze_gc=True)
    with rights(asked) as granted:
        watch(watchdog, shared, life, granted)
    if life.orphaned:
        end_all(workers.values(), FINISH_S)


def watch(
    watchdog: Watchdog, shared: Shared, life: Reporter, granted: Sequence[Granted] = (), host: Host = COMPUTER
) -> None:
    """Look at all processes until told to end, or until the loop process is gone."""
    shared.heartbeat.beat("watchdog", host.now_ns())
    life.ready(granted)
    while not life.ending and not life.orphaned:
        now_ns = host.now_ns()
        watchdog.look(now_ns)
        shared.heartbeat.beat("watchdog", now_ns)
        host.sleep(PERIOD_S)


def end_all(processes: Iterable[int], seconds: float) -> None:
    """Ask processes, which need not be our children, to end, and kill what is left after so many seconds."""
    watched = {}
    for process in processes:
        with suppress(ProcessLookupError):
            watched[os.pidfd_open(process)] = process
            os.kill(process, signal.SIGTERM)
    until = time.monotonic() + seconds
    while watched:
        ended = select.select(list(watched), [], [], max(until - time.monotonic(), 0.0))[0]
        for handle in ended or list(watched):
            process = watched.pop(handle)
            if not ended:
                _kill(process)
            os.close(handle)


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), {k: int(v) for k, v in (item.split("=") for item in sys.argv[3:])})
