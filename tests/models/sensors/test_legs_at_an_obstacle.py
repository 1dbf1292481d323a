"""What leg sensors see of an obstacle: the forces that the step applies, against the rover's rate of momentum."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.kernels.bound import BoundArguments
from models.plant import RigParameters
from models.rover.rover import Rover
from models.sensors.load_sensors import LoadSensors, make_load_parts, take_load_samples
from models.vehicle import Scene, VehicleState, run_bound

HEIGHT, STEP_S = 0.3, 1e-6
FULL = np.array([1e6] * 6)
GLIDES = {"ground.kind": "none", "obstacle.friction": 0.0}
CASES = {
    "level": {},
    "friction": {"obstacle.friction": 0.4, "obstacle.friction_speed_mps": 0.05},
    "legs that give way": {"obstacle.legs": "each"},
    "grousers": {"wheel.grousers": 22},
    "on the plate's upper edge": {"trial.angle_deg": 30, "obstacle.plate": {"centre_up_m": 0.02, "height_m": 0.03}},
}


def sensors(wheels: int) -> LoadSensors:
    """All six axes of each leg, 1 V at 1 N or 1 N m, without noise."""
    wheel, axis = np.repeat(np.arange(wheels), 6), np.tile(np.arange(6), wheels)
    gain = np.where(np.arange(6) == axis[:, None], 1.0, 0.0)
    nothing = np.zeros(len(wheel))
    return LoadSensors(
        wheel, axis, FULL, gain, nothing, nothing, nothing, nothing + 1e6, nothing + 1e-9, HEIGHT, 0.0, 1000
    )


def near(settings: dict[str, object]) -> RigParameters:
    """A rig whose wheels are a millimetre from the obstacle."""
    return replace(nominal_rig(load_config("sim_impact", settings)), start_distance=0.001)


def pressed(settings: dict[str, object]) -> tuple[Rover, VehicleState, np.ndarray, np.ndarray]:
    """Rover and state while both wheels are pressed, what the legs see (wheels, 6), and the speeds' rate of change."""
    rover, vehicle, state = near({**GLIDES, **settings}).build()
    bound = BoundArguments(Scene(vehicle, state))
    for _ in range(4000):
        run_bound(bound, 1, 2e-5)
        if state.obstacle.force.min() > 20.0:
            break
    assert state.obstacle.force.min() > 20.0
    before = state.v.copy()
    run_bound(bound, 1, STEP_S)
    parts = make_load_parts(rover, vehicle, state, sensors(len(rover.wheel_names)))
    take_load_samples(BoundArguments(parts), 0, np.zeros((1, len(parts.sensors.wheel))), -1, 0, 0.0)
    return rover, state, parts.volts[0].reshape(-1, 6), (state.v - before) / STEP_S


@pytest.mark.ci_cases("level", "on the plate's upper edge")
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_they_are_what_changes_the_rovers_momentum_and_angular_momentum(name):
    """Nothing else touches the rover: of weight and ground it has none."""
    rover, state, seen, rates = pressed(CASES[name])
    q, v = rover.own_configuration(state.q), rover.own_speeds(state.v)
    change = rover.mass_matrix(q) @ rover.own_speeds(rates) + rover.bias(q, v, (0.0, 0.0, 0.0))
    radius, turn = rover.chain.wheel_radius, np.eye(3)  # the rover stands level and ahead, its legs upright
    places = rover.wheel_positions(q) - state.q[:3]
    force, moment = seen[:, :3] @ turn, seen[:, 3:]
    at = places + np.array([0.0, 0.0, HEIGHT]) - np.outer(radius, [0.0, 0.0, 1.0])
    assert np.abs(seen[:2, :3]).max() > 15.0
    np.testing.assert_allclose(force.sum(axis=0), change[:3], atol=2e-3 * np.abs(change[:3]).max())
    about = (moment + np.cross(at, force)).sum(axis=0)
    np.testing.assert_allclose(about, change[3:6], atol=2e-3 * np.abs(change[3:6]).max())


@pytest.mark.slow
def test_on_a_slope_they_see_the_obstacle_as_it_stands_there():
    """Its angle is that to the slope, on which the legs stand upright: they see it as they do on level ground."""
    settings = {"ground.pitch_deg": 15, "obstacle.friction": 0.0}
    rover, vehicle, state = near(settings).build()
    bound = BoundArguments(Scene(vehicle, state))
    state.drives.cut[:], state.drives.set_speed[:] = 0.0, 0.4
    for _ in range(400):
        run_bound(bound, 100, 2e-5)
        if state.obstacle.force.min() > 20.0:
            break
    force, beta = state.obstacle.force.copy(), vehicle.obstacle.angle
    parts = BoundArguments(make_load_parts(rover, vehicle, state, given := sensors(len(rover.wheel_names))))
    noise, volts = np.zeros((1, len(given.wheel))), []
    for share in (1.0, 0.0):
        state.obstacle.wrench[:] *= share
        take_load_samples(parts, 0, noise, -1, 0, 0.0)
        volts.append(parts.value.volts[0].reshape(-1, 6)[:2, :3].copy())
    seen = (volts[0] - volts[1]) / force[:, None]
    assert force.min() > 20.0
    np.testing.assert_allclose(seen, np.tile([-math.sin(beta), 0.0, math.cos(beta)], (2, 1)), atol=0.02)
