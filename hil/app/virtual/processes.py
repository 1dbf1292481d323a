"""Workers of a run in virtual time: the code of `hil.processes`, each as an actor that behaves like a process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from drivers.sim.virtual.host import VirtualHost
from drivers.sim.virtual.schedule import Actor
from hil.app import link_process
from hil.ipc.run_memory import RunMemory, read_stops
from hil.processes import watchdog
from hil.realtime import RealtimeRight
from hil.recording import recorder

KILLED = -9


class _VirtualLifecycle:
    """Lifecycle of a worker, worker side, as `hil.processes.lifecycle.WorkerLifecycle`."""

    def __init__(self, notify: Callable[[], None]) -> None:
        self.ending = self.orphaned = False
        self.messages: deque[dict[str, Any]] = deque()
        self._notify = notify

    def ready(self, granted: Sequence[RealtimeRight] = (), **more: Any) -> None:
        """Report that work can begin."""
        self.report(ready=True, granted=[asdict(item) for item in granted], **more)

    def report(self, **messages: Any) -> None:
        """Send a message to the loop."""
        self.messages.append(messages)
        self._notify()


class _VirtualProcess:
    """A worker, as `hil.processes.lifecycle.Process`; made by `VirtualProcesses.launch`."""

    def __init__(self, host: VirtualHost, name: str, pid: int, shared: RunMemory) -> None:
        self._host, self.name, self.pid, self.shared = host, name, pid, shared
        self._listener: Actor | None = None
        self.lifecycle = _VirtualLifecycle(self._wake_listener)
        self.messages: deque[Mapping[str, Any]] = deque()
        self._closed = False
        self.actor: Actor | None = None
        self._code: int | None = None

    def start(self, body: Callable[[_VirtualProcess], None]) -> None:
        """Start it."""

        def run() -> None:
            body(self)
            self._gone(0)

        self.actor = self._host.time.start(self.name, run)

    def status(self, within_s: float = 0.0) -> int | None:
        """See `Process`."""
        self._wait(within_s, lambda: self._code is not None)
        return self._code

    def receive(self, within_s: float) -> dict[str, Any]:
        """See `Process`."""
        messages = self.lifecycle.messages
        self._wait(within_s, lambda: bool(messages) or self._code is not None)
        return messages.popleft() if messages else {}

    def send(self, messages: Mapping[str, Any]) -> None:
        """See `Process`: only the recorder receives messages."""
        self.messages.append(messages)
        if self.actor is not None:
            self._host.time.wake(self.actor)

    def take(self, within_s: float) -> Mapping[str, Any] | None:
        """The next message to it, as `hil.recording.recorder.Inbox`."""
        time = self._host.time
        time.wait(time.now_ns + round(within_s * 1e9), lambda: bool(self.messages) or self._closed)
        return self.messages.popleft() if self.messages else None if self._closed else {}

    def hang_up(self) -> None:
        """Close its input: no more messages follow."""
        self._closed = True
        if self.actor is not None:
            self._host.time.wake(self.actor)

    def ask_to_end(self) -> None:
        """See `Process`."""
        self.lifecycle.ending = True

    def kill(self) -> None:
        """See `Process`. Its ports are free at once."""
        if self.actor is not None and self._code is None:
            self._host.time.kill(self.actor)
            self._gone(KILLED)

    def end(self, within_s: float) -> bool:
        """See `Process`."""
        was_there = self._code is None
        self.ask_to_end()
        self.hang_up()
        if self.status(within_s) is None:
            self.kill()
        return was_there and self._code == 0

    def _gone(self, code: int) -> None:
        """Release its resources, as the kernel does."""
        assert self.actor is not None
        self._code = code
        self._host.release(self.actor)
        self.shared.leave()
        self._wake_listener()

    def _wait(self, within_s: float, done: Callable[[], bool]) -> None:
        time = self._host.time
        self._listener = time.current
        time.wait(time.now_ns + round(within_s * 1e9), done)
        self._listener = None

    def _wake_listener(self) -> None:
        if self._listener is not None:
            self._host.time.wake(self._listener)


class VirtualProcesses:
    """The workers of a run.

    Attributes:
        by_name: workers started.
        flush_s: how long each flush of the record takes [s].
    """

    LOOP = 1

    def __init__(self, host: VirtualHost, kill_loop: Callable[[], None]) -> None:
        self.host, self._kill_loop = host, kill_loop
        self.by_name: dict[str, _VirtualProcess] = {}
        self.flush_s = 0.0

    def launch(self, kind: str, run: str, *arguments: str) -> _VirtualProcess:
        """Start a worker, as `Process` does."""
        name = arguments[0] if kind == "link" else kind
        process = _VirtualProcess(self.host, name, self.LOOP + 1 + len(self.by_name), RunMemory(Path(run)))
        self.by_name[name] = process
        body = {"link": self._link, "recorder": self._recorder, "watchdog": self._watchdog}[kind]
        process.start(lambda me: body(me, arguments))
        return process

    def waker(self, _shared: RunMemory, name: str) -> Callable[[], None]:
        """As `hil.app.backend.Platform.waker`."""

        def wake() -> None:
            if (process := self.by_name.get(name)) is not None and process.actor is not None:
                self.host.time.wake(process.actor)

        return wake

    def kill(self, pid: int) -> Callable[[], bool]:
        """Kill a process by its id; returns a function that tells that it is gone."""
        if pid == self.LOOP:
            self._kill_loop()
        for process in self.by_name.values():
            if process.pid == pid:
                process.kill()
        return lambda: True

    def orphan(self) -> None:
        """The loop is gone: ask all workers to end, as the kernel does."""
        for process in self.by_name.values():
            process.lifecycle.ending = process.lifecycle.orphaned = True
            process.hang_up()

    def _link(self, me: _VirtualProcess, arguments: Sequence[str]) -> None:
        link_process.serve(arguments[0], me.shared, me.lifecycle, host=self.host)

    def _recorder(self, me: _VirtualProcess, arguments: Sequence[str]) -> None:  # noqa: ARG002
        recorder.serve(me.shared, me.lifecycle, me, host=self.host, after_flush=self._flushed)

    def _flushed(self) -> None:
        if self.flush_s > 0.0:
            self.host.sleep(self.flush_s)

    def _watchdog(self, me: _VirtualProcess, arguments: Sequence[str]) -> None:
        workers = watchdog.workers_of(arguments)
        dog = watchdog.Watchdog(me.shared, self.LOOP, workers, read_stops(me.shared), self.host, self.kill)
        watchdog.watch(dog, me.shared, me.lifecycle, host=self.host)
