"""The peak by strain gauges on the obstacle's frame against the plant's true force, over links, angle and ground.

Run: python docs/figures/strain_gauges.py    (about two minutes; prints the table and writes it into sensing.md)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from outputs import outputs

from hil.app.run import run
from hil.config import load_config
from hil.simulator.ground_truth import PLATE_PEAK

PAGE, TRIALS = "docs/explanation/sensing.md", 12
FIRM, BOTTOM = "ground.kind=firm", "loads.strain_gauges.link=bottom"
SHORT = (
    "telemetry.endpoint=''", "loads={strain_gauges: {}}", "trial.start_distance_m=0.1", "trial.settle_s=0.6",
    "record.after_s=0.6",
)  # fmt: skip
CASES = {
    "rear links, firm": (FIRM,),
    "rear links, firm, 40 degrees": (FIRM, "trial.angle_deg=40"),
    "rear links, firm, 22 grousers": (FIRM, "wheel.grousers=22"),
    "rear links, soil": (),
    "rear links, soil, `daq.sinkage_m` 0.006": ("daq.sinkage_m=0.006",),
    "bottom links, firm": (FIRM, BOTTOM),
    "bottom links, soil": (BOTTOM,),
}


def row(name: str, settings: Sequence[str], trials: int) -> list[str]:
    """One case: its line of the table."""
    ratios, widths, inside = [], [], 0
    for seed in range(1, trials + 1):
        made = run(load_config("sim_impact", [*SHORT, *settings], seed=seed))
        true_N = float(made.events["value"][made.events["name"] == PLATE_PEAK.encode()][0])
        peak_N, u95_N = made.summary["strain_peak_N"], made.summary["strain_peak_u95_N"]
        ratios.append(peak_N / true_N)
        widths.append(u95_N / peak_N)
        inside += abs(peak_N - true_N) <= u95_N
    spread = f"{np.std(ratios, ddof=1):.3f}"
    return [name, f"{np.mean(ratios):.3f}", spread, f"{100.0 * np.mean(widths):.0f} %", f"{inside} of {trials}"]


def main() -> None:
    """Print the table, and write it into its page."""
    out = outputs(__doc__)
    trials = 2 if out.quick else TRIALS
    rows = [row(name, settings, trials) for name, settings in CASES.items()]
    head = ("case", "peak over the true one, mean", "standard deviation", "stated half-width", "within it")
    out.table(PAGE, "strain", head, rows)


if __name__ == "__main__":
    main()
