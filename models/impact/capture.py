"""Capture of a payload by an articulated body: speeds after a plastic, partial or elastic contact.

The impact model of Cyril, Jaar and Misra 1993, section 3. With J (6, nv) the Jacobian of the point of contact (its
velocity, then the angular velocity of the body that it belongs to), R the cross product with r_bc, from the contact to
the payload's centre of mass, and

    A = [[1, 0], [-R, 1]]  (26),

the impulse p (6,) of the contact changes the speeds of both by M dpsi = J^T p and M_p dv_p = -A p, (23)-(24) and
(31)-(34). The contact's velocity relative to the payload is u = J psi - A^T v_p. A payload that is held has u = 0, so
v_pf = J~ psi_f (35) with J~ = A^-T J, whose first rows are J_1 - R J_2. In (36) their sign is misprinted: with it, G
of (38) is not symmetric, and v_pf is not the velocity of a point of the end effector.

M must have the six speeds of the base. Without its translation, as (1)-(2) have it, momentum is not conserved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray

_MASS = Range(0.0, np.inf, "kg", open_low=True)
_RESTITUTION = Range(0.0, 1.0, "")
_OWNER = "capture"
# Directions of a contact: those of the three rows of velocity, or of all six.
POINT, WHOLE = 3, 6


@dataclass(frozen=True, eq=False)
class Payload:
    """A rigid body that is to be captured. All vectors are in the axes of the Jacobian.

    Attributes:
        mass: M_p [kg], above 0.
        inertia: I_p (3, 3) about its centre of mass [kg m^2], positive definite.
        place: r_bc (3,) [m], from the point of contact to its centre of mass.

    Raises:
        ValueError: a mass out of range, a wrong shape, a value that is not finite, or an impossible inertia.
    """

    mass: float
    inertia: FloatArray
    place: FloatArray

    def __post_init__(self) -> None:
        refuse("Payload", [problem("mass", self.mass, _MASS)])
        object.__setattr__(self, "inertia", _matrix("Payload", "inertia", self.inertia, (3, 3)))
        object.__setattr__(self, "place", _array("Payload", "place", self.place, (3,)))
        _factor("Payload", "inertia", self.inertia)

    @property
    def mass_matrix(self) -> FloatArray:
        """M_p (6, 6) of its velocity (of the centre of mass, then angular), Cyril 1993 (25)."""
        out = np.zeros((6, 6))
        out[:3, :3], out[3:, 3:] = self.mass * np.eye(3), self.inertia
        return out

    @property
    def contact(self) -> FloatArray:
        """A (6, 6), Cyril 1993 (26): A^T takes the payload's velocity to that at the point of contact."""
        x, y, z = self.place
        out = np.eye(6)
        out[3:, :3] = -np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return out


class CaptureOutcome(NamedTuple):
    """After the contact.

    Attributes:
        velocity: psi_f (nv,) [m/s, rad/s].
        payload_velocity: v_pf (6,): of the payload's centre of mass [m/s], then angular [rad/s].
        impulse: p (6,) on the articulated body at the point of contact [N s, N m s]; the payload has the opposite.
        energy_lost: [J], 0 or more.
    """

    velocity: FloatArray
    payload_velocity: FloatArray
    impulse: FloatArray
    energy_lost: float


def capture(
    mass_matrix: npt.ArrayLike,
    jacobian: npt.ArrayLike,
    velocity: npt.ArrayLike,
    payload: Payload,
    payload_velocity: npt.ArrayLike,
    *,
    restitution: float = 0.0,
    directions: npt.ArrayLike | int = WHOLE,
) -> CaptureOutcome:
    """Speeds right after a payload met the end effector, Cyril 1993 (35)-(39).

    The contact acts along the given directions D (rows), and ends with D u_f = -e D u_i. With e = 0 and all six, the
    payload is held: that is (37). With e = 1 no energy is lost. The energy lost is

        1/2 (1 - e^2) (D u_i)^T (D W D^T)^-1 D u_i,   W = J M^-1 J^T + A^T M_p^-1 A,

    which is never negative.

    Args:
        mass_matrix: M (nv, nv) [kg, kg m, kg m^2], positive definite.
        jacobian: J (6, nv) of the point of contact, velocity first (`models.rover.body_points.body_point`).
        velocity: psi_i (nv,) [m/s, rad/s].
        payload: its mass, inertia and place.
        payload_velocity: v_pi (6,), of its centre of mass [m/s], then angular [rad/s].
        restitution: e [-], from 0 (plastic) to 1 (elastic).
        directions: D (k, 6), independent rows in the axes of the Jacobian; or 6: a grapple that holds in all
            directions; or 3: a point that transmits a force in any direction, and no moment.

    Raises:
        ValueError: shapes that do not fit, values that are not finite or out of range, an invalid mass matrix, or
            directions that depend on each other.

    Example:
        A cart of 3 kg catches a ball of 1 kg that comes with 4 m/s:

        >>> J = np.eye(6)
        >>> ball = Payload(1.0, np.eye(3), np.zeros(3))
        >>> found = capture(3.0 * np.eye(6), J, np.zeros(6), ball, [4.0, 0, 0, 0, 0, 0])
        >>> round(float(found.velocity[0]), 9), round(found.energy_lost, 9)
        (1.0, 6.0)
    """
    M, J, D = _checked(mass_matrix, jacobian, directions)
    v, other = (
        _array(_OWNER, "velocity", velocity, M.shape[:1]),
        _array(_OWNER, "payload_velocity", payload_velocity, (6,)),
    )
    refuse(_OWNER, [problem("restitution", restitution, _RESTITUTION)])
    factor, own = _factor(_OWNER, "mass_matrix", M), cho_factor(payload.mass_matrix)
    rows, payload_rows = D @ J, D @ payload.contact.T
    W = rows @ cho_solve(factor, rows.T) + payload_rows @ cho_solve(own, payload_rows.T)
    relative = rows @ v - payload_rows @ other
    stopped = np.linalg.solve(W, relative)
    shares = -(1.0 + restitution) * stopped
    return CaptureOutcome(
        v + cho_solve(factor, rows.T @ shares),
        other - cho_solve(own, payload_rows.T @ shares),
        D.T @ shares,
        float(0.5 * (1.0 - restitution**2) * relative @ stopped),
    )


