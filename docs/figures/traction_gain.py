"""Gain in drawbar pull of the load distribution max_traction over passive, with its spread over seeds.

Run: python docs/figures/traction_gain.py --seeds 20

Each seed is a pair of runs at the same slip on the same perturbed rig. A gain is claimed only where the 95 % confidence
interval of its mean excludes zero. Prints a table.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from outputs import parsed, parser_of
from scipy import stats

from hil.campaign.sweep import expand_sweep, run_sweep
from hil.campaign.workers import process_pool, this_process
from hil.config.rig import one_of_each_kind

# Speeds and not duties: on a slope the gears are self-locking, because the rover stands there before it drives.
ALL = (
    "drawbar.duty=null", "drawbar.settle_s=3", "drawbar.measure_s=1", "telemetry.endpoint=''", "drives.on_cut=brake",
    "drives.torque_limit_Nm=150", "drives.gear_friction_Nm=60", "drives.friction_speed_radps=0.004",
    "plant.spread.mass=0.05", "plant.spread.soil=0.1",
)  # fmt: skip
CASES = {
    "level sand": (),
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
    """Differences in pull [N] of the pairs of accepted runs, and the passive pulls: (2, pairs).

    Args:
        case: a key of CASES.
        seeds: so many pairs.
        processes: that make the runs; 0: this one.
    """
    over = ["drawbar.mode=passive,max_traction", f"seed=1:{seeds}:1"]
    runs = expand_sweep("sim_drawbar", over, [*ALL, *CASES[case]], None)
    kinds = one_of_each_kind([run.config for run in runs])
    place = partial(process_pool, processes, kinds, print) if processes else partial(this_process, kinds, print)
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
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    given, out = parsed(parser)
    rows = []
    for case in out.some(given.cases, 1):
        gain, passive = gains(case, 2, 0) if out.quick else gains(case, given.seeds, given.workers)
        if gain.size < 2:
            rows.append([case, f"{gain.size}", "-", "-", "-", "-", "no"])
            continue
        deviation = float(gain.std(ddof=1))
        half = float(stats.t.ppf(0.975, gain.size - 1)) * deviation / np.sqrt(gain.size)
        low, high = gain.mean() - half, gain.mean() + half
        claimed = "yes" if low > 0.0 or high < 0.0 else "no"
        numbers = (f"{passive.mean():.0f}", f"{gain.mean():.1f}", f"{deviation:.1f}", f"{low:.1f} to {high:.1f}")
        rows.append([case, f"{gain.size}", *numbers, claimed])
    spread = ("gain, mean [N]", "standard deviation [N]", "95 % interval [N]")
    head = ("ground", "pairs", "passive [N]", *spread, "claimed")
    out.table("docs/how-to/measure-traction.md", "traction gain", head, rows)


if __name__ == "__main__":
    main()
