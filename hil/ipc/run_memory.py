"""Shared memory of a run: the loop process makes it, each worker opens it and is woken through it."""

from __future__ import annotations

import fcntl
import json
import os
import select
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import msgspec
import numpy as np
from typing_extensions import override

from drivers.host import Host, HostComputer
from drivers.interfaces import StopFrames
from hil.config import Config
from hil.config.files import read_json, read_text
from hil.ipc.shared_types import FAULT_MESSAGE, GROUND_TRUTH, LATE, START, history_dtypes
from hil.ipc.shm import Heartbeat, Mailbox, Ring, ShmError
from hil.messages.fault import Fault
from hil.messages.layout import COMMANDED, NEWEST, ROLES
from hil.messages.link_messages import BURST_SLACK_S, EVENT, HEALTH, TIMING, BlockRow, CommandRow, SampleRow, health_of
from hil.messages.signals import tick_dtype

_DRAIN_BYTES = 4096


class _WakeUp:
    """A named pipe without content: a byte in it means that there is a new command."""

    def __init__(self, path: Path, *, create: bool) -> None:
        if create:
            os.mkfifo(path, 0o600)
        self.path = path
        # for reading too: a pipe without a reader could not be opened, and one without a writer would always be ready
        self._handle = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def wake(self) -> None:
        """End the present or the next rest. It never blocks."""
        with suppress(BlockingIOError):  # full of wake-ups already
            os.write(self._handle, b"\0")

    def rest(self, seconds: float) -> bool:
        """Wait for so long [s], or for a wake-up; whether there was one."""
        if not select.select((self._handle,), (), (), max(seconds, 0.0))[0]:
            return False
        with suppress(BlockingIOError):
            os.read(self._handle, _DRAIN_BYTES)
        return True

    def close(self) -> None:
        """Close it; may be called twice."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


class WokenComputer(HostComputer):
    """This computer, for a process whose rests a wake-up ends."""

    def __init__(self, wake_up: _WakeUp) -> None:
        self._wake_up = wake_up

    @override
    def rest(self, seconds: float) -> None:
        self._wake_up.rest(seconds)


class CommandedHost:
    """A host whose rests end with the newest command at the device, also one in the middle of a transaction.

    Args:
        host: the same without that.

    Attributes:
        take_commands: called after each rest.
    """

    def __init__(self, host: Host) -> None:
        self.take_commands: Callable[[], None] = lambda: None
        self._rest = host.rest
        self.now_ns, self.sleep, self.open_serial = host.now_ns, host.sleep, host.open_serial
        self.open_shared, self.open_channel, self.open_datagrams = (
            host.open_shared,
            host.open_channel,
            host.open_datagrams,
        )

    def rest(self, seconds: float) -> None:
        """Rest, then look for a command [s]."""
        self._rest(seconds)
        self.take_commands()


FOLDER = "shm"  # of the run folder
RECORDER = "recorder"
LINKS = tuple(ROLES)  # one worker for each where the devices are real; a rig has `Layout.links` of them
# Processes that hold devices: watchdog and loop act on their silence at once.
WITH_DEVICES = ("simulated_rig", *LINKS)
# Causes that a process reports to the loop, each in a separate mailbox, so that none hides or withdraws another one.
# That of a lost link also carries the other ways in which a device fails (`hil.processes.link.fault_of`).
REPORTED = {
    RECORDER: (Fault.DISK_FULL,),
    "simulated_rig": (Fault.DEAD_MAN_ACTED,),
    **dict.fromkeys(LINKS, (Fault.LINK_LOST, Fault.STOP_BY_OPERATOR, Fault.DEVICE_FAULT, Fault.DEAD_MAN_ACTED)),
}
# Length of the rings: the recorder may be interrupted for so long.
RING_S = 4.0
LEAST_TICKS = 4096
LEAST_BLOCKS = 64
EVENTS = 256
_LOOK_AGAIN_S = 0.01
_MOST_BYTES = 2**20  # of config.json and of meta.json


class RunMemory:
    """Rings, mailboxes and heartbeats of a run.

    Args:
        config: of the run; None: the one stored with the run.
        meta: contents of the record's `/meta`; with it the files are made, without it they are opened.

    Attributes:
        config: of the run.
        meta: see above.
        rings: by name, those of `RINGS` that the rig has.
        sampled: rings of samples by the group of the record.
        newest: mailboxes of the newest sample of each link that has no ring.
        device_commands: mailboxes of the commands of each link that takes any.
        wake_ups: of the workers of links that take commands.
        blocks_held: number of newest blocks that the recorder does not release, even if they are written.

    Raises:
        ShmError: the files exist already, or do not have the expected contents.
        FileNotFoundError: there are no files to open.
        BlockingIOError: the run is being recovered.
    """

    def __init__(
        self, run: Path, config: Config | None = None, meta: Mapping[str, str | float | int] | None = None
    ) -> None:
        folder, create = run / FOLDER, meta is not None
        if config is None:
            config = Config.model_validate_json(read_text(folder / "config.json", _MOST_BYTES))
        if create:
            folder.mkdir()
            (folder / "config.json").write_text(config.model_dump_json(), encoding="utf-8")
            (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
        self.run, self.config = run, config
        self.meta = _meta_in(folder)

        self._parts: list[Ring | Mailbox | Heartbeat | _WakeUp] = []

        def ring(name: str, dtype: Any, rows: int, must_not_lose: Sequence[str] = (RECORDER,)) -> Ring:
            self._parts.append(made := Ring(folder / name, dtype, rows, create=create, must_not_lose=must_not_lose))
            return made

        def box(name: str, dtype: Any) -> Mailbox:
            self._parts.append(made := Mailbox(folder / name, dtype, create=create))
            return made

        # samples that may still become part of a burst stay in the ring, for a recovery
        burst = config.record.sensors == "burst"
        # without force sensors the ring stays empty
        block_ms, samples = (config.daq.block_ms, config.daq.block_samples) if config.daq else (RING_S * 1e3, 1)
        self.blocks_held = round((config.record.before_s + BURST_SLACK_S) * 1e3 / block_ms) if burst else 0
        ticks = max(round(RING_S * config.loop.rate_hz), LEAST_TICKS)
        blocks = round(RING_S * 1e3 / block_ms) + 2 * self.blocks_held
        layout = config.layout
        self.ticks, self.timings = ring("ticks", tick_dtype(layout), ticks), ring("timings", TIMING, ticks)
        # an event ring each for the loop and for the watchdog: a ring has one writer
        self.events, self.watchdog_events = ring("events", EVENT, EVENTS), ring("watchdog_events", EVENT, EVENTS)
        sampled = {"daq": ("blocks", BlockRow(samples, len(layout.channels)).dtype, blocks)}
        if (loads := config.loads) is not None:
            rows = max(round(RING_S * 1e3 / loads.block_ms), LEAST_BLOCKS)
            sampled["loads"] = ("load_blocks", BlockRow(loads.block_samples, len(layout.loads)).dtype, rows)
        self.sampled = {group: ring(*given) for group, given in sampled.items()}
        self.rings = {part.path.name: part for part in self._parts if isinstance(part, Ring)}
        self.start = box("start", START)
        links = layout.links
        self.newest = {name: box(name, SampleRow(name, layout).dtype) for name in NEWEST if name in links}
        self.device_commands = {
            name: box(f"{name}_command", CommandRow(name, layout).dtype) for name in COMMANDED if name in links
        }
        self.ground_truth = box("truth", GROUND_TRUTH)
        self.histories = {name: box(f"true_{name}", dtype) for name, dtype in history_dtypes(layout).items()}
        self.late = ring("late", LATE, EVENTS, must_not_lose=())
        self.fault_mailboxes = {
            name: {cause: box(f"trouble_{name}_{cause}", FAULT_MESSAGE) for cause in causes}
            for name, causes in REPORTED.items()
            if name in (RECORDER, "simulated_rig", *links)
        }
        self.healths = {name: box(f"health_{name}", HEALTH) for name in LINKS}
        self.wake_ups = {name: _WakeUp(folder / f"wake_{name}", create=create) for name in COMMANDED}
        self._parts += self.wake_ups.values()
        self._parts.append(heartbeat := Heartbeat(folder / "heartbeat", create=create))
        self.heartbeat = heartbeat
        # the kernel releases the lock however this process ends
        self._lock: int | None = os.open(folder / "config.json", os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_SH | fcntl.LOCK_NB)

    @property
    def blocks(self) -> Ring:
        """The ring of the force sensors' blocks."""
        return self.sampled["daq"]

    def move(self, run: Path, meta: Mapping[str, str | float | int]) -> None:
        """Use the memory for another run: its files move to the folder of that run and stay there after a kill.

        The rows now in the rings belong to the previous run; they are not recovered as part of the new one.

        No other process may move or open it meanwhile. Processes that have it open call `moved_to` afterwards.

        Raises:
            OSError: that folder is on another file system.
        """
        start = np.zeros(1, START)
        self.start.read(start)
        start["over"], start["start_ns"] = 1, 0  # it has not begun
        for name, ring in self.rings.items():
            start[f"first_{name}"] = ring.written
        self.start.write(start)
        here, part = self.run / FOLDER, self.run / FOLDER / "meta.part"
        part.write_text(json.dumps(meta), encoding="utf-8")
        part.replace(here / "meta.json")
        here.rename(run / FOLDER)
        self.moved_to(run)

    def moved_to(self, run: Path) -> None:
        """Another process has moved the files to the folder of that run."""
        self.run = run
        self.meta = _meta_in(run / FOLDER)

    def leave(self) -> None:
        """Release the lock: this process no longer counts as one of the run. May be called twice."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def close(self) -> None:
        """Release the lock and unmap all memory; may be called twice."""
        self.leave()
        for part in self._parts:
            part.close()

    def alone(self, within_s: float = 0.0) -> bool:
        """Whether no other process of the run is alive within `within_s` [s]: a killed process takes a moment."""
        if self._lock is None:
            raise ShmError(f"{self.run}: this process has left the run, and cannot check for other processes")
        until = time.monotonic() + within_s
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    return False
                time.sleep(_LOOK_AGAIN_S)
            else:
                return True


def _meta_in(folder: Path) -> dict[str, Any]:
    """Contents of the record's `/meta`. Raises ShmError: the file holds no keys; ValueError: it cannot be read."""
    meta = read_json(folder / "meta.json", _MOST_BYTES)
    if not isinstance(meta, dict):
        raise ShmError(f"{folder / 'meta.json'}: holds no keys")
    return meta


