"""The memory of a run: made by the loop process, opened by each worker, and left behind for `hil recover` by a kill."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hil.config import Config
from hil.links.rows import (
    HEALTH,
    LATE,
    START,
    TROUBLE,
    TRUTH,
    block_row,
    drive_command_dtype,
    drive_sample_dtype,
    valve_command_dtype,
    valve_sample_dtype,
)
from hil.rows import BURST_SLACK_S, EVENT, TIMING, tick_dtype
from hil.shm import Heartbeat, Mailbox, Ring

FOLDER = "shm"  # of the run folder
RECORDER = "recorder"
LINKS = ("daq", "drives", "valves")  # each a worker of its own where the devices are real; `Layout.links` of them
# What the rings hold: the recorder may be away for so long.
RING_S = 4.0
LEAST_TICKS = 4096
EVENTS = 256
_LOOK_AGAIN_S = 0.01


class Shared:
    """Rings, mailboxes and heartbeats of a run.

    Args:
        run: the run folder.
        config: of the run; None: as the run was made with.
        meta: what the record's `/meta` shall hold; with it, the files are made, without it they are opened.

    Attributes:
        config: of the run.
        meta: see above.
        blocks_held: newest blocks that the recorder does not release, written or not.

    Raises:
        ShmError: they are there already, or are not what they should be.
        FileNotFoundError: there are none to open.
        BlockingIOError: the run is being recovered.
    """

    def __init__(
        self, run: Path, config: Config | None = None, meta: Mapping[str, str | float | int] | None = None
    ) -> None:
        folder, create = run / FOLDER, meta is not None
        if config is None:
            config = Config.model_validate_json((folder / "config.json").read_text(encoding="utf-8"))
        if create:
            folder.mkdir()
            (folder / "config.json").write_text(config.model_dump_json(), encoding="utf-8")
            (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
        self.run, self.config = run, config
        self.meta: dict[str, Any] = json.loads((folder / "meta.json").read_text(encoding="utf-8"))

        def ring(name: str, dtype: Any, rows: int) -> Ring:
            return Ring(folder / name, dtype, rows, create=create, must_not_lose=(RECORDER,))

        def box(name: str, dtype: Any) -> Mailbox:
            return Mailbox(folder / name, dtype, create=create)

        # samples that may yet become part of a burst stay in the ring, for whoever recovers it
        burst = config.record.sensors == "burst"
        # of a rig without force sensors the ring stays empty
        block_ms, samples = (config.daq.block_ms, config.daq.block_samples) if config.daq else (RING_S * 1e3, 1)
        self.blocks_held = round((config.record.before_s + BURST_SLACK_S) * 1e3 / block_ms) if burst else 0
        ticks = max(round(RING_S * config.loop.rate_hz), LEAST_TICKS)
        blocks = round(RING_S * 1e3 / block_ms) + 2 * self.blocks_held
        layout = config.layout
        self.ticks, self.timings = ring("ticks", tick_dtype(layout), ticks), ring("timings", TIMING, ticks)
        # an event ring each for the loop and for the watchdog: a ring has one writer
        self.events, self.watchdog_events = ring("events", EVENT, EVENTS), ring("watchdog_events", EVENT, EVENTS)
        self.blocks = ring("blocks", block_row(samples, len(layout.channels)), blocks)
        self.start = box("start", START)
        self.drive_command = box("drive_command", drive_command_dtype(layout))
        self.drives = box("drives", drive_sample_dtype(layout))
        self.valve_command = box("valve_command", valve_command_dtype(layout))
        self.valves = box("valves", valve_sample_dtype(layout))
        self.truth = box("truth", TRUTH)
        self.late = Ring(folder / "late", LATE, EVENTS, create=create, must_not_lose=())
        self.troubles = {name: box(f"trouble_{name}", TROUBLE) for name in (RECORDER, *LINKS)}
        self.healths = {name: box(f"health_{name}", HEALTH) for name in LINKS}
        self.heartbeat = Heartbeat(folder / "heartbeat", create=create)
        # released by the kernel, whatever becomes of this process
        self._lock = os.open(folder / "config.json", os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def leave(self) -> None:
        """Count as a process of the run no longer."""
        os.close(self._lock)

    def alone(self, within_s: float = 0.0) -> bool:
        """No other process of the run is alive, or will be so long from now [s]; one that is killed takes a moment."""
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
