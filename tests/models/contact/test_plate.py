"""A plate with edges: against the endless plane inside, geometry at the edges, and nothing outside."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.contact.contact_points import DEPTH, SHARE
from models.contact.obstacle import Obstacle, check_obstacle, make_contact, push_obstacle
from models.contact.plate import make_plate
from models.rover import rcp
from models.rover.dynamics import fill_bias, make_work, place_bodies
from models.vehicle.ledger import _note_plate, make_ledger

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

ROVER = rcp()
GROUSED = ROVER.with_grousers(0.01)
RADIUS, FRONT_X, HALF_TRACK, WIDTH = 0.175, 0.5349, 0.4552, 0.12
STIFFNESS = 5e4
LEFT, RIGHT = 0, 1


def obstacle(angle_deg: float, depth: float, *, bottom: float = 0.0, top: float = 1.0, across: float = 0.0, **given):
    """A plane that the neutral rover's front wheels enter by `depth`, with a plate before each wheel."""
    angle = math.radians(angle_deg)
    sine, cosine = math.sin(angle), math.cos(angle)
    radius = RADIUS + (0.01 if given.get("grousers") else 0.0)
    # depth = radius - (cos z - sin x) with x from the foot
    foot = FRONT_X - (depth - radius + cosine * RADIUS) / sine
    made = make_plate(
        2, width=0.4, height=top - bottom, centre_up=0.5 * (bottom + top), centre_across=across, wheel_width=WIDTH
    )
    made = made._replace(across=made.across + np.array([HALF_TRACK, -HALF_TRACK]))
    return Obstacle(angle, foot, STIFFNESS, 1.0, 1.0, 0.0, 0.005, plate=made, **given)


def push(given: Obstacle, contact=None, rover=ROVER, work=None):
    """Contact and generalised force after one step at rest."""
    contact, work = contact or make_contact(2), work or make_work(rover.chain)
    place_bodies(rover.chain, rover.neutral(), work)
    fill_bias(rover.chain, np.zeros(15), np.zeros(3), work)
    work.rhs[:] = 0.0
    for wheel in (LEFT, RIGHT):
        push_obstacle(rover.chain, given, rover.neutral(), wheel, 1e-4, contact, work)
    return contact, work.rhs.copy()


def on_plane(given: Obstacle) -> float:
    """How far up the plane from its foot the middle of a smooth wheel touches [m]."""
    return math.cos(given.angle) * (FRONT_X - given.foot) + math.sin(given.angle) * RADIUS


@pytest.mark.parametrize("angle_deg", [40.0, 60.0, 90.0])
@pytest.mark.parametrize("grousers", [0, 22])
def test_inside_its_edges_a_plate_is_the_endless_plane(angle_deg, grousers):
    rover = GROUSED if grousers else ROVER
    given = obstacle(angle_deg, 1.5e-3, bottom=0.01, grousers=grousers, grouser_offset=0.02)
    found, force = push(given, rover=rover)
    endless, other = push(given._replace(plate=None), rover=rover)
    assert found.force.min() > 10.0
    np.testing.assert_allclose(found.force, endless.force, rtol=1e-12)
    np.testing.assert_allclose(found.point, endless.point, atol=1e-12)
    np.testing.assert_allclose(force, other, atol=1e-9)


