"""The reduced rover against the full one: locks as rows deleted, 28 bodies with 168 speeds, and Table 4-1."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pinocchio
import pytest
from scipy.linalg import block_diag, null_space
from scipy.spatial.transform import Rotation

from models.impact import effective_kinetic_energy
from models.rover import RcpParameters, Rover, rcp
from models.rover.rcp import rcp_tree
from models.rover.tree import Body, Joint, Tree, WheelMount

LOCK_ANGLES = {"mount": 0.0, "turn": 0.4, "walk": -0.6}
# MacMahon 2016, Table 4-1, wheels: x and z there, height 0.175
TABLE_4_1 = {"front": (0.5349, 0.4552), "middle": (0.0, 0.4552), "rear": (-0.5381, 0.4552)}


def kind(joint: str) -> str:
    return joint.rsplit("_", 1)[-1]


def with_locks(tree: Tree, locks: dict[str, float | None]) -> Tree:
    """The tree with every joint of the named kinds locked at the angle, or free for None."""
    joints = tuple(
        replace(joint, locked_at=locks[kind(joint.name)]) if kind(joint.name) in locks else joint
        for joint in tree.joints
    )
    return replace(tree, joints=joints)


def full_configuration(full: Rover, reduced: Rover, q, locks: dict[str, float]):
    """The full rover's configuration with the locked joints at their angles."""
    out = np.zeros(full.nq)
    out[:7] = q[:7]
    angle = dict(zip(reduced.joint_names, q[7:], strict=True))
    out[7:] = [angle[name] if name in angle else locks[kind(name)] for name in full.joint_names]
    return out


def random_q(rover: Rover, seed: int):
    random = np.random.default_rng(seed)
    q = random.normal(size=rover.nq)
    q[3:7] = Rotation.from_rotvec(random.normal(size=3)).as_quat()
    return q


def locked_pair(angles: dict[str, float]) -> tuple[Rover, Rover, list[int]]:
    """The reduced rover, the one with 27 free joints, and the speeds of the latter that the former keeps."""
    tree = rcp_tree(RcpParameters(added_mass=10.0))
    reduced = Rover(with_locks(tree, dict(angles)))
    full = Rover(with_locks(tree, dict.fromkeys(angles)))
    kept = [*range(6), *(6 + full.joint_names.index(name) for name in reduced.joint_names)]
    return reduced, full, kept


@pytest.mark.parametrize("angles", [dict.fromkeys(LOCK_ANGLES, 0.0), LOCK_ANGLES], ids=["at zero", "at angles"])
@pytest.mark.parametrize("seed", range(5))
def test_locking_deletes_the_locked_rows_and_columns_of_the_mass_matrix(angles, seed):
    reduced, full, kept = locked_pair(angles)
    assert (reduced.nv, full.nv) == (15, 33)
    q = random_q(reduced, seed)
    whole = full.mass_matrix(full_configuration(full, reduced, q, angles))
    assert np.abs(reduced.mass_matrix(q) - whole[np.ix_(kept, kept)]).max() <= 1e-9


def test_locking_deletes_the_locked_rows_of_the_bias_when_locked_speeds_are_zero():
    reduced, full, kept = locked_pair(LOCK_ANGLES)
    q, v = random_q(reduced, 3), np.random.default_rng(3).normal(size=reduced.nv)
    speeds = np.zeros(full.nv)
    speeds[kept] = v
    whole = full.bias(full_configuration(full, reduced, q, LOCK_ANGLES), speeds)
    assert np.abs(reduced.bias(q, v) - whole[kept]).max() <= 1e-9 * np.abs(whole).max()


def test_with_walking_and_steering_free_the_rcp_has_27_speeds():
    tree = rcp_tree(RcpParameters())
    assert Rover(with_locks(tree, {"turn": None, "walk": None})).nv == 27


@pytest.mark.parametrize("seed", range(5))
def test_locks_at_angles_equal_pinocchios_fixed_joints_of_the_urdf(as_peer, seed):
    tree = rcp_tree(RcpParameters())
    rover = Rover(with_locks(tree, LOCK_ANGLES))
    peer = as_peer(rover)
    q = random_q(rover, seed)
    v = np.random.default_rng(seed).normal(size=rover.nv)
    assert np.abs(rover.mass_matrix(q) - peer.mass_matrix(q)).max() <= 1e-9
    theirs = pinocchio.nonLinearEffects(peer.model, peer.data, peer.q(q), v)
    assert np.abs(rover.bias(q, v) - theirs).max() <= 1e-9 * np.abs(theirs).max()


def test_every_lock_angle_counts():
    neutral = Rover(rcp_tree(RcpParameters()))
    for name in LOCK_ANGLES:
        turned = Rover(with_locks(neutral.tree, {name: 0.5}))
        assert np.abs(turned.mass_matrix(turned.neutral()) - neutral.mass_matrix(neutral.neutral())).max() > 1e-3


