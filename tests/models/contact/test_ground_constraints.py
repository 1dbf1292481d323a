"""Rigid ground: active wheels, against a dense least-squares solver, dense projectors and the thesis's plateau."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import nnls

from models.contact.constraints import (
    effective_kinetic_energy_on_ground,
    fill_ground_rows,
    find_active,
    hold_ground,
    make_rigid_ground,
)
from models.contact.wheel_slots import make_ground_contact
from models.impact import effective_kinetic_energy
from models.rover import rcp, rocker_bogie
from models.rover.dynamics import fill_bias, fill_mass_matrix, make_work, place_bodies
from models.rover.factor import factorise, solve
from models.vehicle import move

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

ROVER = rcp()
WHEELS = ROVER.wheel_names
SPEED, RADIUS = 0.07, 0.175
FRONT = ("front_left", "front_right")


def placed(q):
    work = make_work(ROVER.chain)
    place_bodies(ROVER.chain, q, work)
    fill_mass_matrix(ROVER.chain, work)
    factorise(ROVER.chain, work.mass_matrix)
    return work


def lift(q, wheels=WHEELS):
    """Rows of the wheels' speeds off the ground: away from the plane of no inclination."""
    return -ROVER.impact_jacobian(q, 0.0, wheels)


def rolling_speed(speed=SPEED):
    v = np.zeros(ROVER.nv)
    v[0] = speed
    for i, name in enumerate(ROVER.joint_names):
        if name.endswith("_drive"):
            v[6 + i] = speed / RADIUS
    return v


def random_pose(seed: int):
    random = np.random.default_rng(seed)
    q = ROVER.neutral()
    q[3:6] = 0.05 * random.normal(size=3)
    q[3:7] /= np.linalg.norm(q[3:7])
    q[7:] = 0.1 * random.normal(size=ROVER.nq - 7)
    return q, random.normal(size=ROVER.nv)


def after_by_gauss(M, J, N, v):
    """Speed after a plastic impact: the nearest to v, in the metric M, with J v = 0 and N v >= 0; by dense nnls."""
    Z = null_space(J) if len(J) else np.eye(len(v))
    C = np.linalg.cholesky(Z.T @ M @ Z)
    free = np.linalg.solve(Z.T @ M @ Z, Z.T @ M @ v)
    rows = np.linalg.solve(C, (N @ Z).T)
    impulse, _ = nnls(rows, -C.T @ free)
    return Z @ (free + np.linalg.solve(C.T, rows @ impulse)), impulse


@pytest.mark.parametrize("seed", range(40))
def test_a_fall_on_rigid_ground_is_the_dense_solvers(seed):
    q, v = random_pose(seed)
    rigid, work = make_rigid_ground(ROVER), placed(q)
    fill_ground_rows(ROVER.chain, q, rigid, None, work)
    assert rigid.row == pytest.approx(lift(q), abs=1e-12)
    rigid.speed[:] = rigid.row @ v
    assert find_active(ROVER.chain, rigid, work)
    M = ROVER.mass_matrix(q)
    after, impulse = after_by_gauss(M, np.zeros((0, ROVER.nv)), lift(q), v)
    assert rigid.impulse == pytest.approx(impulse, abs=1e-8)
    assert v + np.linalg.solve(M, rigid.row.T @ rigid.impulse) == pytest.approx(after, abs=1e-8)
    assert list(rigid.active) == [int(value > 0.0) for value in impulse]


def test_all_kinds_of_sets_occur_in_these_falls():
    counts = set()
    for seed in range(40):
        q, v = random_pose(seed)
        counts.add(np.count_nonzero(after_by_gauss(ROVER.mass_matrix(q), np.zeros((0, ROVER.nv)), lift(q), v)[1]))
    assert len(counts) >= 4


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("angle_deg", [35.0, 70.0, 90.0])
def test_energy_on_ground_is_what_the_plastic_impact_with_plate_and_ground_takes(seed, angle_deg):
    q, v = random_pose(seed)
    M, J, N = ROVER.mass_matrix(q), ROVER.impact_jacobian(q, math.radians(angle_deg)), lift(q)
    energy, active = effective_kinetic_energy_on_ground(ROVER, q, v, math.radians(angle_deg))
    after, impulse = after_by_gauss(M, J, N, v)
    assert energy == pytest.approx(0.5 * (v @ M @ v - after @ M @ after), rel=1e-8)
    assert active == tuple(name for name, value in zip(WHEELS, impulse, strict=True) if value > 1e-9)
    # and it is (3.27) with the active rows, by dense projectors
    rows = np.vstack([J, *(lift(q, [name]) for name in active)])
    assert energy == pytest.approx(effective_kinetic_energy(M, rows, v), rel=1e-8)


@pytest.mark.parametrize("angle_deg", [30.0, 40.0, 50.0, 59.0])
def test_at_low_angles_the_impact_lifts_the_wheels_and_no_ground_acts(angle_deg):
    q, angle = ROVER.neutral(), math.radians(angle_deg)
    energy, active = effective_kinetic_energy_on_ground(ROVER, q, rolling_speed(), angle)
    assert active == ()
    without = effective_kinetic_energy(ROVER.mass_matrix(q), ROVER.impact_jacobian(q, angle), rolling_speed())
    assert energy == pytest.approx(without, rel=1e-9)


