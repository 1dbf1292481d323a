"""Latency of the cut as its distribution, and peak contact force against a delay of the cut.

Where the impact lies between two ticks and two blocks of samples decides the latency, so that one trial says little:
the start is moved by fractions of the way that the rover makes in a block.

Run: python docs/figures/cut_delay.py    (two to five minutes; writes docs/images/cut_delay.png and prints the tables)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from outputs import outputs

from hil.app.run import run
from hil.config import load_config

PAGE = "docs/benchmarks/cut.md"
DELAYS_MS = (0, 2, 5, 10, 20, 50, 100, 150, 200, 300)
PHASES, PHASES_A_DELAY, SEEDS = 60, 6, (1, 2, 3)
BLOCK_WAY_M = 0.07 * 2e-3  # of the rover in a block of samples
QUIET = ("telemetry.endpoint=''", "record.after_s=0.4", "trial.settle_s=0.5")


def trials(delay_ms: float, phases: int) -> np.ndarray:
    """(phases, 2): latency of the cut command [ms] and peak over both front wheels [N], at phases over a block."""
    rows = []
    for number in range(phases):
        start_m = 0.08 + BLOCK_WAY_M * number / phases
        overrides = [*QUIET, f"trial.start_distance_m={start_m:.7f}", f"links.drives_delay_ms={delay_ms}"]
        summary = run(load_config("sim_impact", overrides, seed=SEEDS[number % len(SEEDS)])).summary
        rows.append((summary["cut_latency_ms"], summary["contact_force_peak_N"]))
    return np.array(rows)


def delay_table(delays: Sequence[float], bands: np.ndarray) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the page's table: a column for each delay, from p5, median and p95 of the peak [N]."""
    seeds = f"phases of {len(SEEDS)} seeds"
    medians = [f"peak force on both wheels, median over {seeds} [N]", *(f"{middle:.0f}" for _, middle, _ in bands)]
    ranges = ["p5 to p95 [N]", *(f"{low:.0f}-{high:.0f}" for low, _, high in bands)]
    over = ["over that at 0", *(f"{middle / bands[0, 1]:.1f}" for _, middle, _ in bands)]
    return ["delay [ms]", *(f"{delay:g}" for delay in delays)], [medians, over, ranges]


def main() -> None:
    """Run the trials, print the tables, draw the figure."""
    out = outputs(__doc__)
    delays = out.some(DELAYS_MS)
    phases, phases_a_delay = (2, 1) if out.quick else (PHASES, PHASES_A_DELAY)
    found = {delay: trials(delay, phases if delay == 0 else phases_a_delay) for delay in delays}
    latency = found[0][:, 0]
    p50, p99 = np.percentile(latency, (50, 99))
    first, median = f"{latency.min():.1f} to {latency.max():.1f} ms after the first sample", f"median {p50:.1f}"
    out.put(PAGE, "latency", f"The cut comes {first} ({median}, p99 {p99:.1f} ms):")
    bands = np.array([np.percentile(rows[:, 1], (5, 50, 95)) for rows in found.values()])
    out.table(PAGE, "cut delay", *delay_table(delays, bands))
    slope = np.polyfit(delays[:5], bands[:5, 1], 1)[0]
    print(f"slope up to {delays[:5][-1]} ms: {slope:.2f} N/ms")

    figure = Figure(figsize=(7.1, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.step(np.sort(latency), np.arange(1, phases + 1) / phases, where="post", color="#004488")
    for value, name, style in ((p50, "p50", "--"), (p99, "p99", ":")):
        left.axvline(value, color="#bb5566", ls=style, lw=1.2, label=f"{name}: {value:.2f} ms")
    title = f"Latency of the cut: {phases} trials"
    left.set(xlabel="first sample over the threshold to the cut [ms]", ylabel="share of trials", title=title)
    left.set(xlim=(0, None), ylim=(0, 1.02))
    right.fill_between(delays, bands[:, 0], bands[:, 2], color="#bb5566", alpha=0.3, label="p5 to p95")
    right.plot(delays, bands[:, 1], "o-", color="#004488", ms=3.5, lw=1.2, label="median")
    right.axvspan(150, 300, color="0.88", zorder=0, label="a person's reaction")
    right.set(xlabel="delay from detection to the cut at the axle [ms]", ylabel="peak force, both wheels [N]")
    right.set(ylim=(0, None), title="60 degrees, 70 mm/s, dry sand, coasting")
    for axes in (left, right):
        axes.title.set_size(9)
        axes.tick_params(labelsize=8)
        axes.xaxis.label.set_size(8)
        axes.yaxis.label.set_size(8)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize=7, loc="best")
    out.picture(figure, "cut_delay.png", dpi=150)


if __name__ == "__main__":
    main()
