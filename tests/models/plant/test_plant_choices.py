"""The plant with other rovers, legs and grounds than the shipped ones."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig, spread
from models.impact import effective_kinetic_energy
from models.plant import Plant, Spread, WheelKind

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

S = 1_000_000_000
DRIVING = (0.4,) * 6
BOTH_EXTEND = ((True, False), (True, False))


def plant_of(*overrides: str) -> Plant:
    config = load_config("sim_impact", ["trial.start_distance_m=0.04", "trial.ramp_s=0.2", *overrides])
    return Plant(nominal_rig(config), np.random.default_rng(1))


def driven_until_hit(plant: Plant) -> Plant:
    plant.set_drives(DRIVING, False)
    while plant.hit_ns is None and plant.t_ns < 2 * S:
        plant.advance(plant.t_ns + 1_000_000)
    assert plant.hit_ns is not None
    return plant


def test_a_coupled_rovers_energy_when_hit_is_that_of_its_independent_speeds():
    plant = driven_until_hit(plant_of("rover.type=rocker_bogie"))
    rover, log = plant.rover, plant._log
    names = rover.tree_joint_names
    left, right = names.index("left_rocker"), names.index("right_rocker")
    assert len(log.hit_v) == 6 + len(names) > rover.nv
    assert log.hit_v[6 + right] == pytest.approx(-log.hit_v[6 + left], rel=1e-9)
    # independent speeds by name, and (3.27) straight
    v = np.array([*log.hit_v[:6], *(log.hit_v[6 + names.index(name)] for name in rover.joint_names)])
    q = np.array([*log.hit_q[:7], *(log.hit_q[7 + names.index(name)] for name in rover.joint_names)])
    rows = rover.impact_jacobian(q, math.radians(60.0))
    approach = rows @ v
    expected = 0.5 * approach @ np.linalg.solve(rows @ np.linalg.solve(rover.mass_matrix(q), rows.T), approach)
    assert expected > 0.05
    assert plant.effective_kinetic_energy_when_hit() == pytest.approx(expected, rel=1e-9)


def test_cylinders_push_the_bogies_of_their_names_in_a_coupled_rover():
    plant = plant_of("rover.type=rocker_bogie")
    plant.set_valves(BOTH_EXTEND)
    plant.advance(S // 5)
    names, before = plant.rover.tree_joint_names, plant_of("rover.type=rocker_bogie")._state.q
    moved = dict(zip(names, np.abs(plant._state.q[7:] - before[7:]), strict=True))
    arms = sorted((name for name in names if not name.endswith("_drive")), key=moved.__getitem__)
    assert set(arms[-2:]) == {"left_bogie", "right_bogie"}
    assert plant._state.cylinders.torque == pytest.approx(59.0, abs=2.0)


def test_a_rover_without_cylinders_has_no_pressures_whatever_its_valves_do():
    config = load_config("sim_impact", ["rover.type=juno"])
    plant = Plant(replace(nominal_rig(config), obstacle=None), np.random.default_rng(1))
    plant.set_valves(BOTH_EXTEND)
    plant.set_drives((0.4,) * 4, False)
    plant.advance(S // 5)
    plant.advance(2 * S // 5)
    assert plant.pressure.shape == (0, 2)
    assert plant._state.v[0] > 0.05


def test_without_ground_and_losses_the_rig_hits_with_the_energy_of_the_neutral_rover_and_all_of_it():
    """MacMahon 2016 5.3: (3.27) at constant speed; two springs k then hold k d^2, with 2 k d between them."""
    elastic = ("ground.kind=none", "obstacle.law=hertz", "obstacle.friction=0", "rover.added_mass_kg=0")
    plant = plant_of(*elastic)
    start = plant._state.q[0]
    plant.advance(S // 10)
    assert plant._state.q[0] - start == pytest.approx(0.007, rel=1e-9)
    driven_until_hit(plant)
    assert plant.hit_speed == pytest.approx(0.07, rel=1e-4)
    rover = plant.parameters.rover.build()
    q, v = rover.neutral(), np.zeros(rover.nv)
    v[0] = 0.07
    energy = effective_kinetic_energy(rover.mass_matrix(q), rover.impact_jacobian(q, math.radians(60.0)), v)
    assert plant.effective_kinetic_energy_when_hit() == pytest.approx(energy, rel=1e-3)
    plant.advance(plant.t_ns + S // 5)
    assert plant.contact_force_peak == pytest.approx(
        2.0 * math.sqrt(plant.parameters.obstacle.stiffness * energy), rel=0.02
    )


@pytest.mark.parametrize("ground", [("ground.kind=rigid",), ("ground.kind=firm", "ground.stiffness=1e8")])
def test_on_ground_that_does_not_yield_a_rover_rolls_as_fast_as_its_wheels(ground):
    plant = plant_of("trial.start_distance_m=1", *ground)
    plant.set_drives(DRIVING, False)
    plant.advance(S // 4)
    plant.advance(S // 2)
    assert plant._state.v[0] == pytest.approx(0.4 * 0.175, rel=1e-3)
    assert plant._state.ground.vertical.sum() == pytest.approx(142.7 * 9.81, rel=0.02)


def test_wheels_with_grousers_roll_on_their_tips():
    plant = plant_of(
        "trial.start_distance_m=1", "ground.kind=rigid", "wheel.grousers=22", "wheel.grouser_height_m=0.01"
    )
    assert plant.rover.wheel_positions(plant._state.q)[:, 2] == pytest.approx(0.185, abs=1e-6)
    plant.set_drives(DRIVING, False)
    plant.advance(S // 4)
    plant.advance(S // 2)
    assert plant._state.v[0] == pytest.approx(0.4 * 0.185, rel=1e-3)


def varied(legs: float, *overrides: str, seed: int = 1):
    nominal = nominal_rig(load_config("sim_impact", overrides))
    only_legs = Spread(mass=0.0, soil=0.0, legs=legs, sensitivity=0.0, start_m=0.0)
    return nominal.obstacle, nominal.perturbed(only_legs, np.random.default_rng(seed)).obstacle


def test_each_leg_that_gives_by_itself_strays_by_itself_and_the_plate_does_not():
    nominal, other = varied(0.03, "obstacle.legs=each", "obstacle.exponent=1.5")
    assert nominal.leg_compliance == pytest.approx(1.0 / 5.5e4)
    strayed = other.leg_compliance / nominal.leg_compliance
    assert len(set(strayed)) == 6
    assert 0.0 < np.abs(strayed - 1.0).max() < 0.15
    assert other.stiffness == nominal.stiffness == 1e9


def test_lumped_legs_stay_rigid_and_the_contact_strays():
    nominal, other = varied(0.03)
    assert not other.leg_compliance.any()
    assert other.stiffness != nominal.stiffness == 5.5e4


def test_firm_ground_strays_as_soil_does():
    config = load_config("sim_impact", ["ground.kind=firm"])
    nominal = nominal_rig(config)
    laws = [
        nominal.perturbed(spread(config.plant, config.loads), np.random.default_rng(seed)).ground.compliant.law
        for seed in (1, 2)
    ]
    assert len({law.stiffness for law in [*laws, nominal.ground.compliant.law]}) == 3
    assert laws[0].stiffness == pytest.approx(1e6, rel=0.3)


def test_ruts_under_a_wheel_model_without_memory_are_refused():
    nominal = nominal_rig(load_config("sim_impact"))
    wrong = replace(nominal, ground=replace(nominal.ground, ruts=True, wheel=WheelKind("tire_1")))
    with pytest.raises(
        ValueError, match=r"variants of the wheels are \['tire_1'\], allowed with ruts: 'exact', 'flexible'"
    ):
        wrong.build()
