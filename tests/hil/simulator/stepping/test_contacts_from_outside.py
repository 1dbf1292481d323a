"""Contacts from outside against the built-in ground, and a ground of triangles against its planes."""

import math

import numpy as np
import pytest

from hil.api.stepping import Contact
from models.terrain.mesh import make_mesh
from models.terrain.mesh_contacts import touches
from tests.hil.simulator.stepping.served import STEP_NS, ServedProcess, built_in, drive, level_ground, same

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

SQUARE, TWO_TRIANGLES = np.array([(-9, -9, 0), (9, -9, 0), (9, 9, 0), (-9, 9, 0)]), [(0, 1, 2), (0, 2, 3)]


@pytest.fixture(scope="module")
def on_firm():
    served = ServedProcess("ground.kind=firm")
    yield served
    served.close()


def test_contacts_of_level_ground_from_outside_equal_the_built_in_ground_bit_for_bit(on_soil):
    now, state = drive(on_soil.client, 50), built_in(on_soil.rig, 50)
    assert same(now, state)
    assert np.array_equal(now.load, state.ground.vertical)
    assert now.q[0] > 1e-4  # it has moved


def test_level_ground_of_triangles_equals_the_built_in_ground_within_rounding(on_soil):
    floor, client = make_mesh(SQUARE, TWO_TRIANGLES), on_soil.client
    radii, now = [wheel["radius_m"] for wheel in client.description["wheels"]], client.reset()
    client.command([0.5] * 4)
    for _ in range(5):
        now = client.step(STEP_NS, [Contact(*one) for one in touches(floor, now.centre, radii)])
    assert now.q == pytest.approx(built_in(on_soil.rig, 5).q, abs=1e-9)


def test_ground_that_is_a_micrometre_higher_is_another_motion(on_soil):
    client = on_soil.client
    now = client.reset()
    client.command([0.5] * 4)
    higher = [one._replace(penetration=one.penetration + 1e-6) for one in level_ground(client, now)]
    assert not same(client.step(STEP_NS, higher), built_in(on_soil.rig, 1))


def test_firm_ground_from_outside_equals_the_built_in_one_bit_for_bit(on_firm):
    client, rig = on_firm.client, on_firm.rig
    assert same(drive(client, 50), built_in(rig, 50))
    # the same with its own friction given, and without any it slides
    ends = []
    for own in (rig.config.ground.friction, 0.0):
        now = client.reset()
        client.command([0.5] * 4)
        for _ in range(50):
            now = client.step(STEP_NS, [one._replace(friction=own) for one in level_ground(client, now)])
        ends.append(now)
    assert same(ends[0], built_in(rig, 50))
    assert ends[1].q[0] < 0.1 * ends[0].q[0]


def test_wheels_that_lean_on_firm_ground_of_triangles_move_as_on_its_plane_from_the_first_touch_on(on_firm):
    client = on_firm.client
    radii, start = [wheel["radius_m"] for wheel in client.description["wheels"]], client.reset()
    # level wheels on a floor that falls to starboard, through the lowest points of those to port
    lean, foot = math.radians(10.0), start.centre[0] - (0.0, 0.0, radii[0])
    normal = np.array((0.0, -math.sin(lean), math.cos(lean)))
    turn = np.array(((1.0, 0.0, 0.0), (0.0, math.cos(lean), math.sin(lean)), normal)).T
    floor = make_mesh(SQUARE @ turn.T + foot, TWO_TRIANGLES)

    def by_plane(now):
        over = (now.centre - foot) @ normal
        return [
            Contact(i, tuple((centre - radius * normal).tolist()), tuple(normal.tolist()), radius - its)
            for i, (centre, radius, its) in enumerate(zip(now.centre, radii, over.tolist(), strict=True))
            if its < radius
        ]

    def by_triangles(now):
        return [Contact(*one) for one in touches(floor, now.centre, radii)]

    assert by_triangles(start)[0].penetration == pytest.approx(radii[0] * (1.0 - math.cos(lean)))  # 4 mm
    ends = []
    for detect in (by_plane, by_triangles):
        now = client.reset()
        for _ in range(50):
            now = client.step(STEP_NS, detect(now))
        ends.append(now)
    assert ends[1].q == pytest.approx(ends[0].q, abs=1e-9)
    assert ends[1].q[3] > start.q[3] + 0.01  # it tips to starboard
