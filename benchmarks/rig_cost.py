"""What the rig at the protocol level costs: processor time and context switches of each process of a trial.

`python benchmarks/rig_cost.py [--against FOLDER] [--runs 5] [--set KEY=VALUE ...]` runs trials of `sim_wire`
in real time and measures their processes from outside while the rover drives. With --against, each run alternates with
one of another checkout that is installed (its `.venv`), so that both have the same machine. The table has the median
over the runs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

from hil.bench.conditions import RUNNING, process_name, seconds_used

# A rover that does not reach its obstacle, and ages that a slow machine does not pass, so that no run ends early.
SETTINGS = (
    "trial.start_distance_m=1",
    "trial.timeout_s=100",
    "telemetry.endpoint=''",
    "record.sensors=burst",
    "limits.daq_age_ms=1000",
    "limits.drives_age_ms=5000",
    "limits.valves_age_ms=5000",
)
# When the measurement begins, after the run has, and its length [s].
SETTLED_S = 1.0
MEASURED_S = 3.0

# Share of a processor, and voluntary context switches a second.
Cost = tuple[float, float]


def switches(process: int) -> int:
    """Voluntary context switches of a process so far, all its threads together."""
    total = 0
    for status in Path(f"/proc/{process}/task").glob("*/status"):
        with suppress(OSError):  # gone meanwhile
            lines = status.read_text(encoding="utf-8").splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))
    return total


def measured(root: int) -> dict[str, Cost]:
    """Cost by name of a process and its descendants, over `MEASURED_S`."""
    before = {process: (used, switches(process)) for process, used in seconds_used(root).items()}
    time.sleep(MEASURED_S)
    costs: dict[str, Cost] = {}
    for process, used in seconds_used(root).items():
        if process in before and (name := process_name(process)):
            share, wakes = costs.get(name, (0.0, 0.0))
            used_before, switches_before = before[process]
            wakes += (switches(process) - switches_before) / MEASURED_S
            costs[name] = share + (used - used_before) / MEASURED_S, wakes
    return costs


def trial(checkout: Path, settings: Sequence[str]) -> dict[str, Cost] | None:
    """The costs of one trial of a checkout; None if it ended before they were measured."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(checkout / ".venv/bin/python"),
            "-P",
            "-m",
            "hil.cli",
            "trial",
            "sim_wire",
            "--out",
            f"{folder}/run",
        ]
        command += [f"--set={item}" for item in (*SETTINGS, *settings)]
        with subprocess.Popen(
            command, cwd=checkout, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as hil:
            assert hil.stderr is not None
            if not any(line.startswith(RUNNING) for line in hil.stderr):
                return None
            time.sleep(SETTLED_S)
            costs = measured(hil.pid)
            whole = hil.poll() is None and len(costs) > 1
            hil.terminate()
            hil.stderr.read()
    return costs if whole else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout with its .venv")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    given = parser.parse_args()
    checkouts = [Path(__file__).parents[1], *([given.against.resolve()] if given.against else [])]
    runs: dict[Path, list[dict[str, Cost]]] = defaultdict(list)
    for number in range(given.runs):
        for checkout in checkouts:
            costs = trial(checkout, given.settings)
            if costs is not None:
                runs[checkout].append(costs)
            print(f"run {number + 1}, {checkout.name}: {'measured' if costs else 'ended early'}", file=sys.stderr)
    names = sorted({name for of in runs.values() for costs in of for name in costs})
    print("share of a processor, voluntary context switches a second | " + " | ".join(one.name for one in checkouts))
    for name in ["all processes", *names]:
        cells = []
        for checkout in checkouts:
            of = [[cost for each, cost in costs.items() if name in ("all processes", each)] for costs in runs[checkout]]
            if not any(of):
                cells.append("-")
                continue
            share, wakes = (median(sum(cost[i] for cost in costs) for costs in of) for i in (0, 1))
            cells.append(f"{share:5.1%}, {wakes:6.0f}")
        print(f"{name:57} | " + " | ".join(cells))


if __name__ == "__main__":
    main()
