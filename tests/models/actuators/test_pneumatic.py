"""The bogie cylinders: force from bore and pressure, filling and venting as exponentials, and the safe state."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.actuators.pneumatic import Cylinder, fill_cylinders, make_cylinders, mount_cylinders, push_cylinders
from models.rover import rcp
from models.rover.dynamics import make_work

BORE = 38.1e-3  # m, MacMahon 2016: 1.5 in
SUPPLY = 207e3  # Pa, 30 psi
LEVER = 0.25
RIG = Cylinder(area=math.pi / 4 * BORE**2, supply=SUPPLY, fill_time=0.08, vent_time=0.05, lever=LEVER)
ROVER = rcp()
MOUNTS = mount_cylinders(ROVER, ("left_bogie", "right_bogie"), RIG)
WORK = make_work(ROVER.chain)
Q, V = ROVER.neutral(), np.zeros(ROVER.nv)
PORT, STARBOARD = 0, 1
EXTEND, RETRACT = 0, 1


def bogie_torque(state, side: int, dt: float) -> float:
    """Torque [N m] that reaches the right side of a side's bogie joint, the chambers filled for dt [s] before."""
    fill_cylinders(RIG, state, dt)
    WORK.rhs[:] = 0.0
    push_cylinders(MOUNTS, state, Q, V, dt, WORK)
    torque = WORK.rhs[6 + ROVER.tree_joint_names.index(("left_bogie", "right_bogie")[side])]
    assert torque == state.torque[side]
    return torque


def settled(state, side: int) -> float:
    """Torque [N m] after a long time at the valves' setting."""
    return bogie_torque(state, side, 100.0)


def test_full_pressure_on_the_bore_gives_236_newtons():
    state = make_cylinders(2, SUPPLY)
    state.valve[PORT, EXTEND] = 1.0
    assert settled(state, PORT) / LEVER == pytest.approx(236.0, abs=0.5)
    assert settled(state, PORT) == pytest.approx(60.0, rel=0.02)  # MacMahon: up to 60 N m at each bogie


def test_retracting_pulls_as_hard_the_other_way_and_both_cancel():
    state = make_cylinders(2, SUPPLY)
    state.valve[STARBOARD, RETRACT] = 1.0
    assert settled(state, STARBOARD) / LEVER == pytest.approx(-236.0, abs=0.5)
    state.valve[STARBOARD, EXTEND] = 1.0
    assert settled(state, STARBOARD) == pytest.approx(0.0, abs=1e-9)


def test_cylinders_start_passive_with_both_ports_open():
    state = make_cylinders(2, SUPPLY)
    assert not state.valve.any()
    for side in (PORT, STARBOARD):
        assert bogie_torque(state, side, 1e-3) == 0.0


@pytest.mark.parametrize("dt", [1e-4, 1e-3, 0.03])
def test_filling_follows_its_exponential_at_any_step(dt):
    state = make_cylinders(2, SUPPLY)
    state.valve[PORT, EXTEND] = 1.0
    for n in range(1, 31):
        bogie_torque(state, PORT, dt)
        assert state.pressure[PORT, EXTEND] == pytest.approx(SUPPLY * -math.expm1(-n * dt / RIG.fill_time), rel=1e-12)
    assert state.pressure[PORT, RETRACT] == 0.0


@pytest.mark.parametrize("dt", [1e-4, 1e-3, 0.03])
def test_with_the_valves_off_the_torque_decays_to_zero_with_the_venting_time(dt):
    state = make_cylinders(2, SUPPLY)
    state.pressure[PORT] = 0.9 * SUPPLY, 0.2 * SUPPLY
    start = 0.7 * SUPPLY * RIG.area * LEVER
    for n in range(1, 31):
        torque = bogie_torque(state, PORT, dt)
        assert torque == pytest.approx(start * math.exp(-n * dt / RIG.vent_time), rel=1e-12)
    assert abs(settled(state, PORT)) < 1e-12 * start


def test_filling_and_venting_have_their_own_time_constants():
    state = make_cylinders(2, SUPPLY)
    state.valve[PORT, EXTEND] = 1.0
    bogie_torque(state, PORT, RIG.fill_time)
    assert state.pressure[PORT, EXTEND] == pytest.approx(SUPPLY * (1.0 - math.exp(-1.0)))
    state.valve[PORT, EXTEND], state.pressure[PORT, EXTEND] = 0.0, SUPPLY
    bogie_torque(state, PORT, RIG.vent_time)
    assert state.pressure[PORT, EXTEND] == pytest.approx(SUPPLY * math.exp(-1.0))


def test_a_sides_valves_fill_its_own_chambers_alone():
    state = make_cylinders(2, SUPPLY)
    state.valve[STARBOARD] = 1.0
    bogie_torque(state, STARBOARD, 0.1)
    assert np.all(state.pressure[STARBOARD] > 0.0)
    assert not state.pressure[PORT].any()


def test_any_number_of_cylinders_push_the_joints_that_they_are_on():
    joints = ("rear_bogie", "left_bogie", "front_left_drive")
    mounts, state = mount_cylinders(ROVER, joints, RIG), make_cylinders(3, SUPPLY)
    state.pressure[:, EXTEND] = 1e4, 2e4, 3e4
    WORK.rhs[:] = 0.0
    push_cylinders(mounts, state, Q, V, 1e-3, WORK)
    found = dict(zip(ROVER.tree_joint_names, WORK.rhs[6:], strict=True))
    wanted = dict.fromkeys(ROVER.tree_joint_names, 0.0)
    wanted |= {name: (k + 1) * 1e4 * RIG.area * LEVER for k, name in enumerate(joints)}
    assert found == pytest.approx(wanted, rel=1e-12)
    assert not WORK.rhs[:6].any()


def test_a_cylinder_on_a_joint_that_does_not_turn_is_refused():
    with pytest.raises(ValueError, match=r"cylinders on front_left_steering, allowed: joints that turn: .*left_bogie"):
        mount_cylinders(ROVER, ("left_bogie", "front_left_steering"), RIG)


def test_positive_torque_on_a_side_bogie_presses_the_front_wheel_down():
    """The bogie's axis points to port: turning it forwards by a positive angle lowers what is in front of it."""
    rover = rcp()
    q = rover.neutral()
    q[7 + rover.joint_names.index("left_bogie")] = 0.01
    moved = rover.wheel_positions(q) - rover.wheel_positions(rover.neutral())
    assert moved[rover.wheel_names.index("front_left"), 2] < -1e-3
    assert moved[rover.wheel_names.index("middle_left"), 2] > 1e-3
