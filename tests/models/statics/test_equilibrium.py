"""Predicted equilibrium against the time steps of the same rover, and against the pull at which a wheel lifts there."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.statics import StandingRover, tilt_of
from models.terrain import slope_of
from models.vehicle.loads import Drawbar
from models.vehicle.step import run

RIM, DT = 0.05, 5e-4
SAND = ["cylinders.friction=null"]
CASES = {
    "level": ("sim_normal_force", [*SAND, "rover.drawbar.pull_N=0", "ground.roll_deg=0"]),
    "as shipped": ("sim_normal_force", SAND),
    "drawbar, level": ("sim_normal_force", [*SAND, "ground.roll_deg=0"]),
    "side slope": ("sim_normal_force", [*SAND, "rover.drawbar.pull_N=300", "ground.roll_deg=8"]),
    "payload": ("sim_normal_force", [*SAND, "rover.drawbar.pull_N=100", "rover.payload.mass_kg=60"]),
    "two slopes": ("sim_normal_force", [*SAND, "rover.drawbar.pull_N=0", "ground.roll_deg=-6", "ground.pitch_deg=10"]),
    "wheel heights": (
        "sim_normal_force",
        [*SAND, "rover.drawbar.pull_N=100", "ground.wheel_height_m=[0.05,0,0,0.03,0,0]"],
    ),
    "exomars": ("sim_normal_force", [*SAND, "rover.type=exomars", "rover.drawbar.pull_N=200"]),
    "rocker-bogie": (
        "sim_normal_force",
        [*SAND, "cylinders.joints=[left_bogie,right_bogie]", "rover.type=rocker_bogie", "rover.drawbar.pull_N=200"],
    ),
    "uphill": ("sim_slope", ["ground.pitch_deg=20"]),
    "juno uphill": ("sim_juno", ["ground.pitch_deg=8"]),
    "juno across": ("sim_juno", ["ground.roll_deg=10", "rover.drawbar.pull_N=300"]),
    "firm": (
        "sim_normal_force",
        [*SAND, "ground.kind=firm", "ground.friction=0.7", "rover.drawbar.pull_N=300"],
    ),
}


def driven(parameters, seconds: float):
    """The nominal rover after a drive at RIM, its mean loads (wheels,) [N] over the last 0.2 s, and its state."""
    rover, vehicle, state = parameters.build()
    state.drives.cut[:] = 0.0
    loads = []
    for ms in range(round(seconds * 1e3)):
        state.drives.set_speed[:] = RIM / rover.chain.wheel_radius * min(ms / 500, 1.0)
        run(vehicle, state, 2, DT)
        if ms >= seconds * 1e3 - 200:
            loads.append(state.ground.vertical.copy())
    return rover, vehicle, np.mean(loads, axis=0), state


@pytest.mark.slow
@pytest.mark.parametrize(("config", "overrides"), CASES.values(), ids=CASES)
def test_predicted_loads_and_angles_are_those_of_the_drive_within_a_hundredth(config, overrides):
    parameters = nominal_rig(load_config(config, overrides))
    # across steps under the wheels the side forces settle slowly: 1.8 % off after 2.5 s, 0.4 % after 5 s
    rover, vehicle, loads, state = driven(parameters, 5.0 if parameters.ground.wheel_height else 2.5)
    found = StandingRover(rover, vehicle).driving(RIM, parameters.drawbar.wrench())
    assert found.settled
    assert np.abs(found.load - loads).max() < 0.01 * loads.mean()
    angles = state.q[vehicle.stops.speed + 1]
    assert rover.tree_configuration(found.q)[vehicle.stops.speed + 1] == pytest.approx(angles, abs=2e-3)
    assert tilt_of(found.q) == pytest.approx(tilt_of(state.q), abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("roll_deg", [0, 3, 6, 12])
def test_the_pull_at_which_a_wheel_lifts_in_a_drive_is_the_predicted_limit_within_a_twentieth(roll_deg):
    """The pull grows slowly while the rover drives; predicted is the largest one with an equilibrium on all wheels."""
    parameters = nominal_rig(load_config("sim_normal_force", [*SAND, f"ground.roll_deg={roll_deg}"]))
    rover, vehicle, state = replace(parameters, drawbar=Drawbar()).build()
    state.drives.cut[:] = 0.0
    back, pull, ms = parameters.drawbar.backwards(), 0.0, 0
    while ms < 60_000 and (ms < 1000 or state.ground.vertical.min() > 0.0):
        state.drives.set_speed[:] = RIM / rover.chain.wheel_radius * min(ms / 500, 1.0)
        pull += 0.0 if ms < 1000 else 0.02 if pull < 350.0 else 0.01
        state.pull[:] = pull * back
        run(vehicle, state, 2, DT)
        ms += 1
    standing = StandingRover(rover, vehicle)

    def stands(pull_N: float) -> bool:
        found = standing.driving(RIM, pull_N * back)
        return found.settled and found.load.min() > 0.0

    assert stands(0.95 * pull)
    assert not stands(1.08 * pull)


def standing_rcp(*overrides: str):
    parameters = nominal_rig(load_config("sim_impact", list(overrides)))
    rover, vehicle, _ = replace(parameters, obstacle=None).assemble()
    return rover, vehicle, StandingRover(rover, vehicle)


def test_at_rest_on_level_ground_loads_bear_weight_and_drawbar_about_any_axis():
    """Independent: forces and moments of all parts about the world's origin."""
    rover, _, standing = standing_rcp("rover.payload.mass_kg=30", "rover.payload.x_m=0.1", "rover.payload.y_m=-0.05")
    pull = Drawbar((-80.0, 0.0, 0.0), (-0.6, 0.0, 0.1)).wrench()
    found = standing.at_rest(pull)
    places = rover.wheel_positions(found.q)
    mass = sum(body.mass for body in rover.tree.bodies)
    assert found.settled
    assert found.load.sum() == pytest.approx(9.81 * mass, rel=1e-4)
    gravity = -rover.bias(found.q, np.zeros(rover.nv))  # weight's moments about the base's origin
    hitch = found.q[2] + 0.1  # of the drawbar over the ground, where the wheels' forces act
    # about an axis to the left, on the ground under the base's origin
    pitching = gravity[4] - places[:, 0] @ found.load - 80.0 * hitch
    assert pitching == pytest.approx(0.0, abs=2.0)
    assert gravity[3] + places[:, 1] @ found.load == pytest.approx(0.0, abs=1.0)


