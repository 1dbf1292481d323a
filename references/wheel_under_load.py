"""Sinkage and pull of one wheel of a rover under its load, on fresh soil or in a rut."""

from __future__ import annotations

import math

from scipy.optimize import brentq

from models.kernels.compiled import FloatArray
from models.wheel import kernels, rut
from models.wheel.kernels import RADIUS, SLIP_MODULUS


def wheel_on_soil(parameters: FloatArray, sinkage: float, rut_depth: float, slip: float) -> tuple[float, float, float]:
    """Load, net pull and tractive force F_t of a wheel [N], Petersen 2012 (4.30)-(4.32), on fresh soil or in a rut.

    Args:
        parameters: packed wheel and soil (models.wheel.RigidWheel.parameters).
        sinkage: below the undisturbed ground [m].
        rut_depth: of the soil that wheels ahead have compacted [m]; 0: fresh soil, else variant "exact" only.
        slip: 1 - v_x/(R omega) when driving [-].
    """
    normal, cosine, sine, limit = resultant_in_rut(parameters, sinkage, rut_depth)
    tractive = limit * math.tanh(slip / parameters[SLIP_MODULUS])
    return normal * cosine + tractive * sine, tractive * cosine - normal * sine, tractive


def resultant_in_rut(parameters: FloatArray, sinkage: float, rut_depth: float) -> tuple[float, float, float, float]:
    """models.wheel.kernels.resultant, or models.wheel.rut.resultant in a rut."""
    if rut_depth > 0.0:
        return rut.resultant(parameters, sinkage, rut_depth)
    return kernels.resultant(parameters, sinkage)


def wheel_under_load(p: FloatArray, load: float, rut_depth: float, slip: float) -> tuple[float, float, float]:
    """Sinkage [m], net pull and tractive force [N] of a wheel under a load [N], in a rut of that depth [m], 0: none."""
    sinkage = brentq(
        lambda z: wheel_on_soil(p, z, rut_depth, slip)[0] - load, rut.ground(p, rut_depth), 0.9 * p[RADIUS], xtol=1e-12
    )
    return (sinkage, *wheel_on_soil(p, sinkage, rut_depth, slip)[1:])
