"""`hil bench loop`: wake-up latency of the loop, idle, loaded and with the real tick, next to rt-tests' cyclictest."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

from drivers.interfaces import DeviceError
from hil.bench.conditions import FailedMeasurements, machine
from hil.config.rig import Rig
from hil.realtime import RealtimeRight, RightsWanted, rights
from hil.realtime.clock import RealtimeClock
from hil.realtime.histogram import Histogram
from hil.safety.arming import NotArmedError

# Ends when its parent process has ended.
_BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    for _ in range(10**6): pass"


@contextmanager
def busy_processors() -> Iterator[list[int]]:
    """Start one busy child process for each usable processor; yields their process ids, and kills them at the end."""
    with ExitStack() as stack:
        children = []
        for _ in os.sched_getaffinity(0):
            child = subprocess.Popen([sys.executable, "-I", "-S", "-c", _BUSY])
            stack.callback(child.wait)
            stack.callback(child.kill)
            children.append(child.pid)
        yield children


_PROGRAM = "cyclictest"
_INTERVAL_US = 1000
_MAX_LATENCY_US = 20_000
_BIN = re.compile(r"^(\d+)\s+(\d+)$", re.MULTILINE)
_MAX_LATENCY = re.compile(r"^# Max Latencies: (\d+)", re.MULTILINE)

Counts = Counter[int]


def cyclictest_version() -> str | None:
    """Its version, or None if it is not installed."""
    if shutil.which(_PROGRAM) is None:
        return None
    done = subprocess.run([_PROGRAM, "--help"], capture_output=True, text=True, check=False, timeout=10)
    version = re.search(r"cyclictest V\s*(\S+)", done.stdout + done.stderr)
    return version[1] if version else "of unknown version"


def cyclictest(seconds: float, fifo_priority: int, lock_memory: bool) -> Counts | None:
    """Histogram of its wake-up latency [us], at 1 kHz; None if it is not installed or may not run.

    Priority (0: ordinary scheduler) and locked memory are those of the loop.
    """
    command = [_PROGRAM, "--quiet", "--threads=1", f"--interval={_INTERVAL_US}", f"--histogram={_MAX_LATENCY_US}"]
    command.append(f"--loops={max(round(seconds * 1e6 / _INTERVAL_US), 1)}")
    command += [f"--priority={fifo_priority}", "--policy=fifo"] if fifo_priority else ["--policy=other"]
    command += ["--mlockall"] if lock_memory else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 30)
    except (OSError, subprocess.SubprocessError):
        return None
    return parse(done.stdout)


def parse(text: str) -> Counts | None:
    """The histogram that cyclictest prints; values beyond its last bin count as its longest time."""
    counts = Counter({int(late): int(count) for late, count in _BIN.findall(text) if int(count)})
    longest = _MAX_LATENCY.search(text)
    if longest is None:
        return None
    if int(longest[1]) >= _MAX_LATENCY_US:
        over = re.search(r"^# Histogram Overflows: (\d+)", text, re.MULTILINE)
        counts[int(longest[1])] += int(over[1]) if over else 1
    return counts


def summary_us(counts: Counts) -> dict[str, float]:
    """Quantiles [us], each at the middle of its microsecond bin."""
    total, seen, quantiles = counts.total(), 0, {}
    wanted = [("p50", 0.5), ("p99", 0.99), ("p99_9", 0.999)]
    for late_us in sorted(counts):
        seen += counts[late_us]
        while wanted and seen >= wanted[0][1] * total:
            quantiles[wanted.pop(0)[0]] = late_us + 0.5
    return {**quantiles, "max": max(counts) + 0.5}


WANTED = RightsWanted(fifo_priority=80, lock_memory=True, timer_slack_ns=1000, awake=True, freeze_gc=True)
RATES_HZ = (500, 1000, 2000)
COMPARED_HZ = 1000  # the rate of cyclictest
SPIN_SHARE = 0.2
CONFIG = "sim_impact"
SPEED_MPS = 0.07
_WARM_UP_S = 0.05

Row = dict[str, Any]
Progress = Callable[[str], None]


def bench_loop(
    seconds: float, progress: Progress, wanted: RightsWanted = WANTED, rate_hz: int | None = None
) -> dict[str, Any]:
    """Measure everything, or one rate.

    With `rate_hz` it is the only rate of the loop, measured idle and without a peer; without it all of RATES_HZ, idle
    and loaded. Returns the content for `--json`: machine, peers, rows, and what was left out and why.
    """
    about, left_out = machine(), FailedMeasurements(progress)
    version = cyclictest_version() if rate_hz is None else None
    rates_hz, tick_hz = ((rate_hz,), rate_hz) if rate_hz else (RATES_HZ, COMPARED_HZ)
    rows: list[Row] = []
    with rights(wanted) as granted:
        about["rights"] = [vars(item) for item in granted]
    for load in ("idle", "loaded") if rate_hz is None else ("idle",):
        progress(f"wake-up latency, {load}: empty tick at {', '.join(map(str, rates_hz))} Hz, without and with spin")
        with busy_processors() if load == "loaded" else nullcontext():
            before = _peer(version, seconds, wanted, granted)
            with rights(wanted):
                ours = [_wake_row(rate, spin, load, seconds) for rate in rates_hz for spin in (0.0, SPIN_SHARE)]
            after = _peer(version, seconds, wanted, granted) if load == "idle" else None
            progress(f"the real tick at {tick_hz} Hz, {load}, the rig in its own process")
            ticks = _tick_rows(seconds, load, tick_hz, wanted, left_out, progress)
        rows += _compared(ours, "cyclictest" if load == "idle" else "cyclictest_loaded", before, after) + ticks
    return {"machine": about, "peers": {"cyclictest": version}, "rows": rows, "left_out": left_out.items}


def _peer(version: str | None, seconds: float, wanted: RightsWanted, granted: Sequence[RealtimeRight]) -> Counts | None:
    """Run cyclictest with the rights that the loop has."""
    if version is None:
        return None
    have = {item.name for item in granted if item.granted}
    return cyclictest(seconds, wanted.fifo_priority if "scheduler" in have else 0, "memory" in have)


def _wake_row(rate_hz: int, spin_share: float, load: str, seconds: float) -> Row:
    _run_ticks(RealtimeClock(rate_hz, spin_share), _WARM_UP_S)
    clock = RealtimeClock(rate_hz, spin_share)
    stalls = _run_ticks(clock, seconds)
    # the contract's names: wake_1khz_idle, and wake_1khz_spin for the idle one with spin
    kind = load if not spin_share else "spin" if load == "idle" else f"spin_{load}"
    losses = {"late": clock.late, "skipped": clock.skipped, "spins_withheld": clock.spins_withheld, "stalls": stalls}
    return _row(f"wake_{_named(rate_hz)}_{kind}", clock.wake) | losses


def _named(rate_hz: int) -> str:
    return f"{rate_hz // 1000}khz" if rate_hz % 1000 == 0 else f"{rate_hz}hz"


def _run_ticks(clock: RealtimeClock, seconds: float) -> int:
    """Run empty ticks for a time [s]; returns the number of stalls of the machine."""
    end_ns = seconds * 1e9
    while clock.next().t_ns < end_ns:
        pass
    return len(clock.stalls.take())


def _compared(ours: list[Row], name: str, before: Counts | None, after: Counts | None) -> list[Row]:
    """Add the ratio to cyclictest, p99 over p99, to our rows at its rate; append the row of cyclictest."""
    parts = [part for part in (before, after) if part]
    if not parts:
        return ours
    total = sum(parts, Counts())
    peer: Row = {"name": name, "unit": "us", **summary_us(total), "ratio_to": None, "ratio": None}
    peer |= {"ticks": total.total(), "p99_runs": [summary_us(part)["p99"] for part in parts]}
    for row in ours:
        if f"_{COMPARED_HZ // 1000}khz_" in row["name"]:
            row |= {"ratio_to": name, "ratio": row["p99"] / peer["p99"]}
    return [*ours, peer]


def _tick_rows(
    seconds: float, load: str, rate_hz: int, wanted: RightsWanted, left_out: FailedMeasurements, progress: Progress
) -> list[Row]:
    """The whole path of a tick, from sensors to record, in a trial with a long run-up; no rows if it failed."""
    from hil.app.run import run  # compiles kernels
    from hil.app.warm_up import warm_up
    from hil.config import load_config

    rate = _named(rate_hz)
    metres = max(seconds * SPEED_MPS, 0.03)
    rights_asked = [
        f"realtime.{key}={str(getattr(wanted, key)).lower()}" for key in ("fifo_priority", "lock_memory", "awake")
    ]
    settings = [f"loop.rate_hz={rate_hz}", f"trial.start_distance_m={metres}", f"trial.speed_mps={SPEED_MPS}"]
    ends = [f"trial.timeout_s={seconds + 20.0}", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5"]
    config = load_config(CONFIG, ["clock=realtime", "telemetry.endpoint=''", *settings, *ends, *rights_asked])
    warm_up(Rig(config), progress)
    try:
        summary = run(config).summary
    except (DeviceError, NotArmedError) as error:
        left_out.add(f"tick_{rate}_{load}", [str(error)])
        return []
    loop = summary["loop"]
    if summary["aborted"]:  # what was measured until then is still used
        left_out.add(f"tick_{rate}_{load}: everything after {loop['ticks']} ticks", summary["reasons"])
    if not loop["work_us"] or not loop["wake_us"]:
        return []
    wake_us = {key: loop["wake_us"][key] for key in loop["work_us"]}  # without its histogram
    times = {"work": loop["work_us"], "wake": wake_us, **loop["phases_us"]}
    rows = [_summary_row(f"tick_{rate}_{name}_{load}", figures, loop["ticks"]) for name, figures in times.items()]
    rows[0] |= {key: loop[key] for key in ("late", "skipped")} | {"stalls": summary["machine"]["count"]}
    simulated_rig = loop["far_end"]
    cost = _summary_row(f"far_end_{rate}_{load}", loop["plant_us"], simulated_rig["ticks"])
    return [*rows, cost | {key: simulated_rig[key] for key in ("late", "skipped")}]


def _summary_row(name: str, figures: dict[str, float], ticks: int) -> Row:
    return {"name": name, "unit": "us", **figures, "ratio_to": None, "ratio": None, "ticks": ticks}


def _row(name: str, times: Histogram) -> Row:
    return _summary_row(name, times.summary_us() or {}, times.count)
