"""An extended Kalman filter of a soil's parameters, in logs, and of the errors that all measurements share.

States: logs of stiffness, rebound and slip modulus; relative errors of the torque, of the pull and of the loads; the
zero of the pull. A log forgets along the way (Ornstein and Uhlenbeck): without measurements mean and deviation go back
to the prior, and a direction that nothing measures stays there. Errors that measurements share do not average out.

Pull and torque of a rover's wheels on a soil that is searched, by the closed forms of models.wheel.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import FloatArray, kernel
from models.wheel.kernels import resultant
from models.wheel.packed import (
    BOTH,
    COMPACTION,
    EXPONENT,
    HALF_FORCE,
    HYPERVOLUME_SCALE,
    LINEAR,
    RADIUS,
    REBOUND,
    SLIP_MODULUS,
    STIFFNESS,
    N,
)
from models.wheel.shear_law import share_of_limit
from models.wheel.traction import against_travel

# Rounds in which a sinkage is found, and the relative change that ends them.
_ROUNDS, _ENOUGH = 40, 1e-11
# Largest sinkage over the radius.
_DEEPEST = 0.95


class _SoilWheels(NamedTuple):
    """Wheels on the soil that is searched."""

    wheel: FloatArray  #: packed parameters of the variant `exact`; its soil is changed by `set_soil`
    front: FloatArray  #: (N,) of its polynomial, the part of the front half
    slip_speed: float  #: below which compaction resistance fades [m/s]
    load: FloatArray  #: (wheels,) normal forces [N]
    slip: FloatArray  #: (wheels,) measured
    depth: FloatArray  #: (wheels,) sinkages found last [m], where the next search begins
    found: FloatArray  #: (2,) sum of the forward forces [N], and of the torques at the axles [N m]


@kernel
def set_soil(wheels: _SoilWheels, stiffness: float, rebound: float, slip_modulus: float) -> None:
    """Put a soil under the wheels: what `models.wheel.packed.pack` computes of these three, for `exact`."""
    p = wheels.wheel
    p[STIFFNESS], p[REBOUND], p[SLIP_MODULUS] = stiffness, rebound, slip_modulus
    p[HALF_FORCE] = 0.5 * stiffness * p[HYPERVOLUME_SCALE]
    p[COMPACTION] = max(0.0, 2.0 / (p[EXPONENT] + 1.0) - rebound)
    part = math.sqrt(rebound)
    for i in range(N):
        p[BOTH + i] = wheels.front[i] + p[LINEAR + i] * part
        part *= rebound


@kernel
def drive(wheels: _SoilWheels, forward: float, heavier: float) -> None:
    """Find the sum of the forward forces and that of the torques, at the measured slips."""
    p, least = wheels.wheel, 1e-3 * wheels.wheel[RADIUS]
    power = 1.0 / (p[EXPONENT] + 0.5)  # the force is nearly this root's power of the depth
    ahead = torque = 0.0
    for wheel in range(wheels.load.size):
        load = heavier * wheels.load[wheel]
        if not load > 0.0:  # off the ground
            continue
        share = share_of_limit(p, wheels.slip[wheel])
        depth, traction, along = max(wheels.depth[wheel], least), 0.0, 0.0
        for _ in range(_ROUNDS):
            normal, cosine, sine, limit = resultant(p, depth)
            normal, cosine, sine = against_travel(normal, cosine, sine, forward, wheels.slip_speed)
            traction = limit * share
            along = traction * cosine - normal * sine
            borne = normal * cosine + traction * sine
            factor = math.pow(load / borne, power) if borne > 0.0 else 2.0
            depth = min(depth * factor, _DEEPEST * p[RADIUS])
            if abs(factor - 1.0) < _ENOUGH:
                break
        wheels.depth[wheel] = depth
        ahead += along
        torque += p[RADIUS] * traction
    wheels.found[0], wheels.found[1] = ahead, torque


# Places of the states; the first SOIL of them are logs of the soil.
SOIL = 3
TORQUE_GAIN, PULL_GAIN, PULL_ZERO, LOAD_GAIN = range(SOIL, SOIL + 4)
STATES = SOIL + 4
PULL, TORQUE = 0, 1
# Step of the differences, of a log.
_STEP = 1e-4
# A log stays within this many of its standard deviations from the prior.
MOST_DEVIATIONS = 4.0
# Squared normalised innovation beyond which a measurement is rejected: one in 10,000, of one value and of two.
_GATE = (15.1, 18.4)
# So many rejected in a row: the soil is another one, and the filter begins anew.
RESTART_AFTER = 60


class _SoilFilter(NamedTuple):
    """Constants, state and scratch."""

    wheels: _SoilWheels  #: their forces
    prior: FloatArray  #: (STATES,) mean
    spread: FloatArray  #: (STATES,) standard deviations of the prior; 0: known
    memory_m: float  #: distance over which a log forgets
    correlation_m: float  #: distance along which the model's error is the same
    #: standard deviation of the model's error of the pull, and of the torque over the radius, over the load
    model: float
    radius: float  #: of the wheels [m]
    x: FloatArray  #: (STATES,) mean
    covariance: FloatArray  #: (STATES, STATES)
    #: (5,) forward speed [m/s], pull [N], part of the forward force that carries the weight up a slope [N], torque [N
    #: m], and standard deviation of the slip; a pull or torque that is NaN is not measured
    measured: FloatArray
    counts: FloatArray  #: (3,) updates, rejected in a row, restarts
    innovation: FloatArray  #: (1,) squared and normalised, over the number of values; NaN before the first
    slopes: FloatArray  #: (2, STATES) scratch
    gain: FloatArray  #: (STATES, 2) scratch


@kernel
def begin(bound: BoundArguments[_SoilFilter]) -> None:
    """Go to the prior."""
    _begin(unpack(bound))


@kernel
def _begin(f: _SoilFilter) -> None:
    for i in range(STATES):
        f.x[i] = f.prior[i]
        for j in range(STATES):
            f.covariance[i, j] = f.spread[i] * f.spread[i] if i == j else 0.0


@kernel
def update(bound: BoundArguments[_SoilFilter], since: float, way: float, slip_share: float) -> int:
    """Take a measurement: `measured`, and loads and slips of the wheels.

    Args:
        bound: the filter.
        since: distance driven since the last measurement [m].
        way: that of the measurement itself [m], over which its values are means.
        slip_share: number of measurements in the time over which the error of the slip is the same.

    Returns:
        1 where it was used, 0 where it was rejected.
    """
    f = unpack(bound)
    _forget(f, since)
    known = _predict(f)
    if known == 0:
        return 0
    forward, pull, along, torque, slip_sd = f.measured
    has_pull, has_torque = not math.isnan(pull), not math.isnan(torque)
    s, p = f.slopes, f.covariance
    # what the model would measure
    ahead, turning = f.wheels.found[0], f.wheels.found[1]
    left_pull = pull - ((1.0 + f.x[PULL_GAIN]) * (ahead - along) + f.x[PULL_ZERO]) if has_pull else 0.0
    left_torque = torque - (1.0 + f.x[TORQUE_GAIN]) * turning if has_torque else 0.0
    # covariance of the measurement: the model's own error, and that of the slip, which is in both
    own = f.model * f.wheels.load.sum()
    own *= own * f.correlation_m / max(way, 1e-6)
    by_slip = _by_slip(f, forward, known)
    slip = slip_sd * slip_sd * slip_share
    a = own + by_slip[0] * by_slip[0] * slip
    b = by_slip[0] * by_slip[1] * slip
    d = own * f.radius * f.radius + by_slip[1] * by_slip[1] * slip
    if not has_pull:
        a, b = 1.0, 0.0
    if not has_torque:
        d, b = 1.0, 0.0
    for i in range(STATES):
        first = second = 0.0
        for j in range(STATES):
            first += p[i, j] * s[PULL, j]
            second += p[i, j] * s[TORQUE, j]
        f.gain[i, 0], f.gain[i, 1] = first, second
    for j in range(STATES):
        a += s[PULL, j] * f.gain[j, 0]
        b += s[PULL, j] * f.gain[j, 1]
        d += s[TORQUE, j] * f.gain[j, 1]
    inverse = 1.0 / (a * d - b * b)
    squared = inverse * (d * left_pull * left_pull - 2.0 * b * left_pull * left_torque + a * left_torque * left_torque)
    f.innovation[0] = squared / known
    if not squared <= _GATE[known - 1]:
        f.counts[1] += 1.0
        if f.counts[1] >= RESTART_AFTER:
            f.counts[1], f.counts[2] = 0.0, f.counts[2] + 1.0
            _begin(f)
        return 0
    f.counts[0], f.counts[1] = f.counts[0] + 1.0, 0.0
    _correct(f, inverse * d, -inverse * b, inverse * a, left_pull, left_torque)
    return 1


@kernel
def _forget(f: _SoilFilter, way: float) -> None:
    kept = math.exp(-way / f.memory_m)
    for i in range(SOIL):
        f.x[i] = f.prior[i] + kept * (f.x[i] - f.prior[i])
        for j in range(STATES):
            f.covariance[i, j] *= kept
            f.covariance[j, i] *= kept
        f.covariance[i, i] += (1.0 - kept * kept) * f.spread[i] * f.spread[i]


@kernel
def _predict(f: _SoilFilter) -> int:
    """Forces of the soil found so far, and their slopes. Returns the number of values that are measured."""
    forward, pull, along, torque, _ = f.measured
    s = f.slopes
    s[:, :] = 0.0
    heavier = 1.0 + f.x[LOAD_GAIN]
    for i in range(SOIL + 1):
        if i < SOIL:
            _put(f, i, _STEP)
            drive(f.wheels, forward, heavier)
        else:
            _put(f, 0, 0.0)
            drive(f.wheels, forward, heavier * (1.0 + _STEP))
        place = i if i < SOIL else LOAD_GAIN
        s[PULL, place], s[TORQUE, place] = f.wheels.found[0], f.wheels.found[1]
    drive(f.wheels, forward, heavier)
    ahead, turning = f.wheels.found[0], f.wheels.found[1]
    for i in range(SOIL + 1):
        place = i if i < SOIL else LOAD_GAIN
        s[PULL, place] = (s[PULL, place] - ahead) / _STEP * (1.0 + f.x[PULL_GAIN])
        s[TORQUE, place] = (s[TORQUE, place] - turning) / _STEP * (1.0 + f.x[TORQUE_GAIN])
    s[PULL, PULL_GAIN], s[PULL, PULL_ZERO] = ahead - along, 1.0
    s[TORQUE, TORQUE_GAIN] = turning
    known = 2
    if math.isnan(pull):
        s[PULL, :] = 0.0
        known -= 1
    if math.isnan(torque):
        s[TORQUE, :] = 0.0
        known -= 1
    return known


@kernel
def _by_slip(f: _SoilFilter, forward: float, known: int) -> tuple[float, float]:
    """Slopes of pull and torque over a change of all slips, and the forces of the unchanged slips again."""
    if known == 0:
        return 0.0, 0.0
    ahead, turning = f.wheels.found[0], f.wheels.found[1]
    for wheel in range(f.wheels.slip.size):
        f.wheels.slip[wheel] += _STEP
    drive(f.wheels, forward, 1.0 + f.x[LOAD_GAIN])
    slopes = (f.wheels.found[0] - ahead) / _STEP, (f.wheels.found[1] - turning) / _STEP
    for wheel in range(f.wheels.slip.size):
        f.wheels.slip[wheel] -= _STEP
    f.wheels.found[0], f.wheels.found[1] = ahead, turning
    return slopes


@kernel
def _put(f: _SoilFilter, which: int, step: float) -> None:
    """The soil found so far, one of its logs moved by a step."""
    first = f.x[0] + step if which == 0 else f.x[0]
    second = f.x[1] + step if which == 1 else f.x[1]
    third = f.x[2] + step if which == 2 else f.x[2]
    set_soil(f.wheels, math.exp(first), math.exp(second), math.exp(third))


@kernel
def _correct(f: _SoilFilter, a: float, b: float, d: float, left_pull: float, left_torque: float) -> None:
    """Correct mean and covariance by what is left over, with the inverse (a, b; b, d) of its covariance."""
    p, g = f.covariance, f.gain
    for i in range(STATES):
        f.x[i] += g[i, 0] * (a * left_pull + b * left_torque) + g[i, 1] * (b * left_pull + d * left_torque)
        if i < SOIL:
            far = MOST_DEVIATIONS * f.spread[i]
            f.x[i] = min(max(f.x[i], f.prior[i] - far), f.prior[i] + far)
    # beyond this rebound the soil would push the wheel
    f.x[1] = min(f.x[1], math.log(min(1.0, 2.0 / (f.wheels.wheel[EXPONENT] + 1.0))))
    for i in range(STATES):
        for j in range(i + 1):
            less = g[i, 0] * (a * g[j, 0] + b * g[j, 1]) + g[i, 1] * (b * g[j, 0] + d * g[j, 1])
            p[i, j] = p[j, i] = 0.5 * (p[i, j] + p[j, i]) - less
        p[i, i] = max(p[i, i], 1e-12 * f.spread[i] * f.spread[i])


def make_filter(
    wheels: _SoilWheels,
    prior: FloatArray,
    spread: FloatArray,
    radius_m: float,
    memory_m: float,
    correlation_m: float,
    model: float,
) -> _SoilFilter:
    """A filter at its prior.

    Args:
        wheels: of the rover.
        prior: (STATES,) mean.
        spread: (STATES,) standard deviations.
        radius_m: of the wheels.
        memory_m: over which a log forgets.
        correlation_m: along which the model's error is the same.
        model: standard deviation of that error, as `_SoilFilter` has it.
    """
    return _SoilFilter(
        wheels=wheels,
        prior=prior.copy(),
        spread=spread.copy(),
        memory_m=memory_m,
        correlation_m=correlation_m,
        model=model,
        radius=radius_m,
        x=prior.copy(),
        covariance=np.diag(spread**2),
        measured=np.full(5, np.nan),
        counts=np.zeros(3),
        innovation=np.full(1, np.nan),
        slopes=np.zeros((2, STATES)),
        gain=np.zeros((STATES, 2)),
    )


def make_wheels(packed: FloatArray, wheels: int, slip_speed_mps: float) -> _SoilWheels:
    """Wheels on soil.

    Args:
        packed: parameters of a rigid wheel of the variant `exact`.
        wheels: how many.
        slip_speed_mps: of section soil.
    """
    rebound = packed[REBOUND] ** (np.arange(N) + 0.5)
    front = packed[BOTH : BOTH + N] - packed[LINEAR : LINEAR + N] * rebound
    load, slip, depth = np.zeros((3, wheels))
    return _SoilWheels(packed.copy(), front, slip_speed_mps, load, slip, depth, np.zeros(2))
