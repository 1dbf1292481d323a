"""Contacts of wheels with a ground of triangles, against profiles, planes and the nearest place of all triangles."""

import math

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.spatial import Delaunay

from models.contact.rim import rim_contact
from models.terrain.mesh import make_mesh
from models.terrain.mesh_contacts import COLUMNS, DISTANCE, MOST_PLACES, SHARE, touched_mesh, touches
from models.terrain.profile import COLUMNS as PROFILE_COLUMNS
from models.terrain.profile import GAP, MOST_TOUCHED, NORMAL_X, NORMAL_Z, make_profile, touched

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

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
    mesh, found = make_mesh(places, triangles), np.empty((MOST_PLACES, COLUMNS))
    for x, y in np.random.default_rng(4).uniform(-0.6, 0.6, (15, 2)):
        centre = np.array((x, y, 0.1 * math.sin(5.0 * x) * math.cos(4.0 * y) + 0.17))
        of_all = found[: touched_mesh(mesh, tuple(centre.tolist()), RADIUS, found)]
        deepest = of_all[of_all[:, DISTANCE].argmin()]
        away = centre - nearest(places, triangles, centre)
        distance = float(np.linalg.norm(away))
        assert deepest[DISTANCE] == pytest.approx(distance, abs=1e-7)
        if len(of_all) == 1 or deepest[SHARE] > 1.0 - 1e-9:  # of several that are one contact, the normal is their mean
            alone = math.dist(deepest[:3], away / distance) < 1e-6
            assert alone or math.dist(deepest[:3], away / distance) < math.radians(10.0)


def test_a_grid_of_any_cell_gives_the_same_contacts():
    places, triangles = uneven()
    meshes, several = [make_mesh(places, triangles, cell) for cell in (5.0, 0.01, None)], 0
    for x, y, z in np.random.default_rng(5).uniform((-1.2, -1.2, -0.1), (1.2, 1.2, 0.3), (200, 3)):
        ways = [
            np.array([(*one.normal, one.penetration) for one in of_wheel(mesh, (x, y, z), 0.05)]) for mesh in meshes
        ]
        ways = [way[np.lexsort(way.T)] if len(way) else way for way in ways]
        assert all(ways[0] == pytest.approx(way, abs=1e-12) for way in ways)
        several += len(ways[0]) > 1
    assert several > 15


STIFFNESS = 1e6
# Radius [m] of a cylinder, or of a bowl, that lies on the origin; below 0: it stands out.
BENT = {"hollow": 1.0, "narrow hollow": 0.35, "ridge": -0.6, "bowl": 1.0, "flat": math.inf}


def bent(kind, size, jitter=0.0):
    """Triangles of such a size of a surface around the origin, their corners apart from it by up to `jitter`."""
    radius, random = BENT[kind], np.random.default_rng(7)
    side = np.linspace(-0.2, 0.2, 2 * round(0.2 / size) + 1)
    level = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    inner = np.abs(level).max(axis=1) < 0.2 - 0.5 * size
    level[inner] += random.uniform(-0.2, 0.2, level.shape)[inner] * size  # no two triangles are alike
    corners = Delaunay(level).simplices
    a, b, c = (level[corners[:, k]] for k in range(3))
    turn = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    corners[turn < 0.0] = corners[turn < 0.0][:, ::-1]
    longest = max(np.linalg.norm(one - two, axis=1).max() for one, two in ((a, b), (b, c), (c, a)))
    if radius == math.inf:
        return make_mesh(np.column_stack([level, random.uniform(-jitter, jitter, len(level))]), corners), longest
    off = np.hypot(*level.T) if kind == "bowl" else level[:, 0]
    height = radius - math.copysign(1.0, radius) * np.sqrt(radius**2 - off**2)
    return make_mesh(np.column_stack([level, height]), corners), longest


def of_surface(kind, x, y, depth):
    """A wheel that deep in the true surface, below its place (x, y): its centre, and the force (3,) by the law [N]."""
    radius = BENT[kind]
    if radius == math.inf:
        return (x, y, RADIUS - depth), np.array((0.0, 0.0, STIFFNESS * depth))
    middle = np.array((0.0, 0.0, radius) if kind == "bowl" else (0.0, y, radius))
    below = np.array(
        (x, y if kind == "bowl" else 0.0, -math.sqrt(radius**2 - x**2 - (y**2 if kind == "bowl" else 0.0)))
    )
    normal = -below / abs(radius) if radius > 0.0 else below * (1.0, 1.0, -1.0) / abs(radius)
    place = middle + below if radius > 0.0 else middle + below * (1.0, 1.0, -1.0)
    return tuple((place + (RADIUS - depth) * normal).tolist()), STIFFNESS * depth * normal


def force(mesh, centre):
    """Of the ground on a wheel by the linear law [N]."""
    return sum(
        (STIFFNESS * max(one.penetration, 0.0) * np.array(one.normal) for one in of_wheel(mesh, centre)), np.zeros(3)
    )


@pytest.mark.parametrize("kind", BENT)
@pytest.mark.parametrize("size", [0.012, 0.03, 0.05])
def test_a_bent_surface_of_triangles_of_any_size_presses_as_the_surface_does(kind, size):
    mesh, longest = bent(kind, size)
    apart = longest**2 / (6.0 if kind == "bowl" else 8.0) / abs(BENT[kind]) + 1e-9  # of triangles from the surface
    for x, y in np.random.default_rng(8).uniform(-0.07, 0.07, (60, 2)):
        centre, wanted = of_surface(kind, x, y, 0.002)
        found = force(mesh, centre)
        assert abs(np.linalg.norm(found) - np.linalg.norm(wanted)) <= STIFFNESS * apart
        assert (
            math.dist(found / np.linalg.norm(found), wanted / np.linalg.norm(wanted))
            <= longest / abs(BENT[kind]) + 1e-9
        )


@pytest.mark.parametrize("kind", BENT)
def test_force_does_not_jump_while_a_wheel_rolls_across_edges(kind):
    mesh, _ = bent(kind, 0.03, jitter=1e-6)
    along = np.linspace(-0.08, 0.08, 1601)  # 0.1 mm
    rolled = np.array([force(mesh, of_surface(kind, x, 0.3 * x + 0.011, 0.002)[0]) for x in along])
    steps = np.linalg.norm(np.diff(rolled, axis=0), axis=1)
    at = int(steps.argmax())
    closer = np.linspace(along[at], along[at + 1], 101)  # 0.001 mm
    near = np.array([force(mesh, of_surface(kind, x, 0.3 * x + 0.011, 0.002)[0]) for x in closer])
    assert np.linalg.norm(np.diff(near, axis=0), axis=1).max() < 0.05 * STIFFNESS * 0.002 / 100.0 + 0.05 * steps.max()


@pytest.mark.parametrize("between_deg", [30.0, 60.0, 90.0])
def test_both_faces_of_a_corner_press(between_deg):
    half = math.radians(0.5 * between_deg)
    away = [(x, 0.0, abs(x) * math.tan(half)) for x in (-0.5, 0.0, 0.5)]
    mesh = extruded(make_profile([(x, z) for x, _, z in away], 0.5, 0.0))
    centre = (0.0, 0.05, (RADIUS - 0.002) / math.cos(half))
    assert force(mesh, centre) == pytest.approx((0.0, 0.0, 2.0 * STIFFNESS * 0.002 * math.cos(half)), abs=1e-6)


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
