"""Couplings: N^T M N factored along the tree, kept by the step, and gears that can be worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.actuators.drive import Drive
from models.contact.ground import Ground
from models.contact.obstacle import Obstacle
from models.impact import effective_kinetic_energy, pair_energy
from models.rover import rcp, rocker_bogie
from models.rover.dynamics import fill_mass_matrix, make_work, place_bodies
from models.rover.factor import factorise, half_solve, solve
from models.rover.rover import Rover
from models.rover.ties import Coupling
from models.rover.tree import Body, Joint, Tree
from models.vehicle import VehicleModel, make_vehicle_state, run
from models.wheel import RigidWheel, Soil

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs


def factored(case, q):
    """Mass matrix of all joints that turn, and our factor of the folded one."""
    chain = case.rover.chain
    work = make_work(chain)
    place_bodies(chain, case.unlocked(q), work)
    fill_mass_matrix(chain, work)
    M = np.tril(work.mass_matrix) + np.tril(work.mass_matrix, -1).T
    factorise(chain, work.mass_matrix)
    return M, work.mass_matrix


@pytest.mark.parametrize("seed", range(4))
def test_a_solve_is_that_of_the_folded_mass_matrix_and_keeps_the_couplings(case, seed):
    q, *_ = case.state(seed)
    M, L = factored(case, q)
    x = np.random.default_rng(seed).normal(size=len(M))
    wanted = case.N @ np.linalg.solve(case.N.T @ M @ case.N, case.N.T @ x)
    found, half = x.copy(), x.copy()
    solve(case.rover.chain, L, found)
    half_solve(case.rover.chain, L, half)
    assert np.abs(found - wanted).max() <= 1e-9 * np.abs(wanted).max()
    assert half @ half == pytest.approx(x @ wanted, rel=1e-9)


def test_the_factor_has_entries_on_paths_of_the_elimination_tree_only(case):
    """And those are all entries of N^T M N: L^T D L on these paths is complete."""
    chain = case.rover.chain
    M, filled = factored(case, case.state(3)[0])
    L, D = np.eye(len(filled)), np.diag(1.0 / np.diag(filled))
    for k in range(len(L)):
        i = chain.elimination_parent[k]
        while i >= 0:
            L[k, i] = filled[k, i]
            i = chain.elimination_parent[i]
    own = np.ix_(chain.independent, chain.independent)
    assert np.abs((L.T @ D @ L)[own] - case.N.T @ M @ case.N).max() <= 1e-10


def test_without_couplings_the_elimination_tree_is_the_tree(case):
    chain = case.rover.chain
    assert np.array_equal(chain.elimination_parent, chain.speed_parent) == (not case.coupled)


def test_a_differential_fills_nothing_but_the_other_sides_paths_to_its_rocker():
    rover = rocker_bogie()
    chain, names = rover.chain, rover.tree_joint_names
    left, right = 6 + names.index("left_rocker"), 6 + names.index("right_rocker")
    wanted = np.where(chain.speed_parent == right, left, chain.speed_parent)
    wanted[right] = -1
    assert np.array_equal(chain.elimination_parent, wanted)


def discs(*couplings: Coupling, inertias=(0.2, 0.5, 0.9)) -> Rover:
    """Discs that spin about y on a base, side by side."""
    names = "abc"[: len(inertias)]
    bodies = (
        Body("base", 50.0, (0.0, 0.0, 0.0), (5.0, 5.0, 5.0)),
        *(Body(f"disc_{n}", 1.0, (0.0, 0.0, 0.0), (J, J, J)) for n, J in zip(names, inertias, strict=True)),
    )
    joints = tuple(Joint(n, "base", f"disc_{n}", (0.0, float(k), 0.0), (0.0, 1.0, 0.0)) for k, n in enumerate(names))
    return Rover(Tree("discs", bodies, joints, (), couplings))


def test_a_gear_reflects_an_inertia_by_the_square_of_its_ratio():
    rover = discs(Coupling("b", (("a", -3.0),)), inertias=(0.2, 0.5))
    assert (rover.nv, rover.joint_names) == (7, ("a",))
    M = rover.mass_matrix(rover.neutral())
    assert M[6, 6] == pytest.approx(0.2 + 9.0 * 0.5)
    assert M[6, 4] == pytest.approx(0.2 - 3.0 * 0.5)


def test_a_differential_of_two_sources_ties_their_inertias():
    rover = discs(Coupling("c", (("a", 0.5), ("b", 2.0))))
    M = rover.mass_matrix(rover.neutral())
    wanted = [[0.2 + 0.25 * 0.9, 0.5 * 2.0 * 0.9], [0.5 * 2.0 * 0.9, 0.5 + 4.0 * 0.9]]
    assert M[6:, 6:] == pytest.approx(np.array(wanted))


def test_the_angle_of_a_coupled_joint_follows_its_sources_from_its_offset():
    rover = discs(Coupling("a", (("b", 0.5), ("c", -2.0)), offset=0.25))
    q, v = rover.neutral(), np.zeros(8)
    q[7:], v[6:] = (0.4, 0.1), (1.0, 3.0)
    assert rover.tree_configuration(q)[7:] == pytest.approx([0.25 + 0.2 - 0.2, 0.4, 0.1])
    assert rover.tree_speeds(v)[6:] == pytest.approx([0.5 - 6.0, 1.0, 3.0])


# ---- in the step ----
SOIL = Soil(2.07e5, 0.583, friction_angle=math.radians(30.0), rebound=0.0674, slip_modulus=0.689)
DT = 1e-4


def on_soil(rover: Rover, gain=200.0):
    mount = rover.tree.wheels[0]
    return VehicleModel(
        rover.chain,
        Ground(np.array(RigidWheel(mount.radius, mount.width, SOIL).parameters), 2.0, 0.02, 0.001, 0.005),
        Drive(gain, 0.0, math.inf, 0.0, 0.02, 0.0, 40.0, 0.0),
        Obstacle(math.pi / 2, 1e6, 5.5e4, 1.0, 0.9, 0.0, 0.005),
        np.array([0.0, 0.0, -9.81]),
    )


@pytest.fixture(scope="module")
def settled():
    rover = rocker_bogie()
    where, motion = on_soil(rover), make_vehicle_state(rover)
    run(where, motion, 20000, DT)
    return rover, where, motion


def test_a_rocker_bogie_comes_to_rest_on_soil_with_its_weight_on_six_wheels(settled):
    rover, _, motion = settled
    assert np.abs(motion.v).max() < 1e-3
    assert (motion.ground.sinkage > 0.0).all()
    weight = rover.mass_matrix(rover.neutral())[0, 0] * 9.81
    assert motion.ground.vertical.sum() == pytest.approx(weight, rel=1e-3)


def test_the_step_keeps_the_differential_while_the_rover_drives_with_a_rocker_pushed(settled):
    rover, where, rest = settled
    names, motion = rover.tree_joint_names, make_vehicle_state(rover)
    left, right = names.index("left_rocker"), names.index("right_rocker")
    motion.q[:] = rest.q
    motion.drives.cut[:] = 0.0
    motion.drives.set_speed[:] = 0.4
    motion.torque[6 + left] = 60.0
    run(where, motion, 20000, DT)
    assert abs(motion.q[7 + left]) > 1e-3
    assert motion.q[7 + right] == pytest.approx(-motion.q[7 + left], abs=1e-12)
    assert motion.v[6 + right] == pytest.approx(-motion.v[6 + left], abs=1e-12)


def test_a_torque_on_one_rocker_is_the_opposite_torque_on_the_other(settled):
    rover, where, rest = settled
    names, ends = rover.tree_joint_names, []
    for joint, torque in (("left_rocker", 30.0), ("right_rocker", -30.0)):
        motion = make_vehicle_state(rover)
        motion.q[:] = rest.q
        motion.torque[6 + names.index(joint)] = torque
        run(where, motion, 2000, DT)
        ends.append(motion.q.copy())
    assert np.abs(ends[0] - rest.q).max() > 1e-3
    assert ends[0] == pytest.approx(ends[1], abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_kernel_for_both_front_wheels_gives_t_c_of_a_coupled_rover(seed):
    rover = rocker_bogie()
    random = np.random.default_rng(seed)
    q, v, angle = random.normal(size=rover.nq), random.normal(size=rover.nv), random.uniform(0.1, math.pi / 2)
    q[3:7] /= np.linalg.norm(q[3:7])
    wanted = effective_kinetic_energy(rover.mass_matrix(q), rover.impact_jacobian(q, angle), v)
    all_q, all_v = rover.tree_configuration(q), rover.tree_speeds(v)
    rows = np.zeros((2, all_v.size))
    assert pair_energy(rover.chain, all_q, all_v, angle, rows, make_work(rover.chain)) == pytest.approx(
        wanted, rel=1e-9
    )


# ---- prescribed wheel speeds ----
def test_drive_torques_of_prescribed_speeds_give_just_these_speeds(case):
    q, v, tau, wrenches, gravity = case.state(2)
    rover = case.rover
    tied = {f"{name}_drive" for name in rover.wheel_names} - set(rover.joint_names)
    if tied:
        with pytest.raises(ValueError, match=rf"wheel joints .*{tied.pop()}.* are coupled, allowed: free"):
            rover.driven_dynamics(q, v, tau, np.zeros(len(rover.wheel_names)), wrenches, gravity)
        return
    wheels = [6 + rover.joint_names.index(f"{name}_drive") for name in rover.wheel_names]
    wished = np.random.default_rng(1).normal(size=len(rover.wheel_names))
    found, torque = rover.driven_dynamics(q, v, tau, wished, wrenches, gravity)
    assert np.array_equal(found[wheels], wished)
    tau[wheels] += torque
    wanted = rover.forward_dynamics(q, v, tau, wrenches, gravity)
    assert np.abs(found - wanted).max() <= 1e-9 * np.abs(wanted).max()


def test_a_drive_of_boundless_gain_prescribes_the_speed_of_its_wheel_in_every_step():
    rover = rcp()
    where, motion = on_soil(rover, gain=1e12), make_vehicle_state(rover)
    axles = 5 + rover.chain.wheel_body
    motion.drives.cut[:] = 0.0
    for speed in (0.1, 0.4, -0.3):
        motion.drives.set_speed[:] = speed * np.arange(1.0, 7.0)
        run(where, motion, 1, DT)
        # the remainder is an inertia over gain times step, about 1e-9
        assert motion.v[axles] == pytest.approx(motion.drives.set_speed, rel=1e-8)
