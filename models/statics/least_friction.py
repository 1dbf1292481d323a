"""The least coefficient of friction with which a rover can stand: the wheels share the friction as well as they can."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from models.kernels.compiled import FloatArray
from models.statics.standing import StandingEquations

# What may be left over of the equations, over the weight [-, m]. No coefficient beyond the largest is looked for.
_LEFT_OVER, _LARGEST = 1e-10, 100.0
# The coefficient is found to this, and a direction of sliding is added while it helps by more than this.
_CLOSE, _GAIN = 1e-9, 1e-10
_ROUNDS, _DIRECTIONS = 200, 60


class LeastFriction(NamedTuple):
    """The least coefficient of friction, and forces with which it is enough.

    Attributes:
        coefficient: largest friction over normal force of a wheel, made least; infinite where no friction is enough.
        normal: (wheels,) forces [N]; NaN where there are none.
        ahead: (wheels,) along the wheels' planes; times the radius that is the drive's torque.
        left: (wheels,) across.
    """

    coefficient: float
    normal: FloatArray
    ahead: FloatArray
    left: FloatArray


def least_friction(standing: StandingEquations) -> LeastFriction:
    """Minimise the largest ratio of friction to normal force over all forces of the wheels that hold the rover.

    It is Thueer's metric (MacMahon 2016, 2.1), with the friction across the wheels counted too. Whether a coefficient
    is enough is one linear problem in forces that only push: those along the edges of the friction cones. The
    coefficient is then found by Newton's steps on what is left over of the equations, and by halving.
    """
    cones = _Cones(standing)
    low, high, best = 0.0, math.inf, cones.fit(0.0)
    if best.left_over <= _LEFT_OVER:
        return _found(0.0, best, standing)
    ask = _newton(low, best)
    for _ in range(_ROUNDS):
        if not low < ask < high:
            ask = _LARGEST if high == math.inf else 0.5 * (low + high)
        fit = cones.fit(min(ask, _LARGEST))
        if fit.left_over <= _LEFT_OVER:
            high, best, ask = min(ask, _LARGEST), fit, math.inf
        elif ask >= _LARGEST:
            break
        else:
            low, ask = ask, _newton(ask, fit)
        if high - low < _CLOSE:
            break
    return _found(high, best, standing)


class _Fit(NamedTuple):
    """Forces (3, wheels) over the weight that fit the equations best, what they leave, and how that falls with mu."""

    forces: FloatArray
    left_over: float
    slope: float


def _found(coefficient: float, fit: _Fit, standing: StandingEquations) -> LeastFriction:
    unit = standing.weight if coefficient < math.inf else math.nan
    return LeastFriction(coefficient, *(unit * part for part in fit.forces))


def _newton(coefficient: float, fit: _Fit) -> float:
    return coefficient - fit.left_over / fit.slope if fit.slope < 0.0 else math.inf


class _Cones:
    """Forces inside the wheels' friction cones, as sums of forces along edges: ahead and back, and others as needed."""

    def __init__(self, standing: StandingEquations) -> None:
        wheels = len(standing.point)
        self._normal, self._ahead, self._left = standing.normal, standing.ahead, standing.left
        self._wanted = standing.load / standing.weight
        self._wheel = np.repeat(np.arange(wheels), 2)
        self._slide = np.tile([(1.0, 0.0), (-1.0, 0.0)], (wheels, 1))  # (edges, 2) ahead, left

    def fit(self, coefficient: float) -> _Fit:
        """The best fit with this coefficient, with edges added until no other would make it better."""
        for _ in range(_DIRECTIONS):
            friction = self._slide[:, :1] * self._ahead[self._wheel] + self._slide[:, 1:] * self._left[self._wheel]
            edges = self._normal[self._wheel] + coefficient * friction
            share, left_over = nnls(edges.T, self._wanted)
            if left_over <= _LEFT_OVER:
                break
            rest = self._wanted - share @ edges
            push = np.column_stack([self._ahead @ rest, self._left @ rest])
            gain = self._normal @ rest + coefficient * np.linalg.norm(push, axis=1)
            better = np.flatnonzero(gain > _GAIN * max(1.0, coefficient))
            if coefficient == 0.0 or better.size == 0:
                break
            self._wheel = np.concatenate([self._wheel, better])
            sizes = np.linalg.norm(push[better], axis=1, keepdims=True)
            self._slide = np.concatenate([self._slide, push[better] / sizes])
        rest = self._wanted - share @ edges
        slope = -float(share @ (friction @ rest)) / left_over if left_over > 0.0 else 0.0
        wheels = len(self._normal)
        parts = share, *(coefficient * share * self._slide[:, k] for k in range(2))
        return _Fit(np.array([np.bincount(self._wheel, part, wheels) for part in parts]), float(left_over), slope)