def test_at_high_angles_the_front_wheels_are_held_and_energy_stays_at_the_peak_without_ground():
    """MacMahon 2016 5.5, fig. 5-9 and 5-10."""
    q, v = ROVER.neutral(), rolling_speed()
    M = ROVER.mass_matrix(q)
    angles = np.radians(np.arange(55.0, 65.0, 0.01))
    peak = max(effective_kinetic_energy(M, ROVER.impact_jacobian(q, angle), v) for angle in angles)
    for angle_deg in (65.0, 70.0, 80.0, 90.0):
        energy, active = effective_kinetic_energy_on_ground(ROVER, q, v, math.radians(angle_deg))
        assert active == FRONT
        assert energy == pytest.approx(peak, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_a_differential_shares_in_it(seed):
    """Rockers coupled by a differential, in the independent speeds and by the dense solver."""
    rover, random = rocker_bogie(), np.random.default_rng(seed)
    assert len(rover.tree_joint_names) > len(rover.joint_names)
    q, v, angle = rover.neutral(), random.normal(size=rover.nv), math.radians(75.0)
    q[7:] = 0.1 * random.normal(size=rover.nq - 7)
    M, J, N = rover.mass_matrix(q), rover.impact_jacobian(q, angle), -rover.impact_jacobian(q, 0.0, rover.wheel_names)
    energy, active = effective_kinetic_energy_on_ground(rover, q, v, angle)
    after, impulse = after_by_gauss(M, J, N, v)
    assert energy == pytest.approx(0.5 * (v @ M @ v - after @ M @ after), rel=1e-8)
    assert active == tuple(name for name, value in zip(rover.wheel_names, impulse, strict=True) if value > 1e-9)


def test_all_six_wheels_at_once_would_hold_too_much():
    """PHYSICS: 1.46 to 1.5 times the plateau; the unilateral rule is what keeps them out."""
    q, v = ROVER.neutral(), rolling_speed()
    J = ROVER.impact_jacobian(q, math.radians(80.0))
    energy, _ = effective_kinetic_energy_on_ground(ROVER, q, v, math.radians(80.0))
    everything = effective_kinetic_energy(ROVER.mass_matrix(q), np.vstack([J, lift(q)]), v)
    assert 1.4 < everything / energy < 1.6


def contact_point_rows(q, wheels):
    """(5.28) by differences: speeds of each lowest point of the rim, forward and across, a rolling wheel's own."""
    rows = []
    for name in wheels:
        at = ROVER.wheel_names.index(name)
        rigid = make_rigid_ground(ROVER, rolling=True)
        fill_ground_rows(ROVER.chain, q, rigid, None, placed(q))
        rows.append(rigid.row[3 * at : 3 * at + 3])
    return np.vstack(rows)


def test_rolling_rows_are_those_of_the_thesis_for_one_wheel():
    """(5.29), for a wheel's own velocity (v_G, omega): v_x - R omega_y, v_y + R omega_x, v_z in our axes, z up."""
    rows, q, h = contact_point_rows(ROVER.neutral(), WHEELS), ROVER.neutral(), 1e-6
    for at, name in enumerate(WHEELS):
        for k, joint in enumerate(ROVER.joint_names):
            ahead, back = q.copy(), q.copy()
            ahead[7 + k] += h
            back[7 + k] -= h
            centre = (ROVER.wheel_positions(ahead) - ROVER.wheel_positions(back))[at] / (2.0 * h)
            # which way this joint turns the wheel: the rear bogie rolls, all else pitches, and only what carries it
            carries = joint == f"{name}_drive" or joint == (
                "rear_bogie" if "rear" in name else f"{name[-5:].strip('_')}_bogie"
            )
            if not carries and joint.endswith("_bogie"):
                carries = "rear" not in name and joint.split("_")[0] == name.split("_")[1]
            spin = np.zeros(3)
            if carries:
                spin[0 if joint == "rear_bogie" else 1] = 1.0
            expected = centre + np.cross(spin, [0.0, 0.0, -RADIUS])
            assert rows[3 * at : 3 * at + 3, 6 + k] == pytest.approx(expected[[2, 0, 1]], abs=1e-8)


@pytest.mark.parametrize("angle_deg", [70.0, 90.0])
def test_wheels_held_without_slip_add_their_spin_to_the_energy(angle_deg):
    q, v, angle = ROVER.neutral(), rolling_speed(), math.radians(angle_deg)
    energy, active = effective_kinetic_energy_on_ground(ROVER, q, v, angle, rolling=True)
    assert active == FRONT
    rows = np.vstack([ROVER.impact_jacobian(q, angle), contact_point_rows(q, active)])
    # lateral rows of both front wheels are redundant on one axle line: the projector takes them once
    assert energy == pytest.approx(effective_kinetic_energy(ROVER.mass_matrix(q), rows, v), rel=1e-8)
    spin = 2 * 0.5 * (0.5 * 4.0 * RADIUS**2) * (SPEED / RADIUS) ** 2
    assert energy == pytest.approx(effective_kinetic_energy_on_ground(ROVER, q, v, angle)[0] + spin, rel=1e-6)


def test_rolling_without_a_consistent_set_is_refused_and_not_a_number_out_of_nothing():
    with pytest.raises(ValueError, match="rolling is True, but no set of wheels"):
        effective_kinetic_energy_on_ground(ROVER, ROVER.neutral(), rolling_speed(), math.radians(60.0), rolling=True)


class OnRigidGround:
    def __init__(self, *, rolling: bool = False, height: float = 0.0) -> None:
        self.q, self.v, self.rigid = ROVER.neutral(), np.zeros(ROVER.nv), make_rigid_ground(ROVER, rolling=rolling)
        self.q[2] = height
        self.work, self.contact = make_work(ROVER.chain), make_ground_contact(6)
        self.torque = np.zeros(ROVER.nv)

    def step(self, dt: float = 1e-3) -> None:
        chain, work = ROVER.chain, self.work
        place_bodies(chain, self.q, work)
        fill_bias(chain, self.v, np.array([0.0, 0.0, -9.81]), work)
        fill_mass_matrix(chain, work)
        work.rhs[:] = self.torque - work.rhs
        factorise(chain, work.mass_matrix)
        solve(chain, work.mass_matrix, work.rhs)
        self.v += dt * work.rhs
        assert hold_ground(chain, self.q, self.v, dt, self.rigid, None, self.contact, work)
        move(self.q, self.v, dt, work)

    def gaps(self):
        return ROVER.wheel_positions(self.q)[:, 2] - RADIUS


@pytest.mark.parametrize("rolling", [False, True])
def test_a_rover_stands_and_each_wheel_bears_what_statics_give_it(rolling):
    """Even where rows are dependent: rear wheels that do not slip sideways hold their bogie from rolling, too."""
    stand = OnRigidGround(rolling=rolling)
    for _ in range(200):
        stand.step()
    weight = ROVER.bias(stand.q, np.zeros(ROVER.nv))
    loads, *_ = np.linalg.lstsq(lift(stand.q).T, weight, rcond=None)
    assert stand.contact.vertical == pytest.approx(loads, rel=1e-6)
    assert np.abs(stand.gaps()).max() < 1e-9
    assert np.abs(stand.v).max() < 1e-9


def test_a_dropped_rover_lands_within_a_step_and_stays_on_top():
    stand, lowest, energies = OnRigidGround(height=0.01), [], []
    for _ in range(300):
        stand.step()
        lowest.append(stand.gaps().min())
        energies.append(0.5 * stand.v @ ROVER.mass_matrix(stand.q) @ stand.v)
    assert min(lowest) > -1e-4  # of the step's own order: height is linearised over it
    assert abs(lowest[-1]) < 1e-6
    assert energies[-1] < 1e-6 < max(energies)


def test_a_bogie_pushed_hard_lifts_one_wheel_and_only_then():
    stand = OnRigidGround()
    at = 6 + ROVER.joint_names.index("left_bogie")
    for torque, lifted in ((30.0, False), (120.0, True)):
        stand.torque[at] = torque
        for _ in range(100):
            stand.step()
        left = [i for i, name in enumerate(WHEELS) if name in ("front_left", "middle_left")]
        assert (stand.gaps()[left].max() > 1e-3) == lifted
        assert (stand.contact.vertical[left].min() == 0.0) == lifted
        assert (stand.contact.vertical >= 0.0).all()


def test_a_rolling_rover_keeps_its_speed_and_a_driven_one_does_not_slip():
    roll = OnRigidGround(rolling=True)
    roll.v[:] = rolling_speed()
    for _ in range(200):
        roll.step()
    assert roll.v == pytest.approx(rolling_speed(), abs=1e-9)
    drives = [6 + i for i, name in enumerate(ROVER.joint_names) if name.endswith("_drive")]
    roll.torque[drives] = 1.0
    for _ in range(200):
        roll.step()
    # six torques of 1 N m over R push 120 kg and turn six wheels of m R^2 / 2
    expected = SPEED + 0.2 * 6.0 / RADIUS / (120.0 + 6 * 0.5 * 4.0)
    assert roll.v[0] == pytest.approx(expected, rel=1e-4)
    assert roll.v[drives] == pytest.approx(expected / RADIUS, rel=1e-4)
    assert roll.contact.pull.sum() == pytest.approx(120.0 * 6.0 / RADIUS / 132.0, rel=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"v": np.full(15, np.nan)}, r"v is [^,]*, allowed: 15 finite numbers"),
        ({"v": np.zeros(14)}, r"v is [^,]*, allowed: 15 finite numbers"),
        ({"q": np.full(16, np.nan)}, r"q holds values that are not finite"),
        ({"angle": math.nan}, r"angle is nan rad, allowed: finite"),
    ],
)
def test_bad_input_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        effective_kinetic_energy_on_ground(
            ROVER, **{"q": ROVER.neutral(), "v": rolling_speed(), "angle": 1.0, **change}
        )
