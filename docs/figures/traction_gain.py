"""Gain in drawbar pull of the load distribution max_traction over passive, with its spread over seeds.

    python docs/figures/traction_gain.py --seeds 20

Each seed is a pair of runs at the same slip on the same perturbed rig. A gain is claimed only where the 95 % confidence
interval of its mean excludes zero. Prints a table.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from scipy import stats

from hil.campaign.sweep import expand_sweep, run_sweep
from hil.campaign.trial import kinds_of
from hil.campaign.workers import process_pool

# Speeds and not duties: on a slope the gears are self-locking, because the rover stands there before it drives.
ALL = (
    "drawbar.duty=null", "drawbar.settle_s=3", "drawbar.measure_s=1", "telemetry.endpoint=''", "drives.on_cut=brake",
    "drives.torque_limit_Nm=150", "drives.gear_friction_Nm=60", "drives.friction_speed_radps=0.004",
    "plant.spread.mass=0.05", "plant.spread.soil=0.1",
)  # fmt: skip
CASES = {
    "level": (),
    "slope of 15 degrees": ("ground.pitch_deg=15",),
    "front left wheel 5 cm higher": ("ground.wheel_height_m=[0.05, 0, 0, 0, 0, 0]",),
}


class Quiet:
    """Shows lines, and no counts."""

    def text(self, line: str) -> None:
        """Something happened."""
        print(line, flush=True)

    def done(self, count: int, total: int) -> None:
        """So many of all runs are done."""


def gains(case: str, seeds: int, processes: int) -> np.ndarray:
    """Differences in pull [N] of the pairs of accepted runs, and the passive pulls: (2, pairs)."""
    over = ["drawbar.mode=passive,max_traction", f"seed=1:{seeds}:1"]
    runs = expand_sweep("sim_drawbar", over, [*ALL, *CASES[case]], None)
    place = partial(process_pool, processes, kinds_of([run.config for run in runs]), print)
    with tempfile.TemporaryDirectory() as folder:
        rows = run_sweep(runs, Path(folder) / "runs.csv", "csv", place, Quiet(), lambda: False)
    pull = {(row["drawbar.mode"], row["seed"]): row["pull_N"] for row in rows if row["accepted"]}
    left_out = sorted({row["reasons"] for row in rows if not row["accepted"]})
    if left_out:
        print(f"{case}, not accepted: {'; '.join(left_out)}")
    pairs = [seed for seed in range(1, seeds + 1) if {("passive", seed), ("max_traction", seed)} <= pull.keys()]
    passive, best = (np.array([pull[mode, seed] for seed in pairs]) for mode in ("passive", "max_traction"))
    return np.array([best - passive, passive])


def main() -> None:
    """Print a row for each case."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    given = parser.parse_args()
    print("| case | pairs | passive [N] | gain, mean [N] | standard deviation [N] | 95 % interval [N] | claimed |")
    print("|---|---|---|---|---|---|---|")
    for case in given.cases:
        gain, passive = gains(case, given.seeds, given.workers)
        if gain.size < 2:
            print(f"| {case} | {gain.size} | - | - | - | - | no |")
            continue
        deviation = float(gain.std(ddof=1))
        half = float(stats.t.ppf(0.975, gain.size - 1)) * deviation / np.sqrt(gain.size)
        low, high = gain.mean() - half, gain.mean() + half
        claimed = "yes" if low > 0.0 or high < 0.0 else "no"
        numbers = f"{passive.mean():.0f} | {gain.mean():.1f} | {deviation:.1f} | {low:.1f} to {high:.1f}"
        print(f"| {case} | {gain.size} | {numbers} | {claimed} |", flush=True)


if __name__ == "__main__":
    main()
