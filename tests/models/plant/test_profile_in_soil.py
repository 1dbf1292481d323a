"""A hard body in soil or on a scan, with a plate on force sensors: statics of a rover half on it by hand."""

from __future__ import annotations

import numpy as np
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.gravity import GRAVITY_MPS2
from models.plant import Plant
from models.terrain.surface import surface

SOIL = ("ground.kind=soil",)
SCAN = (
    "ground.kind=scan", "ground.scan={file: scans/mound.csv, units: m, up: z, start_m: [0, 0]}", "rover.type=exomars"
)  # fmt: skip
STEP = (
    "ground.profile.height_m=0.06", "ground.profile.plate={face: 2, length_m: 1.0, side: both}",
    "daq={droop_s: 1000, ring_share: 0, bits: 32, range_V: 50}",
)  # fmt: skip


def plant_of(*settings: str) -> Plant:
    return Plant(nominal_rig(load_config("sim_step", [*STEP, *settings])), np.random.default_rng(1))


def run_for(plant: Plant, seconds: float, speed_mps: float) -> None:
    plant.set_drives(tuple((speed_mps / plant.rover.chain.wheel_radius).tolist()), False)
    end_ns = plant.t_ns + round(seconds * 1e9)
    while plant.t_ns < end_ns:
        plant.advance(plant.t_ns + 50_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("ground", [SOIL, SCAN], ids=["soil", "scan"])
def test_a_rover_with_its_front_wheels_on_the_body_and_the_others_in_soil_is_in_equilibrium(ground):
    plant = plant_of(*ground)
    state, rover = plant._state, plant.rover
    weight = rover.mass * GRAVITY_MPS2
    exact = 2e-3 if ground is SOIL else 0.02  # on the scan loads are along the normal of slopes up to 8 degrees
    run_for(plant, 0.5, 0.0)
    assert state.ground.vertical.sum() == pytest.approx(weight, rel=exact)
    assert state.obstacle.force.sum() == 0.0
    assert plant.hit_ns is None
    run_for(plant, 5.0, 0.1)
    run_for(plant, 1.5, 0.0)
    places, line = rover.wheel_positions(rover.own_configuration(state.q)), plant.parameters.placed_profile(rover).point
    assert (places[:2, 0] > line[1, 0]).all()
    assert (places[2:, 0] < line[1, 0]).all()
    assert plant.hit_ns is not None
    loads, on_plate = state.ground.vertical, state.obstacle.force.sum()
    # upright: all that bears is the weight; the plate bears both front wheels, whose axles are a radius over it
    assert loads.sum() == pytest.approx(weight, rel=exact)
    assert on_plate == pytest.approx(loads[:2].sum(), rel=exact)
    assert places[:2, 2] == pytest.approx(line[2, 1] + rover.chain.wheel_radius[:2], abs=1e-3)
    if ground is SCAN:
        return
    # about the axis across through the world's origin: contact forces against the weight at the centre of mass
    centre = rover.mass_matrix(rover.own_configuration(state.q))[:3, 3:6] / rover.mass  # m [c]x, base axes
    ahead, up = -centre[1, 2], centre[0, 1]
    x, y, z, w = state.q[3:7]
    pitch = np.arcsin(2.0 * (w * y - z * x))
    com_x = state.q[0] + np.cos(pitch) * ahead + np.sin(pitch) * up
    contact_z = places[:, 2] - rover.chain.wheel_radius
    moment = (loads * places[:, 0]).sum() - (state.ground.pull * contact_z).sum()
    assert moment == pytest.approx(weight * com_x, abs=0.01 * weight)


def test_the_body_stands_on_the_scan_where_the_rover_meets_it():
    nominal = nominal_rig(load_config("sim_step", [*STEP, *SCAN]))
    profile = nominal.placed_profile(nominal.make_rover())
    x, z = profile.point[1]
    assert z == pytest.approx(surface(nominal.ground.terrain, x, 0.0)[0], abs=1e-12)
    assert profile.point[2, 1] - z == pytest.approx(0.06)
    assert profile.point[0, 1] < z - 1.0


@pytest.mark.slow
def test_soil_before_the_body_is_that_without_it():
    far = plant_of(*SOIL, "ground.profile.start_m=5")
    alone = Plant(
        nominal_rig(load_config("sim_step", ["ground.profile=null", "experiment=drive", *SOIL])),
        np.random.default_rng(1),
    )
    for plant in (far, alone):
        run_for(plant, 1.0, 0.1)
    assert far._state.q[0] > 0.03
    assert far._state.q == pytest.approx(alone._state.q, abs=1e-4)
    assert far._state.ground.vertical == pytest.approx(alone._state.ground.vertical, rel=0.02)
