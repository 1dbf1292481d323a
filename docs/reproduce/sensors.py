"""MacMahon 2016, fig. 6-8 (three sensors behind an ideal, smooth-wheel impact) and the 181, 276 and 310 N of 6.2.7.

Run: python docs/reproduce/sensors.py [--offsets 8] [--out docs/images] (a minute; prints the rows, draws the figure)

Fig. 6-8: one trial whose sensors have no noise, no droop and no ring. 181, 276 and 310 N: the sums of the sensors'
peaks of three 90-degree trials, of which two offsets are printed, 7 and -4 degrees; here 90-degree trials over a whole
pitch.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from hil.app.run import RunResult, run
from hil.config import load_config

MEASURED_N = (181.0, 276.0, 310.0)
COMMON = ("telemetry.endpoint=''", "trial.start_distance_m=0.1", "trial.settle_s=1", "record.after_s=1")
IDEAL = ("daq.ring_share=0", "daq.droop_s=1000", "plant.spread.sensitivity=0", "ground.kind=none")
PITCH_DEG = 360.0 / 22.0


def trial(*settings: str) -> tuple[RunResult, Any]:
    """A trial, and its config."""
    config = load_config("sim_impact", [*COMMON, *settings], seed=1)
    return run(config), config


def ideal(path: Path | None) -> dict[str, float]:
    """Fig. 6-8: each sensor's share of the sum at its peak, and how far apart the peaks are [ms]."""
    result, config = trial("trial.angle_deg=60", *IDEAL)
    assert result.samples is not None
    t_ns, volts = result.samples
    force = (volts - volts[: config.daq.rate_hz // 5].mean(axis=0)) * 1e3 / np.array(config.sensitivities_mVpN)
    count = config.daq.rate_hz // 3000
    force = force[: len(force) // count * count].reshape(-1, count, force.shape[1]).mean(axis=1)
    t_ms = 1e-6 * (t_ns[: len(force) * count : count] - 1e9 * result.summary["impact_time_s"])
    tops = np.argmax(force, axis=0)
    if path:
        figure = Figure(figsize=(7.0, 4.0), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        near = (t_ms > -20.0) & (t_ms < 200.0)
        for name, values, style in zip(config.layout.channels, force.T, ("-", "--", ":"), strict=True):
            axes.plot(t_ms[near], values[near], style, label=name.replace("_", " "))
        axes.set(xlabel="time after the impact [ms]", ylabel="force [N]", title="Smooth wheel at 60°, ideal sensors")
        axes.grid(alpha=0.3)
        axes.legend()
        figure.savefig(path / "reproduce_ideal_sensors.png", dpi=150)
    shares = force[tops, range(3)] / force[tops, range(3)].sum()
    return {
        **dict(zip(config.layout.channels, shares.tolist(), strict=True)),
        "apart_ms": float(np.ptp(t_ms[tops])),
        "sum_N": float(force[tops, range(3)].sum()),
    }


def over_offsets(count: int) -> list[tuple[float, float, float]]:
    """Of 90-degree trials on sand: offset at the impact [deg], sum of peaks [N], number of hits."""
    found = []
    for start_deg in np.linspace(0.0, PITCH_DEG, count, endpoint=False):
        result, _ = trial("trial.angle_deg=90", "wheel.grousers=22", f"wheel.grouser_offset_deg={start_deg:.3f}")
        offset_deg, sum_N, hits = (
            result.summary[key] for key in ("grouser_offset_deg", "sum_of_peaks_N", "grouser_hits")
        )
        found.append((float(offset_deg), float(sum_N), float(hits)))
    return sorted(found)


def main() -> None:
    """Print the rows and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--offsets", type=int, default=8)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    asked = parser.parse_args()
    found = ideal(asked.out)
    print(
        f"fig. 6-8: about 1/2, 1/4, 1/4, all peaks at once; here {found['top']:.2f}, {found['lower_left']:.2f}, "
        f"{found['lower_right']:.2f}, peaks {found['apart_ms']:.1f} ms apart, {found['sum_N']:.0f} N in all"
    )
    rows = over_offsets(asked.offsets)
    for offset_deg, force_N, hits in rows:
        print(f"90 degrees, offset {offset_deg:+.1f} deg: {force_N:.0f} N, {hits:.0f} hits")
    forces = [force for _, force, _ in rows]
    print(
        f"thesis: {MEASURED_N[0]:g}, {MEASURED_N[1]:g}, {MEASURED_N[2]:g} N, largest over least "
        f"{MEASURED_N[2] / MEASURED_N[0]:.2f}; here {min(forces):.0f} to {max(forces):.0f} N, "
        f"{max(forces) / min(forces):.2f}"
    )


if __name__ == "__main__":
    main()
