"""No kernel of a tick allocates: counted in numba's run time, where every array that compiled code makes is made.

That a kernel which allocates does not compile (decision 0003) depends on an undocumented option of numba; this
test does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.impact import pair_energy
from models.kernels.bound import BoundArguments
from models.plant import Plant
from models.rover.dynamics import make_work
from models.vehicle import Scene, run_bound

TICKS, TICK_NS = 1000, 1_000_000


class Count:
    """Arrays made while it ran."""

    arrays = 0


@contextmanager
def counted() -> Iterator[Count]:
    rtsys.initialize(numba.core.registry.cpu_target.target_context)
    was_on = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    try:
        count, before = Count(), rtsys.get_allocation_stats()
        yield count
        after = rtsys.get_allocation_stats()
        count.arrays = after.alloc - before.alloc + after.mi_alloc - before.mi_alloc
    finally:
        if not was_on:
            _nrt_python.memsys_disable_stats()


@pytest.fixture(scope="module")
def rig():
    return nominal_rig(load_config("sim_impact", ["trial.start_distance_m=0.02"]))


def test_the_counter_sees_an_array_that_compiled_code_makes():
    @numba.njit
    def makes(n):
        return np.zeros(n).sum()

    makes(3)
    with counted() as count:
        for _ in range(TICKS):
            makes(3)
    assert count.arrays >= TICKS


def test_a_thousand_ticks_of_the_step_make_no_array(bench):
    motion = bench.driving(bench.vehicle(), 0.1)
    scene = BoundArguments(Scene(bench.vehicle(foot=motion.q[0] + 0.75), motion))
    run_bound(scene, 1, 1e-4)
    with counted() as count:
        for _ in range(TICKS):
            run_bound(scene, 10, 1e-4)
    assert motion.obstacle.force.max() > 0.0  # the contact was among them
    assert count.arrays == 0


@pytest.mark.parametrize("grousers", [0, 22])
def test_a_thousand_ticks_of_the_plant_make_no_array(rig, grousers):
    obstacle = rig.obstacle._replace(grousers=grousers, leg_compliance=np.full(6, 1e-6 * bool(grousers)))
    plant = Plant(replace(rig, obstacle=obstacle), np.random.default_rng(1))
    plant.set_drives((0.4,) * 6, cut=False)
    plant.set_valves(((True, False), (False, True)))
    plant.advance(TICK_NS)
    with counted() as count:
        for tick in range(2, TICKS + 2):
            plant.advance(tick * TICK_NS)
    assert plant.contact_force_peak > 0.0
    assert count.arrays == 0


def test_a_thousand_energies_make_no_array(bench):
    chain, work = bench.rover.chain, make_work(bench.rover.chain)
    state, rows = bench.resting(), np.zeros((2, bench.rover.nv))
    pair_energy(chain, state.q, state.v, 1.0, rows, work)
    with counted() as count:
        for _ in range(TICKS):
            pair_energy(chain, state.q, state.v, 1.0, rows, work)
    assert count.arrays == 0
