"""The reduced rover against the full one: locks as rows deleted, and the RCP against Table 4-1."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from models.rover import RcpParameters, rcp
from models.rover.rover import Rover
from models.rover.tree import Body, Joint, Tree, WheelMount

LOCK_ANGLES = {"mount": 0.0, "steering": 0.4, "walking": -0.6}
# MacMahon 2016, Table 4-1, wheels: x and z there, height 0.175
TABLE_4_1 = {"front": (0.5349, 0.4552), "middle": (0.0, 0.4552), "rear": (-0.5381, 0.4552)}


def full_configuration(full: Rover, reduced: Rover, q, locks: dict[str, float]):
    """The full rover's configuration with the locked joints at their angles."""
    out = np.zeros(full.nq)
    out[:7] = q[:7]
    angle = dict(zip(reduced.joint_names, q[7:], strict=True))
    out[7:] = [angle[name] if name in angle else locks[name.rsplit("_", 1)[-1]] for name in full.joint_names]
    return out


def random_q(rover: Rover, seed: int):
    random = np.random.default_rng(seed)
    q = random.normal(size=rover.nq)
    q[3:7] = Rotation.from_rotvec(random.normal(size=3)).as_quat()
    return q


def locked_pair(angles: dict[str, float]) -> tuple[Rover, Rover, list[int]]:
    """The reduced rover, the one with 27 free joints, and the speeds of the latter that the former keeps."""
    tree = RcpParameters(added_mass=10.0).tree()
    reduced = Rover(tree.with_locks(angles))
    full = Rover(tree.with_locks(dict.fromkeys(angles)))
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
    assert rcp(locks={"steering": None, "walking": None}).nv == 27


@pytest.mark.parametrize("seed", range(3))
def test_a_free_joint_held_at_an_angle_places_all_wheels_as_a_lock_at_that_angle(seed):
    random = np.random.default_rng(seed)
    free = rcp(locks={"steering": None, "walking": None})
    angles = {name: random.normal() for name in free.joint_names if name.endswith(("steering", "walking"))}
    locked = rcp(locks=angles)
    q = random_q(locked, seed)
    rigid = dict(zip(locked.joint_names, q[7:], strict=True)) | angles
    there = np.concatenate([q[:7], [rigid[name] for name in free.joint_names]])
    assert locked.wheel_positions(q) == pytest.approx(free.wheel_positions(there), abs=1e-12)


def test_a_lock_by_name_goes_before_one_by_kind():
    rover = rcp(locks={"front_left_walking": 0.3, "walking": -0.1, "steering": None})
    locked = {joint.name: joint.locked_at for joint in rover.tree.joints}
    assert (locked["front_left_walking"], locked["front_right_walking"]) == (0.3, -0.1)
    assert rover.nv == 15 + 6
    assert rover.with_locks({"steering": 0.2}).nv == 15


def test_every_lock_angle_counts():
    neutral = Rover(RcpParameters().tree())
    for name in LOCK_ANGLES:
        turned = neutral.with_locks({name: 0.5})
        assert np.abs(turned.mass_matrix(turned.neutral()) - neutral.mass_matrix(neutral.neutral())).max() > 1e-3


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


def test_urdf_holds_all_28_links_and_27_joints_of_which_six_wheels_and_three_bogies_turn():
    robot = ElementTree.fromstring(rcp().urdf())
    assert len({link.get("name") for link in robot.iter("link")}) == 28
    joints = list(robot.iter("joint"))
    assert len(joints) == 27
    assert sum(joint.get("type") == "continuous" for joint in joints) == 6
    limits = {joint.get("name"): joint.find("limit") for joint in joints if joint.get("type") == "revolute"}
    assert set(limits) == {"left_bogie", "right_bogie", "rear_bogie"}
    for limit in limits.values():
        assert float(limit.get("upper")) == -float(limit.get("lower")) == pytest.approx(math.radians(30.0))
    assert sum(float(mass.get("value")) for mass in robot.iter("mass")) == pytest.approx(120.0)
