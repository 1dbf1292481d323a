"""Flexible links: frequencies of beam theory and of finite elements, and the stiff limit of the rigid rover."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh

from models.impact import on_springs
from models.rover import Body, Rover, TreeBuilder, box, rcp
from models.rover.arm_names import EFFECTOR, JOINTS
from models.rover.flexible import Boom, add_boom, bending_modes, lobatto, with_flexible_legs
from models.rover.space_arm import SpaceArm, holding
from references.boom_frame import Beam, EndBody, frequencies

AHEAD, LEFT, UP = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
LEG_STIFFNESS = 200.0 / 0.004  # MacMahon 2016, Fig. 6-4


def clamped(boom: Boom) -> Rover:
    """A boom with its end body on a base that does not move."""
    builder = TreeBuilder("cantilever", Body("base", 1e12, (0.0, 0.0, 0.0), (1e14, 1e14, 1e14)))
    end = add_boom(builder, "boom", "base", (0.3, 0.0, 0.0), AHEAD, UP, boom)
    if boom.end_mass:
        moments = (boom.end_inertia,) * 3
        place = (0.3 + boom.length, 0.0, 0.0)
        builder.add_body(end, "grapple", UP, "load", boom.end_mass, moments, place, locked_at=0.0)
    return Rover(builder.tree())


def frequencies_of(rover: Rover) -> np.ndarray:
    """Natural frequencies [rad/s] at rest, the base held."""
    joints = {joint.name: joint for joint in rover.tree.joints}
    K = np.diag([joints[name].stiffness for name in rover.joint_names])
    M = rover.mass_matrix(rover.neutral())[6:, 6:]
    return np.sqrt(eigh(K, M, eigvals_only=True))


@pytest.mark.parametrize(("mass_ratio", "inertia_ratio"), [(0.0, 0.0), (1.0, 0.0), (5.0, 0.4), (100.0, 3.0)])
def test_modes_vibrate_as_finite_elements_do(mass_ratio, inertia_ratio):
    found = [mode.frequency for mode in bending_modes(3, mass_ratio, inertia_ratio)]
    element = frequencies([Beam(1.0, 1.0, 1.0, 0.0)], [[EndBody(mass_ratio, inertia_ratio)]], 40)
    assert found == pytest.approx(element[:3], rel=2e-5)


def test_a_bare_cantilever_has_the_wave_numbers_of_the_books():
    assert [mode.beta for mode in bending_modes(3)] == pytest.approx([1.87510407, 4.69409113, 7.85475744], abs=1e-8)


def test_the_stiffness_of_a_heavy_end_is_that_of_a_static_force():
    """3 EI/L^3."""
    assert bending_modes(1, 1e4)[0].stiffness == pytest.approx(3.0, rel=1e-4)


@pytest.mark.parametrize("modes", [1, 2, 3])
@pytest.mark.parametrize(("end_mass", "end_inertia"), [(0.0, 0.0), (500.0, 40.0)])
def test_a_boom_of_the_tree_vibrates_as_finite_elements_do(modes, end_mass, end_inertia):
    boom = Boom(6.4, 139.0, 4e6, 0.01, modes, end_mass, end_inertia)
    element = frequencies([Beam(6.4, 139.0, 4e6, 0.0)], [[EndBody(end_mass, end_inertia)]], 40)
    assert frequencies_of(clamped(boom)) == pytest.approx(element[:modes], rel=2e-4)


@pytest.mark.parametrize(("modes", "first", "second"), [(1, 0.01, 0.33), (2, 3e-4, 1e-3)])
@pytest.mark.parametrize("load", [0.0, 1e4])
def test_the_arm_in_a_posture_vibrates_as_a_frame_of_finite_elements(load, modes, first, second):
    """Two booms, joints locked, with and without a payload: one mode a boom, and two."""
    arm = SpaceArm(spacecraft_mass=1e12)
    upper, lower = (replace(boom, radius=0.01, modes=modes) for boom in (arm.upper, arm.lower))
    arm = replace(arm, upper=upper, lower=lower)
    tree, angles = arm.tree(), (0.7, -1.2, 0.4)
    inertia = 0.9 * load
    if load:
        body = Body("payload", load, (0.0, 0.0, 0.0), (inertia, inertia, inertia))
        tree = holding(tree, body, (arm.wrist_length + 1.0, 0.0, 0.0))
    rover = Rover(tree.with_locks(dict(zip(JOINTS, angles, strict=True))))
    at = np.cumsum(angles)
    wrist = np.array([math.cos(at[2]), math.sin(at[2])])
    bodies = [
        EndBody(arm.wrist_mass, box(arm.wrist_mass, (arm.wrist_length, 0.3, 0.3))[2],
                tuple(0.5 * arm.wrist_length * wrist)),
        *([EndBody(load, inertia, tuple((arm.wrist_length + 1.0) * wrist))] if load else []),
    ]  # fmt: skip
    hub = EndBody(arm.joint_mass, box(arm.joint_mass, (0.4, 0.4, 0.4))[2])
    element = frequencies(
        [
            Beam(upper.length, upper.mass, upper.bending_stiffness, at[0]),
            Beam(lower.length, lower.mass, lower.bending_stiffness, at[1]),
        ],
        [[hub], bodies],
    )
    found = frequencies_of(rover)
    # a shape that is assumed is stiffer than the one that it takes
    assert element[0] * (1.0 - 1e-6) < found[0] < element[0] * (1.0 + first)
    assert element[1] * (1.0 - 1e-6) < found[1] < element[1] * (1.0 + second)


def test_nodes_have_the_moments_of_a_uniform_boom():
    for count in (3, 6, 10):
        nodes, weights = lobatto(count)
        for power in range(2 * count - 2):
            assert weights @ nodes**power == pytest.approx(1.0 / (power + 1.0), rel=1e-12)


def test_a_boom_is_as_heavy_as_a_rod_and_without_bending_the_arm_is_the_rigid_one():
    arm = SpaceArm()
    flexible, rigid = arm.build(), arm.build(rigid=True)
    assert flexible.mass == pytest.approx(rigid.mass)
    q, straight = flexible.neutral(), rigid.neutral()
    for name in JOINTS:
        q[7 + flexible.joint_names.index(name)] = straight[7 + rigid.joint_names.index(name)] = 0.4
    own = [*range(6), *(6 + flexible.joint_names.index(name) for name in rigid.joint_names)]
    assert flexible.mass_matrix(q)[np.ix_(own, own)] == pytest.approx(rigid.mass_matrix(straight), rel=1e-12, abs=1e-6)
    inertia = clamped(Boom(6.4, 139.0, 4e6, 0.01)).mass_matrix
    bare = Rover(TreeBuilder("base", Body("base", 1e12, (0.0, 0.0, 0.0), (1e14, 1e14, 1e14))).tree())
    added = inertia(clamped(Boom(6.4, 139.0, 4e6, 0.01)).neutral())[4, 4] - bare.mass_matrix(bare.neutral())[4, 4]
    assert added == pytest.approx(139.0 * (6.4**2 / 12.0 + (0.3 + 3.2) ** 2), rel=1e-3)


def test_legs_that_do_not_bend_are_those_of_the_rigid_rover():
    rigid = rcp()
    flexible = Rover(with_flexible_legs(rigid.tree, (UP, LEG_STIFFNESS, 0.0), (AHEAD, LEG_STIFFNESS, 0.0)))
    assert flexible.nv == rigid.nv + 12
    locked = flexible.with_locks({"flex": 0.0})
    assert locked.mass_matrix(locked.neutral()) == pytest.approx(rigid.mass_matrix(rigid.neutral()), abs=1e-12)


def test_flexible_legs_without_mass_are_wheels_on_springs():
    """The other way to the same speeds, models.impact.on_springs: its mass matrix and its approach."""
    rigid, angle = rcp(), math.radians(50.0)
    flexible = Rover(with_flexible_legs(rigid.tree, (AHEAD, 1e4, 0.0), (UP, 1e4, 0.0), end_share=1e-9))
    order = [name for wheel in rigid.wheel_names for name in (f"{wheel}_1_flex", f"{wheel}_2_flex")]
    own = [*range(6), *(6 + flexible.joint_names.index(name) for name in (*rigid.joint_names, *order))]
    M, J = on_springs(rigid, rigid.neutral(), angle, rigid.wheel_names)
    q = flexible.neutral()
    assert flexible.mass_matrix(q)[np.ix_(own, own)] == pytest.approx(M, abs=1e-6)
    assert flexible.impact_jacobian(q, angle, rigid.wheel_names)[:, own] == pytest.approx(J, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"length": 0.0}, r"Boom: length is 0\.0, allowed: a finite number in \(0, inf"),
        ({"bending_stiffness": -1.0}, r"bending_stiffness is -1\.0, allowed"),
        ({"damping_ratio": math.nan}, r"damping_ratio is nan, allowed"),
        ({"end_mass": -1.0}, r"end_mass is -1\.0, allowed"),
        ({"modes": 0}, r"count is 0, allowed: 1 to 8"),
    ],
)
def test_a_boom_that_cannot_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Boom(**{"length": 1.0, "mass": 1.0, "bending_stiffness": 1.0, "radius": 0.1, **change})


def test_directions_and_springs_that_cannot_be_are_refused():
    builder = TreeBuilder("arm", Body("base", 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)))
    boom = Boom(1.0, 1.0, 1.0, 0.1)
    with pytest.raises(ValueError, match=r"boom b: along is .*, across .*, allowed: two different axes"):
        add_boom(builder, "b", "base", (0.0, 0.0, 0.0), AHEAD, AHEAD, boom)
    with pytest.raises(ValueError, match=r"springs is empty, allowed: one or more"):
        with_flexible_legs(rcp().tree)
    with pytest.raises(ValueError, match=r"stiffness is 0\.0, allowed: a finite number in \(0, inf"):
        with_flexible_legs(rcp().tree, (UP, 0.0, 0.0))
    assert EFFECTOR in SpaceArm().tree().body
