"""What the runs of `tests/soak/endurance.py` have shown: skipped periods, faults, growth of processes."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hil.messages.fault import Fault
from hil.processes.disturbances import INTERRUPTED, LONG, longest_near
from hil.processes.watchdog import KEPT
from hil.recording import TrialRecord, read_trial
from hil.safety.limits import STANDING_RADPS

# Growth since the first minute that is allowed: memory is counted in pages, and one run is not as another.
GROWTH_MB = 8.0
# Wheels stand so long after Safe [s]; a run is recorded for a second more.
STANDS_AFTER_S = 0.5
# How many of the first and of the last times that processes are noted are compared.
FEW = 10
KILLED, BESIDE = "ended with status -9", "at that time"
# Checks of `hil verify` that fail where a record lacks something.
WHOLE = ("tick order", "ticks missing", "timing", "blocks missing", "block length")
MEASURED = ("MB", "descriptors", "threads")
State = tuple[float, int, int]  # memory of its own [MB], descriptors, threads


@dataclass(frozen=True)
class Injected:
    """A fault that was injected, the numbers of the faults that tell of it, and when it was [ns of the run].

    Attributes:
        passes: the run may be accepted all the same.
    """

    name: str
    known: Set[int]
    at_ns: int
    passes: bool = False

    def until_ns(self) -> float:
        """Periods that are skipped later are its own doing."""
        return self.at_ns if Fault.LOOP_LATE in self.known else math.inf


@dataclass
class Found:
    """What all runs have shown."""

    runs: int = 0
    ticks: int = 0
    late: int = 0
    skipped: int = 0
    beside_stalls: int = 0  # of these, with a stall of the machine or a late simulated rig beside them
    woken_late: int = 0  # after a tick whose work was done in time: the machine woke the loop too late
    interrupted: int = 0  # after a tick from which the processor was taken, and that would have been in time
    interruptions: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)
    beside: int = 0  # faults with a stall, skipped periods or a late simulated rig beside them
    injected: dict[str, list[bool]] = field(default_factory=dict)
    opened: int = 0
    folders: int = 0
    not_opened: list[str] = field(default_factory=list)
    ended_between: list[str] = field(default_factory=list)  # sessions that ended between two runs
    began: float = 0.0  # time of the first run [s of CLOCK_MONOTONIC]
    growth: list[dict[str, Any]] = field(default_factory=list)
    refused_full: int = 0  # arming refused because the records had filled the disk
    disk_full: bool = False  # the last of them was
    damaged: list[str] = field(default_factory=list)  # what a full disk has cost
    not_stopped: list[str] = field(default_factory=list)  # powered, or turning, after a fault
    no_reason: list[str] = field(default_factory=list)  # neither accepted nor with a reason

    def take(self, folder: Path, summary: dict[str, Any], injected: Injected | None) -> None:
        """Take a run that is over, and what was injected into it."""
        self.disk_full = any("disk space" in reason for reason in summary["reasons"])
        self.refused_full += self.disk_full
        record = read_trial(folder)
        loop = summary["loop"]
        self.runs += 1
        for key in ("ticks", "late", "skipped"):
            setattr(self, key, getattr(self, key) + int(loop[key] or 0))
        self._take_gaps(
            folder.name, record, 1e9 / float(loop["rate_hz"]), injected.until_ns() if injected else math.inf
        )
        self._take_end_of_run(folder.name, record, summary)
        before: list[str] = []
        expected = False
        for event in record.events[record.events["id"] > 0]:
            number, t_ns = int(event["id"]), int(event["t_ns"])
            expected = injected is not None and number in injected.known and t_ns >= injected.at_ns
            if expected:
                break  # what follows from the fault is noted after it
            before.append(f"{folder.name}: {event['name'].decode()}, {event['detail'].decode()}")
            # skipped periods are a cause by themselves, and what has caused these is judged above
            if number == Fault.LOOP_LATE or longest_near(record.events, t_ns):
                self.beside += 1
            else:
                self.invented.append(before[-1])
        if injected and not (before or self.disk_full):  # a run that was refused, or ended before, shows nothing of it
            passed = injected.passes and bool(summary["accepted"])
            self.injected.setdefault(injected.name, []).append(expected or passed)

    def take_end(self, error: str, *, opened: bool) -> None:
        """Take the end of a session that is not that of a run: the rig was not opened, or not ready for the next run.

        A worker that was killed needs a cause as a fault does.
        """
        (self.ended_between if opened else self.not_opened).append(error)
        if opened and KILLED in error and KEPT not in error and BESIDE not in error:
            self.invented.append(f"between two runs: {error}")

    def _take_end_of_run(self, name: str, record: TrialRecord, summary: dict[str, Any]) -> None:
        """Look at how a run ended: accepted, or with a reason; and nothing moves after Safe was latched."""
        if not (summary["accepted"] or summary["reasons"]):
            self.no_reason.append(f"{name}: not accepted, and no reason")
        safe = record.tick[int(record.tick["safe"].argmax()) :] if record.tick["safe"].any() else record.tick[:0]
        powered = np.flatnonzero((safe["cut"] == 0) | (safe["safe"] == 0))
        if len(powered):
            self.not_stopped.append(f"{name}: powered in tick {int(safe['tick'][powered[0]])}, after Safe")
        # what was measured after the wheels have had the time to stop, if the drives still answer; encoders have noise
        still = safe[safe["drives_t_ns"] > (safe["t_ns"][0] if len(safe) else 0) + 1e9 * STANDS_AFTER_S]
        radps = float(np.abs(np.nan_to_num(still["wheel_speed_radps"]).mean(axis=0)).max()) if len(still) else 0.0
        if radps > STANDING_RADPS:
            self.not_stopped.append(f"{name}: a wheel turns at {radps:.3f} rad/s at the end, after Safe")

    def _take_gaps(self, name: str, record: TrialRecord, period_ns: float, until_ns: float) -> None:
        """Look for the cause of each gap in the numbers of the ticks, one before the first tick included."""
        tick = record.tick
        work_ns = dict(zip(record.timing["tick"].tolist(), record.timing["work_ns"].tolist(), strict=True))
        long = {int(row["tick"]): row for row in record.events if row["name"].decode() in (INTERRUPTED, LONG)}
        others = record.events[record.events["name"] != INTERRUPTED.encode()]
        steps, gaps_ns = np.diff(tick["tick"], prepend=0), np.diff(tick["t_ns"], prepend=0)
        for after in np.flatnonzero((steps > 1) & (tick["t_ns"] < until_ns)):
            before = int(tick["tick"][after - 1]) if after else 0
            lost, worked_ns = int(steps[after]) - 1, work_ns.get(before, 0)
            used = f"{name}: {long[before]['detail'].decode()}" if before in long else ""
            if used and long[before]["name"] == INTERRUPTED.encode():
                self.interrupted += lost
                self.interruptions.append(used)
            elif longest_near(others, int(tick["t_ns"][after]), int(gaps_ns[after])):  # it was not over before
                self.beside_stalls += lost
            elif worked_ns < period_ns:  # it slept in time, and was not woken in time
                self.woken_late += lost
            else:
                self.unexplained.append(used or f"{name}: {lost} after a tick of {worked_ns * 1e-6:.1f} ms")

    def take_record(self, folder: Path) -> None:
        """Look for what a record lacks whose disk was full."""
        # not in this process, whose memory is judged: a record that is verified leaves 10 to 20 MB of free heap
        command = [sys.executable, "-P", "-m", "hil.cli", "verify", str(folder), "--json"]
        for check in json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout):
            if check["item"] in WHOLE and not check["ok"]:
                self.damaged.append(f"{folder.name}: {check['item']}: {check['found']}")

    def over(self, minutes: float) -> bool:
        """Whether the runs have taken so long; before the first of them the clock does not go."""
        return bool(self.began) and time.monotonic() - self.began > 60.0 * minutes

    @property
    def ok(self) -> bool:
        """Whether all that was promised holds."""
        all_found = all(all(found) for found in self.injected.values())
        broken = (self.unexplained, self.invented, self.damaged, self.grown, self.not_stopped, self.no_reason)
        return bool(self.injected) and all_found and not any(broken)

    @property
    def grown(self) -> list[str]:
        """Processes that have grown since the first minute, in words."""
        return [f"{row['process']} has grown: {_grown_words(row)}" for row in self.growth if row["grown"]]


class Growth:
    """Memory, descriptors and threads of processes: the least of the first few times they were noted, and of the last.

    Noted after runs without a fault: a link that was lost has its port closed, and one descriptor less. The record of a
    run is read at its end, and the 10 MB of that are given back at once or some runs later; what is kept for ever
    raises the least.
    """

    def __init__(self) -> None:
        self._noted: dict[tuple[str, int], list[State]] = {}

    def note(self, processes: dict[str, int]) -> None:
        """Note the state of processes, by name."""
        for name, process in processes.items():
            if state := _state_of(process):
                self._noted.setdefault((name, process), []).append(state)

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each process that was noted."""
        for (name, _), noted in self._noted.items():
            few = min(FEW, (len(noted) + 1) // 2)
            first, last = (tuple(map(min, zip(*some, strict=True))) for some in (noted[:few], noted[-few:]))
            grown = last[0] - first[0] > GROWTH_MB or last[1] > first[1] or last[2] > first[2]
            yield {"process": name, **dict(zip(MEASURED, zip(first, last, strict=True), strict=True)), "grown": grown}


def _grown_words(row: dict[str, Any]) -> str:
    """Memory, descriptors and threads of a process, first and last."""
    counted = (f"{first:g} to {last:g} {what}" for what in MEASURED for first, last in [row[what]])
    return ", ".join(counted)


def own_memory_MB(process: int) -> float:
    """Memory of a process, by its id, that is not mapped from a file [MB]. Does not keep the process waiting.

    Memory that it shares with the process from which it was forked counts as a whole.

    Raises:
        OSError: the process is gone, or access is denied.
    """
    text = Path(f"/proc/{process}/status").read_text(encoding="utf-8", errors="replace")
    match = re.search(r"^RssAnon:\s+(\d+) kB$", text, re.MULTILINE)
    return int(match[1]) / 1024 if match else 0.0


def _state_of(process: int) -> State | None:
    with suppress(OSError):
        place = Path(f"/proc/{process}")
        own_MB = own_memory_MB(process)
        return round(own_MB, 1), len(list((place / "fd").iterdir())), len(list((place / "task").iterdir()))
    return None


def show(found: Found, minutes: float) -> None:
    """Print the table."""
    rows = [
        ("minutes; runs", f"{minutes:g}; {found.runs}"),
        (
            "rig opened; of these, in vain; not ready for another run",
            f"{found.opened}; {len(found.not_opened)}; {len(found.ended_between)}",
        ),
        ("ticks; late; skipped", f"{found.ticks}; {found.late}; {found.skipped}"),
        (
            "of these: beside a stall; woken late by the machine; processor taken away; after work that took too long",
            f"{found.beside_stalls}; {found.woken_late}; {found.interrupted}; {len(found.unexplained)}",
        ),
        ("arming refused because the records had filled the disk", f"{found.refused_full}"),
        ("faults nobody injected: with a stall or a skip beside; without", f"{found.beside}; {len(found.invented)}"),
        *((f"injected, found: {name}", f"{len(all_)}, {sum(all_)}") for name, all_ in sorted(found.injected.items())),
        *(
            (f"{row['process']}: MB, descriptors, threads, first minute and end",
             "; ".join(f"{first:g}, {last:g}" for first, last in (row["MB"], row["descriptors"], row["threads"])))
            for row in found.growth
        ),
    ]  # fmt: skip
    print("\n| what | found |\n|---|---|")
    for what, words in rows:
        print(f"| {what} | {words} |")
    for line in found.interruptions:
        print(f"processor taken away: {line}")
    for line in found.ended_between:
        print(f"not ready for another run: {line}")
    for line in (*found.not_stopped, *found.no_reason):
        print(f"wrong end: {line}")
    for line in (*found.unexplained, *found.invented, *found.damaged, *found.grown):
        print(f"not explained: {line}")
    if not found.injected:
        print("no injected fault was judged: other faults came first; give it more MINUTES, or a quieter machine")
    print("all promises held" if found.ok else "not all promises were shown to hold")
