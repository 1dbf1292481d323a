"""Statics against the dynamic model at rest: loads under joint torques, level, on slopes and with a wheel raised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.contact.wheel_slots import SIDE
from models.statics import RoverStatics, SteadyRover
from models.vehicle import run
from references.wheel_loads import traction_wrenches, wheel_loads

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

TORQUES = np.array([[25.0, 0.0, 0.0], [0.0, 30.0, 0.0], [-10.0, -20.0, 15.0]])
GROUNDS = {
    "level": {},
    "uphill": {"pitch": np.radians(10.0)},
    "across": {"roll": np.radians(10.0)},
    "raised": {"wheel_height": (0.05, 0.0, 0.0, 0.0, 0.0, 0.0)},
}


def standing(ground: str):
    rig = nominal_rig(load_config("sim_impact"))
    rover, vehicle, state = replace(rig, obstacle=None, ground=replace(rig.ground, **GROUNDS[ground])).build()
    state.drives.cut[:] = 0.0  # the wheels are held
    return rover, vehicle, state


def at_rest(vehicle, state, statics, torque):
    state.torque[statics.balance.joint] = torque
    run(vehicle, state, 15_000, 2e-4)
    assert np.abs(state.v).max() < 1e-3
    return state.ground.vertical.copy()


@pytest.mark.ci_cases("level")
@pytest.mark.parametrize("ground", GROUNDS)
def test_loads_and_influence_by_statics_are_those_of_the_dynamic_model_at_rest(ground):
    rover, vehicle, state = standing(ground)
    statics = RoverStatics(rover)
    normal = (0.0, 0.0, 1.0) if vehicle.terrain is None else vehicle.terrain.normal
    heading = (1.0, 0.0, 0.0) if vehicle.terrain is None else vehicle.terrain.ahead
    for torque in TORQUES:
        load = at_rest(vehicle, state, statics, torque)
        pull = state.ground.pull  # along the contact's tangent, level at rest: its moment on the axle is R times it
        radius = rover.chain.wheel_radius
        wrenches = traction_wrenches(rover, normal, pull, radius * pull, state.ground.scratch[:, SIDE], heading)
        q = rover.own_configuration(state.q)
        assert wheel_loads(rover, q, torque, normal, wrenches=wrenches) == pytest.approx(load, rel=0.01)
        # what the torques add, with the same tractions
        change = load - wheel_loads(rover, q, np.zeros(3), normal, wrenches=wrenches)
        found = statics.influence(q, normal) @ torque
        assert found == pytest.approx(change, abs=0.01 * np.abs(change).max())


def test_a_rover_that_drives_uphill_has_the_loads_of_its_steady_state():
    rover, vehicle, state = standing("uphill")
    state.drives.set_speed[:] = 0.4
    run(vehicle, state, 10_000, 2e-4)
    loads, slips = [], []
    for _ in range(100):
        run(vehicle, state, 25, 2e-4)
        loads.append(state.ground.vertical.copy())
        slips.append(state.ground.slip.mean())
    found = SteadyRover(rover, vehicle, 0.4 * float(rover.chain.wheel_radius[0])).at(np.zeros(3))
    assert found.load == pytest.approx(np.mean(loads, axis=0), rel=0.002)
    assert found.slip == pytest.approx(np.mean(slips), rel=0.01)
