"""The simulated rig in its own process and in real time: `python -m hil.workers.far_end RUN PARENT`."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path

import numpy as np

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
    """Move the simulated rig of a run in real time until told to end."""
    life = Life(parent)
    shared = Shared(run)
    config, wanted = shared.config, shared.config.realtime

    from hil.app.simulated import build_far_end, warm_up_far_end  # compiles kernels

    warm_up_far_end(config, build_far_end(config))
    far_end = build_far_end(config)
    feeds: dict[str, Feed] = {
        "daq": BlockFeed(shared, far_end.daq),
        "drives": DriveFeed(shared, far_end.drives),
        "valves": ValveFeed(shared, far_end.valves),
    }
    pump = Pump(shared, *(feeds[name] for name in config.layout.links))
    for link in (far_end.daq, far_end.drives, far_end.valves):
        link.open()
    witness = Witness(shared.truth, far_end.plant)
    moved = LateNotes(shared.late).of("plant")
    asked = RightsWanted(
        fifo_priority=max(wanted.fifo_priority - BELOW_LOOP, 1) if wanted.fifo_priority else 0,
        lock_memory=wanted.lock_memory,
        timer_slack_ns=round(wanted.timer_slack_us * 1e3),
        freeze_gc=True,
    )
    with rights(asked) as granted:
        life.ready(granted)
        start_ns = _start_ns(shared, life)
        offset_ns = round(PHASE * 1e9 / config.loop.rate_hz)
        clock = RealtimeClock(config.loop.rate_hz)
        clock.start_ns = start_ns + offset_ns
        while not life.ending:
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


def _start_ns(shared: Shared, life: Life) -> int:
    """Wait for the loop to say when t_ns = 0 is [ns of CLOCK_MONOTONIC], and until it nearly is."""
    start, start_ns = np.zeros(1, START), 2**62
    while not life.ending and (now_ns := time.monotonic_ns()) < start_ns - 2 * _POLL_NS:
        shared.heartbeat.beat("far_end", now_ns)
        time.sleep(_POLL_NS * 1e-9)
        if shared.start.read(start) > 0:
            start_ns = int(start["start_ns"][0])
    return start_ns


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
