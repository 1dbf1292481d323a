"""Peak contact force against the delay of the cut: what the link from sensors to drives buys over an operator's thumb.

Run: python docs/figures/cut_delay.py    (about half a minute; writes docs/images/cut_delay.png and prints the table)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from hil.app.run import run
from hil.config import load_config

DELAYS_MS = (0, 2, 5, 10, 20, 50, 100, 150, 200, 250, 300)
SEEDS = (1, 2, 3)
QUIET = ("trial.start_distance_m=0.08", "telemetry.endpoint=''")
OUT = Path(__file__).parent.parent / "images" / "cut_delay.png"


def peak_force(delay_ms: float, seed: int) -> float:
    """Peak over both front wheels [N] with the drives' link delayed by delay_ms."""
    config = load_config("sim_impact", [*QUIET, f"links.drives_delay_ms={delay_ms}"], seed=seed)
    return float(run(config).summary["contact_force_peak_N"])


def main() -> None:
    """Run the trials, print the table, draw the figure."""
    peaks = np.array([[peak_force(delay, seed) for seed in SEEDS] for delay in DELAYS_MS])
    for delay, row in zip(DELAYS_MS, peaks, strict=True):
        print(f"| {delay} | {row.mean():.0f} | {row.min():.0f}-{row.max():.0f} |")
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.fill_between(DELAYS_MS, peaks.min(axis=1), peaks.max(axis=1), alpha=0.25, label=f"seeds {SEEDS}")
    axes.plot(DELAYS_MS, peaks.mean(axis=1), "o-", label="mean")
    axes.axvspan(150, 300, color="0.85", zorder=0, label="a person's reaction, 150 ms and more")
    axes.set(
        xlabel="delay from detection to the cut at the axle [ms]",
        ylabel="peak contact force, both wheels [N]",
        ylim=(0, None),
        title="60 degrees, 70 mm/s, simulated RCP on dry sand, cut to coasting",
    )
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(OUT, dpi=110)


if __name__ == "__main__":
    main()
