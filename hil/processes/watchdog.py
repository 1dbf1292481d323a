"""Kills processes that hang, and ends all once the loop is gone.

It has no other work, so only the machine itself can delay it; it logs such stalls. It may run with a higher priority
than the loop. It opens each serial port before the run, so that a stop need not wait until a worker has ended: the
kernel may take 100 ms to end a process and to free its port (decision 0017).
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from drivers.host import COMPUTER, Host
from drivers.interfaces import DeviceError, StopFrames
from drivers.serial.link import NEVER_NS as NOT_DUE_NS
from drivers.serial.link import StopPort
from hil.ipc.run_memory import RECORDER, WITH_DEVICES, RunMemory, read_stops
from hil.ipc.shared_types import START
from hil.ipc.shm import NEVER_NS
from hil.messages.fault import LOOP_HUNG_NS, LOOP_SILENT_NS, WORKER_SILENT_NS, Fault
from hil.messages.link_messages import event_row
from hil.processes.disturbances import stall_event
from hil.processes.lifecycle import Reporter, WorkerLifecycle
from hil.realtime import RealtimeRight, RightsWanted, rights
from hil.realtime.clock import STALL_NS, Stall, StallMonitor, measured_wakeups

# Between two looks at most, and while a stop is being written [ns]. Silence is looked for when it is due.
PERIOD_NS, STOPPING_NS = 5_000_000, 1_000_000
_LOOP_ALLOWED_NS = {"loop": LOOP_SILENT_NS, "loop_turn": LOOP_HUNG_NS}
# The watchdog has not looked for so long: the machine stood still, and others may be silent because of that, too [ns].
# They are asked again: a worker until the next look, the loop for as long as it may hang, since its rig is stopped.
KEPT_NS = STALL_NS + PERIOD_NS
KEPT = "this machine kept the watchdog waiting"
# A port that does not accept its stop within this time is given up; the device's time-out has acted by then.
TRIED_NS = 100_000_000
# Time for the recorder to finish its file once the loop is gone.
FINISH_S = 20.0


class Watchdog:
    """Checks heartbeats, kills processes that hang, and logs this for the record.

    Args:
        stops: frames for the ports of a worker that had to be killed, by its name.
        kill: kills a process, by its id; returns a function that tells whether the process is gone.
    """

    def __init__(
        self,
        shared: RunMemory,
        loop: int,
        workers: Mapping[str, int],
        stops: Mapping[str, Sequence[StopFrames]],
        host: Host = COMPUTER,
        kill: Callable[[int], Callable[[], bool]] | None = None,
    ) -> None:
        self._shared, self._loop, self._workers = shared, loop, dict(workers)
        self._ports = {name: [StopPort(stop, host) for stop in frames] for name, frames in stops.items()}
        self._begun: dict[StopPort, int] = {}  # stops not completely written yet, and the time of the last write [ns]
        self._dying: dict[str, Callable[[], bool]] = {}  # whether a process that was killed is gone
        self._kill = kill or ProcessKill
        self._noted: set[str] = set()
        self._lost = False  # a worker was killed
        self._start, self._seen, self._looked_ns = np.zeros(1, START), 0, 0
        self._kept_ns, self._kept_until_ns = 0, -LOOP_HUNG_NS  # how long it was kept waiting last, and until when

    def look(self, now_ns: int) -> None:
        """Check all processes once, and send the stop frames that are due [ns of CLOCK_MONOTONIC]."""
        if (version := self._shared.start.read(self._start)) > self._seen:
            self._seen = version
            self._noted.clear()  # of the run before
        waited_ns = now_ns - self._looked_ns if self._looked_ns else 0
        self._looked_ns = now_ns
        if waited_ns > KEPT_NS:
            self._kept_ns, self._kept_until_ns = waited_ns, now_ns
        since_ns = now_ns - self._kept_until_ns
        kept = f"; {KEPT} for {self._kept_ns * 1e-6:.0f} ms" if since_ns <= WORKER_SILENT_NS else ""
        age = self._shared.heartbeat.age
        silent_ns = age("loop", now_ns)
        if LOOP_SILENT_NS < silent_ns < NEVER_NS:
            self._note(now_ns, "loop_silent", silent_ns, LOOP_SILENT_NS, "loop: no good tick; the rig is stopped")
        hung_ns = age("loop_turn", now_ns)
        if LOOP_HUNG_NS < hung_ns < NEVER_NS and since_ns >= LOOP_HUNG_NS:
            self._note(now_ns, "loop_hung", hung_ns, LOOP_HUNG_NS, "loop: hung, killed")
            self._kill(self._loop)
        for name in WITH_DEVICES:
            worker_ns = age(name, now_ns)
            if name in self._workers and WORKER_SILENT_NS < worker_ns < NEVER_NS and since_ns > 0:
                self._dying[name], self._lost = self._kill(self._workers.pop(name)), True
                self._stop(name, now_ns)
                fault = 0 if name in self._shared.config.spared_instruments else int(Fault.PROCESS_LOST)
                words = f"{name}: silent, killed{kept}"
                self._note(now_ns, f"{name}_silent", worker_ns, WORKER_SILENT_NS, words, fault)
        self._send(now_ns)
        for name in [name for name in self._dying if self._gone(name)]:
            del self._dying[name]
            self._stop(name, now_ns)  # once more: after anything that the worker wrote last

    def next_ns(self, now_ns: int) -> int:
        """When to look again: as soon as the loop or a worker can be silent for too long [ns of CLOCK_MONOTONIC]."""
        if self._begun or self._dying:
            return now_ns + STOPPING_NS
        allowed_ns = {name: WORKER_SILENT_NS for name in WITH_DEVICES if name in self._workers} | _LOOP_ALLOWED_NS
        last_ns = self._shared.heartbeat.last_ns
        silent_ns = (beat_ns + most_ns + 1 for name, most_ns in allowed_ns.items() if (beat_ns := last_ns(name)))
        return min([now_ns + PERIOD_NS, *(due_ns for due_ns in silent_ns if due_ns > now_ns)])

    @property
    def stopping(self) -> bool:
        """Some stops are not completely written yet."""
        return bool(self._begun)

    def _gone(self, name: str) -> bool:
        """Whether a killed worker is gone and its stop is sent; beginning the stop again earlier would interrupt it."""
        stopping = any(port in self._begun for port in self._ports.get(name, ()))
        return not stopping and self._dying[name]()

    def note_stalls(self, stalls: Iterable[Stall], *, real_time: bool) -> None:
        """Log stalls of the machine for the record; those before the run are ignored.

        Between two runs they are logged only after a worker was killed as silent, whose cause they may be.
        """
        if (start_ns := self._start_ns) is None or (self._start["over"][0] and not self._lost):
            return
        ring = self._shared.watchdog_events
        for stall in stalls:
            # half of the ring is reserved for the events of the watchdog itself
            if stall.began_ns + stall.length_ns > start_ns and ring.reader(RECORDER).depth < ring.capacity // 2:
                ring.append(stall_event(stall, start_ns, self._shared.config.loop.rate_hz, real_time=real_time))

    def _stop(self, name: str, now_ns: int) -> None:
        """Begin the stop of each port of a worker; all first frames are sent before any second frame."""
        for port in self._ports.get(name, ()):
            port.begin(now_ns)
            self._begun[port] = now_ns
        self._send(now_ns)

    def _send(self, now_ns: int) -> None:
        """Write the stop frames that are due."""
        for port in [port for ports in self._ports.values() for port in ports]:
            if port not in self._begun:
                port.look()
                continue
            try:
                if port.send(now_ns):
                    self._begun[port] = now_ns
                    self._report_stopped(port.stop, now_ns)
            except DeviceError as error:
                tried_ns = now_ns - self._begun[port]
                if tried_ns > TRIED_NS:
                    port.give_up()
                    detail = f"{port.stop.device}: could not be stopped; only its time-out can stop it: {error}"
                    self._note(now_ns, f"unstopped {port.stop.port}", tried_ns, TRIED_NS, detail)
            if port.due_ns == NOT_DUE_NS:
                del self._begun[port]

    def _t_ns(self, now_ns: int) -> int:
        """Time of the run [ns], or since the start of one that is over but may still be recorded; 0 before a run."""
        start_ns = self._start_ns
        return 0 if start_ns is None else max(now_ns - start_ns, 0)

    @property
    def _start_ns(self) -> int | None:
        """Start of the run that the memory is of [ns of CLOCK_MONOTONIC]; None: it has not begun."""
        self._shared.start.read(self._start)
        return int(self._start["start_ns"][0]) or None

    def _report_stopped(self, stop: StopFrames, now_ns: int) -> None:
        name = "stopped by the watchdog"
        if f"{name} {stop.port}" not in self._noted:
            self._noted.add(f"{name} {stop.port}")
            row = event_row(0, name, 0, self._t_ns(now_ns), detail=f"{stop.device}: {stop.port}")
            self._shared.watchdog_events.append(row)

    def _note(
        self,
        now_ns: int,
        name: str,
        found_ns: int,
        allowed_ns: int,
        detail: str,
        fault: int = Fault.PROCESS_LOST,
    ) -> None:
        if name not in self._noted:
            self._noted.add(name)
            t_ns = self._t_ns(now_ns)  # decides which sensor samples are kept
            tick = t_ns * self._shared.config.loop.rate_hz // 1_000_000_000
            row = event_row(fault, name, tick, t_ns, found_ns * 1e-6, allowed_ns * 1e-6, detail=detail)
            self._shared.watchdog_events.append(row)


def run_watchdog(lifecycle: WorkerLifecycle, run: Path, *of_workers: str) -> None:
    """Watch until this process is asked to end; if the loop process is gone, end the others first."""
    workers = workers_of(of_workers)
    shared = RunMemory(run)
    watchdog = Watchdog(shared, lifecycle.parent, workers, read_stops(shared))
    wanted = shared.config.realtime
    priority = wanted.fifo_priority + 1 if wanted.fifo_priority else 0
    asked = RightsWanted(fifo_priority=min(priority, 98), lock_memory=wanted.lock_memory, freeze_gc=True, threads=True)
    monitor = StallMonitor()
    with rights(asked) as granted, measured_wakeups(monitor):
        watch(watchdog, shared, lifecycle, granted, monitor=monitor)
    if lifecycle.orphaned:
        end_all(workers.values(), FINISH_S)


def workers_of(arguments: Sequence[str]) -> dict[str, int]:
    """Process ids by name of the workers in arguments NAME=PID."""
    return {name: int(pid) for name, pid in (item.split("=") for item in arguments)}


def watch(
    watchdog: Watchdog,
    shared: RunMemory,
    lifecycle: Reporter,
    granted: Sequence[RealtimeRight] = (),
    host: Host = COMPUTER,
    monitor: StallMonitor | None = None,
) -> None:
    """Check all processes and log the monitor's stalls, until asked to end or until the loop process is gone."""
    real_time = any(item.name == "scheduler" and item.granted for item in granted)
    shared.heartbeat.beat("watchdog", host.now_ns())
    lifecycle.ready(granted)
    while watchdog.stopping or not (lifecycle.ending or lifecycle.orphaned):
        now_ns = host.now_ns()
        watchdog.look(now_ns)
        shared.heartbeat.beat("watchdog", now_ns)
        if monitor and (stalls := monitor.take()):
            watchdog.note_stalls(stalls, real_time=real_time)
        due_ns = watchdog.next_ns(host.now_ns())
        host.sleep(max(due_ns - host.now_ns(), 0) * 1e-9)  # it may have been kept waiting since
        if monitor:  # the threads see the other processors
            monitor.woke(due_ns, host.now_ns())


def end_all(processes: Iterable[int], seconds: float) -> None:
    """Ask processes, not necessarily our children, to end; kill those that still run after `seconds` [s]."""
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


class ProcessKill:
    """Kills a process when made; a call tells whether the process has ended."""

    def __init__(self, process: int) -> None:
        self._handle = -1
        with suppress(OSError):
            self._handle = os.pidfd_open(process)
        _kill(process)

    def __call__(self) -> bool:
        """Whether the process has ended; must not be called again after True."""
        if self._handle >= 0 and not select.select([self._handle], [], [], 0)[0]:
            return False
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        return True


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
