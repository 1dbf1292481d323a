"""Rings to file and viewers, in a separate process."""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from typing_extensions import override

from drivers.host import COMPUTER, Host
from drivers.interfaces import DeviceError
from hil.ipc.run_memory import RECORDER, RunMemory, healths
from hil.ipc.shared_types import NO_FAULT, START, fault_message
from hil.ipc.shm import Cursor
from hil.messages.fault import Fault
from hil.messages.link_messages import event_row
from hil.operator.telemetry import Publisher, open_publisher
from hil.processes.lifecycle import Reporter
from hil.realtime import RealtimeRight, RightsWanted, rights
from hil.recording import open_writer
from hil.recording.sinks import FileAndTelemetrySink

# Between two rounds. Each takes 1 ms of processor time however few rows there are; the rows stay in shared memory until
# then.
PERIOD_S = 0.035
# Below all devices, also simulated ones, and above ordinary programs: under the ordinary scheduler a busy machine gave
# the recorder a twentieth of a processor, and the rings filled up (decision 0027).
BELOW_LOOP = 20
# Asked to end, it does so once nothing has come for this long.
QUIET_S = 0.1
# Between two messages on the links [ns].
LINKS_EVERY_NS = 1_000_000_000
_BATCH = 2**16
_READ_CHUNK = 65536


class RingConsumer:
    """Takes rows out of the rings; they stay there until they are in the file.

    `after_flush` is called after each flush to disk; a simulated disk takes its time there.
    """

    def __init__(
        self, shared: RunMemory, file_sink: FileAndTelemetrySink, after_flush: Callable[[], None] = lambda: None
    ) -> None:
        self._file_sink, self._after_flush = file_sink, after_flush
        self._timings, self._ticks, self._events, self._watchdog_events = (
            ring.reader(RECORDER) for ring in (shared.timings, shared.ticks, shared.events, shared.watchdog_events)
        )
        self._sampled = {group: ring.reader(RECORDER) for group, ring in shared.sampled.items()}
        # how many of the newest rows of each are not released
        rows = (self._timings, self._ticks, self._events, self._watchdog_events)
        self._cursors = [(cursor, 0) for cursor in rows]
        self._cursors += [(cursor, shared.blocks_held * (group == "daq")) for group, cursor in self._sampled.items()]
        self.last: tuple[int, int] = (0, 0)  # number and time [ns] of the newest tick

    def run(self) -> int:
        """One round; how many rows there were. Raises OSError."""
        file_sink = self._file_sink
        count = 0
        # one by one, for the disk may fail at any; events first: what is kept of the samples depends on them
        for event in chain(_each(self._events), _each(self._watchdog_events)):
            file_sink.event(event)
            count += 1
        for group, sampled in self._sampled.items():
            if (blocks := sampled.read(_BATCH, keep=True)).size:
                file_sink.recorder.blocks(blocks, group)
                count += blocks.size
        if (timings := self._timings.read(_BATCH, keep=True)).size:
            file_sink.timing(timings)
        if (ticks := self._ticks.read(_BATCH, keep=True)).size:
            self.last = (int(ticks["tick"][-1]), int(ticks["t_ns"][-1]))
            file_sink.tick(ticks)
        count += timings.size + ticks.size
        if count:
            file_sink.recorder.flush()
            self._after_flush()
            for cursor, held in self._cursors:
                cursor.release(but=held)
        return count


def _each(cursor: Cursor) -> Iterator[Any]:
    while (row := cursor.read(1, keep=True)).size:
        yield row


class Inbox(Protocol):
    """What the loop process says to the recorder.

    `{"close": true}`: finish the record. `{"summary": {...}}`: publish it. `{"run": FOLDER}`: record the next run.
    """

    def take(self, within_s: float) -> Mapping[str, Any] | None:
        """The next message; an empty one if none comes in time, None if none will come any more."""


def run_recorder(lifecycle: Reporter, run: Path) -> None:
    """Record runs until asked to end."""
    shared = RunMemory(run)
    priority = shared.config.realtime.fifo_priority
    with rights(RightsWanted(fifo_priority=max(priority - BELOW_LOOP, 1) if priority else 0)) as granted:
        serve(shared, lifecycle, _StandardInput(), granted=granted)


