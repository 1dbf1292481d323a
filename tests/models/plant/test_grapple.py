"""The grapple of a space arm: its impulses are Cyril's, keep momentum and never make energy; its latch has a reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from models.actuators.drive import Drive
from models.actuators.springs import make_springs
from models.impact import Payload, capture
from models.plant.grapple import RIGID_DAMPING, CaptureParameters, Grapple
from models.rover.arm_names import EFFECTOR, LATCH
from models.rover.body_points import body_point
from models.rover.capture_arm import CaptureArmParameters
from models.vehicle import VehicleModel, make_vehicle_state

ARM = CaptureArmParameters()
ROVER = ARM.build()
OFF = Drive(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
COMING = CaptureParameters(gap=0.1, speed=0.2, spin=0.03, offset=0.02)
SPEEDS = arrays(float, ROVER.nv, elements=st.floats(-0.5, 0.5))
OWN = [6 + ROVER.joint_names.index(name) for name in LATCH]


def grapple_of(parameters=COMING):
    vehicle = VehicleModel(ROVER.chain, None, OFF, None, np.zeros(3), springs=make_springs(ROVER))
    state = make_vehicle_state(ROVER)
    return Grapple(ROVER, vehicle, state, parameters), vehicle, state


def kinetic(state):
    v = ROVER.own_speeds(state.v)
    return 0.5 * v @ ROVER.mass_matrix(ROVER.own_configuration(state.q)) @ v


def momentum(state):
    """Of all, in base axes about the base's origin: the base's rows of M v."""
    mass = ROVER.mass_matrix(ROVER.own_configuration(state.q))
    return (mass @ ROVER.own_speeds(state.v))[:6]


@given(SPEEDS, st.floats(0.0, 1.0))
@settings(deadline=None, max_examples=15)
def test_an_impact_on_the_seat_keeps_momentum_and_loses_what_is_missing(speeds, restitution):
    grapple, _, state = grapple_of(COMING._replace(restitution=restitution))
    state.v[:] = ROVER.tree_speeds(speeds)
    state.v[grapple._speeds[0]] = -0.2  # it comes nearer
    state.q[grapple._speeds[0] + 1] = -1e-4
    before, whole = kinetic(state), momentum(state)
    grapple.update(7, way=0.0)
    assert grapple.contact_ns == 7
    assert grapple.closing_speed == pytest.approx(-restitution * 0.2, abs=1e-12)
    assert momentum(state) == pytest.approx(whole, rel=1e-9, abs=1e-6)
    assert grapple.contact_loss >= 0.0
    assert before - kinetic(state) == pytest.approx(grapple.contact_loss, rel=1e-6, abs=1e-6)


@given(SPEEDS)
@settings(deadline=None, max_examples=10)
def test_a_rigid_hold_keeps_momentum_and_takes_the_energy_that_was_predicted(speeds):
    grapple, _, state = grapple_of()
    state.v[:] = ROVER.tree_speeds(speeds)
    before, whole, predicted = kinetic(state), momentum(state), grapple.energy_of_capture()
    grapple.update(1, way=0.04)
    grapple.update(2, way=0.1)
    assert (grapple.latched_ns, grapple.held_ns) == (1, 2)
    assert state.v[grapple._speeds] == pytest.approx(np.zeros(3), abs=1e-12)
    assert momentum(state) == pytest.approx(whole, rel=1e-9, abs=1e-6)
    assert grapple.hold_loss == pytest.approx(predicted)
    assert grapple.hold_loss >= 0.0
    assert before - kinetic(state) == pytest.approx(predicted, rel=1e-6, abs=1e-6)


def test_the_hold_of_a_payload_at_the_seat_is_cyrils_capture_of_two_bodies():
    """The arm without the payload, and the payload as a body of its own, by (35)-(39)."""
    grapple, _, state = grapple_of()
    state.q[grapple._speeds + 1] = 0.0
    alone = ARM.arm().build()
    q = alone.neutral()
    point = body_point(alone, q, EFFECTOR, ARM.arm().contact)
    edge = ARM.payload_mass * ARM.payload_edge**2 / 6.0
    payload = Payload(ARM.payload_mass, edge * np.eye(3), ARM.payload_reach * point.rotation[:, 0])
    spin = np.array([0.0, 0.0, 0.03])
    velocity = np.concatenate([-0.2 * point.rotation[:, 0] + np.cross(spin, payload.place), spin])
    found = capture(alone.mass_matrix(q), point.jacobian, np.zeros(alone.nv), payload, velocity)
    # the whole grapple and the light bodies of the latch are in our tree only
    assert grapple.energy_of_capture() == pytest.approx(found.energy_lost, rel=0.05)


def test_an_open_latch_bears_nothing_a_closed_one_is_its_spring_and_a_rigid_hold_damps_all():
    grapple, vehicle, state = grapple_of()
    rows = grapple._rows
    assert not vehicle.springs.stiffness[rows].any()
    assert not vehicle.springs.damping[rows].any()
    grapple.update(1, way=0.03)
    assert vehicle.springs.stiffness[rows].tolist() == [2e4, 2e4, 2e4]
    grapple.update(2, way=0.09)
    assert vehicle.springs.damping[rows].tolist() == [RIGID_DAMPING] * 3
    assert np.hypot(*grapple.offset_at_hold[:2]) == pytest.approx(np.hypot(0.1, 0.02))
    kept = state.v.copy()
    grapple.update(3, way=0.0)  # a drive that goes back opens nothing
    assert (state.v == kept).all()


def test_a_latch_that_closes_on_nothing_stays_so():
    grapple, vehicle, state = grapple_of(COMING._replace(offset=0.2))
    grapple.update(1, way=0.04)
    state.q[grapple._speeds + 1] = 0.0
    grapple.update(2, way=0.1)
    assert grapple.missed
    assert grapple.latched_ns is grapple.held_ns is None
    assert not vehicle.springs.stiffness[grapple._rows].any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gap": 0.0}, r"gap is 0\.0"),
        ({"speed": -1.0}, r"speed is -1\.0"),
        ({"restitution": 1.5}, r"restitution is 1\.5"),
        ({"hold_way": 0.01}, r"hold_way is 0\.01"),
        ({"reach": np.nan}, r"reach is nan"),
    ],
)
def test_numbers_out_of_range_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        grapple_of(COMING._replace(**change))
