"""Closed loops: Juno's transverse rocker and rods, their angles, their rate, and what cannot be a loop."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from models.actuators.drive import Drive
from models.impact import effective_kinetic_energy, energy_gradient
from models.rover import JunoExactParameters, LoopClosure, juno, juno_exact
from models.rover.dynamics import make_work
from models.rover.rover import Rover
from models.vehicle import VehicleModel, make_vehicle_state, run
from models.vehicle.ledger import motion_energy

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

P = JunoExactParameters()
LEFT = 7  # place of the left rocker's angle in a configuration
GRAVITY = np.array([0.0, 0.0, -9.81])


@pytest.fixture(scope="module")
def rover() -> Rover:
    return juno_exact()


def bent(rover: Rover, angle: float):
    q = rover.neutral()
    q[LEFT] = angle
    return q


def test_it_has_ten_bodies_seven_revolutes_and_four_balls_and_the_mobility_of_the_thesis():
    rover = juno_exact()
    pieces = {"main_body", "left_rod_ball", "left_rod_fork", "right_rod_ball", "right_rod_fork"}  # yoke, ends of rods
    assert len({body.name for body in rover.tree.bodies} - pieces) == 10
    revolutes = {"left_rocker", "right_rocker", "transverse_pivot", *(f"{name}_drive" for name in rover.wheel_names)}
    assert revolutes <= set(rover.tree_joint_names)
    assert len(revolutes) == 7
    assert len(rover.tree.closures) == 2  # the lower balls; the upper ones are two joints each, and the locked spin
    assert juno_exact(chains=False, locks={"spin": None}).nv == 13
    assert juno_exact(locks={"spin": None}).nv == juno_exact(chains=False).nv == 11
    assert rover.nv == juno().nv == 9
    assert rover.mass == pytest.approx(317.7)


def angles_by_hand(left: float) -> tuple[float, float]:
    """Transverse and right rocker: each rod keeps its length."""
    length = P.transverse_height - P.rod_height

    def lower(side: float, angle: float):
        x, z = -P.rod_reach, P.rod_height - P.pivot_height
        s, c = math.sin(angle), math.cos(angle)
        return np.array([c * x + s * z, side * 0.5 * P.rod_span, P.pivot_height - s * x + c * z])

    def upper(side: float, angle: float):
        across = side * 0.5 * P.rod_span
        return np.array([-P.rod_reach, math.cos(angle) * across, P.transverse_height + math.sin(angle) * across])

    def stretched(side: float, rocker: float, transverse: float) -> float:
        return float(np.linalg.norm(upper(side, transverse) - lower(side, rocker))) - length

    transverse = brentq(lambda angle: stretched(1.0, left, angle), -0.75, 0.75, xtol=1e-14)
    return transverse, brentq(lambda angle: stretched(-1.0, angle, transverse), -0.6, 0.6, xtol=1e-14)


@pytest.mark.parametrize("degrees", [-25.0, -10.0, -1.0, 0.0, 3.0, 12.0, 25.0])
def test_the_other_rockers_stand_where_rods_of_constant_length_put_them(rover, degrees):
    angles = dict(
        zip(rover.tree_joint_names, rover.tree_configuration(bent(rover, math.radians(degrees)))[7:], strict=True)
    )
    transverse, right = angles_by_hand(math.radians(degrees))
    assert angles["transverse_pivot"] == pytest.approx(transverse, abs=1e-10)
    assert angles["right_rocker"] == pytest.approx(right, abs=1e-10)


def test_the_constant_ratio_is_the_limit_for_small_angles(rover):
    place = 7 + rover.tree_joint_names.index("right_rocker")
    error = {a: rover.tree_configuration(bent(rover, a))[place] + a for a in (0.02, 0.01, -0.01)}
    assert abs(error[0.01]) > 1e-6
    assert error[0.02] / error[0.01] == pytest.approx(4.0, rel=0.02)  # of second order in the angle
    assert error[-0.01] == pytest.approx(error[0.01], rel=0.02)
    level, bias = rover.neutral(), np.zeros(rover.nv)
    v = bias.copy()
    v[6] = 1.0
    places = dict(zip(rover.tree_joint_names, rover.tree_speeds(v, level)[6:], strict=True))
    assert places["right_rocker"] == pytest.approx(-1.0, abs=1e-12)
    assert places["transverse_pivot"] == pytest.approx(P.rod_reach / (0.5 * P.rod_span), abs=1e-12)


def test_speeds_are_the_rates_of_the_angles_and_need_to_know_where(rover):
    q, v, step = bent(rover, 0.3), np.zeros(rover.nv), 1e-6
    v[6] = 1.0
    ahead, behind = (rover.tree_configuration(bent(rover, 0.3 + s)) for s in (step, -step))
    assert rover.tree_speeds(v, q)[6:] == pytest.approx((ahead - behind)[7:] / (2 * step), abs=1e-8)
    with pytest.raises(ValueError, match="juno_exact: q is None, needed: where its closed loops stand"):
        rover.tree_speeds(v)


def test_angles_that_the_rods_do_not_reach_are_refused_in_words(rover):
    with pytest.raises(ValueError, match=r"loops \(left_rod_end, right_rod_end\) do not close at left_rocker 1.5,"):
        rover.mass_matrix(bent(rover, 1.5))


def tumbling(rover: Rover):
    random = np.random.default_rng(4)
    q, v = bent(rover, 0.25), random.normal(size=rover.nv)
    q[3:7] = Rotation.from_rotvec([0.3, -0.5, 0.8]).as_quat()
    v[6] = 1.2
    return q, v


def energy(rover: Rover, q, v) -> float:
    state = rover.tree_configuration(q), rover.tree_speeds(v, q)
    return sum(motion_energy(rover.chain, GRAVITY, *state, make_work(rover.chain)))


def test_in_free_flight_the_equations_of_motion_keep_the_energy(rover):
    q, v = tumbling(rover)

    def rate(_t, state):
        at, speed = state[: rover.nq].copy(), state[rover.nq :]
        at[3:7] /= np.linalg.norm(at[3:7])
        turn = Rotation.from_quat(at[3:7])
        x, y, z, w = at[3:7]
        quaternion = 0.5 * np.array([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]]) @ speed[3:6]
        return np.concatenate(
            [turn.apply(speed[:3]), quaternion, speed[6:], rover.forward_dynamics(at, speed, 0.0 * speed)]
        )

    end = solve_ivp(rate, (0.0, 0.3), np.concatenate([q, v]), method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    assert abs(end[LEFT] - q[LEFT]) > 0.05  # the loop does move
    end[3:7] /= np.linalg.norm(end[3:7])
    kept, begun = energy(rover, end[: rover.nq], end[rover.nq :]), energy(rover, q, v)
    assert kept == pytest.approx(begun, abs=1e-7)


def test_the_step_keeps_the_loops_closed_and_its_energy_error_vanishes_with_the_step(rover):
    free = VehicleModel(rover.chain, None, Drive(0.0, 0.0, math.inf, 0.0, 0.02, 0.0, 0.0, 0.0), None, GRAVITY)
    lost = []
    for dt in (4e-4, 2e-4):
        q, v = tumbling(rover)
        state = make_vehicle_state(rover)
        state.q[:], state.v[:] = rover.tree_configuration(q), rover.tree_speeds(v, q)
        run(free, state, round(0.4 / dt), dt)
        own = rover.own_configuration(state.q)
        assert state.q[7:] == pytest.approx(rover.tree_configuration(own)[7:], abs=1e-6)
        assert abs(own[LEFT] - q[LEFT]) > 0.05
        lost.append(energy(rover, own, rover.own_speeds(state.v)) - energy(rover, q, v))
    assert lost[1] / lost[0] == pytest.approx(0.5, rel=0.1)


@pytest.mark.ci_cases("0.3")
@pytest.mark.parametrize("angle", [0.0, 0.3])
def test_the_gradient_of_t_c_has_the_rate_of_the_loops(rover, angle):
    q, v, step = bent(rover, angle), np.random.default_rng(2).normal(size=rover.nv), 1e-5

    def t_c(left: float) -> float:
        at = bent(rover, left)
        return effective_kinetic_energy(rover.mass_matrix(at), rover.impact_jacobian(at, 1.0), v)

    wanted = (t_c(angle + step) - t_c(angle - step)) / (2.0 * step)
    assert energy_gradient(rover, q, v, 1.0)[6] == pytest.approx(wanted, rel=1e-6)


def standing(rover: Rover, heights):
    """Configuration with the wheels at these heights over where they stand on level ground: by Newton's method."""
    level, x = rover.wheel_positions(rover.neutral())[:, 2], np.zeros(4)

    def over(x):
        q = bent(rover, x[3])
        q[2], q[3:7] = x[0], Rotation.from_euler("yx", x[1:3]).as_quat()
        return rover.wheel_positions(q)[:, 2] - level - heights, q

    for _ in range(8):
        error = over(x)[0]
        slope = np.column_stack([(over(x + one)[0] - over(x - one)[0]) / 2e-6 for one in 1e-6 * np.eye(4)])
        x = x - np.linalg.solve(slope, error)
    return over(x)[1], x


