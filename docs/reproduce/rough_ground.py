"""Normal-force control on rough ground: what `uniform` and `max_traction` gain over passive, on seeded grounds.

Each ground is a scan of waves 0.8 to 3 m long with a standard deviation of 15 mm. The RCP of sim_normal_force drags its
sled over it once in each mode, with one simulated rig for all; the gain is the difference on the same ground. Runs are
spread over processes, about ten minutes with two of them; the table of docs/reproduce/uneven-ground.md is written.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

import hil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))
from outputs import outputs

PAGE, NAME = "docs/reproduce/uneven-ground.md", "rough_ground"
HEAD = ("wheel loads", "slip", "less than passive, paired", "grounds with less")
GROUNDS, MODES = 20, ("passive", "uniform", "max_traction")
WAVES, LONGEST_M, SHORTEST_M, UNEVEN_M = 12, 3.0, 0.8, 0.015
AHEAD_M, ACROSS_M, SPACING_M = (-1.4, 2.6), (-1.2, 1.2), 0.05
SETTLE_S, MEASURE_S = 8.0, 12.0


def ground(seed: int) -> np.ndarray:
    """Points (n, 3) [m] of a rough ground."""
    random = np.random.default_rng([seed, 5])
    length = np.geomspace(LONGEST_M, SHORTEST_M, WAVES)
    direction, phase = random.uniform(0.0, 2.0 * np.pi, (2, WAVES))
    high = length / np.sqrt(0.5 * (length**2).sum()) * UNEVEN_M
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(*AHEAD_M, SPACING_M), np.arange(*ACROSS_M, SPACING_M)))
    along = np.cos(direction)[:, None] * x + np.sin(direction)[:, None] * y
    z = (high[:, None] * np.sin(2.0 * np.pi / length[:, None] * along + phase[:, None])).sum(axis=0)
    return np.column_stack([x, y, z])


def slips(grounds: int, folder: Path) -> np.ndarray:
    """Mean slip (grounds, modes) while the rover is measured."""
    files = [folder / f"ground_{seed}.csv" for seed in range(grounds)]
    for seed, file in enumerate(files):
        np.savetxt(file, ground(seed), delimiter=",", header="x,y,z", comments="", fmt="%.5f")
    base = hil.load(
        "sim_normal_force",
        {
            "experiment": "slope",
            "slope": {"speed_mps": 0.05, "settle_s": SETTLE_S, "measure_s": MEASURE_S, "modes": list(MODES)},
            "ground.kind": "scan",
            "ground.roll_deg": 0,
            "ground.scan": {"file": str(files[0]), "units": "m", "up": "z", "start_m": [0, 0]},
            "residuals": {},
            "telemetry.endpoint": "",
        },
    )
    # each run's file is read: the map of the first one is not the ground of the others
    over: dict[str, Sequence[Any]] = {
        "ground.scan.map": [None],
        "ground.scan.file": list(map(str, files)),
        "slope.mode": MODES,
    }
    runs = hil.sweep(base, over)
    return np.array([row["slip"] for row in runs.rows], float).reshape(grounds, len(MODES))


def rows(found: np.ndarray) -> list[tuple[str, ...]]:
    """Slip of each mode, and its gain over passive with a 95 % interval of the mean (Student, paired)."""
    made: list[tuple[str, ...]] = []
    for mode, slip in zip(MODES, found.T, strict=True):
        gain = found[:, 0] - slip
        half = student.ppf(0.975, len(gain) - 1) * gain.std(ddof=1) / np.sqrt(len(gain))
        cells = (
            ("", "")
            if mode == "passive"
            else (f"{gain.mean():.4f} +- {half:.4f}", f"{int((gain > 0).sum())} of {len(gain)}")
        )
        made.append((mode, f"{slip.mean():.4f}", *cells))
    return made


def main() -> None:
    """Write the table; with --quick of two grounds."""
    out = outputs(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        out.table(PAGE, NAME, HEAD, rows(slips(len(out.some(range(GROUNDS))), Path(folder))))


if __name__ == "__main__":
    main()
