"""Supervision of the workers by the loop: starts them, goes Safe when one is lost, and ends all of them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from drivers.host import COMPUTER, Host
from drivers.interfaces import DeviceError
from hil.ipc.run_memory import LINKS, RECORDER, WITH_DEVICES, RunMemory
from hil.ipc.shared_types import FAULT_MESSAGE, START, alarm_of
from hil.ipc.shm import NEVER_NS, Mailbox
from hil.messages.fault import RECORDER_SILENT_NS, WATCHDOG_SILENT_NS, WORKER_SILENT_NS, Alarm, Fault
from hil.messages.link_messages import HEALTH, event_row, reports_of
from hil.processes.disturbances import disturbances_near
from hil.processes.lifecycle import Child, Process
from hil.realtime.rights import RealtimeRight

# Time limit for a worker to report that it is ready [s]; the simulated rig loads its kernels in 2 s.
READY_S = 60.0
# Time limit for a worker to end by itself [s]; the recorder has to finish its file.
END_S = {"recorder": 30.0}
END_OTHERS_S = 5.0
DYING_S = 0.5
# Time that a failed device gets between two runs to answer again [s], and the time between two checks [s].
COMES_BACK_S = 5.0
LOOK_AGAIN_S = 0.02
# How long a process may have no heartbeat before the loop goes Safe [ns].
SILENT_NS = {
    "watchdog": WATCHDOG_SILENT_NS,
    RECORDER: RECORDER_SILENT_NS,
    **dict.fromkeys(WITH_DEVICES, WORKER_SILENT_NS),
}
# The watchdog first: it would treat a loop that is busy ending the others as hung. The recorder last: it records all.
_ENDING = ("watchdog", *WITH_DEVICES, RECORDER)

# Names of the events about an instrument of motion that the run can do without.
INSTRUMENT_LOST, INSTRUMENT_BACK = "instrument link lost", "instrument link back"
# Name of the event about a process that is silent in addition to the one of fault 12, which is recorded once.
ALSO_SILENT = "process silent"
Launch = Callable[..., Child]  # name, path, others: as `Process`


class _Report:
    """The fault in one of a worker's mailboxes that requires Safe; None: there is none."""

    def __init__(self, box: Mailbox) -> None:
        self._box, self._row, self._version = box, np.zeros(1, FAULT_MESSAGE), 0
        self._alarm: Alarm | None = None

    def __call__(self) -> Alarm | None:
        if self._box.version != self._version and (version := self._box.read(self._row)) > 0:
            self._version, self._alarm = version, alarm_of(self._row)
        return self._alarm


class _DeviceReports:
    """What the devices report about themselves, as marks: each once a run, but for what latches Safe as a fault."""

    def __init__(self, shared: RunMemory, reports: Mapping[str, _Report]) -> None:
        self._boxes, self._reports, self._row = shared.healths, reports, np.zeros(1, HEALTH)
        self._versions = dict.fromkeys(self._boxes, 0)
        self.forget()

    def forget(self) -> None:
        """A run begins: what is reported is recorded in it too."""
        self._said: set[str] = set()
        self._marks: deque[str] = deque()
        self._latches = ""

    def __call__(self) -> Alarm | None:
        """The next mark, or None."""
        for name, box in self._boxes.items():
            if box.version != self._versions[name] and (version := box.read(self._row)) > 0:
                self._versions[name] = version
                self._take(name, reports_of(self._row))
        return Alarm(Fault.DEVICE_FAULT, math.nan, math.nan, self._marks.popleft(), True) if self._marks else None

    def _take(self, name: str, said: Sequence[str]) -> None:
        """Of what a link reports, mark what is new."""
        for words in said:
            if words in self._said:
                continue
            self._said.add(words)
            alarm = self._reports[name]()
            if not self._latches and alarm and alarm.detail == words:
                self._latches = words  # the first: it is recorded as the fault
            else:
                self._marks.append(words)