@pytest.mark.parametrize("wheel", range(4))
def test_one_wheel_raised_lifts_the_chassis_a_quarter_and_pitches_it_half_as_much_as_its_rocker(rover, wheel):
    h = 1e-3
    front, port = wheel < 2, wheel % 2 == 0
    q, (rise, pitch, roll, _) = standing(rover, h * np.eye(4)[wheel])
    angles = dict(zip(rover.tree_joint_names, rover.tree_configuration(q)[7:], strict=True))
    raised, other = (
        pitch + angles[name] for name in (("left_rocker", "right_rocker") if port else ("right_rocker", "left_rocker"))
    )
    assert rise == pytest.approx(h / 4, rel=1e-2)
    assert raised == pytest.approx((-1.0 if front else 1.0) * h / P.wheelbase, rel=1e-2)
    assert raised == pytest.approx(2.0 * pitch, rel=1e-2)
    assert abs(other) < 1e-2 * abs(raised)
    assert roll == pytest.approx((1.0 if port else -1.0) * (h / 2) / P.track, rel=1e-2)


@pytest.mark.parametrize("h", [0.0, 0.1])
def test_left_and_right_wheels_bear_alike_while_one_of_them_climbs(rover, h):
    q, _ = standing(rover, np.array([h, 0.0, 0.0, 0.0]))
    up = -rover.impact_jacobian(q, 0.0, rover.wheel_names)
    weight = rover.bias(q, np.zeros(rover.nv), tuple(GRAVITY))
    loads, *_ = np.linalg.lstsq(up.T, weight, rcond=None)
    assert up.T @ loads == pytest.approx(weight, abs=1e-6)
    assert loads.sum() == pytest.approx(317.7 * 9.81)
    assert loads[[0, 2]].sum() == pytest.approx(loads[[1, 3]].sum(), rel=0.08)


