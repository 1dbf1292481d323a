"""Kernels of `Rover`: from independent speeds to all joints that turn, and the results back."""

from __future__ import annotations

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.dynamics import Workspace, fill_bias, fill_mass_matrix, place_bodies
from models.rover.factor import add_scaled, factorise, fold, fold_inertia, follow, solve
from models.rover.loops import Loops
from models.rover.points import approach_row, body_position, project
from models.rover.reduction import Chain


@kernel
def spread_configuration(chain: Chain, q: FloatArray, out: FloatArray) -> None:
    """Configuration (speeds + 1,) of all joints that turn from that of the independent ones (nq,).

    Dependent joints of closed loops are at zero, from where `place_bodies` takes them to their angles.
    """
    for a in range(7):
        out[a] = q[a]
    for a in range(6, chain.independent.size):
        out[1 + chain.independent[a]] = q[1 + a]
    for d in chain.dependent:
        out[1 + d] = chain.offset[d]
    for term in range(chain.dependent.size):
        if not _changes(chain.loops, term):
            out[1 + chain.dependent[term]] += chain.ratio[term] * out[1 + chain.source[term]]


@kernel
def _changes(loops: Loops | None, term: int) -> bool:
    """Whether a term is of a closed loop, whose angle is no sum of terms."""
    return False if loops is None else term >= loops.first_term


@kernel
def spread(chain: Chain, x: FloatArray, out: FloatArray) -> None:
    """Speeds (speeds,) of all joints that turn from those of the independent ones (nv,): N x; needs `place_bodies`."""
    for a in range(chain.independent.size):
        out[chain.independent[a]] = x[a]
    follow(chain, out)


@kernel
def gather(chain: Chain, x: FloatArray, out: FloatArray) -> None:
    """Independent entries (nv,) of x (speeds,)."""
    for a in range(chain.independent.size):
        out[a] = x[chain.independent[a]]


@kernel
def mass_matrix(chain: Chain, q: FloatArray, work: Workspace, out: FloatArray) -> None:
    """M~ (nv, nv), both triangles."""
    spread_configuration(chain, q, work.q)
    place_bodies(chain, work.q, work)
    fill_mass_matrix(chain, work)
    fold_inertia(chain, work.mass_matrix)
    for a in range(chain.independent.size):
        for b in range(a + 1):
            out[a, b] = work.mass_matrix[chain.independent[a], chain.independent[b]]
            out[b, a] = out[a, b]


@kernel
def bias(chain: Chain, q: FloatArray, v: FloatArray, gravity: FloatArray, work: Workspace, out: FloatArray) -> None:
    """Bias force (nv,)."""
    _fill_bias(chain, q, v, gravity, work)
    fold(chain, work.rhs)
    gather(chain, work.rhs, out)


@kernel
def _fill_bias(chain: Chain, q: FloatArray, v: FloatArray, gravity: FloatArray, work: Workspace) -> None:
    """Expand the state, place the bodies, and write the bias of all joints that turn into work.rhs."""
    spread_configuration(chain, q, work.q)
    place_bodies(chain, work.q, work)
    spread(chain, v, work.v)
    fill_bias(chain, work.v, gravity, work)


@kernel
def forward_dynamics(
    chain: Chain,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    wrenches: FloatArray,
    gravity: FloatArray,
    work: Workspace,
    out: FloatArray,
) -> None:
    """Acceleration (nv,)."""
    _fill_forces(chain, q, v, tau, wrenches, gravity, work)
    factorise(chain, work.mass_matrix)
    solve(chain, work.mass_matrix, work.rhs)
    gather(chain, work.rhs, out)


@kernel
def driven_dynamics(
    chain: Chain,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    spin: FloatArray,
    wrenches: FloatArray,
    gravity: FloatArray,
    work: Workspace,
    rows: FloatArray,
    out: FloatArray,
    torque: FloatArray,
) -> None:
    """Acceleration (nv,) with the wheels' spin accelerations prescribed, and the required drive torques.

    Hybrid dynamics (Featherstone 2008, ch. 9.2): the known part of M a moves to the right-hand side.
    rows (wheels, speeds) is scratch.
    """
    _fill_forces(chain, q, v, tau, wrenches, gravity, work)
    M, n = work.mass_matrix, chain.speed_parent.size
    for wheel in range(spin.size):
        s = 5 + chain.wheel_body[wheel]
        for j in range(n):
            rows[wheel, j] = M[max(s, j), min(s, j)]
            if j != s:
                work.rhs[j] -= rows[wheel, j] * spin[wheel]
                M[max(s, j), min(s, j)] = 0.0
        torque[wheel] = -work.rhs[s]
        M[s, s], work.rhs[s] = 1.0, spin[wheel]
    factorise(chain, M)
    solve(chain, M, work.rhs)
    for wheel in range(spin.size):
        for j in range(n):
            torque[wheel] += rows[wheel, j] * work.rhs[j]
    gather(chain, work.rhs, out)


@kernel
def _fill_forces(
    chain: Chain,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    wrenches: FloatArray,
    gravity: FloatArray,
    work: Workspace,
) -> None:
    """Mass matrix of all joints that turn, and in work.rhs every force on them."""
    _fill_bias(chain, q, v, gravity, work)
    fill_mass_matrix(chain, work)
    for a in range(work.rhs.size):
        work.rhs[a] = -work.rhs[a]
    for a in range(tau.size):
        work.rhs[chain.independent[a]] += tau[a]
    for k in range(wrenches.shape[0]):
        w = wrenches[k]
        force, moment = (w[0], w[1], w[2]), (w[3], w[4], w[5])
        project(chain, work, chain.wheel_body[k], force, moment, (0.0, 0.0, 0.0), work.row)
        add_scaled(chain.speed_parent, work.rhs, work.row, 5 + chain.wheel_body[k], 1.0)


@kernel
def wheel_positions(chain: Chain, q: FloatArray, work: Workspace, out: FloatArray) -> None:
    """Wheel centres (wheels, 3) in the world."""
    spread_configuration(chain, q, work.q)
    place_bodies(chain, work.q, work)
    for k in range(out.shape[0]):
        out[k, 0], out[k, 1], out[k, 2] = body_position(q, work, chain.wheel_body[k])


@kernel
def approach_rows(
    chain: Chain, q: FloatArray, bodies: IntArray, angle: float, work: Workspace, out: FloatArray
) -> None:
    """Jacobian rows (bodies, nv) of approach to a plane."""
    spread_configuration(chain, q, work.q)
    place_bodies(chain, work.q, work)
    for k in range(bodies.size):
        approach_row(chain, work, bodies[k], angle, work.row)
        fold(chain, work.row)
        gather(chain, work.row, out[k])
