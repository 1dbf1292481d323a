"""`hil bench rig`: real drivers against simulated devices at the wire: the way of a cut, and what a trial takes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hil.app.rigs import RealtimeRig
from hil.app.runs import Signals, run_loop
from hil.app.wire.attach import own_rig, read_endpoints
from hil.app.wire.control import Control
from hil.bench.impacts import CutTimes, RepeatedImpacts, parts_ms
from hil.bench.machine import machine
from hil.bench.shares import processor_shares
from hil.config import Config, load_config
from hil.config.bus_load import ALLOWED, modbus_load, roboclaw_load
from hil.config.devices import ModbusValves, RoboclawDrives
from hil.experiments.base import ArmingChecks

CONFIG = "sim_wire"
QUIET = ("telemetry.endpoint=''", "record.sensors=burst")
# Slow enough that the rover does not meet its obstacle before the last of the stepped impacts.
CUTS = (*QUIET, "trial.start_distance_m=5", "trial.speed_mps=0.005", "trial.timeout_s=2000")
THREE = [
    f"{{bus: {i}, address: {0x80 + i}, m1: {end}_left, m2: {end}_right}}"
    for i, end in enumerate(("front", "middle", "rear"))
]
VARIANTS: dict[str, tuple[str, ...]] = {
    "": (),
    "_three_buses": ("devices.drives.ports=['', '', '']", f"devices.drives.controllers=[{', '.join(THREE)}]"),
    "_460800": ("devices.drives.baud=460800",),
}
STEP_V = 1.0
SECONDS_A_CUT = 1.5
CUTS_A_RUN = 50
MOST_FAULTS = 10
# When the processors are looked at: after the start, before the impact of a trial of this distance.
SHARES_S = 3.0
LONG_TRIAL = ("trial.start_distance_m=0.5",)

Row = dict[str, Any]
Say = Callable[[str], None]


def bench_rig(events: int, say: Say) -> dict[str, Any]:
    """Measure everything.

    Args:
        events: stepped impacts; half as many for each variant.
        say: told what is going on, a line at a time.

    Returns:
        What `--json` writes: machine, peers, rows.
    """
    about = machine()
    say("one trial at the wire: ticks, links and processors")
    rows = _trial_rows()
    rows += _load_rows(load_config(CONFIG))
    for suffix, settings in VARIANTS.items():
        wanted = max(events // 2, 1) if suffix else events
        say(f"{wanted} stepped impacts, {suffix.strip('_').replace('_', ' ') or 'one bus at 115200 baud'}")
        rows += _cut_rows(suffix, _many_cuts(load_config(CONFIG, [*CUTS, *settings]), wanted, say))
    return {"machine": about, "peers": {}, "rows": rows}


def _trial_rows() -> list[Row]:
    """A trial as a user makes it, in processes of its own; looked at from outside."""
    settings = [f"--set={item}" for item in (*QUIET, *LONG_TRIAL)]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-P",
            "-m",
            "hil.cli",
            "trial",
            CONFIG,
            "--out",
            f"{folder}/run",
            "--json",
            *settings,
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as trial:
            assert trial.stderr is not None
            for line in trial.stderr:
                if line.startswith("running"):
                    break
            shares = processor_shares(trial.pid, SHARES_S)
            said, _ = trial.communicate()
    summary = json.loads(said)
    loop, links = summary["loop"], summary["links"] or {}
    counts = {key: loop[key] for key in ("ticks", "late", "skipped")} | {"reasons": summary["reasons"]}
    rows = [
        _row("trial_work", "us", loop["work_us"]) | counts,
        _row("trial_wake", "us", loop["wake_us"]),
        _row("trial_plant", "us", loop["plant_us"])
        | {key: loop["far_end"][key] for key in ("ticks", "late", "skipped")},
    ]
    rows += [_one(f"rate_{name}", "Hz", link["rate_hz"]) | {"errors": link["errors"]} for name, link in links.items()]
    rows += [_one(f"processor_{name}", "share", share) for name, share in sorted(shares.items())]
    return [*rows, _one("processor_all", "share", sum(shares.values()))]


def _load_rows(config: Config) -> list[Row]:
    """How busy each line is, as it is worked out before arming."""
    drives, valves = (config.devices.drives, config.devices.valves) if config.devices else (None, None)
    assert isinstance(drives, RoboclawDrives)
    assert isinstance(valves, ModbusValves)
    loads = {"drives": max(roboclaw_load(drives)), "valves": modbus_load(valves)}
    return [_one(f"load_{name}", "share", load) | {"allowed": ALLOWED} for name, load in loads.items()]


class Cuts(NamedTuple):
    """Cuts, how long each took as the simulated controllers saw it [ms], and what ended a run before its time."""

    cuts: list[CutTimes]
    seen_ms: list[float]
    faults: list[str]


def _many_cuts(config: Config, events: int, say: Say) -> Cuts:
    """Cuts of as many runs as it takes: a machine that stalls for 10 ms ends one by a fault, and rightly so.

    Raises:
        RuntimeError: too many runs ended so.
    """
    all_ = Cuts([], [], [])
    while (left := events - len(all_.cuts)) > 0:
        found = _cuts(config, min(left, CUTS_A_RUN))
        for told in found.faults:
            say(f"a run ended early: {told}")
        all_.cuts.extend(found.cuts)
        all_.seen_ms.extend(found.seen_ms)
        all_.faults.extend(found.faults)
        if len(all_.faults) > MOST_FAULTS:
            raise RuntimeError(f"{len(all_.cuts)} cuts of {events}; runs ended early: {all_.faults}")
    return all_


def _cuts(config: Config, events: int) -> Cuts:
    """Cuts of one run."""
    speeds = (config.trial.speed_mps / config.rover.wheel_radius_m,) * len(config.layout.wheels)
    timeout_s = 10.0 + SECONDS_A_CUT * events
    with Signals() as signals, ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        endpoints = own_rig(config, stack)
        trials: list[RepeatedImpacts] = []

        def make(config: Config, checks: ArmingChecks) -> RepeatedImpacts:
            trials.append(RepeatedImpacts(events, speeds, timeout_s, config, checks))
            return trials[0]

        rig = RealtimeRig(config, folder, lambda _: None, stack, make, endpoints)
        (trial,) = trials
        trial.reset = rig.cycle.estimator.reset
        found = read_endpoints(endpoints)
        command = [sys.executable, "-P", "-m", "hil.bench.stepper", found["control"], config.daq.channels[0].name]
        stepper = subprocess.Popen([*command, str(STEP_V), "1"])
        stack.callback(_end, stepper)
        run_loop(rig, config, signals, lambda _: None)
        start_ns = rig.loop.clock.start_ns or 0  # type: ignore[attr-defined]
        with Control(found["control"]) as control:
            names = [name for name in found if name.startswith("roboclaw")]
            stops = {name: control.ask("stops", device=name)["stops"] for name in names}
    faults = [event.detail for event in rig.cycle.safety.events]
    return Cuts(trial.found, _seen_by_devices(trial.found, stops, start_ns), faults)


def _seen_by_devices(
    cuts: Sequence[CutTimes], stops: Mapping[str, Sequence[Sequence[int]]], start_ns: int
) -> list[float]:
    """From the sample over the threshold to the stop of the last controller, in its own time [ms]."""
    by_controller: dict[tuple[str, int], list[int]] = {}
    for name, found in stops.items():
        for address, at_ns in found:
            by_controller.setdefault((name, address), []).append(at_ns - start_ns)
    times = {key: np.array(sorted(values)) for key, values in by_controller.items()}
    spans = []
    for cut in cuts:
        firsts = [
            values[np.searchsorted(values, cut.sample_ns)] for values in times.values() if values[-1] >= cut.sample_ns
        ]
        spans.append((max(firsts) - cut.sample_ns) * 1e-6)
    return spans


def _cut_rows(suffix: str, found: Cuts) -> list[Row]:
    parts = {name + suffix: times for name, times in parts_ms(found.cuts).items()}
    parts[f"cut_latency_device{suffix}"] = np.array(found.seen_ms)
    counts = {"events": len(found.cuts), "faults": found.faults}
    return [_row(name, "ms", _quantiles(times)) | counts for name, times in parts.items()]


def _quantiles(times: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float]:
    p50, p99, p99_9, top = np.quantile(times, (0.5, 0.99, 0.999, 1.0)).tolist()
    return {"p50": p50, "p99": p99, "p99_9": p99_9, "max": top}


def _row(name: str, unit: str, figures: Mapping[str, float]) -> Row:
    return {"name": name, "unit": unit, **figures, "ratio_to": None, "ratio": None}


def _one(name: str, unit: str, value: float | None) -> Row:
    """A row of a single figure."""
    return _row(name, unit, {"p50": value, "p99": value})  # type: ignore[dict-item]


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
