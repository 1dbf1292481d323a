"""Xu 2021, (1)-(19) and (33)-(42): recursion and unilateral contact beside ours; rows of the page of `xu.py`."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from scipy.spatial.transform import Rotation

from models.contact.constraints import make_rigid_ground
from models.plant.parameters import OFF
from models.rover import juno, rcp, xu
from models.rover.dynamics import fill_bias, fill_mass_matrix, make_work, place_bodies
from models.rover.rover import Rover
from models.vehicle import VehicleModel, make_vehicle_state, run
from references.axis_chain import AxisChain, equations
from references.unilateral_contact import accelerations, motion

GRAVITY = 3.72
REAL_WHEEL = 0.041  # kg m^2 about its axle, of a uniform cylinder
LIFTED_S = 0.05


class Row(NamedTuple):
    """A row of the page's table, and whether what it says holds."""

    figure: str
    quoted: str
    ours: str
    difference: str
    why: str
    holds: bool = True


def recursion(timed: bool) -> tuple[list[Row], list[str]]:
    """(1)-(19) against our mass matrix and bias, and what each takes."""
    rovers: dict[str, Callable[[], Rover]] = {
        "xu": lambda: xu(locks={"steering": None, "arm": None}),
        "rcp": rcp,
        "juno with chains": juno,
    }
    random, table = np.random.default_rng(1), []
    worst, lines = 0.0, ["| rover | speeds | bodies with mass | pairs of axes in (19) | pairs of ours |"]
    lines[0] += " (19) compiled [us] | ours [us] |" if timed else ""
    lines.append("|---" * (7 if timed else 5) + "|")
    compiled: Any = numba.njit(equations) if timed else None
    for name, make in rovers.items():
        rover = make()
        chain = AxisChain(rover.tree, rover.joint_names)
        for _ in range(3):
            quaternion = Rotation.random(rng=random).as_quat()
            q = np.concatenate([random.uniform(-1, 1, 3), quaternion, random.uniform(-1, 1, rover.nv - 6)])
            v = random.uniform(-1, 1, rover.nv)
            M, bias = chain.dynamics(q, v, (0.0, 0.0, -GRAVITY))
            ours, force = rover.mass_matrix(q), rover.bias(q, v, (0.0, 0.0, -GRAVITY))
            worst = max(
                worst, np.abs(ours - M).max() / np.abs(M).max(), np.abs(force - bias).max() / np.abs(bias).max()
            )
        depth = _depths(chain.axes.parent)
        pairs = sum(d * (d + 1) // 2 for d, mass in zip(depth, chain.axes.mass, strict=True) if mass)
        own = sum(_depths(rover.chain.speed_parent))
        line = f"| {name} | {rover.nv} | {np.count_nonzero(chain.axes.mass)} | {pairs} | {own} |"
        if compiled is not None:
            position, rate, _ = chain.coordinates(q, v)
            theirs = _best(functools.partial(compiled, chain.axes, position, rate, np.array([0.0, 0.0, -GRAVITY])))
            down, work = np.array([0.0, 0.0, -GRAVITY]), make_work(rover.chain)
            kernel = _best(
                functools.partial(_fill, rover.chain, rover.tree_configuration(q), rover.tree_speeds(v), down, work)
            )
            line += f" {theirs * 1e6:.0f} | {kernel * 1e6:.1f} |"
        lines.append(line)
    table.append(
        Row("(1)-(19)", "mass matrix and bias by the recursion over axes", f"equal to {_power(max(worst, 1e-12))} "
            "of the largest entry (xu, rcp, juno with chains)", "none", "both are Kane's equations", worst < 1e-9)
    )  # fmt: skip
    table.append(
        Row("2.2", "lower cost than Newton-Euler, Lagrange, Kane and spatial operators",
            "not shown: none of them is timed here, and his canonical form is not tried; our recursion below",
            "more work than ours", "(19) as printed sums over pairs of axes for each body; composite inertias, "
            "as here, sum once for each axis of a path")
    )  # fmt: skip
    return table, lines


def _depths(parent: np.ndarray) -> list[int]:
    depth: list[int] = []
    for one in parent.tolist():
        depth.append(1 + (depth[one] if one >= 0 else 0))
    return depth


def _power(value: float) -> str:
    """A bound in powers of ten."""
    return f"1e{math.ceil(math.log10(value)):d}"


def _best(call: Callable[[], Any]) -> float:
    """The shortest of many single calls [s]: of a mean, other work of the machine is a part."""
    times = []
    for _ in range(400):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


@numba.njit
def _fill(chain: Any, q: np.ndarray, v: np.ndarray, gravity: np.ndarray, work: Any) -> None:
    place_bodies(chain, q, work)
    fill_bias(chain, v, gravity, work)
    fill_mass_matrix(chain, work)


def contact() -> list[Row]:
    """(33)-(42) beside the velocity-level active set, on rigid ground without friction."""
    rover = xu(wheel_inertia=REAL_WHEEL)
    chain, radius = AxisChain(rover.tree, rover.joint_names), {one.body: one.radius for one in rover.tree.wheels}
    down = (0.0, 0.0, -GRAVITY)
    where = VehicleModel(rover.chain, None, OFF, None, np.array(down), None, make_rigid_ground(rover))
    v, tau, errors = np.zeros(rover.nv), np.zeros(rover.nv), []
    v[0], v[5], tau[6 + rover.joint_names.index("left_bogie")] = 0.3, 0.4, 140.0
    _, later = motion(chain, radius, rover.neutral(), v, tau, down, LIFTED_S, 2)
    for steps in (50, 500, 5000):
        state = make_vehicle_state(rover)
        state.v[:], state.torque[:] = rover.tree_speeds(v), rover.tree_speeds(tau)
        run(where, state, steps, LIFTED_S / steps)
        errors.append(float(np.abs(rover.own_speeds(state.v) - later).max()))
    falling = np.zeros(rover.nv)
    falling[2] = -0.1
    sinking, _ = accelerations(chain, list(radius), rover.neutral(), falling, np.zeros(rover.nv), down)
    state = make_vehicle_state(rover)
    state.v[:] = rover.tree_speeds(falling)
    run(where, state, 1, 1e-4)
    return [
        Row(
            "(33)-(42)",
            "unilateral contact by accelerations",
            "a torque lifts two wheels, four stay: speeds after 50 ms apart by "
            + ", ".join(f"{one:.1e}" for one in errors)
            + " at steps of 1, 0.1, 0.01 ms",
            "of the order of the step",
            "ours bounds the height after the step; the limit is one",
            errors[2] < 0.02 * errors[0],
        ),
        Row(
            "(33)-(42)",
            "the same at touch-down, 0.1 m/s",
            f"by accelerations it goes on at -0.1 m/s (acceleration {_power(max(abs(sinking[2]), 1e-9))} m/s^2 at "
            f"most); ours stops it in one step ({_power(max(abs(state.v[2]), 1e-9))} m/s at most)",
            "of kind",
            "(33) says nothing about speeds: it needs an impact law; the velocity level is a plastic impact",
            bool(abs(state.v[2]) < 1e-6 and abs(sinking[2]) < 1e-6),
        ),
    ]
