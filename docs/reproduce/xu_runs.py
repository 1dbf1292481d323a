"""Xu 2021, section 4 and Figs. 8-14, as runs of the rig `sim_xu` in lockstep; rows of the page of `xu.py`.

What a record has: angles of the steers as set and as measured, and by the rover twin their torques, the wheels' sinkage
and the rover's pose.
"""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from xu_dynamics import Row

from hil.app.run import run_experiment
from hil.config import load_config
from hil.recording import read_trial

# Seconds in which each table drives at its full speed.
STEADY_S = {"straight": (0.5, 4.5), "arc": (2.0, 6.0), "turn": (3.5, 7.5)}
SPEED_MPS, RATE_RADPS, RADIUS_M = 0.1, 0.1, 2.5


def recorded(name: str) -> NDArray[np.void]:
    """Ticks of a run."""
    config = load_config("sim_xu", {"stimulus.table": f"stimuli/xu_{name}.csv", "telemetry.endpoint": ""})
    with TemporaryDirectory() as folder:
        run = run_experiment(config, Path(folder), lambda _: None, figure=False)
        return read_trial(run.folder).tick


def steady(ticks: NDArray[np.void], name: str) -> NDArray[np.void]:
    """Rows at full speed; the table begins with the state 2."""
    began = ticks["t_ns"][ticks["state"] == 2][0]
    t_s = (ticks["t_ns"] - began) * 1e-9
    first, last = STEADY_S[name]
    rows: NDArray[np.void] = ticks[(t_s >= first) & (t_s <= last)]
    return rows


def moved(rows: NDArray[np.void]) -> tuple[float, float, float]:
    """Ahead and to port [m], and turned [rad], as seen from the first of the rows."""
    pose = rows["pose"][[0, -1]].astype(float)
    begin, end = Rotation.from_quat(pose[:, 3:])
    way = begin.inv().apply(pose[1, :3] - pose[0, :3])
    return float(way[0]), float(way[1]), float((begin.inv() * end).as_euler("ZYX")[0])


def runs() -> list[Row]:
    """All of them."""
    straight, arc, turn = (steady(recorded(name), name) for name in STEADY_S)
    wheels = load_config("sim_xu").layout.wheels
    seconds = STEADY_S["straight"][1] - STEADY_S["straight"][0]
    ahead, aside, _ = moved(straight)
    _, _, turned = moved(turn)
    middle = math.hypot(*moved(turn)[:2])
    arc_ahead, arc_left, arc_yaw = moved(arc)
    radius = math.hypot(arc_ahead, arc_left) / (2.0 * math.sin(0.5 * arc_yaw))
    torque = arc["servo_torque_Nm"]
    off_deg = np.degrees(np.abs(arc["set_servo_angle_rad"] - arc["servo_angle_rad"]))
    vary = float(torque.std(axis=0).max())
    sunk = {
        row: 1e3 * float(arc["sinkage_m"][:, [k for k, one in enumerate(wheels) if row in one]].mean())
        for row in ("front", "middle", "rear")
    }
    speeds = np.degrees(arc["wheel_speed_radps"])
    left, right = ([k for k, one in enumerate(wheels) if side in one] for side in ("left", "right"))
    return [
        Row("section 4, as a rig run", "straight motion", f"{ahead:.3f} m ahead, {aside * 1e3:+.1f} mm aside in "
            f"{seconds:g} s at {SPEED_MPS:g} m/s", f"{ahead / (SPEED_MPS * seconds) - 1.0:+.1%}", "slip",
            bool(abs(ahead / (SPEED_MPS * seconds) - 1.0) < 0.15 and abs(aside) < 0.05)),
        Row("section 4, as a rig run", "arc", f"radius {radius:.2f} m of {RADIUS_M:g} m, yaw "
            f"{math.degrees(arc_yaw):.1f} degrees in 4 s", f"{radius / RADIUS_M - 1.0:+.1%}",
            "slip, along and across", bool(abs(radius / RADIUS_M - 1.0) < 0.2)),
        Row("8, as a rig run", "turn in place", f"yaw {math.degrees(turned):.1f} degrees of "
            f"{math.degrees(RATE_RADPS * 4.0):.1f} at the rims, its middle moves {middle * 1e3:.0f} mm",
            f"{turned / (RATE_RADPS * 4.0) - 1.0:+.1%}", "slip",
            bool(abs(turned / (RATE_RADPS * 4.0) - 1.0) < 0.15 and middle < 0.05)),
        Row("9, 10, as a rig run", "steering torque varies strongly, steering angles little",
            f"torque {torque.min():.1f} to {torque.max():.1f} N m, standard deviation of a steer up to {vary:.2f} N m; "
            f"angles within {off_deg.max():.3f} degrees", "none in kind", "torques of the twin, arc",
            bool(vary > 0.1 * np.abs(torque).max() and off_deg.max() < 1.0)),
        Row("11, as a rig run", "the right wheels are faster and vary more on a turn to the left",
            f"left {speeds[:, left].min():.1f} to {speeds[:, left].max():.1f}, right {speeds[:, right].min():.1f} to "
            f"{speeds[:, right].max():.1f} degrees/s", "none with the prose", "at one speed: outer wheels have the "
            "longer path", bool(speeds[:, right].mean() > speeds[:, left].mean())),
        Row("13, 14, as a rig run", "the front wheels sink deeper than the rear ones",
            f"front, middle, rear {sunk['front']:.1f}, {sunk['middle']:.1f}, {sunk['rear']:.1f} mm",
            "none in sign" if sunk["front"] > sunk["rear"] else "of the other sign",
            "as above: the printed data do not decide it"),
    ]  # fmt: skip
