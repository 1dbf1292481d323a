"""Randomised fault runs: kind, device, moment, parameters and double faults drawn from a seed; `make soak PART=faults`.

Most runs are in lockstep; one in `EVERY` is at the protocol level, in virtual time. After each run the outcome is
judged by the record and the simulated devices (hil.app.faults.judge). The same seed makes the same run.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from hil.analysis.verify import verify
from hil.app.faults.case import ExpectedOutcome
from hil.app.faults.faulty_device import KINDS, DeviceFault
from hil.app.faults.judge import Expectations, latched, unsafe
from hil.app.faults.lockstep import LockstepRun
from hil.app.faults.lockstep_cases import METHODS, inject, raising, reaction_ms
from hil.app.faults.protocol_cases import LONGER, OF_DEAD_LINKS, protocol_cases, protocol_config, run_case, wait
from hil.app.faults.table import IN_LOCKSTEP, SHORT_TRIAL
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.fault import Fault

EVERY = 20  # one run of so many is at the protocol level
RECORDED_EVERY = 10  # and one of so many in lockstep is recorded, and its record verified
# A short trial: the wheels run from 0.25 s on and touch at about 0.4 s. Moments: from the zeroing to the settling.
SETTINGS = (*IN_LOCKSTEP, *SHORT_TRIAL, "trial.settle_s=0.5", "trial.start_distance_m=0.01", "trial.ramp_s=0.1")
TICKS = (20, 850)
AFTER_FAULT_S = 0.2
MOMENTS_S = (0.05, 1.4)
LONGEST_MS = 400.0  # of a delay or an interruption
# A link that was down for less, but longer than its drives' time-out, drives on: in lockstep nothing but the age of the
# samples tells that it was down. At the protocol level a lost link is a fault after 50 ms.
DRIVES_MS = 90.0


# Checks of a record: there is no summary, a dead link confirms nothing, and blocks that never came are missing.
NOT_LOOKED_AT = (*OF_DEAD_LINKS, "summary", "replay", "summary digest", "file digest", "blocks missing")


@dataclass(frozen=True)
class Drawn:
    """One fault of a run in lockstep."""

    what: str
    device: str
    tick: int
    disturb: object
    expected: ExpectedOutcome


@dataclass(frozen=True)
class Run:
    """A run that was made, and what is wrong with its outcome."""

    seed: int
    level: str
    faults: tuple[str, ...]
    wrong: tuple[str, ...]
    noticed: str


@cache
def lockstep_config():
    return load_config("sim_impact", SETTINGS)


def draw_device_fault(chance, config, device):
    """A fault of a device with random parameters."""
    kind = chance.choice(KINDS)
    longest = LONGEST_MS if device != "drives" or chance.random() < 0.5 else DRIVES_MS
    ms = math.exp(chance.uniform(0.0, math.log(longest)))
    if device == "drives" and kind == "intermittent" and DRIVES_MS < ms < 210.0:
        ms = 210.0
    every = round(math.exp(chance.uniform(math.log(2), math.log(500))))
    factor = chance.choice((-1.0, 1.0)) * math.exp(chance.uniform(math.log(1e-3), math.log(1e7)))
    fault = DeviceFault(kind, ms=ms, every=every, factor=factor)
    return kind, inject(device, fault), Expectations(config).of(device, fault)


def draw(seed):
    """The faults of a run in lockstep: one or two, of different devices."""
    chance, config = random.Random(seed), lockstep_config()
    found = []
    for device in chance.sample([*config.layout.links, "stage", "operator"], chance.choice((1, 2))):
        tick = chance.randint(*TICKS)
        if device == "stage":
            stage, method = chance.choice(METHODS)
            what, disturb = f"exception in {stage}.{method}", raising(stage, method)
            expected = ExpectedOutcome(frozenset({Fault.EXCEPTION}), 1.0)
        elif device == "operator":
            what, disturb = "e-stop", lambda run: run.loop.stop("soak")
            expected = ExpectedOutcome(frozenset({Fault.STOP_BY_OPERATOR}), 1.0)
        else:
            what, disturb, expected = draw_device_fault(chance, config, device)
        found.append(Drawn(what, device, tick, disturb, expected))
    return found


def in_lockstep(seed):
    """Make a run in lockstep and judge it."""
    config, faults = lockstep_config(), draw(seed)
    names = tuple(f"{fault.device}: {fault.what}" for fault in faults)
    with tempfile.TemporaryDirectory(prefix="soak_") as folder:
        recorded = seed % RECORDED_EVERY == 1
        run = LockstepRun(Rig(config), Path(folder) if recorded else None, after_fault_s=AFTER_FAULT_S)
        for fault in faults:
            run.at(fault.tick, fault.disturb)
        result = run.run()
        wrong = [*unsafe(result), *judged(result, faults)]
        if recorded:
            failed = [check for check in verify(Path(folder)) if not check.ok and check.item not in NOT_LOOKED_AT]
            wrong += [f"record: {check.item}: {check.found}" for check in failed]
    events = result.faults
    return Run(seed, "lockstep", names, tuple(wrong), f"fault {events[0]['id']}" if len(events) else "not noticed")


def judged(result, faults):
    """What is wrong with what was noticed, and when."""
    events, ended_ns = result.faults, int(result.ticks["t_ns"][-1])
    period_ns = 1_000_000_000 // result.config.loop.rate_hz
    begun_ns = [(fault.tick - 1) * period_ns for fault in faults]
    due_ns = [
        at_ns + fault.expected.detect_ms * 1e6
        for at_ns, fault in zip(begun_ns, faults, strict=True)
        if not fault.expected.optional and fault.expected.detect_ms is not None
    ]
    safe = latched(Rig(result.config), result.events)
    if not len(safe):
        return ["not noticed"] if due_ns and min(due_ns) < ended_ns - period_ns else []
    wrong = []
    rows = frozenset().union(*(fault.expected.rows for fault in faults))
    if events[0]["id"] not in rows:
        wrong.append(f"noticed as fault {events[0]['id']} ({bytes(events[0]['detail']).decode()})")
    if events[0]["t_ns"] < min(begun_ns):
        wrong.append("noticed before it was there")
    if due_ns and safe[0]["t_ns"] > min(due_ns):
        wrong.append(f"noticed {(safe[0]['t_ns'] - min(due_ns)) * 1e-6:.0f} ms after its bound")
    # a device that takes no command any more has stopped by its own time-out, and a delayed one by a delayed command
    allowed_ms = 100.0 + result.config.links.drives_delay_ms + LONGEST_MS
    if (result.rig.drives.off_ns - int(safe[0]["t_ns"])) * 1e-6 > allowed_ms:
        wrong.append(f"stopped {reaction_ms(result):.0f} ms after the injection")
    return wrong


@cache
def protocol_level():
    """The cases there. A stopped recorder is waited for 15 s at the end of the run: `hil faults` has it."""
    every = [case for case in protocol_cases() if case.state == "run_up"]
    return [case for case in every if (case.device, case.kind) != ("recorder process", "stopped")]


class UnlessOver:
    """A step of a run whose loop may have ended."""

    def __init__(self, step):
        self.step = step

    def __call__(self, run):
        if not run.over:
            self.step(run)


def at_protocol_level(seed):
    """Make a run in virtual time, disturbed once or twice, and judge it."""
    chance = random.Random(seed)
    first, second = chance.sample(protocol_level(), 2)
    at_s, pause_s = chance.uniform(*MOMENTS_S), chance.uniform(0.0, 0.2)
    names, case, one = [f"{first.device}: {first.kind}"], replace(first, at_s=at_s), first.expected
    expected = ExpectedOutcome(one.rows, optional=one.optional, ends=one.ends)
    if chance.random() < 0.5 and not one.ends:
        names.append(f"{second.device}: {second.kind}")
        other = second.expected
        optional = all(each.optional or not each.rows for each in (one, other))
        expected = ExpectedOutcome(one.rows | other.rows | OF_DOUBLE_FAULTS, optional=optional, ends=other.ends)
        longer = protocol_config(LONGER)
        config = longer if longer in (first.config, second.config) else first.config
        case = replace(case, act=(*first.act, wait(pause_s), *map(UnlessOver, second.act)), config=config)
    outcome = run_case(replace(case, expected=expected))
    noticed = "not noticed" if outcome.detected_ms is None else f"after {outcome.detected_ms:.0f} ms"
    return Run(seed, "protocol", tuple(names), outcome.wrong, noticed)


# What two faults together may be noticed as, beside what each is.
OF_DOUBLE_FAULTS = frozenset(
    {Fault.PROCESS_LOST, Fault.LINK_LOST, Fault.SENSOR_DROPOUT, Fault.LOOP_LATE, Fault.DEAD_MAN_ACTED}
)


def make(seed):
    """The run of a seed."""
    try:
        return at_protocol_level(seed) if seed % EVERY == 0 else in_lockstep(seed)
    except Exception as error:
        return Run(seed, "?", (), (f"{type(error).__name__}: {error}",), "")


def table(runs):
    """Counts by level, device and kind; then every unsafe outcome with its seed."""
    counts = Counter((run.level, fault, bool(run.wrong)) for run in runs for fault in run.faults)
    lines = [f"{'level':9s} {'fault':48s} {'runs':>5s} {'unsafe':>7s}"]
    for level, fault in sorted({(level, fault) for level, fault, _ in counts}):
        good, bad = counts[level, fault, False], counts[level, fault, True]
        lines.append(f"{level:9s} {fault:48s} {good + bad:5d} {bad:7d}")
    unsafe_runs = [run for run in runs if run.wrong]
    for run in unsafe_runs:
        lines.append(f"seed {run.seed} ({run.level}; {', '.join(run.faults)}): {'; '.join(run.wrong)}")
    levels = Counter(run.level for run in runs)
    doubles = sum(len(run.faults) > 1 for run in runs)
    noticed = sum(run.noticed not in ("", "not noticed") for run in runs)
    made = f"{len(runs)} runs ({levels['lockstep']} in lockstep, {levels['protocol']} at the protocol level)"
    return "\n".join([*lines, f"{made}, {doubles} with two faults, {noticed} noticed: {len(unsafe_runs)} unsafe"])


def main():
    """Make all runs and print the results; exit status 1 if any is unsafe."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each has the next")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    began = time.monotonic()
    seeds = range(arguments.seed, arguments.seed + arguments.runs)
    runs = [make(seeds[0])]  # alone: it compiles what is not in the cache
    with ProcessPoolExecutor(arguments.workers, multiprocessing.get_context("spawn")) as pool:
        for run in pool.map(make, seeds[1:], chunksize=5):
            runs.append(run)
            if run.wrong:
                print(f"seed {run.seed}: {'; '.join(run.wrong)}", flush=True)
            if len(runs) % 100 == 0:
                print(f"{len(runs)} of {len(seeds)} after {time.monotonic() - began:.0f} s", flush=True)
    print(table(runs))
    sys.exit(any(run.wrong for run in runs))


if __name__ == "__main__":
    main()
