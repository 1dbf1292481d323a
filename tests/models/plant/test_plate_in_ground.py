"""A plate on force sensors in the ground: what stands or falls on it, against statics and momentum by hand."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.gravity import GRAVITY_MPS2
from models.plant import Plant

WIDE_M = ((0.0, 0.9), (0.7, -0.9), (-0.7, -0.9))
NAMES = ("top", "lower_left", "lower_right")
CHANNELS = ", ".join(
    f"{{name: {name}, sensitivity_mVpN: 1.0, across_m: {across}, up_m: {up}, noise_V: 0, bias_V: 0}}"
    for name, (across, up) in zip(NAMES, WIDE_M, strict=True)
)
SENSORS = f"daq={{range_V: 50, droop_s: 1000, ring_share: 0, bits: 32, channels: [{CHANNELS}]}}"
# a level plate of 4 m, 1 mm higher than the ground at its foot, or one that rises
LEVEL, INCLINED = "[[0.05, 0.001], [4.05, 0.001]]", "[[0.05, 0.0], [4.05, 0.5658]]"
RATE_HZ = 30_000


def plant_on(points: str, *, over_m: float, side: str = "both") -> Plant:
    """The RCP on the middle of the plate, so far above it."""
    config = load_config(
        "sim_step",
        [
            "ground.profile.shape=points", f"ground.profile.points_m={points}", SENSORS,
            f"ground.profile.plate={{face: 2, side: {side}}}", "rover.type=rcp",
        ],
    )  # fmt: skip
    nominal = nominal_rig(config)
    plant = Plant(nominal, np.random.default_rng(1))
    rover = plant.rover
    line, q = nominal.placed_profile(rover).point, plant._state.q
    (x, z), (end_x, end_z) = line[2], line[3]
    angle = np.arctan2(end_z - z, end_x - x)
    middle = rover.wheel_positions(rover.neutral())[:, 0].mean()
    # the base on a slope: its axes turn with it, about the middle of the wheels on the ground
    along, normal = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    at = np.array([x, z]) + 0.5 * np.hypot(end_x - x, end_z - z) * along + (over_m + q[2]) * normal - middle * along
    q[0], q[2], q[3:7] = at[0], at[1], (0.0, -np.sin(0.5 * angle), 0.0, np.cos(0.5 * angle))
    plant.set_drives((0.0,) * 6, False)
    return plant


def readings(plant: Plant, to_s: float) -> np.ndarray:
    """(n, 3) forces on the sensors [N], one each sample, by 1 mV/N and without the droop of 1000 s."""
    rows = []
    while plant.t_ns < to_s * 1e9:
        first = plant.samples
        plant.advance(plant.t_ns + 100_000_000)
        volts = np.zeros((plant.samples - first, 3))
        plant.copy_samples(first, volts)
        rows.append(volts)
    reading = np.concatenate(rows) * 1e3
    return reading + np.cumsum(reading, axis=0) / (1000.0 * RATE_HZ)


def weighed(plant: Plant) -> tuple[float, np.ndarray]:
    """Weight [N] and place of the centre of mass (3,) by Pinocchio, from the URDF and the configuration."""
    model = pinocchio.buildModelFromXML(plant.rover.urdf(), pinocchio.JointModelFreeFlyer())
    q = pinocchio.neutral(model)
    own = plant.rover.own_configuration(plant._state.q)
    q[:7] = own[:7]
    for name, angle in zip(plant.rover.joint_names, own[7:], strict=True):
        joint = model.joints[model.getJointId(name)]
        if joint.nq == 1:
            q[joint.idx_q] = angle
        else:
            q[joint.idx_q : joint.idx_q + 2] = np.cos(angle), np.sin(angle)
    data = model.createData()
    centre = pinocchio.centerOfMass(model, data, q).copy()
    return sum(inertia.mass for inertia in model.inertias) * GRAVITY_MPS2, centre


@pytest.mark.slow
def test_a_standing_rover_weighs_what_it_weighs_and_its_load_is_below_its_centre_of_mass():
    plant = plant_on(LEVEL, over_m=0.0)
    force = readings(plant, 3.0)[-3000:].mean(axis=0)
    weight, centre = weighed(plant)
    assert force.sum() == pytest.approx(weight, rel=1e-3)
    line = plant.parameters.placed_profile(plant.rover).point
    middle = np.array([line[2, 0] + 2.0, 0.0])
    place = force @ np.array(WIDE_M) / force.sum()  # across, ahead
    assert place[::-1] == pytest.approx(centre[:2] - middle, abs=2e-3)


@pytest.mark.slow
def test_a_plate_under_starboard_wheels_bears_half_of_the_weight():
    plant = plant_on(LEVEL, over_m=0.0, side="starboard")
    force = readings(plant, 3.0)[-3000:].mean(axis=0)
    assert force.sum() == pytest.approx(0.5 * weighed(plant)[0], rel=1e-3)


@pytest.mark.slow
def test_a_plate_on_a_slope_bears_the_part_of_the_weight_across_it():
    plant = plant_on(INCLINED, over_m=0.0)
    force = readings(plant, 3.0)[-3000:].mean(axis=0)
    angle = np.arctan2(0.5658, 4.0)
    assert force.sum() == pytest.approx(weighed(plant)[0] * np.cos(angle), rel=1e-3)


@pytest.mark.slow
def test_the_impulse_of_a_landing_is_the_weight_over_the_whole_time():
    """At rest before and after, so what the plate gives is what gravity takes: the fall is in it."""
    plant = plant_on(LEVEL, over_m=0.05)
    force = readings(plant, 3.0)
    weight, _ = weighed(plant)
    total = force.sum(axis=1)
    landed = np.flatnonzero(total > 1.0)[0] / RATE_HZ
    assert landed == pytest.approx(np.sqrt(2.0 * 0.05 / GRAVITY_MPS2), abs=2e-3)
    assert total.max() > 2.0 * weight
    assert total.sum() / RATE_HZ == pytest.approx(weight * len(total) / RATE_HZ, rel=1e-3)
