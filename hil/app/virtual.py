"""A computer in virtual time with its simulated rig at the protocol level, and the workers of a run as actors."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from typing_extensions import override

from drivers.host import Host
from drivers.interfaces import DeviceError
from drivers.sim.virtual.host import VirtualHost
from drivers.sim.virtual.schedule import Actor, VirtualTime
from drivers.sim.virtual.serial import VirtualLines
from hil.app import driver_factory
from hil.app.run_loop import Platform
from hil.config.rig import Rig
from hil.ipc.run_memory import RunMemory, read_stops
from hil.ipc.shm import Ring
from hil.messages.stages import Tick
from hil.processes import watchdog
from hil.processes.lifecycle import Child
from hil.realtime import RealtimeRight
from hil.realtime.clock import RealtimeClock, thread_usage
from hil.recording import recorder
from hil.runtime.loop import Pace
from hil.simulator.daq_process import DaqServer
from hil.simulator.ground_truth import truth_answer
from hil.simulator.memory import RESET, SimulatorMemory
from hil.simulator.plant_process import RealtimePlant
from hil.simulator.sampled_memory import LONGEST_NS
from hil.simulator.serial_process import SerialLines, has_server
from hil.simulator.simulated_rig import Endpoints

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


class _VirtualProcess(Child):
    """A worker, as `hil.processes.lifecycle.Process`; made by `_VirtualProcesses.launch`."""

    def __init__(self, host: VirtualHost, name: str, pid: int, shared: RunMemory) -> None:
        self._host, self.name, self._pid, self.shared = host, name, pid, shared
        self._listener: Actor | None = None
        self.lifecycle = _VirtualLifecycle(self._wake_listener)
        self.messages: deque[Mapping[str, Any]] = deque()
        self._closed = False
        self.actor: Actor | None = None
        self._code: int | None = None

    @property
    @override
    def pid(self) -> int:
        return self._pid

    def start(self, body: Callable[[_VirtualProcess], None]) -> None:
        """Start it."""

        def run() -> None:
            body(self)
            self._gone(0)

        self.actor = self._host.time.start(self.name, run)

    @override
    def status(self, within_s: float = 0.0) -> int | None:
        self._wait(within_s, lambda: self._code is not None)
        return self._code

    @override
    def receive(self, within_s: float) -> dict[str, Any]:
        messages = self.lifecycle.messages
        self._wait(within_s, lambda: bool(messages) or self._code is not None)
        return messages.popleft() if messages else {}

    @override
    def send(self, message: Mapping[str, Any]) -> None:
        """Only the recorder receives messages."""
        self.messages.append(message)
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

    @override
    def ask_to_end(self) -> None:
        self.lifecycle.ending = True

    @override
    def kill(self) -> None:
        """Its ports are free at once."""
        if self.actor is not None and self._code is None:
            self._host.time.kill(self.actor)
            self._gone(KILLED)

    @override
    def end(self, within_s: float) -> bool:
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


class _VirtualProcesses:
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
        """Returns what wakes the worker of a link, in virtual time."""

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
        driver_factory.serve(arguments[0], me.shared, me.lifecycle, host=self.host)

    def _recorder(self, me: _VirtualProcess, arguments: Sequence[str]) -> None:  # noqa: ARG002
        recorder.serve(me.shared, me.lifecycle, me, host=self.host, after_flush=self._flushed)

    def _flushed(self) -> None:
        if self.flush_s > 0.0:
            self.host.sleep(self.flush_s)

    def _watchdog(self, me: _VirtualProcess, arguments: Sequence[str]) -> None:
        workers = watchdog.workers_of(arguments)
        dog = watchdog.Watchdog(me.shared, self.LOOP, workers, read_stops(me.shared), self.host, self.kill)
        watchdog.watch(dog, me.shared, me.lifecycle, host=self.host)


class VirtualRig:
    """Plant, serial devices and device server of `hil.simulator`, each called when it is due.

    Args:
        folder: of its memory; exists and is empty.
        host: of the drivers; its ports and its network connect to this rig.

    Attributes:
        endpoints: addresses of its devices, by name.
    """

    def __init__(self, rig: Rig, folder: Path, host: VirtualHost) -> None:
        self._host, config = host, rig.config
        memory = SimulatorMemory(folder, config)
        self._plant = RealtimePlant(memory, host.now_ns(), host)
        self._serial = SerialLines(memory, host, host.terminal, host.network_terminal)
        VirtualLines(host.time, self._serial.lines, host.ports)

        self._daq = DaqServer(memory, host, host) if has_server(config.devices, config.daq) else None
        self.endpoints = self._serial.endpoints
        if self._daq:
            self.endpoints["daq"] = self._daq.server.start()
        self._handlers: dict[str, Callable[[dict[str, Any]], Mapping[str, Any]]] = {
            "truth": self._ground_truth,
            "place": self._place,
            "lateness": lambda _command: {"late": []},  # nothing is late by itself in virtual time
            **self._serial.handlers,
            **(self._daq.handlers if self._daq else {}),
            "inject_fault": self._of("inject_fault"),
            "e_stop": self._of("e_stop"),
        }
        self._memory = memory
        self._round()

    def ask(self, do: str, **command: Any) -> dict[str, Any]:
        """Answer a request of the control socket without a socket. Raises what `ControlClient.ask` raises."""
        try:
            return dict(self._handlers[do](command))
        except (ValueError, KeyError, TypeError) as error:
            raise DeviceError(f"simulated rig: {do}: {error}") from error

    def lines(self) -> dict[str, bool]:
        """States of the digital outputs."""
        return dict(self._daq.server.lines) if self._daq else {}

    def driven_radps(self) -> list[float]:
        """Speed commanded by the controller of each wheel [rad/s]; 0 if it is cut or held at rest."""
        return [float(speed) for speed in _newest(self._memory.wheel_commands)["speed_radps"]]

    def set_Pa(self) -> list[float]:
        """Gauge pressure that each moved regulator is set to [Pa]."""
        return [float(pressure) for pressure in _newest(self._memory.valve_commands)["regulators_Pa"][:-1]]

    def powered(self) -> list[bool]:
        """Whether each valve is powered."""
        return [bool(on) for on in _newest(self._memory.valve_commands)["powered"][:-1]]

    def held(self) -> list[bool]:
        """Whether the controller of each driven joint holds an angle."""
        return [not cut for cut in _newest(self._memory.servo_commands)["servo_cut"][:-1]]

    def close(self) -> None:
        """Unmap its memory; none of its actions may be scheduled any more."""
        self._memory.close()

    def _round(self) -> None:
        """Advance the plant to the end of a round."""
        time = self._host.time
        self._plant.round(time.now_ns)
        self._plant.truth_publisher.publish(self._plant.rounds, 0)
        time.call_at(self._plant.rounds.next_ns(time.now_ns), self._round)

    def _of(self, do: str) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
        """A handler that passes a command on to the process of the device that it names."""

        def handle(command: dict[str, Any]) -> Mapping[str, Any]:
            served = self._daq if self._daq and command.get("device") == "daq" else self._serial
            return served.handlers[do](command)

        return handle

    def _place(self, command: dict[str, Any]) -> dict[str, Any]:
        """Put the rover back to its start, with the given obstacle angle and seed."""
        self._memory.reset.write(np.array([(command["angle_deg"], command["seed"])], RESET))
        self._host.sleep(2 * LONGEST_NS * 1e-9)  # the plant's next round does it
        return {}

    def _ground_truth(self, command: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Values known only to the plant; times are of the virtual clock."""
        self._plant.truth_publisher.publish_final()
        return truth_answer(self._memory.ground_truth, self._memory.histories)


