"""A rig whose devices, recorder and watchdog are processes; one run at a time uses it."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from drivers.interfaces import DeviceError
from drivers.registry import driver_of
from drivers.serial.ports import holders
from hil.analysis.recovery import NothingToRecoverError, recover
from hil.app.console import Console
from hil.app.driver_factory import DriverFactory, at_endpoints
from hil.app.pace_check import refuse_slow_links
from hil.app.run_loop import THIS_COMPUTER, Backend, Platform, record_meta
from hil.app.warm_up import warm_up
from hil.config.rig import Rig
from hil.config.schema.devices import DevicesConfig
from hil.experiments.registry import MakeExperiment, build_cycle
from hil.ipc.run_memory import FOLDER, RECORDER, LateAction, RunMemory, healths, late_since, write_stops
from hil.ipc.shared_devices import shared_device
from hil.ipc.shared_types import START, peer_pid
from hil.messages.fault import Event
from hil.messages.layout import COMMANDED, ROLES
from hil.processes.disturbances import late_event, late_words, long_tick_event, stall_event
from hil.processes.supervisor import WorkerSupervisor
from hil.realtime import RealtimeRight
from hil.realtime.clock import SuspensionMonitor
from hil.recording.reader import FILE_NAME
from hil.recording.sinks import RingSink
from hil.runtime.loop import Loop
from hil.runtime.rig_io import RigIO
from hil.simulator.control_socket import RigControl
from hil.simulator.ground_truth import GroundTruth, truth_answer
from hil.simulator.simulated_rig import Endpoints

# Largest number of refused runs that can read the owner's process id.
_ASKING = 128


class RigLock:
    """Locks every port and NI device of a real rig, until this process ends or the lock is closed.

    Each lock is a socket in the abstract namespace: the kernel removes it with the process, however that ends, and
    reports the owner to other processes. It works on this computer only; NI's driver refuses a chassis that another
    computer has reserved.

    Other programs do not ask for these locks: a serial port that one of them has open is refused, with its name.

    Args:
        rig: of the config, whether it is real; simulated devices need no lock, or have another one (`ControlServer`).

    Raises:
        DeviceError: another process has locked one of them, or another program has a port open.
    """

    def __init__(self, rig: str, devices: DevicesConfig | None) -> None:
        self._sockets: list[socket.socket] = []
        if rig != "real" or devices is None:
            return
        try:
            for place in dict.fromkeys(_places(devices)):
                self._take(place)
                if place.startswith("/"):
                    _refuse_foreign(place)
        except BaseException:
            self.close()
            raise

    def _take(self, place: str) -> None:
        held = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sockets.append(held)
        try:
            held.bind(_address(place))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise DeviceError(
                f"{place}: process {_owner(place)} is running on this rig: wait until it ends or stop it (Ctrl-C there)"
            ) from None
        held.listen(_ASKING)

    def close(self) -> None:
        """Release all locks; may be called twice."""
        for held in self._sockets:
            held.close()
        self._sockets.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _refuse_foreign(port: str) -> None:
    """Raises DeviceError: what another program sends on this port could move the rig."""
    if found := holders(port):
        raise DeviceError(
            f"{port}: {' and '.join(found)} has this port open, and could drive its devices: close that program first "
            "(a terminal, the maker's program, ModemManager), and start again"
        )


def _owner(place: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(_address(place))
        except OSError:  # the owner has just ended, or too many processes have asked
            return "(not known)"
        return str(peer_pid(asking))


def _address(place: str) -> bytes:
    return b"\0rover-hil/" + hashlib.sha256(place.encode()).hexdigest().encode()


def _places(devices: DevicesConfig) -> Iterator[str]:
    """The devices of a rig, each by one unique name, independent of symbolic links and letter case."""
    for section in devices.sections():
        for connection in driver_of(section).connections(section):
            if connection.network:
                yield f"UDP {connection.name.lower()}"
            else:
                yield os.path.realpath(connection.name) if connection.server is None else connection.reserved


Progress = Callable[[str], None]
# From the last preparation to t_ns = 0.
START_DELAY_NS = 50_000_000
# Links that may have serial lines: started when the imports of all others are done. The bytes of a simulated line are
# moved by threads of the kernel that have ordinary priority, as imports have: during these, answers come too late.
SERIAL_LINKS = tuple(name for name, role in ROLES.items() if role.serial)
# The worst of the loop's own late wake-ups and of what a simulated rig did late; the ring of events has others, too.
STALLS_NOTED = LATENESS_NOTED = 60
# How long an event waits for room in the ring at the end of a run [ns].
ROOM_NS = 1_000_000_000


class SimulatedRigLateError(DeviceError):
    """A device failed before the run whose simulation was late itself; on a better moment nothing may be wrong."""


class RealtimeBackend(Backend):
    """The loop in this process and against the wall clock; devices or simulated rig, recorder and watchdog in theirs.

    Args:
        rig: of the config; the experiment is in it.
        make: makes the experiment of each run; by default the one that the config names.
        console: of the operator; None: none.
        endpoints: of a simulated rig that runs already; None: one is started where the config asks for one.

    Raises:
        DeviceError: a worker could not begin, or a device is not what the config says.
    """

    def __init__(
        self,
        rig: Rig,
        folder: Path,
        progress: Progress,
        stack: ExitStack,
        *,
        make: MakeExperiment | None = None,
        attended: bool = False,
        console: Console | None = None,
        endpoints: Path | None = None,
        platform: Platform = THIS_COMPUTER,
    ) -> None:
        config, real = rig.config, rig.kind != "simulated"
        stack.enter_context(RigLock(rig.kind, config.devices))
        warm_up(rig, progress)
        self._platform, self._host, self._make = platform, platform.host, make
        self._attended, self._console = attended, console
        self._control: RigControl | None = None
        self._endpoints: Endpoints | None = None
        self._links: dict[str, Any] | None = None
        self._as_given = rig  # the record holds it so, without the ports of a simulated rig
        meta = record_meta(rig, attended=attended)
        if rig.kind == "simulated_wire":
            start = "starting the simulated rig at the protocol level, which settles on its soil"
            progress(start if endpoints is None else f"using the rig of {endpoints}")
            self._endpoints, self._control = platform.connect(rig, endpoints, stack)
            config = at_endpoints(config, self._endpoints)
        self.shared = shared = RunMemory(folder, config, meta)
        self._supervisor = supervisor = WorkerSupervisor(shared, platform.host, platform.launch)
        stack.callback(self._tidy)
        stack.enter_context(supervisor)
        links = config.layout.links
        self._workers = links if real else ("simulated_rig",)
        write_stops(shared, DriverFactory(config.devices, rig.setup).stop_frames() if real else {})
        what = ", ".join(links) if real else "the simulated rig, which settles on its soil"
        progress(f"starting {what}, the recorder and the watchdog")
        self._began_ns = self._host.now_ns()
        serial = [name for name in self._workers if name in SERIAL_LINKS]
        others = [name for name in self._workers if name not in SERIAL_LINKS]
        for name in (RECORDER, *others):
            supervisor.start(name)
        self._build()
        for line in supervisor.wait_ready("recorder")["said"]:
            progress(line)
        with self._lateness_named():
            self._wait_ready(others, progress)
            for name in serial:
                supervisor.start(name)
            supervisor.start_watchdog()
            self._wait_ready(serial, progress)
        supervisor.wait_ready("watchdog")

    def _wait_ready(self, workers: Sequence[str], progress: Progress) -> None:
        for name in workers:
            if detail := self._supervisor.wait_ready(name).get("detail"):
                progress(f"{name}: {detail}")

    def _build(self, latched: Sequence[Event] = ()) -> None:
        """The loop's side of a run; nothing that its views see was said in an earlier one."""
        shared, config = self.shared, self.shared.config
        record_sink = RingSink(shared)
        waker = partial(self._platform.waker, shared)
        devices = {
            name: shared_device(shared, name, waker(name) if name in COMMANDED else None)
            for name in config.layout.links
        }
        self.rig_io = RigIO(config.layout, devices, self._console)
        rig = Rig(config)
        self.cycle = build_cycle(
            rig, self.rig_io, record_sink, shared.run, make=self._make, attended=self._attended, latched=latched
        )
        self._clock = self._platform.make_clock(config.loop.rate_hz, config.realtime.spin_share)
        supervisor, suspension = self._supervisor, SuspensionMonitor(self._host.now_ns, self._platform.boottime)
        alarms = [suspension.alarm, supervisor.alarm, *supervisor.reports, record_sink.alarm]
        feed = supervisor.feed
        if self._console:
            self._console.attend(self.cycle, shared.run, rig)
            alarms.append(self._console.alarm)
            feed = self._feed_and_show
        self.loop = Loop(self._clock, self.cycle, alarms, feed)
        self._ground_truth = GroundTruth()

    def _feed_and_show(self) -> None:
        self._supervisor.feed()
        assert self._console is not None
        self._console.tick()

    @override
    def next_run(
        self, folder: Path, latched: Sequence[Event], rig: Rig | None = None, *, attended: bool | None = None
    ) -> None:
        """A simulated rover is put back to its start place, a real one by the operator."""
        shared = self.shared
        if rig is not None:
            self._as_given = rig
            shared.config = rig.config if self._endpoints is None else at_endpoints(rig.config, self._endpoints)
        config, self._attended = shared.config, self._attended if attended is None else attended
        if lost := self.lost():
            raise DeviceError(f"{lost}; no further run can be made on the rig as it is open: start the command again")
        if self._control:
            self._control.ask("place", angle_deg=config.trial.angle_deg, seed=config.seed)
        try:
            shared.move(folder, record_meta(self._as_given, attended=self._attended))
        except OSError as error:
            raise DeviceError(f"run folder {folder}: cannot follow {shared.run}: {error.strerror}") from error
        self._supervisor.next_run(str(folder))
        self._build(latched)

    @property
    def ground_truth(self) -> GroundTruth:
        """Of a simulated rig; nothing of a real one."""
        return self._ground_truth

    def granted(self) -> Sequence[RealtimeRight]:
        """Rights of the workers."""
        return self._supervisor.granted()

    def plant_loop(self) -> dict[str, Any] | None:
        """How the process of the simulated rig kept up."""
        return self._ground_truth.plant_loop

    def links(self) -> dict[str, Any] | None:
        """Health of each link as its worker last reported it."""
        return self._links

    def start_clock(self) -> None:
        """Set t_ns = 0 for all of them. Raises DeviceError: one of them is gone; NotArmedError: a link is too slow."""
        with self._lateness_named():
            self._supervisor.check_started()
        refuse_slow_links(self.shared.config.rig, self.shared.config.devices, self.shared, self._host)
        start = np.zeros(1, START)
        self.shared.start.read(start)
        start["over"] = 0
        start["start_ns"] = self._clock.start_ns = self._host.now_ns() + START_DELAY_NS
        start["wall_start_s"] = time.time() + START_DELAY_NS * 1e-9
        self.shared.start.write(start)

    @override
    def lost(self) -> str:
        supervisor = self._supervisor
        return supervisor.lost() if supervisor.record_closed else "recorder: its process is gone"

    @override
    def hold(self) -> None:
        """The links' health is that of now."""
        self._links = None if self._workers == ("simulated_rig",) else healths(self.shared)
        self._supervisor.hold()

    def close_record(self) -> None:
        """Have the recorder finish; if it is gone, finish its file from what it left, which ends all the others."""
        start_ns = self._clock.start_ns or 0
        if self._control:
            with suppress(DeviceError):  # the rig is gone, and what it knew with it
                self._ground_truth = GroundTruth.received(self._control.ask("truth"), start_ns)
        elif self.shared.config.rig == "simulated":
            self._ground_truth = GroundTruth.received(truth_answer(self.shared.ground_truth, self.shared.histories))
        rate_hz = self.shared.config.loop.rate_hz
        real_time = any(item.name == "scheduler of watchdog" and item.granted for item in self.granted())
        for stall in sorted(self._clock.stalls.take(), key=lambda stall: -stall.length_ns)[:STALLS_NOTED]:
            self.shared.events.append(stall_event(stall, start_ns, rate_hz, real_time=real_time))
        for tick in self._clock.long_ticks.take():
            self._append_event(long_tick_event(tick, rate_hz))
        for late in sorted(self._late_since(start_ns), key=lambda late: -late.late_ns)[:LATENESS_NOTED]:
            self.shared.events.append(late_event(late, start_ns, rate_hz))
        for row in self._ground_truth.events(rate_hz):
            self._append_event(row)
        if self._supervisor.close_record():
            return
        self._supervisor.end_all()
        try:
            recover(self.shared.run, self.shared)
        except NothingToRecoverError as error:
            raise DeviceError(f"recorder: its process ended before anything was recorded ({error})") from None

    def _append_event(self, row: NDArray[np.void]) -> None:
        """Append one of many events; the recorder, if it is there, makes room for it meanwhile."""
        until_ns = self._host.now_ns() + ROOM_NS
        while not self.shared.events.append(row) and self._host.now_ns() < until_ns:
            self._host.sleep(1e-3)

    @contextmanager
    def _lateness_named(self) -> Iterator[None]:
        """A device that fails before the run may be one whose simulation was late itself: then the error says so."""
        try:
            yield
        except DeviceError as error:
            late = max(self._late_since(self._began_ns), key=lambda late: late.late_ns, default=None)
            if late:
                raise SimulatedRigLateError(f"{error}; at that time: {late_words(late)}") from error
            if self._supervisor.was_silent("simulated_rig"):  # killed for it: it cannot say itself that it was late
                raise SimulatedRigLateError(str(error)) from error
            raise

    def _late_since(self, since_ns: int) -> list[LateAction]:
        """What a simulated rig did late since a time [ns of CLOCK_MONOTONIC]; of a real or lost one, nothing."""
        if self._control:
            with suppress(DeviceError):
                return [LateAction(*late) for late in self._control.ask("lateness", since_ns=since_ns)["late"]]
            return []
        return late_since(self.shared.late, since_ns)

    def publish(self, summary: Mapping[str, Any]) -> None:
        """Have the recorder tell viewers how it ended."""
        self._supervisor.publish(summary)

    def _tidy(self) -> None:
        """After the last process is gone: what they shared is kept only if the file lacks something of it."""
        start = np.zeros(1, START)
        self.shared.start.read(start)
        made = self.shared.ticks.written > start["first_ticks"][0]
        if not made and not self._supervisor.record_closed:  # no tick was made, and the recorder did not get to its end
            (self.shared.run / FILE_NAME).unlink(missing_ok=True)
        if self._supervisor.record_closed or not made:
            shutil.rmtree(self.shared.run / FOLDER, ignore_errors=True)