class WorkerSupervisor:
    """The workers of a run.

    Attributes:
        record_closed: the recorder has finished its file.
    """

    def __init__(self, shared: RunMemory, host: Host = COMPUTER, launch: Launch = Process) -> None:
        self._shared, self._host, self._launch = shared, host, launch
        self._processes: dict[str, Child] = {}
        self._messages: dict[str, dict[str, Any]] = {}
        self._watched: dict[str, int] = {}
        self._reports = {
            name: {cause: _Report(box) for cause, box in boxes.items()}
            for name, boxes in shared.fault_mailboxes.items()
        }
        of_devices = {name: reports[Fault.DEVICE_FAULT] for name, reports in self._reports.items() if name in LINKS}
        self._device_reports = _DeviceReports(shared, of_devices)
        self._spared = shared.config.spared_instruments
        self._troubled: dict[str, Alarm | None] = {}
        self._silent: set[str] = set()
        self._not_held: list[str] = []
        self._again = False
        self.record_closed = False

    @property
    def reports(self) -> list[Callable[[], Alarm | None]]:
        """Called in each tick, one for each cause that a worker may report: the fault, or None; then what devices say.

        All are asked, so that a process that is lost hides no emergency stop and no lost link. Instruments of motion
        that the run can do without are not among them: what they report is an event (`alarm`).
        """
        ours = [reports.values() for name, reports in self._reports.items() if name not in self._spared]
        return [*(report for reports in ours for report in reports), self._device_reports]

    def start(self, name: str, *arguments: str) -> None:
        """Start a worker; `wait_ready` waits until it is ready."""
        run = str(self._shared.run)
        process = self._launch("link", run, name) if name in LINKS else self._launch(name, run, *arguments)
        self._processes[name] = process

    def start_watchdog(self) -> None:
        """Start the watchdog over all workers started so far."""
        self.start("watchdog", *(f"{name}={process.pid}" for name, process in self._processes.items()))

    def wait_ready(self, name: str) -> dict[str, Any]:
        """Wait until a worker is ready; return its message.

        Raises:
            DeviceError: it failed, ended, or did not report in time.
        """
        message = self._processes[name].receive(READY_S)
        if "error" in message:
            raise DeviceError(message["error"])
        if not message.get("ready"):
            code = self._processes[name].status(DYING_S)  # its pipe closes a moment before it has ended
            state = f"ended with status {code}" if code is not None else f"was not ready within {READY_S:g} s"
            raise DeviceError(f"{name}: its process {state}; see its output above")
        self._watched[name] = SILENT_NS[name]
        self._messages[name] = message
        return message

    def granted(self) -> list[RealtimeRight]:
        """The rights of the workers, with the worker's name added to each."""
        return [
            RealtimeRight(**{**item, "name": f"{item['name']} of {name}"})
            for name, message in self._messages.items()
            for item in message.get("granted", ())
        ]

    def alarm(self) -> Alarm | None:
        """Called at the beginning of each tick: the heartbeat of the loop. Returns an alarm if a worker is silent.

        What happens to an instrument of motion that the run can do without is recorded as an event that is no fault,
        and so is every further process that is silent.
        """
        now_ns, heartbeat, lost = self._host.now_ns(), self._shared.heartbeat, None
        heartbeat.beat("loop_turn", now_ns)
        for name, allowed_ns in self._watched.items():
            age_ns = heartbeat.age(name, now_ns)
            if allowed_ns < age_ns < NEVER_NS:
                age_ms, allowed_ms = age_ns * 1e-6, allowed_ns * 1e-6
                detail = f"{name}: its process has been silent for {age_ms:.1f} ms, allowed: {allowed_ms:g} ms"
                if name in self._spared:
                    del self._watched[name]
                    self._note(INSTRUMENT_LOST, detail, now_ns)
                    break
                if name not in self._silent:
                    if self._silent:
                        self._note(ALSO_SILENT, detail, now_ns)
                    self._silent.add(name)
                lost = lost or Alarm(Fault.PROCESS_LOST, age_ms, allowed_ms, detail)
        if lost:
            return lost
        for name in self._spared:
            trouble = next((alarm for report in self._reports[name].values() if (alarm := report())), None)
            if trouble is not self._troubled.get(name):
                self._troubled[name] = trouble
                detail = trouble.detail if trouble else f"{name}: its link is open again"
                self._note(INSTRUMENT_LOST if trouble else INSTRUMENT_BACK, detail, now_ns)
        return None

    def _note(self, name: str, detail: str, now_ns: int) -> None:
        """Record an event that is no fault, of a time of the host [ns]."""
        start = np.zeros(1, START)
        self._shared.start.read(start)
        t_ns = max(now_ns - int(start["start_ns"][0]), 0)
        tick = t_ns * self._shared.config.loop.rate_hz // 1_000_000_000
        self._shared.events.append(event_row(0, name, tick, t_ns, detail=detail))

    def _reported(self) -> list[str]:
        """All that the workers report, in words."""
        return [
            alarm.detail for reports in self._reports.values() for report in reports.values() if (alarm := report())
        ]

    def check_started(self) -> None:
        """Called before the first tick of the loop. Raises DeviceError: a worker has ended or failed meanwhile.

        Between two runs a device that has failed gets some time to answer again.
        """
        until_ns = self._host.now_ns() + round(COMES_BACK_S * 1e9)
        while self._again and self._reported() and self._host.now_ns() < until_ns:
            self._host.sleep(LOOK_AGAIN_S)
        if reported := self._reported():
            raise DeviceError("; ".join(reported))
        if lost := self.lost():
            raise DeviceError(f"{lost}; see its output above")

    def lost(self) -> str:
        """The workers that have ended by themselves, in words; empty: none has."""
        codes = {name: process.status() for name, process in self._processes.items()}
        return "; ".join(
            f"{name}: its process ended with status {code}{self._noted(name)}"
            for name, code in codes.items()
            if code is not None
        )

    def was_silent(self, name: str) -> bool:
        """Whether the watchdog has noted a worker as silent, and killed it, since the rig was opened."""
        return bool(self._noted(name))

    def _noted(self, name: str) -> str:
        """What the watchdog has noted of a worker since the rig was opened, in words to append; empty: nothing."""
        ring = self._shared.watchdog_events
        rows = ring.reader("lost").read(ring.capacity)
        for place in np.flatnonzero(rows["name"] == f"{name}_silent".encode()):
            row = rows[place]
            words = bytes(row["detail"]).decode(errors="replace").removeprefix(f"{name}: ")
            words += disturbances_near(
                rows[place:], int(row["t_ns"])
            )  # rows before it may be of another run, with other times
            return f" (watchdog, after {row['value']:.1f} ms, allowed {row['limit']:g}: {words})"
        return ""

    def feed(self) -> None:
        """Called at the end of each good tick: the heartbeat that the dead-man of each link checks."""
        self._shared.heartbeat.beat("loop", self._host.now_ns())

    def end(self, name: str) -> bool:
        """Ask a worker to end and wait for it. False if it was gone before, ended with an error or had to be killed."""
        self._watched.pop(name, None)
        good = self._processes.pop(name).end(END_S.get(name, END_OTHERS_S))
        if name == RECORDER and good:
            self.record_closed = True
        return good

    def hold(self) -> None:
        """The run is over: the workers with devices stop them and keep them stopped, watched by the watchdog.

        The loop is not watched from now on until its next tick.
        """
        for name in ("loop", "loop_turn"):
            self._shared.heartbeat.rest(name)
        start = np.zeros(1, START)
        self._shared.start.read(start)  # the numbers of rows before the run stay unchanged, for a recovery
        start["over"] = 1
        version = self._shared.start.write(start)
        self._not_held = [name for name in self._with_devices() if not self._holds(name, version)]

    def _holds(self, name: str, version: int) -> bool:
        """Wait until a worker reports that it holds its devices since that version of the start record."""
        message = {"held": 0}
        while message and message.get("held", 0) < version:
            message = self._processes[name].receive(END_OTHERS_S)
        return bool(message)

    def next_run(self, folder: str) -> None:
        """Have the recorder begin the next record, and wait until a simulated rover is at its start position.

        Raises:
            DeviceError: a worker has ended.
        """
        if self._not_held:
            raise DeviceError(f"{', '.join(self._not_held)}: no process holds its devices now; start the command again")
        if "simulated_rig" in self._processes:
            self._processes["simulated_rig"].receive(READY_S)  # it is at its start place again
        self.record_closed = False
        self._spared, self._silent = self._shared.config.spared_instruments, set()
        self._device_reports.forget()
        self._processes[RECORDER].send({"run": folder})
        self.wait_ready(RECORDER)
        self._again = True

    def _with_devices(self) -> list[str]:
        return [name for name in WITH_DEVICES if name in self._processes]

    def end_all(self) -> None:
        """End all remaining workers."""
        for name in sorted(self._processes, key=_ENDING.index):
            self.end(name)

    def close_record(self) -> bool:
        """Have the recorder finish its file; it runs on, to publish the summary. False: it failed, and is killed."""
        self._watched.pop(RECORDER, None)
        recorder = self._processes[RECORDER]
        recorder.send({"close": True})
        self.record_closed = bool(recorder.receive(END_S[RECORDER]).get("closed"))
        if not self.record_closed:
            recorder.kill()
        return self.record_closed

    def publish(self, summary: Mapping[str, Any]) -> None:
        """Have the recorder publish the summary, if it is still running."""
        if RECORDER in self._processes:
            self._processes[RECORDER].send({"summary": summary})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end_all()
