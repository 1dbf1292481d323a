"""Write the profiles of sim_scan_torque: what a drive with 45 % throttle over the mound measures (Petersen 2012, 6.3).

python tools/make_mound_profiles.py    writes rig_configs/profiles/mound_wheel_speed.csv and mound_forward_speed.csv
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

import hil
from hil.experiments.follow.experiment import FOLLOW

FOLDER = Path(__file__).parents[1] / "rig_configs" / "profiles"
THROTTLE, FULL_MPS, LENGTH_S, STEP_S, DEGREE = 0.45, 0.81, 20.0, 0.5, 10
# The rover that is measured is another one than that of the config: standard deviations of its masses and its soil.
SPREAD = {"mass": 0.02, "soil": 0.1}


def main() -> None:
    """Drive, and write both."""
    speed_mps = THROTTLE * FULL_MPS
    settings: dict[str, Any] = {
        "follow": {
            "quantity": "throttle",
            "torque": None,
            "full_duty_mps": FULL_MPS,
            "profile": [[0, speed_mps], [LENGTH_S, speed_mps]],
        },
        "plant.spread": SPREAD,
        "telemetry.endpoint": "",
    }
    run = hil.run(hil.load("sim_scan_torque", settings))
    ticks = run.ticks[run.ticks["state"] == FOLLOW]
    t_s = (ticks["t_ns"] - ticks["t_ns"][0]) * 1e-9
    rims = run.config.wheel_radius_m * ticks["wheel_speed_radps"].mean(axis=1)
    at = np.arange(0.0, LENGTH_S + 1e-9, STEP_S)
    write("mound_wheel_speed", at, np.interp(at, t_s, rims))
    write("mound_forward_speed", at, Polynomial.fit(t_s, ticks["speed_mps"], DEGREE)(at))


def write(name: str, times: Iterable[float], speeds: Iterable[float]) -> None:
    """One profile; a polynomial is below 0 at its begin."""
    rows = [f"{t:g},{max(float(v), 0.0):.4f}" for t, v in zip(times, speeds, strict=True)]
    (FOLDER / f"{name}.csv").write_text("\n".join(["time_s,speed_mps", *rows, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
