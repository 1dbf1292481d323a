"""`hil bench rig`: real drivers against simulated devices: the stop-latency breakdown, and the resources of a trial."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from drivers.checks import ALLOWED_LOAD
from drivers.interfaces import DeviceError
from drivers.registry import driver_of
from hil.app.backends import RealtimeBackend
from hil.app.pace_check import refuse_without_pace
from hil.app.run_loop import Signals, rights_wanted, run_loop
from hil.app.warm_up import warm_up
from hil.bench.conditions import ALLOWED_IN_ALL_MB, ALLOWED_MB, FailedMeasurements, machine, watched_trial
from hil.bench.virtual_cuts import ImpactsOfRun, virtual_cuts
from hil.config import load_config
from hil.config.rig import Rig
from hil.processes.disturbances import disturbances_near
from hil.realtime.rights import Memory
from hil.recording import read_trial
from hil.recording.sinks import CutTimes, parts_ms
from hil.safety.arming import NotArmedError
from hil.simulator.control_socket import ControlClient
from hil.simulator.simulated_rig import read_endpoints, spawn_simulator

CONFIG = "sim_wire"
PYTHON = (sys.executable, "-P", "-m")
QUIET = ("telemetry.endpoint=''", "record.sensors=burst")
# Slow enough that the rover does not reach its obstacle before the last injected impact.
CUTS = (
    *QUIET,
    "trial.start_distance_m=5",
    "trial.speed_mps=0.005",
    "trial.timeout_s=2000",
)
THREE = [
    f"{{bus: {i}, address: {0x80 + i}, m1: {end}_left, m2: {end}_right}}"
    for i, end in enumerate(("front", "middle", "rear"))
]
VARIANTS: dict[str, tuple[str, ...]] = {
    "": (),
    "_three_buses": ("devices.drives.ports=['', '', '']", f"devices.drives.controllers=[{', '.join(THREE)}]"),
    "_460800": ("devices.drives.baud=460800",),
}
# Blocks of samples whose cuts are measured in virtual time [ms].
VIRTUAL_BLOCKS_MS = (3, 2, 1)
STEP_V = 1.0
SECONDS_A_CUT = 1.5
# Few, so that a stall, which ends a run, costs few.
CUTS_A_RUN = 20
# Time that a run may take to start and to end, in addition to its cuts [s].
SECONDS_A_RUN = 10.0
# Number of runs in a row that may end without a cut, and the timeout as a multiple of the time on a good machine.
MOST_WITHOUT = 5
TIMEOUT_FACTOR = 2.0
# A trial of a user takes some 15 s.
TRIAL_S = 120.0
# When CPU usage is measured: after the start, before the impact of a trial of this distance.
USAGE_S = 3.0
LONG_TRIAL = ("trial.start_distance_m=0.5",)

Row = dict[str, Any]
Progress = Callable[[str], None]


def bench_rig(events: int, progress: Progress) -> dict[str, Any]:
    """Measure everything. Half as many impacts as `events` are injected for each variant.

    Returns the content for `--json`: machine, peers, rows, and what was left out and why.
    """
    about, left_out = machine(), FailedMeasurements(progress)
    warm_up(Rig(load_config(CONFIG)), progress)
    progress("one trial at the protocol level: ticks, links and processors")
    rows = _trial_rows(left_out)
    rows += _load_rows(Rig(load_config(CONFIG)))
    for suffix, settings in VARIANTS.items():
        wanted = max(events // 2, 1) if suffix else events
        progress(f"{wanted} injected impacts, {suffix.strip('_').replace('_', ' ') or 'one bus at 115200 baud'}")
        cuts = _many_cuts(Rig(load_config(CONFIG, [*CUTS, *settings])), wanted, progress)
        if missing := wanted - len(cuts.cuts):
            left_out.add(f"cut_latency{suffix}: {missing} of {wanted} cuts", cuts.ended)
        rows += _cut_rows(suffix, cuts)
    return {"machine": about, "peers": {}, "rows": rows, "left_out": left_out.items}


def bench_virtual_cuts(events: int, progress: Progress) -> dict[str, Any]:
    """Measure cuts in virtual time, where only bytes, blocks and periods take time: the same on any machine.

    Half as many impacts as `events` are injected for each variant. Returns as `bench_rig`.
    """
    left_out = FailedMeasurements(progress)
    warm_up(Rig(load_config(CONFIG)), progress)
    rows = []
    for (suffix, settings), block_ms in itertools.product(VARIANTS.items(), VIRTUAL_BLOCKS_MS):
        name, wanted = f"{suffix}_{block_ms}ms", max(events // 2, 1) if suffix else events
        progress(f"{wanted} injected impacts in virtual time, {name.strip('_').replace('_', ' ')}")
        config = load_config(CONFIG, [*CUTS, *settings, "clock=lockstep", f"daq.block_ms={block_ms}"])
        cuts = virtual_cuts(Rig(config), wanted, STEP_V)
        if missing := wanted - len(cuts):
            left_out.add(f"cut_latency{name}: {missing} of {wanted} cuts", ["the run ended early"])
        rows += _cut_rows(name, Cuts(cuts, [], []))
    return {"machine": machine(), "peers": {}, "rows": rows, "left_out": left_out.items}


def _trial_rows(left_out: FailedMeasurements) -> list[Row]:
    """A trial as a user runs it, in separate processes, measured from outside. No rows if it failed."""
    settings = [f"--set={item}" for item in (*QUIET, *LONG_TRIAL)]
    with tempfile.TemporaryDirectory() as folder:
        command = [*PYTHON, "hil.cli", "trial", CONFIG, "--out", f"{folder}/run", "--json", *settings]
        usage = watched_trial(command, TRIAL_S, USAGE_S)
    summary: dict[str, Any] = (
        json.loads(usage.said) if usage.said.startswith("{") else {"reasons": usage.complaints[-1:]}
    )
    loop, links = summary.get("loop"), summary.get("links") or {}
    if not loop or not loop["work_us"] or not loop["far_end"]:
        left_out.add("trial, rate, processor: the trial failed", summary["reasons"])
        return []
    counts = {key: loop[key] for key in ("ticks", "late", "skipped")} | {"reasons": summary["reasons"]}
    rows = [
        _row("trial_work", "us", loop["work_us"]) | counts,
        _row("trial_wake", "us", {key: loop["wake_us"][key] for key in loop["work_us"]}),
        _row("trial_plant", "us", loop["plant_us"])
        | {key: loop["far_end"][key] for key in ("ticks", "late", "skipped")},
    ]
    rows += [_one(f"rate_{name}", "Hz", link["rate_hz"]) | {"errors": link["errors"]} for name, link in links.items()]
    for name in sorted(set(ALLOWED_MB) - set(usage.shares)):
        left_out.add(f"processor and memory of {name}", ["it was not there while the trial ran"])
    rows += [_one(f"processor_{name}", "share", share) for name, share in sorted(usage.shares.items())]
    rows.append(_one("processor_all", "share", sum(usage.shares.values())))
    return [*rows, *_memory_rows(usage.memory)]


def _memory_rows(found: Mapping[str, Memory]) -> list[Row]:
    """RAM of each process, with its part of shared memory, and how much of it is locked."""
    rows = [
        _one(f"memory_{name}", "MB", one.share_MB) | {"locked": one.locked_MB, "allowed": ALLOWED_MB.get(name)}
        for name, one in sorted(found.items())
    ]
    share_MB, locked_MB = (sum(getattr(one, key) for one in found.values()) for key in ("share_MB", "locked_MB"))
    return [*rows, _one("memory_all", "MB", share_MB) | {"locked": locked_MB, "allowed": ALLOWED_IN_ALL_MB}]


def _load_rows(rig: Rig) -> list[Row]:
    """The load of each bus, as computed before arming."""
    sections = rig.config.devices.sections() if rig.config.devices else []
    loads = {one.role: [load.share for load in driver_of(one).line_loads(one, rig.setup)] for one in sections}
    return [_one(f"load_{role}", "share", max(of)) | {"allowed": ALLOWED_LOAD} for role, of in loads.items() if of]


class Cuts(NamedTuple):
    """Cuts, the duration of each as measured by the simulated controllers [ms], and why runs ended early."""

    cuts: list[CutTimes]
    seen_ms: list[float]
    ended: list[str]


def _many_cuts(rig: Rig, events: int, progress: Progress) -> Cuts:
    """Cuts of as many runs as needed, until a timeout or several runs in a row without any.

    A machine that stalls for 10 ms correctly ends a run with a fault; on a machine that always stalls this would never
    end without the limits.
    """
    all_, without = Cuts([], [], []), 0
    on_a_good_machine_s = SECONDS_A_RUN * -(-events // CUTS_A_RUN) + SECONDS_A_CUT * events
    until = time.monotonic() + TIMEOUT_FACTOR * on_a_good_machine_s
    while (left := events - len(all_.cuts)) > 0 and without < MOST_WITHOUT and time.monotonic() < until:
        cuts = _cuts(rig, min(left, CUTS_A_RUN))
        without = 0 if cuts.cuts else without + 1
        for reason in cuts.ended:
            progress(f"a run ended early: {reason}")
        all_.cuts.extend(cuts.cuts)
        all_.seen_ms.extend(cuts.seen_ms)
        all_.ended.extend(cuts.ended)
    return all_


def _cuts(rig: Rig, events: int) -> Cuts:
    """Cuts of one run; a run that could not start or end counts as ended early, with the cuts that it has."""
    config = rig.config
    timeout_s = SECONDS_A_RUN + SECONDS_A_CUT * events
    impacts, stops, start_ns = ImpactsOfRun(events, timeout_s), dict[str, Any](), 0
    try:
        with Signals() as signals, ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            endpoints = spawn_simulator(rig.config.model_dump_json(), stack)
            addresses = read_endpoints(endpoints)
            command = [*PYTHON, "hil.processes", "impact_injector", addresses["control"], rig.layout.channels[0]]
            injector = subprocess.Popen([*command, str(STEP_V), "1"], stdin=subprocess.PIPE)
            stack.callback(_end, injector)
            backend = RealtimeBackend(rig, folder, lambda _: None, stack, make=impacts.make, endpoints=endpoints)
            (trial,) = impacts.made
            trial.reset = backend.cycle.estimator.reset
            trial.driving = partial(_begin, injector)  # not before: arming wants sensors at rest
            run_loop(
                backend,
                signals,
                lambda _: None,
                wanted=rights_wanted(config.realtime, config.clock, config.rig),
                refuse=partial(refuse_without_pace, rig),
            )
            start_ns = backend.loop.clock.start_ns or 0  # type: ignore[attr-defined]
            with ControlClient(addresses["control"]) as control:
                assert config.devices is not None
                assert config.devices.drives is not None
                names = [name for name in addresses if name.startswith(config.devices.drives.driver)]
                stops = {name: control.ask("stops", device=name)["stops"] for name in names}
            ended = trial.reasons(backend.cycle.safety, partial(disturbances_near, read_trial(folder).events))
    except (DeviceError, NotArmedError) as error:
        ended = [str(error)]
    cuts = [cut for trial in impacts.made for cut in trial.found]
    if len(cuts) < events and not ended:
        ended = [f"{len(cuts)} of {events} cuts in {timeout_s:g} s"]
    return Cuts(cuts, _seen_by_devices(cuts, stops, start_ns), ended)


def _seen_by_devices(
    cuts: Sequence[CutTimes], stops: Mapping[str, Sequence[Sequence[int]]], start_ns: int
) -> list[float]:
    """From the sample over the threshold to the stop of the last controller, in the time of that controller [ms]."""
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
        if firsts:
            spans.append((max(firsts) - cut.sample_ns) * 1e-6)
    return spans


def _cut_rows(suffix: str, found: Cuts) -> list[Row]:
    if not found.cuts:
        return []
    parts = {name + suffix: times for name, times in parts_ms(found.cuts).items()}
    parts[f"cut_latency_device{suffix}"] = np.array(found.seen_ms)
    counts = {"events": len(found.cuts), "ended_early": found.ended}
    shares = {"p50": 0.5, "p99": 0.99, "p99_9": 0.999, "max": 1.0}
    return [
        _row(name, "ms", {key: float(np.quantile(times, share)) for key, share in shares.items()}) | counts
        for name, times in parts.items()
        if times.size
    ]


def _row(name: str, unit: str, figures: Mapping[str, float]) -> Row:
    return {"name": name, "unit": unit, **figures, "ratio_to": None, "ratio": None}


def _one(name: str, unit: str, value: float | None) -> Row:
    """A row with a single number."""
    return _row(name, unit, {"p50": value, "p99": value})  # type: ignore[dict-item]


def _begin(process: subprocess.Popen[bytes]) -> None:
    """Let the injector begin, unless it has."""
    assert process.stdin
    if not process.stdin.closed:
        process.stdin.write(b"\n")
        process.stdin.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