def mass_matrix_with(mass_matrix: npt.ArrayLike, jacobian: npt.ArrayLike, payload: Payload) -> FloatArray:
    """G (nv, nv) of Cyril 1993 (38): the mass matrix of the articulated body with the payload held.

    Args:
        mass_matrix: M (nv, nv) [kg, kg m, kg m^2], positive definite.
        jacobian: J (6, nv) of the point of contact, velocity first.
        payload: its mass, inertia and place.

    Raises:
        ValueError: shapes that do not fit, values that are not finite, or an invalid mass matrix.

    Example:
        >>> ball = Payload(1.0, np.eye(3), np.zeros(3))
        >>> np.diag(mass_matrix_with(3.0 * np.eye(6), np.eye(6), ball)).tolist()
        [4.0, 4.0, 4.0, 4.0, 4.0, 4.0]
    """
    M, J, _ = _checked(mass_matrix, jacobian, WHOLE)
    carried = np.linalg.solve(payload.contact.T, J)  # J~ = A^-T J
    out: FloatArray = M + carried.T @ payload.mass_matrix @ carried
    return out


def _checked(
    mass_matrix: npt.ArrayLike, jacobian: npt.ArrayLike, directions: npt.ArrayLike | int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """M, J and D, or a ValueError."""
    M = _matrix(_OWNER, "mass_matrix", mass_matrix, None)
    J = _array(_OWNER, "jacobian", jacobian, (6, len(M)))
    _factor(_OWNER, "mass_matrix", M)
    if isinstance(directions, int):
        if directions not in (POINT, WHOLE):
            raise ValueError(f"{_OWNER}: directions is {directions}, allowed: 3, 6, or rows of 6 numbers")
        return M, J, np.eye(6)[:directions]
    rows = np.asarray(directions, dtype=np.float64)
    D = _array(_OWNER, "directions", rows, (rows.shape[0] if rows.ndim == 2 and 0 < rows.shape[0] <= 6 else 1, 6))
    if np.linalg.matrix_rank(D) < len(D):
        raise ValueError(f"{_OWNER}: directions is {D.tolist()}, allowed: rows that do not depend on each other")
    return M, J, D


def _array(owner: str, name: str, value: npt.ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    """As finite numbers of that shape, or a ValueError."""
    array = np.array(value, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{owner}: {name} has shape {array.shape}, needed: {shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{owner}: {name} holds values that are not finite: {array}, allowed: finite numbers")
    return array


def _matrix(owner: str, name: str, value: npt.ArrayLike, shape: tuple[int, int] | None) -> FloatArray:
    """As a symmetric matrix of that shape, or of any; or a ValueError."""
    raw = np.array(value, dtype=np.float64)
    size = raw.shape[0] if raw.ndim else 0
    array = _array(owner, name, raw, (size, size) if shape is None else shape)
    if np.abs(array - array.T).max() > 1e-9 * np.abs(array).max():
        raise ValueError(f"{owner}: {name} is not symmetric: {array}, allowed: one that is")
    return array


def _factor(owner: str, name: str, matrix: FloatArray) -> tuple[FloatArray, bool]:
    """Its Cholesky factor, or a ValueError."""
    try:
        factor: tuple[FloatArray, bool] = cho_factor(matrix)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"{owner}: {name} is not positive definite: {matrix}, allowed: one that is") from error
    return factor
