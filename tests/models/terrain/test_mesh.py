"""Contacts of wheels with a ground of triangles, against profiles, planes and the nearest place of all triangles."""

import math

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.spatial import Delaunay

from models.contact.rim import rim_contact
from models.terrain.mesh import make_mesh
from models.terrain.mesh_contacts import touches
from models.terrain.profile import COLUMNS as PROFILE_COLUMNS
from models.terrain.profile import GAP, MOST_TOUCHED, NORMAL_X, NORMAL_Z, make_profile, touched

RADIUS = 0.2


def uneven(seed=1, points=150):
    """Random places of a hilly ground, and their triangles."""
    random = np.random.default_rng(seed)
    level = random.uniform(-1.0, 1.0, (points, 2))
    corners = Delaunay(level).simplices
    a, b, c = (level[corners[:, k]] for k in range(3))
    turn = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    corners[turn < 0.0] = corners[turn < 0.0][:, ::-1]
    return np.column_stack([level, 0.1 * np.sin(5.0 * level[:, 0]) * np.cos(4.0 * level[:, 1])]), corners


def extruded(profile):
    """The triangles of a profile, in strips of 0.3 m."""
    sides = (-0.6, -0.3, 0.0, 0.3, 0.6)
    places = [(x, y, z) for y in sides for x, z in profile.point.tolist()]
    n, triangles = len(profile.point), []
    for row in range(len(sides) - 1):
        for i in range(row * n, row * n + n - 1):
            triangles += [(i, i + 1, i + n + 1), (i, i + n + 1, i + n)]
    return make_mesh(places, triangles)


def of_wheel(mesh, centre, reach=0.0):
    return touches(mesh, [centre], [RADIUS], reach)


def test_flat_ground_of_many_triangles_is_touched_once_wherever_the_wheel_is():
    places, triangles = uneven()
    places[:, 2] = 0.0
    mesh, random = make_mesh(places, triangles), np.random.default_rng(2)
    over_corners = [(x, y) for x, y, _ in places.tolist() if max(abs(x), abs(y)) < 0.6]
    over_edges = (0.5 * (places[triangles[:, 0]] + places[triangles[:, 1]]))[:, :2]
    over_edges = over_edges[np.abs(over_edges).max(axis=1) < 0.6].tolist()
    for x, y in over_corners + over_edges + random.uniform(-0.6, 0.6, (100, 2)).tolist():
        [touch] = of_wheel(mesh, (x, y, 0.15))
        assert touch.normal == pytest.approx((0.0, 0.0, 1.0), abs=1e-12)
        assert touch.point == pytest.approx((x, y, -0.05), abs=1e-12)
        assert touch.penetration == pytest.approx(0.05, abs=1e-12)


@pytest.mark.parametrize(
    "points",
    [
        [(-2.0, 0.0), (0.0, 0.0), (0.0, 0.1), (2.0, 0.1)],
        [(-2.0, 0.0), (0.0, 0.0), (0.0, -0.15), (2.0, -0.15)],
        [(-2.0, 0.0), (0.0, 0.0), (0.2, 0.1), (0.3, 0.1), (0.4, 0.3), (0.6, 0.0), (2.0, 0.0)],
    ],
    ids=["step", "ledge", "slopes"],
)
def test_an_extruded_profile_is_touched_as_the_profile_is(points):
    profile = make_profile(points, 0.5, 0.0)
    mesh, random = extruded(profile), np.random.default_rng(3)
    found, touching = np.empty((MOST_TOUCHED, PROFILE_COLUMNS)), 0
    for x, z in zip(random.uniform(-0.5, 0.9, 500), random.uniform(0.02, 0.5, 500), strict=True):
        count = touched(profile, x, z, RADIUS, 0.0, found)
        wanted = sorted(found[:count, [GAP, NORMAL_X, NORMAL_Z]].tolist())
        ours = sorted([-one.penetration, one.normal[0], one.normal[2]] for one in of_wheel(mesh, (x, 0.05, z)))
        assert np.array(ours).reshape(-1, 3) == pytest.approx(np.array(wanted).reshape(-1, 3), abs=1e-9)
        touching += count
    assert touching > 100


def nearest(places, triangles, centre):
    """The nearest place of all triangles: of each the convex combination of its corners by non-negative squares."""
    found = np.full(3, math.inf)
    for corners in places[triangles]:
        heavy = 1e6  # so much the more counts that the three shares add up to 1
        rows = np.vstack([corners.T - np.array(centre)[:, np.newaxis], np.full(3, heavy)])
        share, _ = nnls(rows, np.array([0.0, 0.0, 0.0, heavy]))
        place = share / share.sum() @ corners
        if math.dist(place, centre) < math.dist(found, centre):
            found = place
    return found


