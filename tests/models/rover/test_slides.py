"""Joints that slide: energy, locks, stops and refusals. Equality with other engines: `conftest.ROVERS`, "sliding"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from models.actuators.stops import SLIDE_GIVE, make_stops
from models.rover import Joint, LoopClosure, Tree
from models.rover.mjcf import to_mjcf
from models.rover.rover import Rover
from models.rover.urdf import to_urdf

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

GRAVITY = (0.4, -0.3, -9.7)


@pytest.fixture
def rover(sliding_rover):
    return sliding_rover


def moving(rover):
    random = np.random.default_rng(4)
    q, v = rover.neutral(), random.normal(size=rover.nv)
    q[3:7] = Rotation.from_rotvec(random.normal(size=3)).as_quat()
    q[7:] = 0.2 * random.normal(size=rover.nq - 7)
    return q, v


def test_energy_is_kept_in_free_flight(rover):
    mass = rover.mass

    def energy(state):
        q, v = state[: rover.nq].copy(), state[rover.nq :]
        q[3:7] /= np.linalg.norm(q[3:7])
        M = rover.mass_matrix(q)
        first = np.array([M[1, 5] - M[2, 4], M[2, 3] - M[0, 5], M[0, 4] - M[1, 3]]) / 2.0
        com = q[:3] + Rotation.from_quat(q[3:7]).apply(first / mass)
        return 0.5 * v @ M @ v - mass * np.dot(GRAVITY, com)

    def rate(_t, state):
        q, v = state[: rover.nq].copy(), state[rover.nq :]
        q[3:7] /= np.linalg.norm(q[3:7])
        turn = Rotation.from_quat(q[3:7])
        x, y, z, w = q[3:7]
        a, b, c = v[3:6]
        spin = 0.5 * np.array(
            [w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a, -x * a - y * b - z * c]
        )
        force = np.zeros(rover.nv)
        return np.concatenate([turn.apply(v[:3]), spin, v[6:], rover.forward_dynamics(q, v, force, None, GRAVITY)])

    start = np.concatenate(moving(rover))
    end = solve_ivp(rate, (0.0, 0.3), start, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    lift = rover.joint_names.index("deck_lift")
    assert abs(end[7 + lift] - start[7 + lift]) > 0.05  # it slides on the way
    assert energy(end) == pytest.approx(energy(start), rel=1e-9)


def test_a_slide_that_is_locked_where_it_is_leaves_the_same_rover(rover):
    q, _ = moving(rover)
    place = 6 + rover.joint_names.index("deck_lift")
    held = rover.with_locks({"deck_lift": float(q[place + 1])})
    rest = [k for k in range(rover.nv) if k != place]
    at = np.delete(q, place + 1)
    assert np.allclose(held.mass_matrix(at), rover.mass_matrix(q)[np.ix_(rest, rest)], rtol=1e-12, atol=1e-12)


def test_its_stop_gives_a_few_millimetres_under_the_weight_of_the_rover(rover):
    stops = make_stops(rover)
    assert (stops.low, stops.high, stops.slides) == (-0.1, 0.1, 1)
    assert stops.stiffness * SLIDE_GIVE == pytest.approx(rover.mass * 9.81, rel=1e-3)


def test_descriptions_have_it_with_its_way_and_a_locked_one_where_it_is(rover):
    urdf, mjcf = to_urdf(rover.tree, whole=True), to_mjcf(rover.tree)
    assert urdf.count('type="prismatic"') == mjcf.count('type="slide"') == 3  # the fourth is locked
    # 0.15 m along (0, 0.6, -0.8), from a place 0.3 m to port and 0.3 m up on its carrier
    assert '<joint name="boom_slide" type="fixed">\n    <origin xyz="0.0 0.39 0.18' in urdf
    assert '<body name="boom" pos="0.0 0.39 0.18' in mjcf


def test_what_cannot_slide_is_refused_in_words(rover):
    tree = rover.tree
    wheel = next(joint for joint in tree.joints if joint.name == "front_left_drive")
    others = tuple(joint for joint in tree.joints if joint is not wheel)
    with pytest.raises(ValueError, match="wheel front_left_wheel slides on front_left_drive, allowed: it turns"):
        Tree("odd", tree.bodies, (*others, replace(wheel, slides=True)), tree.wheels)
    with pytest.raises(ValueError, match=r"stops are \(0.1, 0.1\) m, allowed: finite"):
        Joint("lift", "a", "b", (0, 0, 0), (0, 0, 1), stops=(0.1, 0.1), slides=True)
    assert Joint("lift", "a", "b", (0, 0, 0), (0.6, 0, 0.8), locked_at=0.1, slides=True).unit == "m"


def test_a_loop_with_a_slide_in_it_is_kept_closed(rover):
    tree = rover.tree
    free = replace(tree, couplings=())
    # the mast's top on a point of the left leg: lift, turn of the mast and the rocker follow
    top = np.sum([joint.origin for joint in tree.joints if joint.name in ("deck_lift", "mast_turn")], axis=0)
    leg = np.sum([joint.origin for joint in tree.joints if joint.name in ("left_rocker", "left_strut")], axis=0)
    end = (0.1, 0.4, -0.1)
    closure = LoopClosure(
        "tie", "mast", end, "left_leg", tuple(top + end - leg), ("deck_lift", "mast_turn", "left_rocker")
    )
    rover = Rover(replace(free, closures=(closure,)))
    q = rover.neutral()
    q[7 + rover.joint_names.index("left_strut")] = 0.03
    found = dict(zip(rover.tree_joint_names, rover.tree_configuration(q)[7:], strict=True))
    ends = []
    for body, place in ((closure.body, closure.place), (closure.other, closure.other_place)):
        at, joint = np.array(place), next(one for one in tree.joints if one.child == body)
        while True:
            origin, axes = joint.placed(found.get(joint.name, 0.0))
            at = origin + axes @ at
            if joint.parent == "main_body":
                break
            joint = next(one for one in tree.joints if one.child == joint.parent)
        ends.append(at)
    assert np.abs(ends[0] - ends[1]).max() < 1e-10
    assert abs(found["deck_lift"]) > 1e-3
    # speeds keep it closed
    v = np.zeros(rover.nv)
    v[6 + rover.joint_names.index("left_strut")] = 1.0
    step = 1e-6
    later = q.copy()
    later[7 + rover.joint_names.index("left_strut")] += step
    change = (rover.tree_configuration(later)[7:] - rover.tree_configuration(q)[7:]) / step
    assert np.allclose(rover.tree_speeds(v, q)[6:], change, atol=1e-4)
