"""How the effective kinetic energy changes with the rover's configuration, in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from models.impact.energy import projectors
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.dynamics import Workspace, fill_bias, fill_mass_matrix, make_work, momentum, place_bodies
from models.rover.factor import base_of, fold, follow, put_base
from models.rover.points import project, to_base
from models.rover.queries import gather
from models.rover.reduction import Chain
from models.rover.rover import Rover


def energy_gradient(
    rover: Rover,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    angle: float,
    *,
    wheels: Sequence[str] = ("front_left", "front_right"),
    on_ground: Sequence[str] = (),
) -> FloatArray:
    """dT_c/dq at a fixed generalised velocity: the effect of each configuration parameter on the impact.

    Beyond MacMahon 2016. With p = P_c v, u = P_a v (3.28) and the contact impulses f, J_c^T f = M p, the derivative of
    (3.27) is

        dT_c = f^T dJ_c u + 1/2 p^T dM p,

    the second term a derivative of kinetic energy at fixed speeds p, the first one of the power of fixed forces at
    fixed speeds u. Both are closed forms along the tree.

    Args:
        rover: the rover.
        q: configuration (nq,).
        v: velocity (nv,).
        angle: beta [rad].
        wheels: that hit the obstacle.
        on_ground: wheels whose ground constraint acts (models.contact.constraints says which).

    Returns:
        (nv,) in the order of v: base translation along its own axes [J/m], on which T_c does not depend, base rotation
        about its own axes [J/rad], joints [J/rad]. Rows that are dependent must stay so for it to hold.

    Raises:
        ValueError: an unknown wheel, a wrong shape or a value that is not finite.
    """
    towards = rover.impact_jacobian(q, angle, wheels)
    # straight down, the approach to a plane at no inclination
    J = np.vstack([towards, rover.impact_jacobian(q, 0.0, on_ground)])
    speeds = np.asarray(v, dtype=np.float64)
    if speeds.shape != (rover.nv,) or not np.isfinite(speeds).all():
        raise ValueError(f"v is {speeds}, allowed: {rover.nv} finite numbers")
    M = rover.mass_matrix(q)
    constrained, _ = projectors(M, J)
    p = constrained @ speeds
    impulse = np.linalg.lstsq(J.T, M @ p, rcond=1e-10)[0]
    names = [*wheels, *on_ground]
    bodies = np.array([rover.chain.wheel_body[rover.wheel_names.index(name)] for name in names], dtype=np.int64)
    directions = np.array(
        [[math.sin(angle), 0.0, -math.cos(angle)]] * len(wheels) + [[0.0, 0.0, -1.0]] * len(on_ground)
    ).reshape(-1, 3)
    of_all, gradient = np.zeros(rover.chain.speed_parent.size), np.zeros(rover.nv)
    state = rover.tree_configuration(q), rover.tree_speeds(p, q), rover.tree_speeds(speeds - p, q)
    pushes = impulse[:, None] * directions
    _gradient(rover.chain, *state, bodies, pushes, np.zeros(3), make_work(rover.chain), of_all, gradient)
    return gradient if rover.chain.loops is None else gradient + _of_loops(rover, *state, bodies, pushes)


def _of_loops(
    rover: Rover, q: FloatArray, p: FloatArray, u: FloatArray, bodies: IntArray, pushes: FloatArray
) -> FloatArray:
    """What a change of N adds to the gradient (nv,): (M N p)^T dN p + (J^T f)^T dN u, in tree speeds.

    N is a derivative of angles, so dN by the angle s times p is half of g(e_s + p) - g(e_s) - g(p), with g the
    accelerations of dependent joints at given speeds (models.rover.loops).
    """
    chain, work = rover.chain, make_work(rover.chain)
    assert chain.loops is not None
    loops, weightless, size = chain.loops, np.zeros(3), chain.speed_parent.size
    place_bodies(chain, q, work)
    fill_mass_matrix(chain, work)
    lower = np.tril(work.mass_matrix)
    forces = [((lower + np.tril(lower, -1).T) @ p, p), (np.zeros(size), u)]
    for body, push in zip(bodies, pushes.tolist(), strict=True):
        row, nothing = np.zeros(size), (0.0, 0.0, 0.0)
        project(chain, work, int(body), (push[0], push[1], push[2]), nothing, nothing, row)
        forces[1][0][:] += row

    def rates(v: FloatArray) -> FloatArray:
        place_bodies(chain, q, work)
        fill_bias(chain, v, weightless, work)
        return loops.acceleration.copy()

    gradient = np.zeros(rover.nv)
    for source in loops.source:
        unit = np.zeros(size)
        unit[source] = 1.0
        follow(chain, unit)
        for force, v in forces:
            change = 0.5 * (rates(unit + v) - rates(unit) - rates(v))
            gradient[np.flatnonzero(chain.independent == source)[0]] += force @ change
    return gradient


@kernel
def _cross(
    s: FloatArray, x: tuple[float, float, float], y: tuple[float, float, float]
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Linear and angular part of the spatial cross product of a motion s (6,) and a motion (x, y)."""
    return (
        (
            s[4] * x[2] - s[5] * x[1] + s[1] * y[2] - s[2] * y[1],
            s[5] * x[0] - s[3] * x[2] + s[2] * y[0] - s[0] * y[2],
            s[3] * x[1] - s[4] * x[0] + s[0] * y[1] - s[1] * y[0],
        ),
        (s[4] * y[2] - s[5] * y[1], s[5] * y[0] - s[3] * y[2], s[3] * y[1] - s[4] * y[0]),
    )


