"""The simulated rig in its own process and in real time: `python -m hil.workers.far_end RUN PARENT`."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Protocol

import numpy as np

from drivers.interfaces import Source
from drivers.messages import DaqBlock
from hil.devices import DriveLink, ValveLink
from hil.links.late import LateNotes
from hil.links.rows import START, TRUTH
from hil.links.shared import Shared
from hil.realtime import Histogram, RealtimeClock, RightsWanted, rights
from hil.shm import Mailbox
from hil.workers.life import Life
from hil.workers.pump import BlockFeed, DriveFeed, Feed, Pump, ValveFeed
from models.plant import Plant

# Below the loop, whose commands it carries out.
BELOW_LOOP = 10
# Its ticks lie half a period after the loop's, so that neither meets the other in its work.
PHASE = 0.5
_POLL_NS = 1_000_000


def main(run: Path, parent: int) -> None:
    """Move the simulated rig in real time, from its start place in each run, until told to end."""
    life = Life(parent)
    shared = Shared(run)
    config, wanted = shared.config, shared.config.realtime

    from hil.app.simulated import build_far_end, warm_up_far_end  # compiles kernels

    warm_up_far_end(config, build_far_end(config))
    far_end = build_far_end(config)
    asked = RightsWanted(
        fifo_priority=max(wanted.fifo_priority - BELOW_LOOP, 1) if wanted.fifo_priority else 0,
        lock_memory=wanted.lock_memory,
        timer_slack_ns=round(wanted.timer_slack_us * 1e3),
        freeze_gc=True,
    )
    runs = _Runs(shared, life)
    with rights(asked) as granted:
        life.ready(granted)
        while (start_ns := runs.next_start_ns()) is not None:
            _move(far_end, shared, runs, start_ns)
            shared.heartbeat.rest("far_end")
            life.tell(held=runs.version)
            far_end = build_far_end(config)
            life.tell(placed=True)


def _move(far_end: SimulatedRig, shared: Shared, runs: _Runs, start_ns: int) -> None:
    """One run: t_ns = 0 at that time [ns of CLOCK_MONOTONIC]."""
    feeds: dict[str, Feed] = {
        "daq": BlockFeed(shared, far_end.daq),
        "drives": DriveFeed(shared, far_end.drives),
        "valves": ValveFeed(shared, far_end.valves),
    }
    in_use = [feeds[name] for name in shared.config.layout.links]
    for feed in in_use:
        feed.skip()
    pump = Pump(shared, *in_use)
    for link in (far_end.daq, far_end.drives, far_end.valves):
        link.open()
    witness = Witness(shared.truth, far_end.plant)
    moved = LateNotes(shared.late).of("plant")
    rate_hz = shared.config.loop.rate_hz
    offset_ns = round(PHASE * 1e9 / rate_hz)
    clock = RealtimeClock(rate_hz)
    clock.start_ns = start_ns + offset_ns
    while not runs.over:
        tick = clock.next()
        t_ns = tick.t_ns + offset_ns
        far_end.advance(t_ns)
        pump.give(t_ns)
        pump.take(t_ns, tick.began_ns)  # last: what is commanded now cannot change what was before
        done_ns = time.monotonic_ns()
        moved(clock.due_ns, done_ns)
        witness.tell(clock, done_ns - tick.began_ns)
        shared.heartbeat.beat("far_end", done_ns)
    pump.stop(far_end.plant.t_ns)
    witness.conclude()


class SimulatedRig(Protocol):
    """What `hil.app.simulated.build_far_end` makes."""

    @property
    def plant(self) -> Plant:
        """What moves."""

    @property
    def daq(self) -> Source[DaqBlock]:
        """Its sensors."""

    @property
    def drives(self) -> DriveLink:
        """Its wheel drives."""

    @property
    def valves(self) -> ValveLink:
        """Its valves."""

    def advance(self, t_ns: int) -> None:
        """Move to a time of the run [ns]."""


class _Runs:
    """When runs begin and when they are over, as the loop says.

    Attributes:
        version: of what it said last.
    """

    def __init__(self, shared: Shared, life: Life) -> None:
        self._shared, self._life = shared, life
        self._start = np.zeros(1, START)
        self._start["over"] = 1
        self.version = 0

    @property
    def over(self) -> bool:
        """The run is over, or this process is to end."""
        self.version = self._shared.start.read(self._start)
        return self._life.ending or bool(self._start["over"][0])

    def next_start_ns(self) -> int | None:
        """Wait until the loop has said when t_ns = 0 is [ns of CLOCK_MONOTONIC] and it nearly is; None: told to end."""
        while not self._life.ending:
            now_ns = time.monotonic_ns()
            if not self.over and now_ns >= int(self._start["start_ns"][0]) - 2 * _POLL_NS:
                return int(self._start["start_ns"][0])
            self._shared.heartbeat.beat("far_end", now_ns)
            time.sleep(_POLL_NS * 1e-9)
        return None


class Witness:
    """Tells what only the simulated rig knows.

    Args:
        mailbox: to whom, `TRUTH`.
        plant: of the rig.
        start_ns: its t = 0 on the clock that it tells times by [ns].
    """

    def __init__(self, mailbox: Mailbox, plant: Plant, start_ns: int = 0) -> None:
        self._mailbox, self._plant, self._start_ns = mailbox, plant, start_ns
        self._row = np.zeros(1, TRUTH)
        self._row["hit_ns"] = self._row["cut_ns"] = -1
        self._row["hit_energy"] = math.nan
        self._costs = Histogram()

    def tell(self, clock: RealtimeClock, cost_ns: int) -> None:
        """In each of its ticks: what it knows by now, and what the tick cost."""
        plant, row = self._plant, self._row
        self._costs.add(cost_ns)
        row["contact_force_peak"] = plant.contact_force_peak
        if row["hit_ns"][0] < 0 and plant.hit_ns is not None:
            row["hit_ns"], row["hit_speed"] = plant.hit_ns + self._start_ns, plant.hit_speed
        if row["cut_ns"][0] < 0 and plant.cut_ns is not None:
            row["cut_ns"] = plant.cut_ns + self._start_ns
        row["ticks"], row["late"], row["skipped"] = clock.ticks, clock.late, clock.skipped
        self._mailbox.write(row)

    def conclude(self) -> None:
        """At the end: what takes a while to work out."""
        if self._row["hit_ns"][0] >= 0:
            self._row["hit_energy"] = self._plant.effective_kinetic_energy_when_hit()
        if costs := self._costs.summary_us():
            self._row["cost_us"] = list(costs.values())
        self._mailbox.write(self._row)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