CLOSURE = juno_exact().tree.closures[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"place": (0.0, 0.0, 1.0)}, r"points are \(.*\) m apart at joint angles zero, allowed: the same place"),
        ({"body": "bridge"}, "bridge is no body, allowed: one"),
        (
            {"dependent": ("chassis_tilt", *CLOSURE.dependent[1:])},
            "chassis_tilt is locked or no joint, allowed: a free joint",
        ),
        ({"dependent": ("front_left_drive", *CLOSURE.dependent[1:])}, "front_left_drive cannot follow from it"),
        ({"dependent": ("right_rod_swing", *CLOSURE.dependent[1:])}, "dependent joint of a closure named twice"),
    ],
)
def test_a_loop_that_cannot_be_is_refused_in_words(change, said):
    tree = juno_exact().tree
    with pytest.raises(ValueError, match=said):
        replace(tree, closures=(replace(CLOSURE, **change), *tree.closures[1:]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dependent": ("a", "a", "b")}, "dependent is .*, allowed: three different joints"),
        ({"other": "left_rocker"}, "it ties body left_rocker to itself, allowed: two bodies"),
        ({"place": (math.nan, 0.0, 0.0)}, "place is .* m, allowed: three finite numbers"),
    ],
)
def test_a_closure_is_checked_when_it_is_made(change, said):
    values = {field: getattr(CLOSURE, field) for field in CLOSURE.__dataclass_fields__}
    with pytest.raises(ValueError, match=f"closure left_rod_end: {said}"):
        LoopClosure(**(values | change))


def test_a_rod_at_its_dead_centre_is_refused_in_words():
    """A lever that points along its rod: where the lever stands does not follow."""
    with pytest.raises(ValueError, match=r"do not follow from its closures at joint angles zero, .* no dead centre"):
        juno_exact(rod_reach=1e-9)


def test_a_juno_whose_rods_have_no_length_is_refused():
    with pytest.raises(ValueError, match=r"juno_exact: transverse_height is 0.2 m, allowed: above 0.24 m, or the rods"):
        juno_exact(transverse_height=0.2)