@kernel
def _gradient(
    chain: Chain,
    q: FloatArray,
    p: FloatArray,
    u: FloatArray,
    bodies: IntArray,
    pushes: FloatArray,
    weightless: FloatArray,
    work: Workspace,
    of_all: FloatArray,
    out: FloatArray,
) -> None:
    """Write d(1/2 p^T M p) + d(f^T J u) to `out` (nv,), for forces `pushes` (contacts, 3), world axes, on body origins.

    Turning joint j carries all beyond it along the screw s_j: of a body i there, d(twist_i) = s_j x (twist_i -
    twist_j) and d(inertia_i) likewise, so the kinetic energy changes by -h . (s_j x twist_j), h the momentum of all
    beyond j. `of_all` (speeds,), zeros, receives the derivatives by all joints that turn; N gives the rest.
    """
    place_bodies(chain, q, work)
    fill_bias(chain, p, weightless, work)
    n = chain.parent.size
    for i in range(n):
        if chain.spin_inertia[i] > 0.0:  # moves with its carrier, and spins
            for a in range(3):
                work.load[i, a] = 0.0
                work.load[i, 3 + a] = chain.spin_inertia[i] * p[5 + i] * work.screw[i, 3 + a]
        else:
            put_base(work.load[i], momentum(work.inertia[i], base_of(work.twist[i])))
    for i in range(n - 1, 0, -1):
        t, h, up = work.twist[i], work.load[i], work.load[chain.parent[i]]
        linear, angular = _cross(work.screw[i], (t[0], t[1], t[2]), (t[3], t[4], t[5]))
        for a in range(3):
            of_all[5 + i] -= h[a] * linear[a] + h[3 + a] * angular[a]
        for a in range(6):
            up[a] += h[a]
    fill_bias(chain, u, weightless, work)
    for k in range(bodies.size):
        body = bodies[k]
        x, y, z = work.place[body, 0], work.place[body, 1], work.place[body, 2]
        fx, fy, fz = to_base(work, pushes[k, 0], pushes[k, 1], pushes[k, 2])
        t = work.twist[body]
        # turning the base turns the world's force in the opposite direction, as seen from the base
        wx, wy, wz = t[0] + t[4] * z - t[5] * y, t[1] + t[5] * x - t[3] * z, t[2] + t[3] * y - t[4] * x
        of_all[3] -= fy * wz - fz * wy
        of_all[4] -= fz * wx - fx * wz
        of_all[5] -= fx * wy - fy * wx
        i = body
        while i > 0:
            s, c = work.screw[i], work.twist[i]
            beyond, spin = (t[0] - c[0], t[1] - c[1], t[2] - c[2]), (t[3] - c[3], t[4] - c[4], t[5] - c[5])
            linear, angular = _cross(s, beyond, spin)
            # the point of application moves, too
            dx, dy, dz = s[0] + s[4] * z - s[5] * y, s[1] + s[5] * x - s[3] * z, s[2] + s[3] * y - s[4] * x
            of_all[5 + i] += (
                fx * (linear[0] + angular[1] * z - angular[2] * y + t[4] * dz - t[5] * dy)
                + fy * (linear[1] + angular[2] * x - angular[0] * z + t[5] * dx - t[3] * dz)
                + fz * (linear[2] + angular[0] * y - angular[1] * x + t[3] * dy - t[4] * dx)
            )
            i = chain.parent[i]
    fold(chain, of_all)
    gather(chain, of_all, out)
