"""Wheel loads controlled over simulated devices in real time: `python tests/soak/load_runs.py --runs 10`.

Each run is `hil run sim_normal_force_wire` with real processes, once with a regulator for each cylinder and once with
on-off valves on a relay board at 9600 baud. Its record must show no fault and loads that settle within 4 s. A machine
that stands still ends a run in Safe, or before it begins; then the run must name the stall. The load of each line
is that of `hil check`, which refuses a line above its limit. Prints a line for each run, and a table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from hil.app.check.host import bus_loads
from hil.config import load_config
from hil.config.rig_setup import rig_setup
from hil.recording import read_trial

CONFIG = "sim_normal_force_wire"
SETTINGS = (
    "telemetry.endpoint=''",
    "normal_force.steps=[{for_s: 1, mode: passive}, {for_s: 4, mode: uniform}]",
)
RIGS = {
    "a regulator each": (),
    "on-off valves, relay board at 9600 baud": ("cylinders.regulators=none", "devices.valves.regulators=null"),
}
LONGEST_S, NEAR_BEST = 4.0, 0.03
# How a stall of the machine, and one of the simulated devices, is named.
STALLS = ("stood still for", "kept the loop waiting for", "rig late by")


@dataclass
class LoadRun:
    """One run.

    Attributes:
        whole: it had no fault.
        wrong: what it does not show, or a stall that it does not name.
        settle_s: of a whole run.
        words: what came out.
    """

    whole: bool
    wrong: bool
    settle_s: float
    words: str


def load_run(folder: Path, settings: tuple[str, ...], seed: int) -> LoadRun:
    """Make a run and judge it."""
    command = [sys.executable, "-P", "-m", "hil.cli", "run", CONFIG, "--out", str(folder), "--seed", str(seed)]
    command += [part for setting in settings for part in ("--set", setting)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not (folder / "summary.json").exists():
        words = done.stderr.strip().splitlines()[-1]
        return LoadRun(False, not names_stall(done.stderr), 0.0, f"did not begin: {words}")
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    if done.returncode:
        words = "; ".join(summary["reasons"])
        return LoadRun(False, not names_stall(words), 0.0, f"Safe: {words}")
    return judged(summary, any(read_trial(folder).events["id"]))


def names_stall(words: str) -> bool:
    return any(stall in words for stall in STALLS)


def judged(summary: dict[str, Any], fault: bool) -> LoadRun:
    """A run that went to its end."""
    found, link = summary["normal_force"], summary["links"]["valves"]
    settle_s = found["settle_s"] or float("inf")
    near = abs(found["spread_after"] - found["spread_best"]) <= NEAR_BEST
    words = (
        f"settled after {settle_s:.2f} s; spread {found['spread_before']:.3f}, then {found['spread_after']:.3f}, best "
        f"{found['spread_best']:.3f}; valves {link['rate_hz']:.2f} Hz, "
        f"errors {link['errors']}, retries {link['retries']}"
    )
    good = near and settle_s <= LONGEST_S and found["limits_met"] and not fault
    return LoadRun(True, not good, settle_s, words)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    given = parser.parse_args()
    runs: dict[str, list[LoadRun]] = {rig: [] for rig in RIGS}
    for number in range(1, given.runs + 1):
        for rig, settings in RIGS.items():
            with tempfile.TemporaryDirectory(prefix="loads_") as folder:
                run = load_run(Path(folder) / "run", (*SETTINGS, *settings), number)
            runs[rig].append(run)
            print(f"{rig}, run {number}: {'WRONG: ' if run.wrong else ''}{run.words}", flush=True)
    print("rig | whole; ended by a stall | settled after: p50, longest | load of the lines")
    for rig, settings in RIGS.items():
        settled = [run.settle_s for run in runs[rig] if run.whole]
        times = f"{median(settled):.2f}, {max(settled):.2f} s" if settled else "-"
        config = load_config(CONFIG, [*SETTINGS, *settings])
        loads = bus_loads(config.devices, rig_setup(config))
        lines = ", ".join(f"{load.found} ({load.allowed})" for load in loads if load.item.startswith("bus load"))
        print(f"{rig} | {len(settled)}; {len(runs[rig]) - len(settled)} | {times} | {lines}")
    return int(any(run.wrong for made in runs.values() for run in made))


if __name__ == "__main__":
    sys.exit(main())
