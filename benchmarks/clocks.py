"""The same trial in real time and in lockstep; lockstep uses the cut delay measured in real time.

`python benchmarks/clocks.py [--seeds 5] [--wire]` runs three trials a seed, 10 s each in real time, and prints both
results. With --wire real drivers talk to simulated devices (sim_wire).
"""

from __future__ import annotations

import argparse
from statistics import fmean
from typing import Any

from hil.app.run import run
from hil.config import load_config

LOCKSTEP = ("rig=simulated", "clock=lockstep")
FORCE, ENERGY, CUT = "contact_force_peak_N", "effective_kinetic_energy_plant_J", "cut_effective_ms"


def trial(source: str, seed: int, *overrides: str) -> dict[str, Any]:
    config = load_config(source, ["telemetry.endpoint=''", *overrides], seed)
    outcome = run(config)
    if outcome.exit_code:
        raise SystemExit(f"seed {seed}: {outcome.summary['reasons']}")
    return outcome.summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--wire", action="store_true", help="real drivers, simulated devices")
    given = parser.parse_args()
    source = "sim_wire" if given.wire else "sim_impact"
    real, lock = [], []
    print("seed | cut delay real, lockstep [ms] | peak real, lockstep [N] | T_c real, lockstep [J]")
    for seed in range(1, given.seeds + 1):
        one = trial(source, seed, "clock=realtime")
        delay_ms = max(one[CUT] - trial(source, seed, *LOCKSTEP)[CUT], 0.0)
        two = trial(source, seed, *LOCKSTEP, f"links.drives_delay_ms={delay_ms}")
        real.append(one)
        lock.append(two)
        print(
            f"{seed:4} | {one[CUT]:.3f}, {two[CUT]:.3f} | {one[FORCE]:.2f}, {two[FORCE]:.2f} | "
            f"{one[ENERGY]:.5f}, {two[ENERGY]:.5f}"
        )
    for key in (FORCE, ENERGY):
        a, b = fmean(item[key] for item in real), fmean(item[key] for item in lock)
        print(f"mean {key}: realtime {a:.5g}, lockstep {b:.5g}, apart by {abs(a / b - 1):.3%}")


if __name__ == "__main__":
    main()
