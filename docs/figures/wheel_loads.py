"""Tables and picture of docs/how-to/control-wheel-loads.md: spreads, and steps of a load with each kind of chambers.

Run: python docs/figures/wheel_loads.py    (three minutes; writes docs/images/normal_force.png)
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from outputs import Outputs, outputs

from hil.app.run import RunResult, run, run_experiment
from hil.config import Config, load_config
from hil.experiments.drive import DRIVE

PAGE = "docs/how-to/control-wheel-loads.md"
QUIET = "telemetry.endpoint=''"
# The shipped run drives 8 s passive and 8 s controlled; a small part of it shows that it runs.
SHORT = "normal_force.steps=[{for_s: 0.5, mode: passive}, {for_s: 1, mode: uniform}]"
# The plant is the twin, and nothing sticks.
EXACT = (
    "plant.spread.mass=0", "plant.spread.soil=0", "plant.noise.pressure_kPa=0", "plant.noise.speed_radps=0",
    "cylinders.friction={static_N: 0, coulomb_N: 0}",
)  # fmt: skip
CYLINDERS = {
    "three": "left_bogie, right_bogie, rear_bogie",
    "two, as in the thesis": "left_bogie, right_bogie",
    "the rear bogie's alone": "rear_bogie",
}
# Shares of all wheels: even, that of middle_right a fifth larger, and a fifth smaller.
SHARES = (
    "[0.1667, 0.1667, 0.1667, 0.1667, 0.1666, 0.1666]",
    "[0.16, 0.16, 0.16, 0.2, 0.16, 0.16]",
    "[0.1734, 0.1733, 0.1733, 0.1334, 0.1733, 0.1733]",
)
STEP_S = 5.0
LINES = "on-off, lines 0.05 and 0.03 s (fill, vent)"
GAS = ("cylinders.regulators=none", "cylinders.model=compressible")
CHAMBERS: dict[str, tuple[str, ...]] = {
    "a regulator each": ("cylinders.regulators=each",),
    "common regulator": ("cylinders.regulators=common",),
    LINES: ("cylinders.regulators=none",),
    "the same, supply 120 kPa": ("cylinders.regulators=none", "cylinders.supply_kPa=120"),
    "the same, bore 25 mm, 450 kPa": (
        "cylinders.regulators=none", "cylinders.bore_mm=25", "cylinders.supply_kPa=450", "limits.cylinder_kPa=450",
    ),
    "the same, bore 63 mm, 75 kPa": ("cylinders.regulators=none", "cylinders.bore_mm=63", "cylinders.supply_kPa=75"),
    "on-off, lines 0.2 and 0.2 s": (
        "cylinders.regulators=none", "cylinders.fill_time_s=0.2", "cylinders.vent_time_s=0.2",
    ),
    "on-off, lines 0.6 and 0.6 s": (
        "cylinders.regulators=none", "cylinders.fill_time_s=0.6", "cylinders.vent_time_s=0.6",
    ),
    **{
        f"compressible gas, valve {ms} ms": (*GAS, f"cylinders.valve.on_ms={ms}", f"cylinders.valve.off_ms={ms}")
        for ms in (0, 20, 50, 100)
    },
}  # fmt: skip


def config_of(*over: str) -> Config:
    """sim_normal_force with these values."""
    return load_config("sim_normal_force", [QUIET, *over])


def spread_row(name: str, summary: dict[str, Any]) -> list[str]:
    """Cells of the table of spreads."""
    if not summary["accepted"]:
        print(f"{name}, not accepted: {'; '.join(summary['reasons'])}")
    found = summary["normal_force"]
    settled = "never" if found["settle_s"] is None else f"{found['settle_s']:.2f} s"
    return [name, *(f"{found[key]:.4f}" for key in ("spread_before", "spread_after", "spread_best")), settled]


def spreads(out: Outputs) -> None:
    """Passive, controlled and best spread; the picture is of the first run."""
    steps = (SHORT,) if out.quick else ()
    rows = []
    for number, (name, joints) in enumerate(out.some(list(CYLINDERS.items())[:2], 1)):
        with tempfile.TemporaryDirectory() as folder:
            config = config_of(*steps, f"cylinders.joints=[{joints}]")
            place = Path(folder) / "three_cylinders"  # the figure names its run
            place.mkdir()
            summary = run_experiment(config, place, progress=lambda _: None).summary
            rows.append(spread_row(name, summary))
            errors = ", ".join(f"{value:.1f}" for value in summary["load_error_N"]["twin"])
            print(f"{name}: loads of the twin off by {errors} N, rms by wheel")
            if number == 0:
                images = out.root / "docs" / "images"
                images.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(place / "normal_force.png", images / "normal_force.png")
    for name, joints in out.some(list(CYLINDERS.items()), 1):
        result = run(config_of(*steps, *EXACT, f"cylinders.joints=[{joints}]"))
        rows.append(spread_row(f"{name}; plant equal to the twin, no friction", result.summary))
    head = ("cylinders, a regulator each", "spread, passive", "controlled", "best", "settled after")
    out.table(PAGE, "spreads", head, rows)


def swing(result: RunResult, steps: Sequence[dict[str, Any]]) -> float:
    """Largest load less least [N] of the wheel that swings most, over the last second of each step; by the twin."""
    driving = result.ticks[result.ticks["state"] == DRIVE]
    t_s = driving["t_ns"] * 1e-9
    ends = [driving["normal_force_N"][(t_s > one["end_s"] - 1.0) & (t_s < one["end_s"])] for one in steps]
    return float(max(np.ptp(loads, axis=0).max() for loads in ends))


def chambers(out: Outputs) -> None:
    """Steps of a share, by what holds the pressures."""
    for_s = 0.5 if out.quick else STEP_S
    shares = ", ".join(f"{{for_s: {for_s}, mode: share, share: {share}}}" for share in SHARES)
    rows = []
    for name, keys in out.some(list(CHAMBERS.items()), 1):
        result = run(config_of("rover.drawbar.pull_N=200", f"normal_force.steps=[{shares}]", *keys))
        summary = result.summary
        if not summary["accepted"]:
            print(f"{name}, not accepted: {'; '.join(summary['reasons'])}")
        steps = summary["load_steps"][1:]
        settled = ["never" if one["settle_s"] is None else f"{one['settle_s']:.2f}" for one in steps]
        over = ["-" if one["overshoot"] is None else f"{100.0 * one['overshoot']:.0f}" for one in steps]
        pulses = summary["normal_force"]["switchings_per_s"]
        rows.append([name, ", ".join(settled), ", ".join(over) + " %", f"{pulses:.1f}", f"{swing(result, steps):.0f}"])
    head = ("chambers", "settles after [s]", "overshoot", "pulses of a valve [1/s]", "swing [N]")
    out.table(PAGE, "chambers", head, rows)


if __name__ == "__main__":
    options = outputs(__doc__)
    spreads(options)
    chambers(options)