def test_a_rover_on_ground_without_friction_is_accelerated_and_stays_upright():
    rover, vehicle, _ = standing_rcp("ground.kind=firm", "ground.friction=0")
    vehicle = vehicle._replace(terrain=slope_of(math.radians(10.0), 0.0))
    found = StandingRover(rover, vehicle).at_rest(np.zeros(6))
    assert found.acceleration == pytest.approx([-9.81 * math.sin(math.radians(10.0)), 0.0], rel=1e-6)
    level = StandingRover(rover, vehicle._replace(terrain=None)).at_rest(np.zeros(6))
    # in free sliding nothing tips it: the loads are those of level ground, less what the slope takes
    assert found.load == pytest.approx(math.cos(math.radians(10.0)) * level.load, rel=1e-3)


def test_a_load_below_zero_names_the_wheel_that_equilibrium_would_have_to_hold_down():
    rover, _, standing = standing_rcp("rover.payload.mass_kg=200", "rover.payload.x_m=1", "rover.payload.z_m=1")
    found = standing.at_rest(np.zeros(6))
    assert rover.wheel_names[int(found.load.argmin())].startswith("rear")
    assert found.load.min() < -100.0


def test_the_bodys_clearance_is_its_floor_over_the_ground():
    _, _, standing = standing_rcp()
    found = standing.at_rest(np.zeros(6))
    assert standing.clearance(found.q) == pytest.approx(0.8246 - 0.15 - found.sinkage.mean(), abs=2e-3)
