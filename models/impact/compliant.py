"""Effective kinetic energy with compliant legs: the share of an impact that the contact absorbs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar

from models.checks import Range, problem, refuse
from models.impact.energy import effective_kinetic_energy
from models.kernels.compiled import FloatArray
from models.rover.rover import Rover

# Hitting wheels of a rover, as Rover.impact_jacobian has them.
FRONT = ("front_left", "front_right")
SAMPLES_A_PERIOD = 40
MOST_SAMPLES = 100_000


class CompliantImpact(NamedTuple):
    """First hit of a rover on compliant legs.

    Attributes:
        energy: most that the contact springs hold at once [J].
        peak_force: sum over the contacts [N] at that time.
        time: of it after first touch [s].
    """

    energy: float
    peak_force: float
    time: float


def on_springs(
    rover: Rover, q: npt.ArrayLike, angle: float, wheels: Sequence[str] = FRONT
) -> tuple[FloatArray, FloatArray]:
    """Mass matrix and approach of a rover whose hitting wheels sit on springs at their hubs, forward and upward.

    With r the speeds of the springs and A v the speeds of the hubs, a wheel moves at A v + r, so that the kinetic
    energy grows by m (A v) r + 1/2 m r^2. The wheels' masses alone are in front of the springs, the legs' behind.

    Args:
        rover: the rover.
        q: configuration (nq,).
        angle: beta [rad].
        wheels: that hit the obstacle.

    Returns:
        M (nv + 2 wheels,) squared and J_c (wheels, nv + 2 wheels): after the rover's speeds those of each wheel's
        springs, forward and up.

    Raises:
        ValueError: as `Rover.impact_jacobian`.
    """
    approach = rover.impact_jacobian(q, angle, wheels)
    mass = {body.name: body.mass for body in rover.tree.bodies}
    carried = {wheel.name: mass[wheel.body] for wheel in rover.tree.wheels}
    forward, down = rover.impact_jacobian(q, 0.5 * math.pi, wheels), rover.impact_jacobian(q, 0.0, wheels)
    hubs = np.stack([forward, -down], axis=1).reshape(-1, rover.nv)
    masses = np.repeat([carried[name] for name in wheels], 2)
    M = np.block([[rover.mass_matrix(q), hubs.T * masses], [masses[:, None] * hubs, np.diag(masses)]])
    springs = np.kron(np.eye(len(wheels)), [math.sin(angle), -math.cos(angle)])
    return M, np.hstack([approach, springs])


def compliant_effective_kinetic_energy(
    mass_matrix: npt.ArrayLike,
    jacobian: npt.ArrayLike,
    velocity: npt.ArrayLike,
    stiffness: npt.ArrayLike,
    contact_stiffness: float,
) -> CompliantImpact:
    """T_c of a rover whose speeds include those of springs in its legs.

    Beyond MacMahon 2016, who names it as future work (7.1). The rover touches with its springs relaxed; from there

        M x'' + (diag(stiffness) + k_c J^T J) x = 0,  x(0) = 0,  x'(0) = v,

    is solved by its modes (its motion over a contact of some 0.1 s is small), and the energy is the largest value of
    1/2 k_c |J x|^2 before the contact ends. With one contact, or contacts that move alike, it is T_c (3.27) of the
    rigid rover where the contact is soft against the legs, and T_c with the legs' joints free where it is stiff: then
    the mass behind the legs hits later, with a separate share. In between, the result gives that share.

    Args:
        mass_matrix: M (nv, nv) of the rover with its legs' joints free.
        jacobian: J_c (contacts, nv), approach speeds.
        velocity: v (nv,), the approach of at least one contact positive.
        stiffness: (nv,) of the spring on each speed's coordinate [N/m, N m/rad]; 0 for none.
        contact_stiffness: k_c of each contact [N/m].

    Raises:
        ValueError: as effective_kinetic_energy, a stiffness out of range, no contact that approaches, or contacts so
            stiff against the legs that the motion cannot be followed.

    Example:
        One mass without legs gives all its energy, a quarter of a period after the first touch:

        >>> impact = compliant_effective_kinetic_energy(np.diag([2.0]), [[1.0]], [3.0], [0.0], 1e4)
        >>> print(f"{impact.energy:.3f} J, {impact.peak_force:.1f} N, {impact.time * 1e3:.2f} ms")
        9.000 J, 424.3 N, 22.21 ms
    """
    M, J, v, k = (np.asarray(item, dtype=np.float64) for item in (mass_matrix, jacobian, velocity, stiffness))
    effective_kinetic_energy(M, J, v)  # refuses invalid arguments
    allowed = Range(0.0, math.inf, "N/m or N m/rad")
    refuse(
        "compliant impact",
        [
            None if k.shape == v.shape else f"stiffness has shape {k.shape}, needed: {v.shape}",
            *(problem(f"stiffness[{i}]", value, allowed) for i, value in enumerate(k.flat)),
            problem("contact_stiffness", contact_stiffness, Range(0.0, math.inf, "N/m", open_low=True)),
            None if (J @ v > 0.0).any() else f"approach speeds are {J @ v}, allowed: one above 0 m/s",
        ],
    )
    squares, modes = eigh(np.diag(k) + contact_stiffness * J.T @ J, M)
    # modes that stretch no spring do not move a contact
    stiff = squares > 1e-12 * squares.max()
    frequency, reach = np.sqrt(squares[stiff]), J @ modes[:, stiff] * (modes[:, stiff].T @ M @ v)

    def depth(t: float | FloatArray) -> FloatArray:
        """(contacts, times) [m]."""
        out: FloatArray = (reach / frequency) @ np.sin(np.outer(frequency, t))
        return out

    # duration and resolution depend only on the modes that move the contact
    felt = frequency[np.abs(reach).max(axis=0) > 1e-9 * np.abs(reach).max()]
    samples = math.ceil(0.5 * SAMPLES_A_PERIOD * felt.max() / felt.min()) + 1
    if samples > MOST_SAMPLES:
        raise ValueError(
            f"contact_stiffness is {contact_stiffness} N/m: the contact is {felt.max() / felt.min():.3g} times as fast "
            f"as the legs, allowed: up to {2 * MOST_SAMPLES / SAMPLES_A_PERIOD:.3g} times"
        )
    times = np.linspace(0.0, math.pi / felt.min(), samples)
    deep = depth(times)
    apart = np.flatnonzero(deep[:, 1:].sum(axis=0) <= 0.0)
    best = int(np.argmax((deep[:, : apart[0] + 1 if apart.size else None] ** 2).sum(axis=0)))
    ends = times[max(best - 1, 0)], times[min(best + 1, samples - 1)]
    time = minimize_scalar(
        lambda t: -float((depth(t) ** 2).sum()), bounds=ends, method="bounded", options={"xatol": 1e-12}
    ).x
    at_best = depth(time)
    return CompliantImpact(
        float(0.5 * contact_stiffness * (at_best**2).sum()), float(contact_stiffness * at_best.sum()), float(time)
    )
