"""The memory of a run: made by the loop process, opened by each worker, and left behind for `hil recover` by a kill."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hil.config import Config
from hil.links.rows import DRIVE_COMMAND, DRIVE_SAMPLE, START, TROUBLE, TRUTH, VALVE_COMMAND, VALVE_SAMPLE, block_row
from hil.record.burst import SLACK_S
from hil.rows import EVENT, TICK, TIMING
from hil.shm import Heartbeat, Mailbox, Ring

FOLDER = "shm"  # of the run folder
RECORDER = "recorder"
# What the rings hold: the recorder may be away for so long.
RING_S = 4.0
LEAST_TICKS = 4096
EVENTS = 256


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
        self.blocks_held = round((config.record.before_s + SLACK_S) * 1e3 / config.daq.block_ms) if burst else 0
        ticks = max(round(RING_S * config.loop.rate_hz), LEAST_TICKS)
        blocks = round(RING_S * 1e3 / config.daq.block_ms) + 2 * self.blocks_held
        self.ticks, self.timings = ring("ticks", TICK, ticks), ring("timings", TIMING, ticks)
        # an event ring each for the loop and for the watchdog: a ring has one writer
        self.events, self.watchdog_events = ring("events", EVENT, EVENTS), ring("watchdog_events", EVENT, EVENTS)
        self.blocks = ring("blocks", block_row(config.daq.block_samples, len(config.daq.channels)), blocks)
        self.start = box("start", START)
        self.drive_command, self.drives = box("drive_command", DRIVE_COMMAND), box("drives", DRIVE_SAMPLE)
        self.valve_command, self.valves = box("valve_command", VALVE_COMMAND), box("valves", VALVE_SAMPLE)
        self.truth, self.trouble = box("truth", TRUTH), box("trouble", TROUBLE)
        self.heartbeat = Heartbeat(folder / "heartbeat", create=create)