def healths(shared: RunMemory) -> dict[str, dict[str, Any]]:
    """By name of the link, what `health_of` says of it."""
    row = np.zeros(1, HEALTH)
    return {name: health_of(row) for name, box in shared.healths.items() if box.read(row) > 0}


# A longer delay than this is logged [ns]: real hardware would not have been so late.
LATE_NS = 3_000_000
_BATCH = 2**16


class LateAction(NamedTuple):
    """A late action.

    Attributes:
        due_ns: when it was due [ns of CLOCK_MONOTONIC]; line time and injected delays are included.
        late_ns: how much later it was done [ns].
        device: which device was late.
    """

    due_ns: int
    late_ns: int
    device: str


class LatenessLog:
    """Logs the late actions of one process of a simulated rig.

    Args:
        ring: of rows `LATE`; no other process writes to it.
    """

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._lock = Lock()  # a device server has several threads

    def of(self, device: str) -> Callable[[int, int], None]:
        """A function to call after each action of a device with its due and actual time [ns of CLOCK_MONOTONIC]."""
        row = np.zeros(1, LATE)
        row["device"] = device.encode()

        def done(due_ns: int, done_ns: int) -> None:
            if done_ns - due_ns > LATE_NS:
                with self._lock:
                    row["due_ns"], row["late_ns"] = due_ns, done_ns - due_ns
                    self._ring.append(row)

        return done


def late_since(ring: Ring, since_ns: int) -> list[LateAction]:
    """The entries still in a ring that were done since a time [ns of CLOCK_MONOTONIC], oldest first."""
    rows = ring.reader("late").read(_BATCH)
    late_steps = [
        LateAction(due_ns, late_ns, device.decode(errors="replace")) for due_ns, late_ns, device in rows.tolist()
    ]
    return [late for late in late_steps if late.due_ns + late.late_ns >= since_ns]


_FILE = "stops.json"
Stops = Mapping[str, Sequence[StopFrames]]


def write_stops(shared: RunMemory, stops: Stops) -> None:
    """Store the stop frames of each link, by its name."""
    _place(shared).write_bytes(msgspec.json.encode(stops))


def read_stops(shared: RunMemory) -> Stops:
    """The stop frames of each link; none if there are no links to stop."""
    place = _place(shared)
    return msgspec.json.decode(place.read_bytes(), type=dict[str, tuple[StopFrames, ...]]) if place.exists() else {}


def _place(shared: RunMemory) -> Path:
    return shared.run / FOLDER / _FILE