def serve(
    shared: RunMemory,
    lifecycle: Reporter,
    inbox: Inbox,
    host: Host = COMPUTER,
    granted: Sequence[RealtimeRight] = (),
    after_flush: Callable[[], None] = lambda: None,
) -> None:
    """Record a run and publish its summary, then the next, until asked to end."""
    said: list[str] = []
    try:
        config = shared.config
        publisher = open_publisher(config.telemetry, config.loop.rate_hz, config.layout, said.append)
    except DeviceError as error:
        lifecycle.report(error=str(error))
        return
    with publisher:
        while True:
            with open_writer(shared.run, shared.config, shared.meta) as recorder:
                shared.heartbeat.beat("recorder", host.now_ns())
                lifecycle.ready(granted, said=said)
                file_sink = FileAndTelemetrySink(recorder, publisher)
                consumer = RingConsumer(shared, file_sink, after_flush)
                _record(shared, consumer, file_sink, lifecycle, inbox, host)
            lifecycle.report(closed=True)
            if not _next_run(shared, publisher, lifecycle, inbox, host):
                return
            said.clear()


def _next_run(shared: RunMemory, publisher: Publisher, lifecycle: Reporter, inbox: Inbox, host: Host) -> bool:
    """Publish the summary of a run that is over, and wait for the next run. False: there is none."""
    while not lifecycle.orphaned and (message := inbox.take(PERIOD_S)) is not None:
        if summary := message.get("summary"):
            publisher.trial(summary)
            host.sleep(QUIET_S)  # a socket that is closed drops what it has not sent
        elif folder := message.get("run"):
            shared.moved_to(Path(folder))
            for ring in shared.rings.values():  # what is left there is of the run before
                ring.reader(RECORDER).skip()
            shared.fault_mailboxes[RECORDER][Fault.DISK_FULL].write(fault_message(NO_FAULT, ""))
            return True
        elif lifecycle.ending:
            break
    return False


def _record(
    shared: RunMemory,
    consumer: RingConsumer,
    file_sink: FileAndTelemetrySink,
    lifecycle: Reporter,
    inbox: Inbox,
    host: Host,
) -> None:
    start = np.zeros(1, START)
    seen = shared.start.read(start)
    quiet_since_ns = links_due_ns = host.now_ns()
    closing = noted = False
    while True:
        shared.heartbeat.beat("recorder", host.now_ns())
        gone = lifecycle.orphaned  # then this round reads the last rows of the loop
        if (version := shared.start.read(start)) > seen:
            seen = version
            if not start["over"][0]:
                file_sink.publisher.starts_at(float(start["wall_start_s"][0]))
        try:
            count = consumer.run()
            if gone and not noted:  # at once: this process may be killed, too
                number, t_ns = consumer.last
                detail = f"the loop process is gone; its last tick was {number}"
                file_sink.event(event_row(Fault.PROCESS_LOST, "loop_lost", number, t_ns, detail=detail))
                noted = True
        except OSError as error:  # a full disk: what has been read so far is in the file, the reserve holds the rest
            _report_disk_full(shared, error)
            count = 1
        if host.now_ns() >= links_due_ns:
            links_due_ns = host.now_ns() + LINKS_EVERY_NS
            file_sink.publisher.links(healths(shared))
        if count:
            quiet_since_ns = host.now_ns()
        quiet = host.now_ns() - quiet_since_ns > QUIET_S * 1e9
        if quiet and (closing or lifecycle.ending) and gone is lifecycle.orphaned:
            return
        if (message := inbox.take(PERIOD_S)) is None:
            host.sleep(PERIOD_S)
        elif message.get("close"):
            closing = True


def _report_disk_full(shared: RunMemory, error: OSError) -> None:
    """Tell the loop that the disk fails; it goes Safe."""
    message = fault_message(Fault.DISK_FULL, f"recorder: {error}")
    shared.fault_mailboxes[RECORDER][Fault.DISK_FULL].write(message)


class _StandardInput(Inbox):
    """What comes on standard input (`Inbox`)."""

    def __init__(self) -> None:
        self._input = sys.stdin.fileno()
        self._rest = b""

    @override
    def take(self, within_s: float) -> Mapping[str, Any] | None:
        if b"\n" not in self._rest:
            if not select.select([self._input], [], [], within_s)[0]:
                return {}
            if not (data := os.read(self._input, _READ_CHUNK)):
                return None
            self._rest += data
        line, newline, rest = self._rest.partition(b"\n")
        if not newline:
            return {}
        self._rest = rest
        message: dict[str, Any] = json.loads(line)
        return message
