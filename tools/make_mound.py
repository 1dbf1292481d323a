"""Writes the seeded mound of `sim_scan` as a CSV file: python tools/make_mound.py rig_configs/scans/mound.csv."""

from __future__ import annotations

import sys
from pathlib import Path

from hil.config.scan.grid import mound_points

SEED = 1


def csv_text(seed: int) -> str:
    """The points with a header, to the millimetre."""
    rows = [",".join(f"{value:.3f}" for value in point) for point in mound_points(seed).tolist()]
    return "\n".join(["x,y,z", *rows, ""])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(csv_text(SEED), encoding="utf-8")
