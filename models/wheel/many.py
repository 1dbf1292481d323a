"""The wheel's kernels over arrays, for sweeps, figures and timing; and the forces of a wheel by name.

All arguments of a loop except p have shape (n,); results go to `out`, one row per component.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, kernel
from models.wheel import flexible_rut, kernels, rut, split_quadrature, traction


def over(owner: str, loop: Callable[..., None], p: FloatArray, rows: int, **inputs: FloatArray) -> list[Any]:
    """Runs a loop of this module over inputs of any shapes that broadcast.

    Args:
        owner: Of the inputs, the first word of an error.
        loop: Of this module.
        p: Packed parameters.
        rows: How many components the loop gives.
        **inputs: Its other arguments by name, in its order.

    Returns:
        Of each component a float, or an array of the broadcast shape.

    Raises:
        ValueError: The shapes do not broadcast.
    """
    try:
        arrays = np.broadcast_arrays(*inputs.values())
    except ValueError:
        shapes = " and ".join(f"{name} has shape {value.shape}" for name, value in inputs.items())
        raise ValueError(f"{owner}: {shapes}, allowed: shapes that broadcast") from None
    shape, out = arrays[0].shape, np.empty((rows, arrays[0].size))
    loop(p, *(array.flatten() for array in arrays), out)
    return out[:, 0].tolist() if not shape else [*out.reshape(rows, *shape)]


@kernel
def hypervolumes(p: FloatArray, sinkage: FloatArray, out: FloatArray) -> None:
    """Fills out (1, n) with `kernels.hypervolume_symmetric` [m^(eta+2)] at the sinkages [m]."""
    for i in range(sinkage.size):
        out[0, i] = kernels.hypervolume_symmetric(p, sinkage[i])


@kernel
def normal_forces(p: FloatArray, sinkage: FloatArray, out: FloatArray) -> None:
    """Fills out (2, n) with `kernels.normal_resultants` [N] at the sinkages [m]."""
    for i in range(sinkage.size):
        out[0, i], out[1, i] = kernels.normal_resultants(p, sinkage[i])


@kernel
def normal_forces_in_rut(p: FloatArray, sinkage: FloatArray, deepest: FloatArray, out: FloatArray) -> None:
    """Fills out (2, n) with `rut.normal_resultants` [N] at the sinkages and in the ruts [m]."""
    for i in range(sinkage.size):
        out[0, i], out[1, i] = rut.normal_resultants(p, sinkage[i], deepest[i])


@kernel
def flexible_normal_forces(p: FloatArray, sinkage: FloatArray, share: FloatArray, out: FloatArray) -> None:
    """Fills out (2, n) with `kernels.flexible_resultants` [N] at hub sinkages [m] and shares of the shear limit [-]."""
    for i in range(sinkage.size):
        out[0, i], out[1, i] = kernels.flexible_resultants(p, sinkage[i], share[i])


@kernel
def flexible_normal_forces_in_rut(
    p: FloatArray, sinkage: FloatArray, deepest: FloatArray, share: FloatArray, out: FloatArray
) -> None:
    """Fills out (2, n) with V and H of `flexible_rut.resultant` [N] at hub sinkages and in ruts [m], and shares [-]."""
    for i in range(sinkage.size):
        force, cosine, sine, _, _ = flexible_rut.resultant(p, sinkage[i], deepest[i], share[i])
        out[0, i], out[1, i] = force * cosine, force * sine


@kernel
def forces(p: FloatArray, sinkage: FloatArray, slip: FloatArray, out: FloatArray) -> None:
    """Fills out (3, n) with `kernels.wheel_forces` [N, N, N m] at the sinkages [m] and slips [-]."""
    for i in range(sinkage.size):
        out[0, i], out[1, i], out[2, i] = kernels.wheel_forces(p, sinkage[i], slip[i])


@kernel
def forces_at_angle(
    p: FloatArray, sinkage: FloatArray, slip: FloatArray, slip_angle: FloatArray, out: FloatArray
) -> None:
    """Fills out (4, n) with `traction.forces_at_angle` [N, N, N, N m] at sinkages [m], slips [-] and angles [rad]."""
    for i in range(sinkage.size):
        out[0, i], out[1, i], out[2, i], out[3, i] = traction.forces_at_angle(p, sinkage[i], slip[i], slip_angle[i])


@kernel
def moving_forces(
    p: FloatArray,
    sinkage: FloatArray,
    forward: FloatArray,
    sideways: FloatArray,
    rolling: FloatArray,
    slip_speed: FloatArray,
    out: FloatArray,
) -> None:
    """Fills out (4, n) with `traction.moving_forces` [N, N, N, N m] at sinkages [m] and speeds [m/s]."""
    for i in range(sinkage.size):
        out[0, i], out[1, i], out[2, i], out[3, i] = traction.moving_forces(
            p, sinkage[i], forward[i], sideways[i], rolling[i], slip_speed[i]
        )


@kernel
def split_quadrature_forces(p: FloatArray, sinkage: FloatArray, slip: FloatArray, out: FloatArray) -> None:
    """Fills out (3, n) with `split_quadrature.wheel_forces` [N, N, N m] at the sinkages [m] and slips [-]."""
    for i in range(sinkage.size):
        out[0, i], out[1, i], out[2, i] = split_quadrature.wheel_forces(p, sinkage[i], slip[i])


class NormalForce(NamedTuple):
    """The resultants of the normal pressure, floats or arrays.

    Attributes:
        vertical: Upwards [N].
        resistance: Compaction resistance [N], horizontal, positive against forward motion.
    """

    vertical: Any
    resistance: Any


class WheelForces(NamedTuple):
    """The soil's force on a wheel that goes straight, floats or arrays.

    Attributes:
        longitudinal: Positive forward [N]: the drawbar pull.
        vertical: Upwards [N].
        torque: About the axle [N m], positive where it resists forward spin.
    """

    longitudinal: Any
    vertical: Any
    torque: Any


class DriftForces(NamedTuple):
    """The soil's force on a wheel that may drift sideways, floats or arrays.

    Attributes:
        longitudinal: Positive forward [N].
        lateral: To the left [N].
        vertical: Upwards [N].
        torque: About the axle [N m], positive where it resists forward spin.
    """

    longitudinal: Any
    lateral: Any
    vertical: Any
    torque: Any