@pytest.mark.parametrize("angle_deg", [40.0, 70.0, 90.0])
@pytest.mark.parametrize("beyond", [0.001, 0.01, 0.05])
@pytest.mark.parametrize("edge", ["bottom", "top"])
def test_a_smooth_wheel_beyond_an_edge_rests_on_it(angle_deg, beyond, edge):
    """By Pythagoras: the edge lies radius - depth from the axle's plane foot, and pushes towards the axle."""
    touched = on_plane(obstacle(angle_deg, 2e-3))
    limits = {"bottom": touched + beyond} if edge == "bottom" else {"top": touched - beyond, "bottom": 0.0}
    given = obstacle(angle_deg, 2e-3, **limits)
    found, force = push(given)
    distance = math.hypot(RADIUS - 2e-3, beyond)
    pressed = STIFFNESS * max(RADIUS - distance, 0.0)
    assert found.force == pytest.approx([pressed * (RADIUS - 2e-3) / distance] * 2, rel=1e-9, abs=1e-9)
    if pressed:
        assert found.point[:, 1] == pytest.approx([touched + (beyond if edge == "bottom" else -beyond)] * 2, rel=1e-9)
    # on the base: both wheels' forces, in the direction from the edge to the axle
    up_plane = -beyond if edge == "bottom" else beyond
    sine, cosine = math.sin(given.angle), math.cos(given.angle)
    away = (-sine * (RADIUS - 2e-3) + cosine * up_plane, cosine * (RADIUS - 2e-3) + sine * up_plane)
    expected = [2.0 * pressed * one / distance for one in away]
    assert [force[0], force[2]] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    # without friction too, the wheel presses the plate along itself
    assert found.drag == pytest.approx([-pressed * up_plane / distance] * 2, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("limits", [{}, {"bottom": 0.01}, {"top": -0.01}], ids=["face", "lower edge", "upper edge"])
def test_the_ledger_has_the_work_of_the_force_that_the_step_applies_on_face_and_edges(limits):
    touched = on_plane(obstacle(40.0, 2e-3))
    given = obstacle(40.0, 2e-3, **{name: touched + beyond for name, beyond in limits.items()})
    work = make_work(ROVER.chain)
    contact, force = push(given, work=work)
    ledger, v = make_ledger(make_work(ROVER.chain), 2, force.size), np.random.default_rng(1).normal(size=force.size)
    ledger.mean[:] = v
    assert _note_plate(ledger, ROVER.chain, given, contact, v, 1e-4, work) == pytest.approx(1e-4 * force @ v, rel=1e-9)


def test_the_force_is_zero_once_the_edge_is_out_of_the_wheels_reach():
    touched = on_plane(obstacle(60.0, 2e-3))
    reach = math.sqrt(RADIUS**2 - (RADIUS - 2e-3) ** 2)
    forces = [push(obstacle(60.0, 2e-3, bottom=touched + beyond))[0].force[LEFT] for beyond in (0.99 * reach, reach)]
    assert forces[0] > 0.0
    assert forces[1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("offset", "share_of_width"), [(0.0, 1.0), (0.14, 1.0), (0.2, 0.5), (0.259, 1 / 120), (0.261, 0.0)]
)
@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_beyond_a_side_only_what_lies_on_the_plate_touches(offset, share_of_width, way):
    """Plate 0.4 m wide, wheel 0.12 m: they overlap up to an offset of 0.26 m."""
    found, force = push(obstacle(70.0, 2e-3, across=way * offset))
    assert (found.force > 0.0).tolist() == [share_of_width > 0.0] * 2
    if share_of_width:
        shift = way * 0.5 * (1.0 - share_of_width) * WIDTH  # of the middle of the overlap, to the plate's side
        assert found.point[:, 0] == pytest.approx([HALF_TRACK + shift, -HALF_TRACK + shift], abs=1e-9)
        # the moment about the upright follows from both lines of action
        pushed_back = 2.0 * STIFFNESS * 2e-3 * math.sin(math.radians(70.0))
        assert force[5] == pytest.approx(pushed_back * shift, rel=1e-9, abs=1e-9)


def test_a_grouser_beyond_the_lower_edge_touches_nothing_and_its_force_is_noted():
    given = obstacle(40.0, 3e-3, grousers=22)
    contact, _ = push(given, rover=GROUSED)
    loaded = contact.contact_points[LEFT, :, SHARE].copy()
    assert (loaded > 0.0).sum() == 1
    before = contact.force[LEFT]
    at = contact.point[LEFT, 1]
    cut = given._replace(plate=given.plate._replace(bottom=at + 1e-4))
    contact, force = push(cut, contact, rover=GROUSED)
    assert contact.force.tolist() == [0.0, 0.0]
    assert not force.any()
    assert cut.plate.slipped == pytest.approx([before] * 2, rel=1e-12)
    assert (contact.contact_points[:, :, DEPTH] <= 0.0).all()
    push(cut, contact, rover=GROUSED)
    assert cut.plate.slipped == pytest.approx([before] * 2, rel=1e-12)  # noted once


def test_what_leaves_the_plate_by_coming_back_has_not_slipped():
    given = obstacle(60.0, 3e-3, grousers=22)
    contact, _ = push(given, rover=GROUSED)
    away = given._replace(foot=given.foot + 0.05)
    push(away, contact, rover=GROUSED)
    assert not away.plate.slipped.any()


def test_a_plate_that_cannot_be_is_refused():
    given = obstacle(60.0, 0.0)
    with pytest.raises(ValueError, match=r"plate\.top is 0\.1.*plate\.half_width is 0\.0"):
        check_obstacle(given._replace(plate=given.plate._replace(bottom=0.2, top=0.1, half_width=0.0)))
