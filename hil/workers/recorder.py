"""Rings to file and viewers, in a process of its own: `python -m hil.workers.recorder RUN PARENT`."""

from __future__ import annotations

import json
import select
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from drivers.host import COMPUTER, Host
from drivers.interfaces import DeviceError
from drivers.messages import DaqBlock
from hil.journal import Keeper
from hil.links.rows import START, trouble_row
from hil.links.shared import RECORDER, Shared
from hil.record import open_recorder
from hil.rows import event_row
from hil.safety import Fault
from hil.shm import Cursor
from hil.telemetry import open_publisher
from hil.workers.life import Life, Reporter

# Between two rounds; what the loop has handed over is in shared memory all the while.
PERIOD_S = 0.02
# Told to end, it does so once nothing has come for this long.
QUIET_S = 0.1
# How long it waits for the summary to publish.
SUMMARY_S = 30.0
_MANY = 2**16


class Drain:
    """Takes rows out of the rings; they stay there until they are in the file.

    Args:
        shared: memory of the run.
        keeper: takes them.
    """

    def __init__(self, shared: Shared, keeper: Keeper) -> None:
        self._keeper, self._blocks_held = keeper, shared.blocks_held
        self._timings, self._ticks, self._events, self._watchdog_events, self._blocks = self._cursors = [
            ring.reader(RECORDER)
            for ring in (shared.timings, shared.ticks, shared.events, shared.watchdog_events, shared.blocks)
        ]
        self.last: tuple[int, int] = (0, 0)  # number and time [ns] of the newest tick

    def run(self) -> int:
        """One round; how many rows there were. Raises OSError."""
        keeper = self._keeper
        count = 0
        # one by one, for the disk may fail at any; events first: what is kept of the samples depends on them
        for event in chain(_each(self._events), _each(self._watchdog_events)):
            keeper.event(event)
            count += 1
        for block in _each(self._blocks):
            row = block[0]
            sequence, overload, arrived_ns = (row[name].tolist() for name in ("sequence", "overload", "arrived_ns"))
            keeper.block(DaqBlock(sequence, row["t_ns"], row["volts"], tuple(overload), arrived_ns))
            count += 1
        if (timings := self._timings.read(_MANY, keep=True)).size:
            keeper.timing(timings)
        if (ticks := self._ticks.read(_MANY, keep=True)).size:
            self.last = (int(ticks["tick"][-1]), int(ticks["t_ns"][-1]))
            keeper.tick(ticks)
        count += timings.size + ticks.size
        if count:
            keeper.recorder.flush()
            for cursor in self._cursors:
                cursor.release(but=self._blocks_held if cursor is self._blocks else 0)
        return count


def _each(cursor: Cursor) -> Iterator[Any]:
    while (row := cursor.read(1, keep=True)).size:
        yield row


def main(run: Path, parent: int) -> None:
    """Record a run until told to end."""
    serve(Shared(run), Life(parent), _summary)


def serve(
    shared: Shared, life: Reporter, summary_told: Callable[[], Mapping[str, Any] | None], host: Host = COMPUTER
) -> None:
    """Record a run until told to end, then publish its summary.

    Args:
        shared: memory of the run.
        life: tells when to end, and is told how it goes.
        summary_told: waits for the summary; None: there is none.
        host: whose clock is used.
    """
    with open_recorder(shared.run, shared.config, shared.meta) as recorder:
        said: list[str] = []
        try:
            publisher = open_publisher(shared.config, said.append)
        except DeviceError as error:
            life.tell(error=str(error))
            return
        with publisher:
            shared.heartbeat.beat("recorder", host.now_ns())
            life.ready(said=said)
            keeper = Keeper(recorder, publisher)
            _record(shared, Drain(shared, keeper), keeper, life, host)
            recorder.close()
            life.tell(closed=True)
            if not life.orphaned and (summary := summary_told()):
                publisher.trial(summary)
                host.sleep(QUIET_S)  # a socket that is closed drops what it has not sent


def _record(shared: Shared, drain: Drain, keeper: Keeper, life: Reporter, host: Host) -> None:
    start, started = np.zeros(1, START), False
    quiet_since_ns = host.now_ns()
    while True:
        shared.heartbeat.beat("recorder", host.now_ns())
        if not started and shared.start.read(start) > 0:
            started = True
            keeper.publisher.starts_at(float(start["wall_start_s"][0]))
        try:
            count = drain.run()
        except OSError as error:  # a full disk: what has been read so far is in the file, the reserve holds the rest
            _complain(shared, error)
            count = 1
        if count:
            quiet_since_ns = host.now_ns()
        elif life.ending and host.now_ns() - quiet_since_ns > QUIET_S * 1e9:
            break
        host.sleep(PERIOD_S)
    if life.orphaned:
        number, t_ns = drain.last
        detail = f"the loop process is gone; its last tick was {number}"
        keeper.event(event_row(Fault.PROCESS_LOST, "loop_lost", number, t_ns, detail=detail))


def _complain(shared: Shared, error: OSError) -> None:
    """Tell the loop that the disk fails; it goes Safe."""
    shared.troubles[RECORDER].write(trouble_row(Fault.DISK_FULL, f"recorder: {error}"))


def _summary() -> dict[str, Any] | None:
    """The summary that the loop process hands over, one line of JSON; None if it does not."""
    if not select.select([sys.stdin], [], [], SUMMARY_S)[0]:
        return None
    line = sys.stdin.readline()
    summary: dict[str, Any] | None = json.loads(line) if line else None
    return summary


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
