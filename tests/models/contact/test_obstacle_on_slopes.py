"""An obstacle on a slope is one on level ground under tilted gravity; on a scan it stands on the ground there."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.impact import effective_kinetic_energy, pair_energy_on
from models.kernels.bound import BoundArguments
from models.plant.parameters import RigParameters
from models.plant.sensing import make_sensing
from models.terrain import Slope, make_height_map, slope_of
from models.terrain.surface import (
    axes,
    into,
    level_configuration,
    out_of,
    plane_axes,
    seen_from,
    stand_on,
    surface,
    uneven_ground,
)
from models.vehicle import Scene, run_bound

PITCH, ROLL, STEP_S = math.radians(12.0), math.radians(-6.0), 2e-5
WHOLE = {
    "trial.start_distance_m": 0.01,
    "trial.ramp_s": 0.1,
    "trial.angle_deg": 60.0,
    "wheel.grousers": 22,
    "obstacle.legs": "each",
    "obstacle.plate": {},
}


def rig(**settings) -> RigParameters:
    return nominal_rig(load_config("sim_impact", WHOLE | settings))


def on_slope(parameters: RigParameters) -> RigParameters:
    return replace(parameters, ground=replace(parameters.ground, pitch=PITCH, roll=ROLL))


def test_directions_and_places_come_back():
    stand = stand_on(slope_of(PITCH, ROLL), 0.5, np.array([0.4, -0.4]))
    v = (0.3, -0.2, 0.7)
    assert out_of(stand, 1, into(stand, 1, v)) == pytest.approx(v, abs=1e-15)
    assert seen_from(stand, 0, tuple(2.0 * plane_axes(slope_of(PITCH, ROLL))[:, 1])) == pytest.approx((0.0, 2.0, 0.0))
    assert stand_on(None, 0.5, np.zeros(2)) is None
    assert into(None, 0, v) == v


def test_each_plate_stands_on_the_scan_before_its_wheel():
    random = np.random.default_rng(5)
    terrain = uneven_ground(make_height_map(0.05 * random.standard_normal((20, 20)), -1.0, -1.0, 0.15))
    stand = stand_on(terrain, 0.7, np.array([0.45, -0.45]))
    for row, y in zip(stand, (0.45, -0.45), strict=True):
        height, normal, _ = surface(terrain, 0.7, y)
        assert row[0] == pytest.approx((0.7, y, height))
        np.testing.assert_allclose(row[1:], np.array(axes(terrain, normal)), atol=1e-15)
    assert not np.allclose(stand[0, 3], stand[1, 3], atol=1e-3)


@pytest.mark.slow
def test_an_impact_on_a_slope_is_one_on_level_ground_under_tilted_gravity():
    rover, vehicle, state = on_slope(rig()).build()
    _, level, other = on_slope(replace(rig(), settles=False)).build()
    stand = vehicle.obstacle.stand
    other.q[:] = level_configuration(stand[0], state.q)
    upright = np.zeros((2, 4, 3))
    upright[:, 1:] = np.eye(3)
    # of the same kind, so that it is compiled once
    level = level._replace(
        gravity=stand[0, 1:] @ vehicle.gravity,
        terrain=Slope((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        obstacle=level.obstacle._replace(stand=upright),
    )
    for name in state.ground._fields:
        getattr(other.ground, name)[:] = getattr(state.ground, name)
    flat = replace(rig(), settles=False).assemble()[1]
    assert flat.obstacle.stand is None
    assert flat.obstacle.foot == pytest.approx(vehicle.obstacle.foot, abs=1e-12)
    sensed = [
        make_sensing(parameters, rover, seen, model, np.random.default_rng(1)).origin
        for parameters, model, seen in ((on_slope(rig()), vehicle, state.q), (rig(), flat, other.q))
    ]
    np.testing.assert_allclose(*sensed, atol=1e-12)
    forces = []
    for model, moving in ((vehicle, state), (level, other)):
        moving.drives.cut[:], moving.drives.set_speed[:], moving.v[0] = 0.0, 0.4, 0.07
        bound, found = BoundArguments(Scene(model, moving)), []
        for _ in range(400):
            run_bound(bound, 50, STEP_S)
            contact, ground = moving.obstacle, moving.ground
            found.append([*contact.force, *contact.point.ravel(), *ground.vertical, *moving.v[:6]])
        forces.append(np.array(found))
    assert forces[0][:, :2].max(axis=0).min() > 20.0  # both wheels hit
    np.testing.assert_allclose(*forces, rtol=1e-6, atol=1e-7)
    q, v = rover.own_configuration(state.q), rover.own_speeds(state.v)
    seen = level_configuration(stand[0], q)
    energy = effective_kinetic_energy(rover.mass_matrix(q), rover.impact_jacobian(seen, vehicle.obstacle.angle), v)
    rows = np.zeros((2, state.v.size))
    mine = pair_energy_on(rover.chain, state.q, state.v, vehicle.obstacle.angle, stand, rows, state.work)
    assert mine == pytest.approx(energy, rel=1e-9)
    level_energy = effective_kinetic_energy(rover.mass_matrix(q), rover.impact_jacobian(q, vehicle.obstacle.angle), v)
    assert abs(level_energy / energy - 1.0) > 0.01  # the slope does matter


def test_an_obstacle_on_a_slope_is_refused_with_heights_under_single_wheels():
    parameters = rig()
    raised = replace(parameters.ground, wheel_height=(0.05, 0.0, 0.0, 0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="wheel_height"):
        replace(parameters, ground=raised, settles=False).build()