def _newest(commands: Ring) -> np.void:
    """The newest row of commands; zeros before the first."""
    rows = commands.reader("newest").read(commands.capacity)
    return cast("np.void", rows[-1] if len(rows) else np.zeros(1, commands.dtype)[0])


class _VirtualClock(RealtimeClock):
    """Deadlines in virtual time; the duration of a tick's stages is measured on this computer.

    Args:
        pace: keeps virtual time from being ahead of the wall clock; None: as fast as the machine can.
    """

    name = "lockstep"

    def __init__(self, host: VirtualHost, pace: Pace | None, rate_hz: int, *_: object) -> None:
        nothing = thread_usage()  # no tick takes too long in virtual time, so the kernel is not asked in each
        super().__init__(rate_hz, now=host.now_ns, sleep_until=host.sleep_until, usage=lambda: nothing)
        self._pace = pace

    @property
    def wake_us(self) -> None:
        """None: virtual time has no wake-up latency."""
        return None

    @override
    def next(self) -> Tick:
        if self._pace is not None:
            self._pace.wait()
        return super().next()._replace(began_ns=time.monotonic_ns())


class VirtualComputer:
    """Clock, ports, network and processes of a run in virtual time, and the simulated rig.

    The thread that makes it is the first actor.

    Args:
        config: of the rig, with `rig: simulated_wire`.
        folder: for the memory of the simulated rig; exists and is empty.
        paced_by: a computer whose clock virtual time is never ahead of, because people operate the rig; None: none.

    Attributes:
        time: virtual time.
        host: clock, ports and network.
        rig: the simulated rig.
        processes: the workers.
        suspended_ns: for how long it was suspended so far; its clock stood still then [ns].
        platform: all of it, for `hil.app.backends.RealtimeBackend`.
    """

    def __init__(self, rig: Rig, folder: Path, kill_loop: Callable[[], None], paced_by: Host | None = None) -> None:
        self.time = VirtualTime()
        self.host = VirtualHost(self.time)
        self.rig = VirtualRig(rig, folder, self.host)
        self.processes = _VirtualProcesses(self.host, kill_loop)
        pace = None if paced_by is None else Pace(paced_by, rig.rate_hz)
        make_clock = partial(_VirtualClock, self.host, pace)
        self.suspended_ns = 0
        self.platform = Platform(
            self.host, self.processes.launch, self._connect, self.processes.waker, make_clock,
            lambda: self.host.now_ns() + self.suspended_ns,
        )  # fmt: skip

    def close(self) -> None:
        """End everything; may be called twice."""
        self.time.close()
        for process in self.processes.by_name.values():
            process.kill()
            process.shared.close()
        self.rig.close()

    def _connect(self, *_: object) -> tuple[Endpoints, Any]:
        return self.rig.endpoints, self.rig
