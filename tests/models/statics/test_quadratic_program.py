"""Small quadratic programs with soft limits, against DAQP, which shares no code, and the conditions of an optimum."""

from __future__ import annotations

import math

import daqp
import numpy as np
import pytest

from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import kernel
from models.statics.quadratic_program import make_quadratic_program, solve_quadratic_program

WHEELS, SOFTNESS = 6, 1e-6
HARD, SOFT = 0, 8  # DAQP's marks of limits
PROGRAMS = {n: make_quadratic_program(n, WHEELS, SOFTNESS) for n in (1, 2, 3)}


@kernel
def solve_bound(bound):
    return solve_quadratic_program(unpack(bound))


def solve(program):
    return solve_bound(BoundArguments(program))


def drawn(unknowns, seed):
    """A program like that of the wheels' loads, whose limits often bind and sometimes exclude each other."""
    chance, p = np.random.default_rng(seed), PROGRAMS[unknowns]
    influence, weight = chance.normal(size=(WHEELS, unknowns)), chance.uniform(0.01, 1.0, WHEELS)
    load, target = chance.uniform(20.0, 400.0, (2, WHEELS))
    p.A[:], p.H[:] = influence, influence.T @ (weight[:, None] * influence)
    p.H[:] += 1e-6 * np.trace(p.H) * np.eye(unknowns)
    p.f[:] = influence.T @ (weight * (load - target))
    p.lower[:] = *chance.uniform(-100.0, 0.0, unknowns), *(chance.choice([20.0, 100.0, 190.0]) - load)
    p.upper[:] = *chance.uniform(0.0, 100.0, unknowns), *(chance.choice([220.0, 300.0, math.inf]) - load)
    return p


def by_daqp(p):
    sense = np.array([HARD] * p.f.size + [SOFT] * WHEELS, dtype=np.int32)
    x, _, flag, info = daqp.solve(p.H, p.f, p.A, p.upper, p.lower, sense, primal_tol=1e-11, dual_tol=1e-13)
    assert flag > 0
    return x, info["lam"]


@pytest.mark.slow
@pytest.mark.parametrize("unknowns", [1, 2, 3])
def test_solution_and_multipliers_are_those_of_daqp(unknowns):
    """To 1e-9, and to rounding: limits that exclude each other have multipliers of up to 1e8, which cancel."""
    binding = []
    for seed in range(150):
        p = drawn(unknowns, seed)
        assert solve(p)
        x, multiplier = by_daqp(p)
        largest = max(1.0, np.abs(multiplier).max())
        assert p.x == pytest.approx(x, rel=1e-9, abs=1e-9 + 1e-14 * largest)
        assert p.multiplier == pytest.approx(multiplier, rel=1e-9, abs=1e-8 * largest)
        binding.append(np.count_nonzero(p.multiplier))
    assert min(binding) <= 1
    assert max(binding) > unknowns


@pytest.mark.slow
@pytest.mark.parametrize("unknowns", [1, 2, 3])
def test_solution_meets_the_conditions_of_an_optimum(unknowns):
    for seed in range(150):
        p = drawn(unknowns, seed)
        assert solve(p)
        limited, n = np.vstack([np.eye(unknowns), p.A]), unknowns
        largest = max(1.0, np.abs(p.multiplier).max())
        assert p.H @ p.x + p.f + limited.T @ p.multiplier == pytest.approx(0.0, abs=1e-10 * largest)
        softness = SOFTNESS * np.einsum("ij,jk,ik->i", limited, np.linalg.inv(p.H), limited)
        assert (p.lower[:n] <= p.x).all()
        assert (p.x <= p.upper[:n]).all()
        value = limited @ p.x - np.where(np.arange(n + WHEELS) < n, 0.0, softness * p.multiplier)
        allowed = 1e-7 + 1e-14 * largest
        assert (value <= p.upper + allowed).all()
        assert (value >= p.lower - allowed).all()
        upper, lower = p.multiplier > 0.0, p.multiplier < 0.0
        assert value[upper] == pytest.approx(p.upper[upper], abs=allowed)
        assert value[lower] == pytest.approx(p.lower[lower], abs=allowed)


def test_soft_limits_that_exclude_each_other_are_missed_alike_and_bounds_are_kept():
    p = make_quadratic_program(1, 2, SOFTNESS)
    p.H[:], p.f[:], p.A[:] = 1.0, -3.0, 1.0
    p.lower[:], p.upper[:] = (-5.0, 2.0, -math.inf), (5.0, math.inf, 1.0)
    assert solve(p)
    assert p.x[0] == pytest.approx(1.5, abs=1e-5)
    assert (np.sign(p.multiplier) == (0, -1, 1)).all()
    p.upper[0] = 1.2
    assert solve(p)
    assert p.x[0] == 1.2
    assert (np.sign(p.multiplier) == (1, -1, 1)).all()


@pytest.mark.parametrize("array", ["H", "f", "A", "lower", "upper"])
def test_a_program_with_a_value_that_is_not_a_number_has_no_answer(array):
    p = drawn(3, 1)
    getattr(p, array).flat[0] = math.nan
    assert not solve(p)


def test_a_program_whose_bounds_exclude_each_other_has_no_answer():
    p = drawn(3, 1)
    p.lower[1], p.upper[1] = 1.0, -1.0
    assert not solve(p)
