"""Effective kinetic energy: the part of a rover's kinetic energy that an impact can spend."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from models.actuators.servo import JointServos
from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Workspace, fill_mass_matrix, place_bodies
from models.rover.factor import factorise, half_solve
from models.rover.points import approach_along
from models.rover.reduction import Chain
from models.terrain.surface import Stand, out_of

# Rows count as dependent where an eigenvalue of their mobility, scaled to a unit diagonal, is below this.
DEPENDENT = 1e-10
# Inertia of a joint that a servo holds [kg m^2]: no impact turns it.
HELD = 1e9


class Projectors(NamedTuple):
    """Projectors of generalised velocities; their sum is 1.

    Attributes:
        constrained: P_c (nv, nv), onto the motion that the contacts stop.
        admissible: P_a (nv, nv), onto the motion that they allow.
    """

    constrained: FloatArray
    admissible: FloatArray


def effective_kinetic_energy(mass_matrix: npt.ArrayLike, jacobian: npt.ArrayLike, velocity: npt.ArrayLike) -> float:
    """T_c = 1/2 v_c^T (J_c M^-1 J_c^T)^-1 v_c with v_c = J_c v (MacMahon 2016 (3.27), (5.14)).

    Redundant rows count only once: T_c is computed as 1/2 v^T P_c^T M P_c v with the
    projector of (3.29), the same number where no row is redundant.

    Args:
        mass_matrix: M (nv, nv) [kg, kg m, kg m^2], positive definite.
        jacobian: J_c (contacts, nv) [-, m].
        velocity: generalised velocity v (nv,) [m/s, rad/s].

    Returns:
        Energy [J].

    Raises:
        ValueError: shapes that do not fit, values that are not finite, or an invalid mass matrix.

    Example:
        A body of 2 kg that hits with 3 m/s, and slides along the obstacle with 5 m/s:

        >>> round(effective_kinetic_energy(np.diag([2.0, 2.0]), [[1.0, 0.0]], [3.0, 5.0]), 9)
        9.0
    """
    M, J, v = (np.asarray(value, dtype=np.float64) for value in (mass_matrix, jacobian, velocity))
    C, basis = _constrained(M, J, v)
    along = basis @ (C.T @ v)
    return float(0.5 * along @ along)


def operational_inertia(mass_matrix: npt.ArrayLike, jacobian: npt.ArrayLike) -> FloatArray:
    """Inertia (A M^-1 A^T)^-1 that a rover has at motion of interest, MacMahon 2016 (3.21).

    Half of its quadratic form in x' = A v is T_op of (3.22); of the rows of a contact that is T_c.

    Args:
        mass_matrix: M (nv, nv) [kg, kg m, kg m^2], positive definite.
        jacobian: A (rows, nv): speeds of interest over generalised velocities, such as those of a point or of a leg.

    Returns:
        Shape (rows, rows), symmetric: [kg] for rows that are speeds in m/s.

    Raises:
        ValueError: as effective_kinetic_energy, or dependent rows, whose speeds no forces can part.

    Example:
        Two bodies of 2 and 3 kg on one line; what their distance grows with has the reduced mass:

        >>> operational_inertia(np.diag([2.0, 3.0]), [[-1.0, 1.0]]).round(9).tolist()
        [[1.2]]
    """
    M, A = (np.asarray(value, dtype=np.float64) for value in (mass_matrix, jacobian))
    C, basis = _constrained(M, A, np.zeros(M.shape[:1]))
    if len(basis) < len(A):
        raise ValueError(f"jacobian has {len(A)} rows, of which {len(basis)} are independent: leave the others out")
    rows = solve_triangular(C, A.T, lower=True).T
    return np.linalg.inv(rows @ rows.T).astype(np.float64, copy=False)


def projectors(mass_matrix: npt.ArrayLike, jacobian: npt.ArrayLike) -> Projectors:
    """P_c and P_a (nv, nv) onto constrained and admissible motion, MacMahon 2016 (3.28)-(3.29), redundant rows allowed.

    With M = L^T L, P_c = L^-1 (J L^-1)^+ J: orthogonal in the metric M, P_c + P_a = 1.

    Args:
        mass_matrix: M (nv, nv), positive definite.
        jacobian: J_c (contacts, nv).

    Raises:
        ValueError: as effective_kinetic_energy.

    Example:
        >>> constrained, admissible = projectors(np.diag([2.0, 2.0]), [[1.0, 0.0]])
        >>> (constrained @ [3.0, 5.0]).round(9).tolist(), (admissible @ [3.0, 5.0]).round(9).tolist()
        ([3.0, 0.0], [0.0, 5.0])
    """
    M, J = (np.asarray(value, dtype=np.float64) for value in (mass_matrix, jacobian))
    C, basis = _constrained(M, J, np.zeros(M.shape[:1]))
    constrained: FloatArray = solve_triangular(C, basis.T, lower=True, trans="T") @ (basis @ C.T)
    return Projectors(constrained, np.eye(len(M)) - constrained)


def _constrained(M: FloatArray, J: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """C of M = C C^T, and an orthonormal basis (rank, nv) of the rows of J C^-T: of constrained motion, as C^T v."""
    if M.ndim != 2 or M.shape[0] != M.shape[1] or J.ndim != 2 or J.shape[1] != M.shape[0] or v.shape != M.shape[:1]:
        raise ValueError(f"shapes {M.shape}, {J.shape}, {v.shape} do not fit: needed (nv, nv), (contacts, nv), (nv,)")
    for name, value in (("mass_matrix", M), ("jacobian", J), ("velocity", v)):
        if not np.isfinite(value).all():
            raise ValueError(f"{name} holds values that are not finite: {value}, allowed: finite numbers")
    if np.abs(M - M.T).max() > 1e-9 * np.abs(M).max():
        raise ValueError(f"mass_matrix is not symmetric: {M}, allowed: one that is")
    try:
        C: FloatArray = np.linalg.cholesky(M).astype(np.float64, copy=False)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"mass_matrix is not positive definite: {M}, allowed: one that is") from error
    rows = solve_triangular(C, J.T, lower=True).T
    # rows of different units are compared by their directions
    size = np.linalg.norm(rows, axis=1)
    _, stretch, basis = np.linalg.svd(rows[size > 0.0] / size[size > 0.0, None], full_matrices=False)
    return C, basis[stretch**2 > DEPENDENT]


@kernel
def pair_energy(
    chain: Chain,
    q: FloatArray,
    v: FloatArray,
    angle: float,
    rows: FloatArray,
    work: Workspace,
    servos: JointServos | None = None,
) -> float:
    """T_c [J] of the rover's first two wheels against a plane at `angle` [rad], in closed form for two contacts.

    The same number as `effective_kinetic_energy` with `Rover.impact_jacobian`, for use in every tick.

    Args:
        chain: the rover.
        q: configuration (speeds + 1,) of all joints that turn, as models.vehicle.VehicleState holds it.
        v: their velocity (speeds,).
        angle: inclination of the plane [rad].
        rows: (2, speeds) scratch; left with the Jacobian J_c.
        work: scratch of the rover.
        servos: of driven joints, which hold in the impact; None: all joints are free.
    """
    return pair_energy_on(chain, q, v, angle, None, rows, work, servos)


@kernel
def pair_energy_on(
    chain: Chain,
    q: FloatArray,
    v: FloatArray,
    angle: float,
    stand: Stand,
    rows: FloatArray,
    work: Workspace,
    servos: JointServos | None = None,
) -> float:
    """`pair_energy` against planes at `angle` to the ground on which the obstacle stands; None: level ground."""
    place_bodies(chain, q, work)
    fill_mass_matrix(chain, work)
    if servos is not None:
        for speed in servos.speed:
            work.mass_matrix[speed, speed] += HELD
    factorise(chain, work.mass_matrix)
    for wheel in range(2):
        towards = out_of(stand, wheel, (np.sin(angle), 0.0, -np.cos(angle)))
        approach_along(chain, work, chain.wheel_body[wheel], towards, rows[wheel])
    first, second, g00, g01, g11 = 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(v.size):
        first += rows[0, a] * v[a]
        second += rows[1, a] * v[a]
        work.rhs[a] = rows[0, a]
        work.row[a] = rows[1, a]
    half_solve(chain, work.mass_matrix, work.rhs)
    half_solve(chain, work.mass_matrix, work.row)
    for a in range(v.size):
        g00 += work.rhs[a] * work.rhs[a]
        g01 += work.rhs[a] * work.row[a]
        g11 += work.row[a] * work.row[a]
    determinant = g00 * g11 - g01 * g01
    return 0.5 * (g11 * first * first - 2.0 * g01 * first * second + g00 * second * second) / determinant
