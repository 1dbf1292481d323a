"""The margin to tipping over: against triangles drawn by hand, and against the forces of the wheels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from models.gravity import EARTH_GRAVITY
from models.rover import RcpParameters, juno, rcp
from models.statics import least_friction, stability_margin, stand, tipping_slope


def tilted(angle, about):
    return Rotation.from_rotvec(angle * np.asarray(about)).apply(EARTH_GRAVITY)


def reaches(standing):
    """From below the centre of mass to the edges ahead, behind, to port and to starboard [m]."""
    off = standing.point - standing.centre
    return off[:, 0].max(), -off[:, 0].min(), off[:, 1].max(), -off[:, 1].min()


def test_on_level_ground_it_is_the_angle_of_the_nearest_edge_below_the_centre_of_mass():
    rover = juno()
    standing = stand(rover, rover.neutral())
    height = standing.centre[2] - standing.point[0, 2]
    assert stability_margin(standing) == pytest.approx(math.atan(min(reaches(standing)) / height), abs=1e-9)


def test_a_slope_takes_its_angle_off_the_margin_until_the_rover_tips():
    rover = juno()
    level = stand(rover, rover.neutral())
    behind, height = reaches(level)[1], level.centre[2] - level.point[0, 2]
    for climb in (0.3, 0.6, 1.2):  # gravity leans back
        standing = stand(rover, rover.neutral(), gravity=tilted(climb, (0.0, 1.0, 0.0)))
        assert stability_margin(standing) == pytest.approx(math.atan(behind / height) - climb, abs=1e-9)


@pytest.mark.parametrize("build", [juno, rcp])
def test_beyond_the_margin_no_friction_holds_the_rover(build):
    rover = build()
    _, _, port, _ = reaches(stand(rover, rover.neutral()))
    centre = stand(rover, rover.neutral())
    margin = math.atan(port / (centre.centre[2] - centre.point[0, 2]))
    for share, holds in ((0.99, True), (1.01, False)):
        standing = stand(rover, rover.neutral(), gravity=tilted(share * margin, (-1.0, 0.0, 0.0)))
        assert (stability_margin(standing) > 0.0) == holds
        assert math.isfinite(least_friction(standing).coefficient) == holds


def test_wheels_inside_the_polygon_do_not_count():
    rover = rcp()
    standing = stand(rover, rover.neutral())
    outer = [not name.startswith("middle") for name in rover.wheel_names]
    assert stability_margin(standing.only(outer)) == pytest.approx(stability_margin(standing), abs=1e-6)


@pytest.mark.parametrize("front", [0.0, 30.0, 60.0, 90.0])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_middle_wheel_on_the_ground_is_a_corner_beside_a_front_wheel_on_the_obstacle(front, side):
    """The rover turns about the line of the wheels on the ground: until its centre of mass is over that line."""
    rover, angle = RcpParameters(added_mass=22.7).build(), math.radians(front)
    normals = np.tile((0.0, 0.0, 1.0), (6, 1))
    normals[:2] = -math.sin(angle), 0.0, math.cos(angle)
    standing = stand(rover, rover.neutral(), normals)
    middle, rear = (rover.wheel_names.index(f"{name}_{'left' if side > 0 else 'right'}") for name in ("middle", "rear"))
    edge = standing.point[middle] - standing.point[rear]
    off = standing.centre - standing.point[rear]

    def moment(tilt):
        """Of the weight about that line, positive where it turns the rover over it; the ground is tilted by `tilt`."""
        return -side * float(np.cross(off, tilted(tilt, side * edge / np.linalg.norm(edge))) @ edge)

    over = brentq(moment, 0.0, 1.5)
    assert math.degrees(over) == pytest.approx(36.75, abs=0.01)
    assert stability_margin(standing) == pytest.approx(over, abs=1e-9)


@pytest.mark.parametrize("way", range(12))
@pytest.mark.parametrize("narrow", [1.0, 0.4])
def test_a_slope_in_any_direction_tips_the_rover_where_its_margin_ends(narrow, way):
    """Also where the front wheels are closer together: the edge then lies within the box around the wheels."""
    rover = juno()
    level = stand(rover, rover.neutral())
    level.point[:2, 1] *= narrow
    ahead, left = math.cos(way * math.pi / 6.0), math.sin(way * math.pi / 6.0)

    def margin(tilt):
        return stability_margin(level._replace(down=np.array(tilted(tilt, (-left, ahead, 0.0))) / -EARTH_GRAVITY[2]))

    towards = tilted(0.5 * math.pi, (-left, ahead, 0.0)) / -EARTH_GRAVITY[2]
    assert tipping_slope(level, towards) == pytest.approx(brentq(margin, 0.0, 1.5), abs=1e-9)


@pytest.mark.parametrize(("count", "words"), [(2, "3 or more"), (3, "one line")])
def test_contacts_that_span_no_polygon_are_refused(count, words):
    rover = rcp()
    left = [place for place, name in enumerate(rover.wheel_names) if name.endswith("left")][:count]
    with pytest.raises(ValueError, match=words):
        stability_margin(stand(rover, rover.neutral()).only(np.isin(np.arange(6), left)))
