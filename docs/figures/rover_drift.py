"""Tables of docs/explanation/rover.md: what two integrators keep of energy and momentum, and what a step costs.

Run: python docs/figures/rover_drift.py    (about half a minute; prints both tables)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from outputs import Outputs, outputs
from scipy.spatial.transform import Rotation

from models.actuators.drive import Drive
from models.contact.ground import Ground
from models.contact.obstacle import Obstacle
from models.kernels.compiled import FloatArray
from models.rover import exomars, exomars_like, parametric, rcp, rocker_bogie
from models.rover.rover import Rover
from models.vehicle import VehicleModel, VehicleState, make_vehicle_state, run, settle
from models.wheel import RigidWheel, Soil
from references.trapezoidal import trapezoidal

FREE = {"walking": None, "steering": None}
DRIFTING: dict[str, Callable[[], Rover]] = {
    "rcp": rcp,
    "rcp, 27 speeds": lambda: rcp(locks=FREE),
    "rocker_bogie": rocker_bogie,
}
TIMED: dict[str, Callable[[], Rover]] = {
    "rcp": rcp,
    "rcp, walking and steering free": lambda: rcp(locks=FREE),
    "parametric": parametric,
    "exomars_like": exomars_like,
    "exomars, steering locked": lambda: exomars(locks={"steering": 0.0}),
    "exomars": exomars,
    "rocker_bogie": rocker_bogie,
}
STEPS_S = (1e-4, 1e-3, 1e-2)
DURATION_S = 1.0
# Juno's first run (Petersen 2012, Table 6.1), friction angle assumed
SOIL = Soil(2.07e5, 0.583, friction_angle=math.radians(30.0), rebound=0.0674, slip_modulus=0.689)


def on_soil(rover: Rover, gravity: float) -> VehicleModel:
    """A rover with its drives on level soil, its obstacle out of reach."""
    wheel = rover.tree.wheels[0]
    return VehicleModel(
        rover.chain,
        Ground(np.array(RigidWheel(wheel.radius, wheel.width, SOIL).parameters), 2.0, 0.02, 0.001, 0.005),
        Drive(200.0, 2000.0, 40.0, 0.0, 0.02, 0.0, 40.0, 0.0),
        Obstacle(math.pi / 2, 1e6, 5.5e4, 1.0, 0.9, 0.0, 0.005),
        np.array([0.0, 0.0, -gravity]),
    )


def tumbling(rover: Rover) -> tuple[FloatArray, FloatArray]:
    """High above the ground, about 1 rad/s about every axis and in every joint."""
    random = np.random.default_rng(7)
    q, v = rover.neutral(), np.zeros(rover.nv)
    q[:3] = 1.0, -2.0, 10.0
    q[3:7] = Rotation.from_rotvec([0.3, -0.5, 0.8]).as_quat()
    q[7:] = random.normal(size=rover.nq - 7)
    v[:3], v[3:6], v[6:] = (0.5, -0.3, 0.2), (0.7, 0.4, -0.6), random.normal(size=rover.nv - 6)
    return q, v


def conserved(rover: Rover, q: FloatArray, v: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Kinetic energy [J], linear [kg m/s] and angular momentum about the world's origin [kg m^2/s]."""
    M, turn = rover.mass_matrix(q), Rotation.from_quat(q[3:7]).as_matrix()
    linear = turn @ M[:3] @ v
    return float(0.5 * v @ M @ v), linear, turn @ M[3:6] @ v + np.cross(q[:3], linear)


def fly(rover: Rover, dt: float) -> tuple[FloatArray, FloatArray]:
    """One flight by models.vehicle."""
    motion, (q, v) = make_vehicle_state(rover), tumbling(rover)
    motion.q[:], motion.v[:] = rover.tree_configuration(q), rover.tree_speeds(v)
    run(on_soil(rover, 0.0), motion, round(DURATION_S / dt), dt)
    return rover.own_configuration(motion.q), rover.own_speeds(motion.v)


def drifts(out: Outputs) -> None:
    """Relative change of energy, linear and angular momentum in one second."""
    rows = []
    for name, build in out.some(list(DRIFTING.items())):
        rover = build()
        energy, linear, angular = conserved(rover, *tumbling(rover))
        for dt in STEPS_S[-1:] if out.quick else STEPS_S:
            cells = []
            for end in (
                fly(rover, dt),
                trapezoidal(rover, *tumbling(rover), dt, round(DURATION_S / dt), gravity=(0.0, 0.0, 0.0)),
            ):
                last = conserved(rover, *end)
                cells.append(f"{abs(last[0] / energy - 1.0):.1e}")
                cells.append(f"{np.linalg.norm(last[1] - linear) / np.linalg.norm(linear):.1e}")
                cells.append(f"{np.linalg.norm(last[2] - angular) / np.linalg.norm(angular):.1e}")
            rows.append([name, f"{1e3 * dt:g} ms", *cells])
    kept = ("linear", "angular")
    head = ("rover", "step", "`models.vehicle`: energy", *kept, "trapezoidal: energy", *kept)
    out.table("docs/explanation/rover.md", "drifts", head, rows)


def driving(rover: Rover) -> tuple[VehicleModel, VehicleState]:
    """A rover settled on its soil, its drives on."""
    where, motion = on_soil(rover, 9.81), make_vehicle_state(rover)
    if not any(name.endswith(("steering", "walking")) for name in rover.joint_names):
        settle(where, motion)  # free legs would fold, so such a rover is timed as it is let go
    else:
        motion.q[2] = -0.02
    motion.drives.cut[:] = 0.0
    motion.drives.set_speed[:] = 0.4
    return where, motion


def print_times(repeats: int = 15, steps: int = 200) -> None:
    """Best of many short runs, each from the same start, of all rovers in turn."""
    starts = {name: driving(build()) for name, build in TIMED.items()}
    best = dict.fromkeys(starts, math.inf)
    for _ in range(repeats):
        for name, (where, motion) in starts.items():
            q, v = motion.q.copy(), motion.v.copy()
            for _ in range(20):
                motion.q[:], motion.v[:] = q, v
                began = time.perf_counter()
                run(where, motion, steps, 1e-4)
                best[name] = min(best[name], (time.perf_counter() - began) / steps)
            motion.q[:], motion.v[:] = q, v
    print("\n| rover | speeds | joints that turn | one step |\n|---|---|---|---|")
    for name, (where, _) in starts.items():
        chain = where.chain
        print(f"| {name} | {chain.independent.size} | {chain.speed_parent.size - 6} | {1e6 * best[name]:.2f} us |")


if __name__ == "__main__":
    options = outputs(__doc__)
    drifts(options)
    print_times(repeats=1 if options.quick else 15)
