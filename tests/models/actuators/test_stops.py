"""Stops of suspension joints: never passed by much, never a source of energy, and nothing away from them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from models.actuators.drive import Drive
from models.actuators.stops import NO_STOPS, STOP_GIVE, end_stop, make_stops
from models.rover import ROVERS, juno, rcp
from models.vehicle import VehicleModel, make_vehicle_state, run
from models.vehicle.energy import EnergyMeter
from models.vehicle.step import accounted_step

STOP = math.radians(30.0)
FLOATING = np.zeros(3)
IDLE = Drive(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
TWIN_DT = 5e-4


def floating(rover):
    """A rover in free flight, drives off: nothing but its stops acts."""
    return VehicleModel(rover.chain, None, IDLE, None, FLOATING, stops=make_stops(rover))


@pytest.mark.slow
@pytest.mark.parametrize("name", ROVERS)
def test_every_suspension_joint_of_every_rover_has_stops_of_the_config(name):
    rover = ROVERS[name].make(locks=dict.fromkeys(ROVERS[name].rig_locks(), 0.0))
    stops = make_stops(rover)
    suspension = [joint for joint in rover.tree_joint_names if joint.endswith(("bogie", "rocker"))]
    assert [rover.tree_joint_names[k - 6] for k in stops.speed] == suspension
    assert stops.low == pytest.approx([-STOP] * len(suspension))
    assert stops.high == pytest.approx([STOP] * len(suspension))


def test_a_stop_gives_a_degree_under_the_rovers_weight_at_the_farthest_wheel_of_its_joint():
    rover = rcp()
    stops, weight = make_stops(rover), 120.0 * 9.81
    arm = {"left_bogie": 0.5349 - 0.2671, "right_bogie": 0.5349 - 0.2671, "rear_bogie": 0.4552}  # Table 4-1
    for speed, stiffness in zip(stops.speed, stops.stiffness, strict=True):
        torque = weight * arm[rover.tree_joint_names[speed - 6]]
        assert torque / stiffness == pytest.approx(STOP_GIVE, rel=1e-6)


@pytest.mark.slow
def test_a_rover_without_stops_turns_on_as_before():
    rover = rcp()
    state = make_vehicle_state(rover)
    state.v[6 + rover.joint_names.index("left_bogie")] = 3.0
    run(floating(rover)._replace(stops=NO_STOPS), state, 10_000, 1e-4)
    assert abs(state.q[7 + rover.joint_names.index("left_bogie")]) > STOP


@pytest.mark.soak
@given(
    st.sampled_from(["rcp", "exomars", "rocker_bogie", "juno"]),
    st.sampled_from([1e-4, TWIN_DT]),
    st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4),
    st.lists(st.floats(-8.0, 8.0), min_size=4, max_size=4),
    st.lists(st.floats(-1.5, 1.5), min_size=3, max_size=3),
)
@example("juno", TWIN_DT, [1.0, -1.0, 1.0, 1.0], [8.0, -8.0, 8.0, 8.0], [0.0, 0.0, 0.0])
@settings(deadline=None, max_examples=60)
def test_a_joint_never_passes_its_stop_by_much_and_never_gains_energy(name, dt, angles, rates, spin):
    rover = ROVERS[name].make(locks=dict.fromkeys(ROVERS[name].rig_locks(), 0.0))
    vehicle, state = floating(rover), make_vehicle_state(rover)
    q, v = rover.neutral(), np.zeros(rover.nv)
    own = [i for i, joint in enumerate(rover.joint_names) if joint.endswith(("bogie", "rocker"))]
    for i, angle, rate in zip(own, angles, rates, strict=False):
        q[7 + i], v[6 + i] = angle * STOP, rate
    v[3:6] = spin
    state.q[:], state.v[:] = rover.tree_configuration(q), rover.tree_speeds(v)
    meter = EnergyMeter(rover, vehicle, state)
    first, lost = meter.read(), 0.0
    most = 0.0
    for _ in range(round(0.4 / dt)):
        accounted_step(vehicle, state, dt, meter.ledger)
        most = max(most, float(np.abs(state.q[vehicle.stops.speed + 1]).max()) - STOP)
        row = meter.read()
        # 1e-5: where the rate changes sign within a step, its damping takes the sign of the step's end
        assert row.stop_loss >= lost - 1e-5 * first.stored
        lost = max(lost, row.stop_loss)
    assert most < math.radians(4.0)
    assert row.stored + row.lost == pytest.approx(first.stored, rel=0.02, abs=1e-6)  # of the step: of order dt
    assert row.stored <= first.stored * (1.0 + 2e-3) + 1e-9


@pytest.mark.slow
def test_away_from_its_stops_a_joint_moves_to_the_last_bit_as_without_them():
    rover, states = juno(), []
    for stops in (NO_STOPS, make_stops(rover)):
        state = make_vehicle_state(rover)
        state.v[3:9] = 0.3
        run(floating(rover)._replace(stops=stops), state, 500, 1e-4)
        states.append(state)
    assert np.array_equal(states[0].q, states[1].q)
    assert np.array_equal(states[0].v, states[1].v)


def test_a_stop_pushes_only():
    assert end_stop(-1.0, 1.0, 1.1, -50.0, 1e3, 1e2, 1e-4) == (0.0, 0.0)  # it leaves faster than the stop follows
    assert end_stop(-1.0, 1.0, 0.5, 9.0, 1e3, 1e2, 1e-4) == (0.0, 0.0)
    force, damping = end_stop(-1.0, 1.0, -1.1, 0.0, 1e3, 1e2, 1e-4)
    assert (force, damping) == (pytest.approx(100.0), pytest.approx(100.1))


def test_stops_that_are_none_are_refused():
    with pytest.raises(ValueError, match=r"bogie_stop is 0\.0, allowed: above 0"):
        rcp(bogie_stop=0.0)
    with pytest.raises(ValueError, match=r"rocker_stop is 2\.0 rad, allowed: up to pi/2"):
        juno(rocker_stop=2.0)
    joint = next(joint for joint in rcp().tree.joints if joint.stops)
    with pytest.raises(ValueError, match=r"stops are \(0\.5, -0\.5\) rad, allowed: finite, the lower one first"):
        type(joint)(joint.name, joint.parent, joint.child, joint.origin, joint.axis, None, (0.5, -0.5))
