"""Energy of Juno's drive from one side of a mound to the other: straight over it, and on the way of least energy.

Each way is planned by `hil.analysis.energy` and then driven by the simulated rover, which steers by its own place;
its motors' energy is beside the planned one. The table of the page is written.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from hil.analysis.energy import traverse_of
from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from hil.config.rig import Rig
from models.kernels.bound import BoundArguments
from models.terrain import HeightMap, make_height_map
from models.terrain.least_cost import MapRoute, least_cost, way_along
from models.vehicle import Scene, run_bound

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))
from outputs import outputs

PAGE, NAME = "docs/reproduce/uneven-ground.md", "least_energy"
HEAD = ("path", "length", "planned", "driven", "driven over planned")
# The mound of tools/make_mound.py, on ground that is wide enough to go round it [m].
PLACE_M, HEIGHT_M, WIDTH_M = (3.0, 0.1), 0.5, 0.9
START_M, GOAL_M = (0.0, 0.0), (6.0, 0.0)
# It steers towards a place of the way that is so far ahead of it. With one side faster and the other slower by a share
# of the speed, Juno's curvature is CURVATURE_PM times that share (computed: an arc on level ground).
SPEED_MPS, AHEAD_M, CURVATURE_PM, MOST_SHARE = 0.2, 1.0, 1.09, 0.5
TICK_S, STEP_S, LONGEST_S = 0.02, 2e-4, 240.0


def mound() -> HeightMap:
    """The ground."""
    x, y = np.meshgrid(np.arange(-1.6, 7.8, 0.1), np.arange(-4.0, 4.1, 0.1), indexing="ij")
    away = ((x - PLACE_M[0]) ** 2 + (y - PLACE_M[1]) ** 2) / WIDTH_M**2
    return make_height_map(HEIGHT_M * np.exp(-0.5 * away), -1.6, -4.0, 0.1)


def driven(way: MapRoute) -> tuple[float, float, float]:
    """Of a simulated drive: energy of the motors [J], way [m], and largest distance from the planned way [m]."""
    nominal = nominal_rig(load_config("sim_scan"))
    rover, vehicle, state = replace(nominal, ground=replace(nominal.ground, relief=mound())).build()
    motors = [int(wheel) for wheel in vehicle.chain.motor_wheel]
    speeds = [5 + int(vehicle.chain.wheel_body[wheel]) for wheel in motors]
    side = np.array([1.0 if name.endswith("left") else -1.0 for name in rover.wheel_names])
    radius, bound, steps = rover.tree.wheels[0].radius, BoundArguments(Scene(vehicle, state)), round(TICK_S / STEP_S)
    fine = _fine(way)
    state.drives.cut[:] = 0.0
    energy = gone = aside = 0.0
    last = state.q[:2].copy()
    for _ in range(round(LONGEST_S / TICK_S)):
        here = state.q[:2]
        nearest = int(np.hypot(*(fine - here).T).argmin())
        aside = max(aside, float(np.hypot(*(fine[nearest] - here))))
        if np.hypot(*(fine[-1] - here)) < 0.1 or nearest == len(fine) - 1:
            return energy, gone, aside
        aim = fine[min(nearest + round(AHEAD_M / 0.02), len(fine) - 1)] - here
        x, y, z, w = state.q[3:7]
        heading = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        off = math.remainder(math.atan2(aim[1], aim[0]) - heading, 2.0 * math.pi)
        share = 2.0 * math.sin(off) / AHEAD_M / CURVATURE_PM
        turn = min(max(share, -MOST_SHARE), MOST_SHARE)
        state.drives.set_speed[:] = SPEED_MPS / radius * (1.0 - side * turn)
        run_bound(bound, steps, STEP_S)
        power = state.drives.torque[motors] * state.v[speeds]
        energy += float(np.maximum(power, 0.0).sum()) * TICK_S
        gone += float(np.hypot(*(state.q[:2] - last)))
        last = state.q[:2].copy()
    raise RuntimeError(f"the rover has not come to the goal in {LONGEST_S:g} s, it is at {state.q[:2]}")


def _fine(way: MapRoute) -> np.ndarray:
    """Places of the way, 2 cm apart."""
    ends = way.places
    lengths = np.concatenate([[0.0], np.hypot(*np.diff(ends, axis=0).T).cumsum()])
    at = np.arange(0.0, lengths[-1], 0.02)
    return np.column_stack([np.interp(at, lengths, ends[:, axis]) for axis in range(2)])


def ways() -> dict[str, MapRoute]:
    """Straight, and of least energy."""
    relief, rover = mound(), traverse_of(Rig(load_config("sim_scan")))
    free = least_cost(relief, rover._replace(turn=0.0), START_M, GOAL_M)
    free = way_along(relief, rover, free.places, heading=0.0)
    return {
        "straight over the mound": way_along(relief, rover, np.array([START_M, GOAL_M]), heading=0.0),
        "of least energy if turns were free": free,
        "of least energy": least_cost(relief, rover, START_M, GOAL_M, heading=0.0),
    }


def rows() -> list[tuple[str, ...]]:
    """Planned and driven, of all ways."""
    made: list[tuple[str, ...]] = []
    for name, way in ways().items():
        try:
            energy = driven(way)[0]
            cells = (f"{energy / 1e3:.1f} kJ", f"{energy / way.cost:.2f}")
        except RuntimeError:
            cells = ("it does not get there", "-")
        made.append((name, f"{way.length:.2f} m", f"{way.cost / 1e3:.1f} kJ", *cells))
    return made


def main() -> None:
    """Write the table."""
    outputs(__doc__).table(PAGE, NAME, HEAD, rows())


if __name__ == "__main__":
    main()