def test_the_deepest_contact_is_that_of_a_sphere_with_the_nearest_of_all_triangles():
    places, triangles = uneven()
    mesh = make_mesh(places, triangles)
    for x, y in np.random.default_rng(4).uniform(-0.6, 0.6, (15, 2)):
        centre = np.array((x, y, 0.1 * math.sin(5.0 * x) * math.cos(4.0 * y) + 0.17))
        deepest = max(of_wheel(mesh, centre), key=lambda one: one.penetration)
        away = centre - nearest(places, triangles, centre)
        distance = float(np.linalg.norm(away))
        normal = away / distance
        assert deepest.penetration == pytest.approx(RADIUS - distance, abs=1e-7)
        assert deepest.normal == pytest.approx(normal, abs=1e-6)
        assert deepest.point == pytest.approx(centre - RADIUS * normal, abs=1e-6)


def test_a_grid_of_any_cell_gives_the_same_contacts():
    places, triangles = uneven()
    coarse, fine, usual = (make_mesh(places, triangles, cell) for cell in (5.0, 0.01, None))
    several = 0
    for x, y, z in np.random.default_rng(5).uniform((-1.2, -1.2, -0.1), (1.2, 1.2, 0.3), (200, 3)):
        ways = [sorted(of_wheel(mesh, (x, y, z), reach=0.05)) for mesh in (coarse, fine, usual)]
        assert ways[0] == ways[1] == ways[2]
        several += len(ways[0]) > 1
    assert several > 20


@pytest.mark.parametrize("lean_deg", [0.0, 10.0, -35.0])
def test_a_leaning_wheel_touches_faces_and_edges_where_the_contact_laws_press_it(lean_deg):
    step = make_profile([(-2.0, 0.0), (0.0, 0.0), (0.0, 0.1), (2.0, 0.1)], 0.5, 0.0)
    mesh, random, lean = extruded(step), np.random.default_rng(6), math.radians(lean_deg)
    found, touching = np.empty((MOST_TOUCHED, PROFILE_COLUMNS)), 0
    for x, z in zip(random.uniform(-0.5, 0.5, 100), random.uniform(0.05, 0.35, 100), strict=True):
        centre, ours = (x, 0.05, z), of_wheel(mesh, (x, 0.05, z))
        gaps = sorted(found[: touched(step, x, z, RADIUS, 0.0, found), GAP].tolist())
        assert sorted(-one.penetration for one in ours) == pytest.approx(gaps, abs=1e-9)
        for one in ours:
            # the plane goes through the point, higher by the penetration
            over = np.dot(one.normal, np.subtract(centre, one.point)) - one.penetration
            reach, arm = rim_contact(None, 0, RADIUS, one.normal, (0.0, math.cos(lean), math.sin(lean)))
            assert one.penetration == pytest.approx(reach - over, abs=1e-12)
            assert one.point == pytest.approx(np.add(centre, arm), abs=1e-12)
            touching += 1
    assert touching > 50


def test_what_is_behind_a_surface_or_beside_it_is_not_touched():
    mesh = make_mesh([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], [(0, 1, 2), (0, 2, 3)])
    assert of_wheel(mesh, (0.0, 0.0, -0.05)) == []
    assert of_wheel(mesh, (1.3, 0.0, 0.1)) == []
    assert of_wheel(mesh, (0.0, 0.0, 0.25)) == []
    [near] = of_wheel(mesh, (0.0, 0.0, 0.25), reach=0.1)
    assert near.penetration == pytest.approx(-0.05)
    [edge] = of_wheel(mesh, (1.1, 0.0, 0.1))
    assert edge.normal == pytest.approx((math.sqrt(0.5), 0.0, math.sqrt(0.5)))


@pytest.mark.parametrize(
    ("vertices", "triangles", "words"),
    [
        ([(0, 0, 0)], [], "0 triangles, allowed: 1 or more"),
        ([(0, 0, 0), (1, 0, 0), (2, 0, 0)], [(0, 1, 2)], "triangle 0 has no area"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 3)], "vertex 0 to 3 in a triangle, allowed: 0 to 2"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, math.nan)], [(0, 1, 2)], "vertices"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, -1, 0)], [(0, 1, 2), (0, 1, 3)], "triangles 0 and 1 have an edge in"),
    ],
)
def test_a_mesh_that_is_none_is_refused_with_what_is_allowed(vertices, triangles, words):
    with pytest.raises(ValueError, match=words):
        make_mesh(vertices, triangles)


def test_a_reach_below_zero_is_refused():
    mesh = make_mesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)])
    with pytest.raises(ValueError, match="reach"):
        of_wheel(mesh, (0.0, 0.0, 0.1), reach=-0.1)


def test_cells_that_are_too_many_are_refused():
    with pytest.raises(ValueError, match=r"cells of 0.001 m make 9006001, allowed: 4000000"):
        make_mesh([(0, 0, 0), (3, 0, 0), (0, 3, 0)], [(0, 1, 2)], 0.001)