def dependent_model(tree: Tree, rover: Rover, peer, q):
    """Mass matrix (168, 168) of 28 loose bodies at their centres of mass, and N (168, nv), by Pinocchio's Jacobians."""
    model, data = peer.model, peer.data
    pinocchio.computeJointJacobians(model, data, peer.q(q))
    pinocchio.updateFramePlacements(model, data)
    blocks, rows = [], []
    for body in tree.bodies:
        frame = model.getFrameId(body.name, pinocchio.FrameType.BODY)
        turn = data.oMf[frame].rotation
        jacobian = pinocchio.getFrameJacobian(model, data, frame, pinocchio.LOCAL_WORLD_ALIGNED)
        arm = pinocchio.skew(turn @ np.array(body.com))
        rows.append(np.vstack([jacobian[:3] - arm @ jacobian[3:], jacobian[3:]]))
        blocks.append(block_diag(body.mass * np.eye(3), turn @ np.diag(body.inertia) @ turn.T))
    return block_diag(*blocks), np.vstack(rows)


@pytest.mark.parametrize("seed", range(3))
def test_mass_matrix_is_that_of_28_loose_bodies_through_the_orthogonal_complement(as_peer, seed):
    rover = rcp()
    q = random_q(rover, seed)
    M, N = dependent_model(rover.tree, rover, as_peer(rover), q)
    assert M.shape == (168, 168)
    assert np.abs(N.T @ M @ N - rover.mass_matrix(q)).max() <= 1e-9


@pytest.mark.parametrize("angle_deg", [20.0, 60.0, 90.0])
def test_effective_kinetic_energy_equals_that_of_the_168_speed_constrained_model(as_peer, angle_deg):
    rover = rcp(added_mass=22.7)
    random = np.random.default_rng(11)
    q = rover.neutral()
    q[7:] = 0.3 * random.normal(size=rover.nq - 7)
    v = random.normal(size=rover.nv)
    M, N = dependent_model(rover.tree, rover, as_peer(rover), q)
    constraints = null_space(N.T).T
    assert constraints.shape == (153, 168)  # MacMahon 2016 App. B: rank 153 at 15 DOF
    names = [body.name for body in rover.tree.bodies]
    approach = np.zeros((2, 168))
    for row, wheel in enumerate(("front_left_wheel", "front_right_wheel")):
        at = 6 * names.index(wheel)
        approach[row, at : at + 3] = np.sin(np.radians(angle_deg)), 0.0, -np.cos(np.radians(angle_deg))
    # a plastic impact of the dependent speeds: M (after - before) = Gamma^T lambda, Gamma after = 0
    gamma = np.vstack([constraints, approach])
    before = N @ v
    kkt = np.block([[M, gamma.T], [gamma, np.zeros((155, 155))]])
    after = np.linalg.solve(kkt, np.concatenate([M @ before, np.zeros(155)]))[:168]
    lost = 0.5 * (before @ M @ before - after @ M @ after)
    ours = effective_kinetic_energy(rover.mass_matrix(q), rover.impact_jacobian(q, np.radians(angle_deg)), v)
    assert ours == pytest.approx(lost, rel=1e-8)


def test_a_pendulum_on_a_turned_lock_swings_as_by_hand():
    """Base - lock turned a quarter about y - arm - wheel: the wheel's joint then lies straight below the base."""
    ball = (1.0, 1.0, 1.0)
    tree = Tree(
        "pendulum",
        (
            Body("base", 1.0, (0.0, 0.0, 0.0), ball),
            Body("arm", 2.0, (0.5, 0.0, 0.0), ball),
            Body("wheel", 3.0, (0, 0, 0), ball),
        ),
        (
            Joint("lock", "base", "arm", (0.0, 0.0, 0.0), (0.0, 1.0, 0.0), locked_at=np.pi / 2),
            Joint("spin", "arm", "wheel", (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
        ),
        (WheelMount("w", "wheel", 0.2, 0.1),),
    )
    rover = Rover(tree)
    assert rover.wheel_positions(rover.neutral()) == pytest.approx(np.array([[0.0, 0.0, -1.0]]), abs=1e-15)
    M = rover.mass_matrix(rover.neutral())
    # about y through the base: three balls, 2 kg half a metre down, 3 kg a metre down
    assert M[4, 4] == pytest.approx(3 * 1.0 + 2.0 * 0.25 + 3.0)
    assert M[4, 0] == pytest.approx(-(2.0 * 0.5 + 3.0 * 1.0))


def test_total_mass_is_the_sum_of_the_parts():
    p = RcpParameters(added_mass=22.7)
    legs = 6 * (p.wheel_mass + p.leg_mass + p.steer_mass + p.arm_mass)
    total = p.body_mass + p.added_mass + 3 * p.bogie_mass + legs
    M = rcp(added_mass=22.7).mass_matrix(rcp().neutral())
    assert total == pytest.approx(142.7)
    assert M[:3, :3] == pytest.approx(total * np.eye(3))


def test_wheels_stand_where_table_4_1_puts_them():
    rover = rcp()
    for name, found in zip(rover.wheel_names, rover.wheel_positions(rover.neutral()), strict=True):
        row, side = name.split("_")
        x, across = TABLE_4_1[row]
        assert found == pytest.approx((x, across if side == "left" else -across, 0.175), abs=1e-12)


def test_urdf_holds_all_28_links_and_27_joints_of_which_9_turn():
    robot = ElementTree.fromstring(rcp().urdf())
    assert len({link.get("name") for link in robot.iter("link")}) == 28
    joints = list(robot.iter("joint"))
    assert len(joints) == 27
    assert sum(joint.get("type") == "continuous" for joint in joints) == 9
    assert sum(float(mass.get("value")) for mass in robot.iter("mass")) == pytest.approx(120.0)
