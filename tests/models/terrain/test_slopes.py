"""Slopes: their geometry, and that a rover on one moves as on level ground under tilted gravity."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from models.actuators.drive import Drive
from models.contact.compliant import make_compliant_ground
from models.contact.constraints import make_rigid_ground
from models.contact.ground import Ground
from models.contact.laws import make_law
from models.kernels.bound import BoundArguments
from models.rover import juno
from models.terrain import make_height_map, slope_of, surface, uneven_ground
from models.terrain.surface import clearance, quaternion_of
from models.vehicle import Scene, VehicleModel, make_vehicle_state, run_bound
from models.wheel import RigidWheel, Soil

PITCH, ROLL = math.radians(12.0), math.radians(7.0)
G = np.array([0.0, 0.0, -9.81])
ROVER = juno(chains=False)
WHEEL = ROVER.tree.wheels[0]
SOIL = Soil(2.07e5, 0.583, friction_angle=math.radians(30.0), rebound=0.0674, slip_modulus=0.689)
DRIVE = Drive(200.0, 2000.0, 40.0, 0.5, 0.02, 0.5, 40.0, 0.0)
PACKED = np.array(RigidWheel(WHEEL.radius, WHEEL.width, SOIL).parameters)
# How far into the ground a rover starts [m]: in contact whatever is rounded, and on rigid ground as good as on it.
START = {"soil": 5e-4, "compliant": 5e-4, "rigid": 1e-9}
GROUNDS = {
    "soil": {"ground": Ground(PACKED, 2.0, 0.02, 0.001, 0.005)},
    "compliant": {"compliant": make_compliant_ground(make_law("kelvin_voigt", 1e6, damping=5e3), 0.6)},
    "rigid": {"rigid": make_rigid_ground(ROVER, rolling=True)},
}


def test_no_slope_is_level_ground():
    assert slope_of(0.0, 0.0) is None
    assert surface(None, 3.0, -2.0) == (0.0, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0))
    assert clearance(None, (3.0, -2.0, 0.7), 0) == 0.7


@pytest.mark.parametrize(("pitch", "roll"), [(PITCH, 0.0), (0.0, ROLL), (PITCH, ROLL), (-PITCH, -ROLL)])
def test_height_normal_and_curvature_of_a_slope_belong_together(pitch, roll):
    slope = slope_of(pitch, roll)
    for x, y in [(0.0, 0.0), (1.0, 0.5), (-2.0, 0.3)]:
        height, normal, curvature = surface(slope, x, y)
        slopes = [(surface(slope, x + dx, y + dy)[0] - height) / 1e-3 for dx, dy in ((1e-3, 0.0), (0.0, 1e-3))]
        wanted = np.array([-slopes[0], -slopes[1], 1.0])
        assert normal == pytest.approx(wanted / np.linalg.norm(wanted), abs=1e-9)
        assert curvature == (0.0, 0.0, 0.0)
        above = (x + 0.4 * normal[0], y + 0.4 * normal[1], height + 0.4 * normal[2])
        assert clearance(slope, above, 0) == pytest.approx(0.4, rel=1e-12)


def test_positive_pitch_rises_ahead_and_positive_roll_to_port():
    assert surface(slope_of(0.1, 0.0), 1.0, 0.0)[0] == pytest.approx(math.tan(0.1))
    assert surface(slope_of(0.0, 0.1), 0.0, 1.0)[0] == pytest.approx(math.tan(0.1))


@pytest.mark.parametrize(("pitch", "roll", "name"), [(1.1, 0.0, "pitch"), (0.0, math.nan, "roll")])
def test_a_wall_is_no_slope(pitch, roll, name):
    with pytest.raises(ValueError, match=f"slope: {name} is"):
        slope_of(pitch, roll)


def driven(ground: str, terrain, gravity, plane=None):
    """A rover set into its ground, each wheel driven at a different speed, after 0.1 s."""
    where = VehicleModel(
        ROVER.chain, GROUNDS[ground].get("ground"), DRIVE, None, gravity,
        GROUNDS[ground].get("compliant"), GROUNDS[ground].get("rigid"), terrain,
    )  # fmt: skip
    state = make_vehicle_state(ROVER)
    plane = plane or terrain
    if plane is not None:
        state.q[3:7] = quaternion_of(plane)
    state.q[:3] = -START[ground] * (np.array([0.0, 0.0, 1.0]) if plane is None else np.array(plane.normal))
    state.drives.cut[:] = 0.0
    state.drives.set_speed[:] = 0.3, 0.35, 0.4, 0.45
    run_bound(BoundArguments(Scene(where, state)), 1000, 1e-4)
    return state


@pytest.mark.ci_cases("soil")
@pytest.mark.slow
@pytest.mark.parametrize("ground", GROUNDS)
def test_a_slope_is_tilted_gravity_to_rounding(ground):
    slope = slope_of(PITCH, ROLL)
    turn = Rotation.from_quat(quaternion_of(slope))
    level, sloping = driven(ground, None, turn.inv().apply(G)), driven(ground, slope, G)
    assert level.ground.vertical.sum() > 1000.0
    assert sloping.v == pytest.approx(level.v, abs=1e-10)
    assert sloping.q[:3] == pytest.approx(turn.apply(level.q[:3]), abs=1e-11)
    assert sloping.q[7:] == pytest.approx(level.q[7:], abs=1e-11)
    for name in ("vertical", "sinkage", "slip", "pull"):
        assert getattr(sloping.ground, name) == pytest.approx(getattr(level.ground, name), rel=1e-7, abs=1e-7)


@pytest.mark.ci_cases("soil")
@pytest.mark.slow
@pytest.mark.parametrize("ground", ["soil", "compliant"])
def test_a_rover_on_a_tilted_height_map_moves_as_on_the_slope_to_rounding(ground):
    slope = slope_of(PITCH, ROLL)
    places = 0.1 * np.arange(-15.0, 16.0)
    heights = [[surface(slope, x, y)[0] for y in places.tolist()] for x in places.tolist()]
    uneven = uneven_ground(make_height_map(heights, places[0], places[0], 0.1))
    sloping, mapped = driven(ground, slope, G), driven(ground, uneven, G, plane=slope)
    assert mapped.ground.vertical.sum() > 1000.0
    assert mapped.v == pytest.approx(sloping.v, abs=1e-10)
    assert mapped.q == pytest.approx(sloping.q, abs=1e-11)
    for name in ("vertical", "sinkage", "slip", "pull"):
        assert getattr(mapped.ground, name) == pytest.approx(getattr(sloping.ground, name), rel=1e-7, abs=1e-7)
