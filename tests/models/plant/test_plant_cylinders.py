"""The plant with compressible gas, linkage and stick-slip in three cylinders, on a side slope, without obstacle."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.plant import Plant, Spread

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

MS = 1_000_000
OFF = ((False, False),) * 3
EACH = ((True, False), (False, True), (True, False))
OVERRIDES = [
    "cylinders.joints=[left_bogie, right_bogie, rear_bogie]",
    "cylinders.model=compressible",
    "cylinders.linkage={}",
    "cylinders.friction={}",
    "cylinders.rod_mm=12.7",
    "cylinders.regulators=each",
]


@pytest.fixture(scope="module")
def rig():
    rig = nominal_rig(load_config("sim_impact", OVERRIDES))
    ground = replace(rig.ground, roll=math.radians(8.0))
    return replace(rig, obstacle=None, piezo=None, ground=ground)


def make(rig) -> Plant:
    return Plant(rig, np.random.default_rng(1), accounts=True)


def length_of(pins, angle: float) -> float:
    """From pin to pin [m], the clevis turned about the joint."""
    return abs(complex(*pins.clevis) * complex(math.cos(angle), -math.sin(angle)) - complex(*pins.post))


def test_the_cylinders_push_with_their_regulators_pressures_and_let_go_when_the_valves_are_off(rig):
    plant = make(rig)
    plant.set_regulators((1.5e5, 1e5, 8e4))
    plant.set_valves(EACH)
    plant.advance(700 * MS)
    wanted = np.array([[1.5e5, 0.0], [0.0, 1e5], [8e4, 0.0]])
    assert plant.pressure == pytest.approx(wanted, abs=100.0)
    area, rod = math.pi / 4 * 38.1e-3**2, math.pi / 4 * 12.7e-3**2
    thrust = np.array([1.5e5 * area, -1e5 * (area - rod), 8e4 * area])
    assert plant._state.cylinders.torque == pytest.approx(0.25 * thrust, rel=0.01)
    plant.set_valves(OFF)
    plant.advance(1500 * MS)
    assert np.abs(plant.pressure).max() < 100.0  # Pa: the bogies are passive
    assert np.abs(plant._state.cylinders.torque).max() < 0.1


def test_the_balance_of_energies_closes(rig):
    plant = make(rig)
    begin = plant.energies()
    plant.set_regulators((2e5, 2e5, 2e5))
    plant.set_valves(EACH)
    for t_ms in range(50, 801, 50):
        plant.set_drives((0.4,) * 6, t_ms > 600)
        plant.advance(t_ms * MS)
    end = plant.energies()
    assert abs(end.cylinders - begin.cylinders) > 0.3  # J
    assert abs(end.residue(begin)) < 0.01 * (abs(end.cylinders) + end.drives)


def test_without_friction_the_work_of_the_cylinders_is_force_times_the_way_of_each_piston(rig):
    plant = make(replace(rig, linkage=rig.linkage._replace(static=0.0, coulomb=0.0, viscous=0.0)))
    places = [7 + plant.rover.tree_joint_names.index(joint) for joint in rig.cylinder_joints]

    def now():
        """Thrust [N] and extension [m] of each cylinder."""
        extensions = [length_of(rig.linkage, plant._state.q[place]) for place in places]
        return rig.cylinder.area * (plant.pressure @ (1.0, -rig.cylinder.rod_share)), np.array(extensions)

    plant.set_regulators((2e5, 2e5, 2e5))
    plant.set_valves(EACH)
    work, last = 0.0, now()
    for t_ms in range(1, 501):
        plant.advance(t_ms * MS)
        here = now()
        work += float(0.5 * (here[0] + last[0]) @ (here[1] - last[1]))
        last = here
    assert work > 0.5  # J
    assert plant.energies().cylinders == pytest.approx(work, rel=0.01)


def test_the_simulated_rigs_friction_deviates_from_the_nominal_one_by_its_spread(rig):
    spread = Spread(0.0, 0.0, 0.0, 0.0, 0.0, friction=0.1)
    drawn = [rig.perturbed(spread, np.random.default_rng(seed)).linkage for seed in range(200)]
    shares = np.array([linkage.static / rig.linkage.static for linkage in drawn])
    assert shares == pytest.approx([linkage.coulomb / rig.linkage.coulomb for linkage in drawn])
    assert (shares.mean(), shares.std()) == pytest.approx((1.0, 0.1), abs=0.02)
    same = rig.perturbed(replace(spread, friction=0.0), np.random.default_rng(1)).linkage
    assert same is rig.linkage


def test_gas_without_a_linkage_is_refused(rig):
    with pytest.raises(ValueError, match=r"pneumatics: the cylinders have no linkage, needed: one"):
        replace(rig, linkage=None).make_gas(*replace(rig, linkage=None).assemble()[1:])
