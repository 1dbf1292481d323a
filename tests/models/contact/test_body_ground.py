"""The main body on the ground: what a rover weighs rests on it, energy only falls, and upright it costs nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.contact.body_ground import body_corners
from models.rover import juno, rcp
from models.terrain.surface import quaternion_of
from models.vehicle.energy import EnergyMeter
from models.vehicle.step import accounted_step, run

G = 9.81


def turned_over(config: str, overrides, turn_deg: float, drop: float = 0.05):
    """A rover turned about its length and let go with its lowest corner `drop` [m] over its ground, drives cut."""
    rover, vehicle, state = nominal_rig(load_config(config, overrides)).assemble()
    ground = Rotation.identity() if vehicle.terrain is None else Rotation.from_quat(quaternion_of(vehicle.terrain))
    turn = ground * Rotation.from_euler("x", turn_deg, degrees=True)
    up = ground.apply((0.0, 0.0, 1.0))
    wheels = rover.wheel_positions(rover.neutral())
    low = min(
        (turn.apply(vehicle.body.corner) @ up).min(), (turn.apply(wheels) @ up).min() - rover.chain.wheel_radius[0]
    )
    state.q[:3], state.q[3:7] = (drop - low) * up, turn.as_quat()
    return rover, vehicle, state, up


def borne(vehicle, state, up) -> tuple[float, float]:
    """What corners and wheels bear at rest [N]: by the corners' depth and stiffness, and as the wheels read."""
    places = state.q[:3] + Rotation.from_quat(state.q[3:7]).apply(vehicle.body.corner)
    depth = np.maximum(-(places @ up), 0.0)
    return float(vehicle.body.ground.law.stiffness * depth.sum()), float(state.ground.vertical.sum())


@pytest.mark.ci_cases(
    "180.0-sim_normal_force-overrides0-0.0005",
    "130.0-sim_normal_force-overrides3-0.0005",
    "130.0-sim_juno-overrides4-0.0005",
)
@pytest.mark.slow
@pytest.mark.parametrize("dt", [1e-4, 5e-4])
@pytest.mark.parametrize(
    ("config", "overrides"),
    [
        ("sim_normal_force", []),
        ("sim_normal_force", ["ground.roll_deg=8"]),
        ("sim_normal_force", ["ground.kind=firm", "ground.friction=0.6"]),
        ("sim_normal_force", ["rover.type=exomars"]),
        ("sim_juno", []),
    ],
)
@pytest.mark.parametrize("turn_deg", [180.0, 130.0])
def test_a_rover_dropped_on_its_back_rests_on_its_body_with_its_weight(config, overrides, turn_deg, dt):
    rover, vehicle, state, up = turned_over(config, overrides, turn_deg)
    weight = G * sum(body.mass for body in rover.tree.bodies)
    run(vehicle, state, round(6.0 / dt), dt)
    on_body, on_wheels = borne(vehicle, state, up)
    assert on_body > 0.3 * weight
    assert on_body + on_wheels == pytest.approx(weight * up[2], rel=0.01)
    assert np.abs(state.v[:6]).max() < 5e-3
    over = np.abs(state.q[vehicle.stops.speed + 1]) - vehicle.stops.high
    assert over.max() < math.radians(1.0)


@pytest.mark.ci_cases("0.0005")
@pytest.mark.slow
@pytest.mark.parametrize("dt", [1e-4, 5e-4])
def test_energy_only_falls_while_a_rover_turns_over_and_lands(dt):
    rover, vehicle, state, _ = turned_over("sim_normal_force", ["ground.kind=firm", "ground.friction=0.6"], 115.0, 0.3)
    meter = EnergyMeter(rover, vehicle, state)
    rows = [meter.read()]
    for _ in range(round(2.0 / dt / 10)):
        for _ in range(10):
            accounted_step(vehicle, state, dt, meter.ledger)
        rows.append(meter.read())
    lost = np.array([row.body_loss for row in rows])
    moved = rows[0].stored - rows[-1].stored
    assert max(row.body for row in rows) > 10.0
    assert np.diff(lost).min() > -2e-3 * moved
    assert max(row.stored for row in rows) < rows[0].stored + 1e-3 * moved
    residue = np.array([row.residue(rows[0]) for row in rows])
    assert np.abs(residue).max() < 0.05 * moved * dt / 1e-4


@pytest.mark.slow
def test_upright_a_rover_moves_to_the_last_bit_as_one_whose_body_meets_nothing():
    states = []
    for change in ({}, {"body": None}):
        _, vehicle, state = nominal_rig(load_config("sim_normal_force", ["ground.roll_deg=5"])).assemble()
        state.q[3:7] = quaternion_of(vehicle.terrain)
        run(vehicle._replace(**change), state, 2000, 1e-4)
        states.append(state)
    assert np.array_equal(states[0].q, states[1].q)
    assert np.array_equal(states[0].v, states[1].v)


def test_the_corners_are_those_of_the_main_bodys_box_turned_with_junos_chassis():
    found = body_corners(rcp().tree)
    assert found.min(axis=0) == pytest.approx([-0.0014 - 0.35, -0.25, 0.8246 - 0.15])
    assert found.max(axis=0) == pytest.approx([-0.0014 + 0.35, 0.25, 0.8246 + 0.15])
    tilted = body_corners(juno(tilt_angle=0.2).tree)
    # nose up: the front of the floor rises by half the length times the sine, about a pivot below the centre
    pivot, centre = 0.35, 0.45
    floor = pivot + math.cos(0.2) * (centre - 0.175 - pivot) + 0.5 * math.sin(0.2)
    front_floor = tilted[np.argsort(tilted[:, 0])][-4:][:, 2].min()
    assert front_floor == pytest.approx(floor, abs=1e-9)


def test_a_body_of_no_size_is_refused():
    body = rcp().tree.bodies[0]
    with pytest.raises(ValueError, match=r"size is \(0\.0, 1\.0, 1\.0\) m, allowed: each above 0"):
        replace(body, size=(0.0, 1.0, 1.0))
