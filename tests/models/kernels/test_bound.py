"""Arrays bound once: kernels and Python see each other's writes, and no value is taken for another."""

from __future__ import annotations

import copy
import math
from typing import NamedTuple

import numpy as np
import pytest
from numba import typeof
from numba.core.errors import TypingError

from models.kernels.bound import BoundApart, BoundArguments, call_at, unpack
from models.kernels.compiled import kernel
from models.vehicle import Scene, address_of_run, run, run_bound

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs


@pytest.fixture
def pair(bench):
    """The same motion twice, to be moved in two ways."""
    where = bench.vehicle(slope=math.radians(5))
    return where, bench.driving(where, 0.1), bench.driving(where, 0.1)


def test_a_bound_call_does_what_the_plain_one_does(pair):
    where, plain, bound = pair
    run(where, plain, 100, 1e-4)
    run_bound(BoundArguments(Scene(where, bound)), 100, 1e-4)
    assert plain.q.tobytes() == bound.q.tobytes()
    assert plain.ground.shear.tobytes() == bound.ground.shear.tobytes()


def test_what_is_written_into_an_array_is_seen_by_later_calls(pair):
    where, plain, motion = pair
    bound = BoundArguments(Scene(where, motion))
    run_bound(bound, 1, 1e-4)
    motion.drives.set_speed[:] = 3.0
    run_bound(bound, 100, 1e-4)
    run(where, plain, 1, 1e-4)
    plain.drives.set_speed[:] = 3.0
    run(where, plain, 100, 1e-4)
    assert plain.v.tobytes() == motion.v.tobytes()


def test_a_copy_is_bound_to_its_own_arrays(pair):
    where, motion, _ = pair
    before = motion.q.copy()
    twin = copy.deepcopy(BoundArguments(Scene(where, motion)))
    run_bound(twin, 100, 1e-4)
    assert motion.q.tobytes() == before.tobytes()


def test_arrays_live_as_long_as_they_are_bound(bench):
    where = bench.vehicle()
    bounds = [BoundArguments(Scene(where, bench.resting())) for _ in range(50)]
    junk = [np.full(1000, np.nan) for _ in range(200)]
    for bound in bounds:
        run_bound(bound, 10, 1e-4)
    assert len(junk) == 200
    assert all(np.isfinite(bound.value.state.q).all() for bound in bounds)


def test_what_is_no_bound_is_refused(bench):
    with pytest.raises(TypingError, match="BoundArguments are needed"):
        run_bound(Scene(bench.vehicle(), bench.resting()), 1, 1e-4)


def test_one_number_can_be_changed_where_it_lies(pair):
    where, plain, motion = pair
    fast, slow = (where._replace(drive=where.drive._replace(gain=gain)) for gain in (200.0, 20.0))
    bound = BoundArguments(Scene(fast, motion))
    bound.set_number(bound.slot(BoundArguments(Scene(slow, motion))), 20.0)
    run_bound(bound, 100, 1e-4)
    run(slow, plain, 100, 1e-4)
    assert plain.v.tobytes() == motion.v.tobytes()


def test_values_that_differ_in_more_than_one_number_have_no_slot(pair):
    where, motion, _ = pair
    other = where._replace(drive=where.drive._replace(gain=1.0, torque_limit=1.0))
    with pytest.raises(ValueError, match="differ in 2 places, needed: one"):
        BoundArguments(Scene(where, motion)).slot(BoundArguments(Scene(other, motion)))


@pytest.mark.parametrize("value", [(1.0, np.float32(2.0)), (True, False, 1.0), (1.0, "text")])
def test_a_value_that_is_not_made_of_words_is_refused(value):
    with pytest.raises(TypeError, match="cannot be bound"):
        BoundArguments(value)


def test_a_kernel_finds_every_part_at_its_place():
    cube, column = np.arange(24.0).reshape(2, 3, 4), np.arange(12)[::3]
    found = read_parts(BoundArguments(PlantParts(0.5, Inner(None, cube, True, 7), column, -3)))
    assert found == (0.5, (2, 3, 4), cube.strides, 23.0, 7, 4, (24,), 9, True, -3)


class Inner(NamedTuple):
    nothing: None
    cube: np.ndarray
    flag: bool
    count: int


class PlantParts(NamedTuple):
    number: float
    inner: Inner
    column: np.ndarray
    last: int


@kernel
def read_parts(bound):
    number, inner, column, last = unpack(bound)
    cube = inner.cube
    return (
        number, cube.shape, cube.strides, cube[1, 2, 3], inner.count, column.size, column.strides, column[3],
        inner.flag, last,
    )  # fmt: skip


class Beginning(NamedTuple):
    """Begins as a scene does, and has more."""

    vehicle: object
    state: object
    ledger: None
    calls: np.ndarray


@kernel
def _run_from(parts, address, steps, dt):
    _, _, _, calls = unpack(parts)
    call_at(address, parts, steps, dt)
    calls[0] += 1.0


class Holding(NamedTuple):
    """Holds a scene by its address."""

    scene: BoundApart
    calls: np.ndarray


@kernel
def _run_held(parts, address, steps, dt):
    scene, calls = unpack(parts)
    call_at(address, scene, steps, dt)
    calls[0] += 1.0


def test_what_holds_a_scene_by_its_address_steps_it_and_a_copy_steps_its_own(pair):
    where, plain, motion = pair
    holding = BoundArguments(Holding(BoundApart(Scene(where, motion)), np.zeros(1)))
    other = copy.deepcopy(holding)
    before = motion.q.tobytes()
    _run_held(other, address_of_run(where, motion), 100, 1e-4)
    assert motion.q.tobytes() == before
    _run_held(holding, address_of_run(where, motion), 100, 1e-4)
    run(where, plain, 100, 1e-4)
    assert plain.q.tobytes() == motion.q.tobytes() == other.value.scene.value.state.q.tobytes()
    assert typeof(holding) == typeof(BoundArguments(Holding(BoundApart((1.0, 2)), np.zeros(1))))


def test_a_kernel_that_is_called_at_its_address_does_what_it_does_when_python_calls_it(pair):
    where, plain, motion = pair
    calls = np.zeros(1)
    _run_from(BoundArguments(Beginning(where, motion, None, calls)), address_of_run(where, motion), 100, 1e-4)
    run(where, plain, 100, 1e-4)
    assert plain.q.tobytes() == motion.q.tobytes()
    assert calls[0] == 1.0
