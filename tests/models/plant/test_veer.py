"""A rover that veers, and a plate with edges: where the simulated rig hits, against plane geometry."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hil.config import ConfigError, load_config
from hil.config.model_parameters import nominal_rig, spread, veer
from hil.config.rig import Rig
from hil.simulator.simulated_rig import build_plant
from models.plant import Plant, Veer
from models.sensors.disturbance import make_snap_back, snapped

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

S = 1_000_000_000
FRONT, HALF_TRACK = 0.5349, 0.4552
STARBOARD = 1


def plant_of(*settings: str) -> Plant:
    """The nominal rig, but for its veer, in front of the obstacle."""
    config = load_config("sim_impact", ["trial.start_distance_m=0.1", *settings])
    return Plant(replace(nominal_rig(config), veer=veer(config.plant, config.layout)), np.random.default_rng(1))


def drive(plant: Plant, most_s: float = 4.0, speed: float = 0.4) -> Plant:
    """Until a wheel touches the obstacle; the plane with the sensors is in front of the starboard wheel."""
    plant.set_drives((speed,) * 6, cut=False)
    tick = 0
    while not plant._state.obstacle.force.any() and tick < most_s * 1000:
        tick += 1
        plant.advance(tick * S // 1000)
    return plant


@pytest.mark.parametrize("heading_deg", [-4.0, 1.5, 4.0])
def test_a_rover_that_stands_askew_hits_where_its_heading_leads(heading_deg):
    """Without ground and drives it glides straight on: the wheel ahead meets the plane, by plane geometry."""
    plant = drive(plant_of("ground.kind=none", f"plant.veer.heading_deg={heading_deg}"))
    heading, leads = math.radians(heading_deg), STARBOARD if heading_deg > 0.0 else 0
    across = -HALF_TRACK if leads == STARBOARD else HALF_TRACK
    ahead, left = math.cos(heading), math.sin(heading)
    way = (FRONT + 0.1 - FRONT * ahead + across * left) / ahead
    assert plant.t_ns * 1e-9 == pytest.approx(way / 0.07, abs=2e-3)
    contact = plant._state.obstacle
    assert (contact.force > 0.0).tolist() == [leads == 0, leads == STARBOARD]
    if leads != STARBOARD:
        assert plant.hit_ns is None, "the wheel of the sensors has touched nothing yet"
        return
    assert plant.hit_ns == pytest.approx(plant.t_ns, abs=2_000_000)
    assert plant.hit_askew[0] == pytest.approx(heading, abs=1e-4)
    starboard = (way + FRONT) * left - HALF_TRACK * ahead
    assert plant.hit_askew[1] == pytest.approx(starboard + HALF_TRACK, abs=2e-4)
    assert contact.point[leads, 0] == pytest.approx((way + FRONT) * left + across * ahead, abs=2e-4)


BUMPER = ["daq.layout=bumper", "daq.channels=[{name: front_left}, {name: front_right}]"]


@pytest.mark.parametrize("layout", [[], BUMPER], ids=["triangle", "bumper"])
def test_the_hit_is_that_of_the_first_wheel_that_the_sensors_watch(layout):
    """A rover that heads to starboard hits with its port wheel first, which only bumpers watch."""
    plant = drive(plant_of("plant.veer.heading_deg=-0.3", *layout))
    first_ns = plant.t_ns
    while plant.plate is None and plant.t_ns < 4 * S:
        plant.advance(plant.t_ns + S // 1000)
    assert plant.hit_ns == pytest.approx(round(plant.plate.onset_s * 1e9), abs=200_000)
    assert (plant.hit_ns > first_ns + 50_000_000) is (layout != BUMPER)
    slowed = plant.hit_speed < 0.97 * 0.07
    assert slowed is (layout != BUMPER)


def test_the_sensors_stay_where_a_straight_rover_would_hit():
    straight, askew = plant_of(), plant_of("plant.veer.heading_deg=3", "plant.veer.across_m=0.05")
    np.testing.assert_allclose(askew._sensing.origin, straight._sensing.origin, atol=2e-4)


def test_steered_wheels_lead_the_rover_off_at_their_angle():
    plant = plant_of("plant.veer.steering_deg=4", "trial.start_distance_m=1")
    plant.set_drives((0.4,) * 6, cut=False)
    for tick in range(1, 5):
        plant.advance(tick * S // 10)
    ahead, left = plant._state.q[:2].copy()
    for tick in range(5, 31):
        plant.advance(tick * S // 10)
    gone = plant._state.q[:2] - (ahead, left)
    assert math.degrees(math.atan2(gone[1], gone[0])) == pytest.approx(4.0, abs=0.8)


def test_faster_port_wheels_turn_the_rover_to_starboard():
    plant = plant_of("plant.veer.track_error=0.1", "trial.start_distance_m=1")
    plant.set_drives((0.4,) * 6, cut=False)
    for tick in range(1, 31):
        plant.advance(tick * S // 10)
    assert plant.wheel_speed[::2] == pytest.approx([0.44] * 3, rel=0.02)
    assert plant.wheel_speed[1::2] == pytest.approx([0.36] * 3, rel=0.02)
    yaw = 2.0 * math.atan2(plant._state.q[5], plant._state.q[6])
    # a rover whose wheels did not slide sideways would turn by this much
    free = -0.08 * 0.175 * 3.0 / (2.0 * HALF_TRACK)
    assert 1.1 * free < yaw < 0.1 * free


def test_a_wheel_off_the_side_of_its_plate_meets_nothing():
    assert drive(plant_of("obstacle.plate={}", "plant.veer.across_m=-0.32"), most_s=2.0).hit_ns is None
    half = drive(plant_of("obstacle.plate={}", "plant.veer.across_m=-0.2"), most_s=2.0)
    # plates of 0.4572 m, wheels of 0.15 m: touched from the plate's side to the wheel's inner face
    assert half._state.obstacle.point[:, 0] == pytest.approx(
        [HALF_TRACK - 0.5 * (0.2286 + 0.125), -HALF_TRACK - 0.5 * (0.2286 + 0.125)], abs=1e-3
    )


def test_a_shield_that_is_let_go_rings_as_a_damped_oscillator_and_never_pulls():
    snap = make_snap_back(np.array([0.0, 80.0]), 0.75, 20.0, 0.05)
    dt = 1.0 / 30_000
    seen = np.array([snapped(snap, STARBOARD, 0.0, 2.0 + k * dt, dt) for k in range(30_000)])
    t = dt * np.arange(1, 30_001)
    omega = 2.0 * math.pi * 20.0
    damped = omega * math.sqrt(1.0 - 0.05**2)
    free = 60.0 * np.exp(-0.05 * omega * t) * (np.cos(damped * t) + 0.05 * omega / damped * np.sin(damped * t))
    np.testing.assert_allclose(seen, np.maximum(free, 0.0), atol=0.5)
    spectrum = np.abs(np.fft.rfft(seen - seen.mean()))
    assert np.fft.rfftfreq(seen.size, dt)[spectrum.argmax()] == pytest.approx(20.0, abs=1.0)
    assert snap.first.tolist() == [[-1.0, 0.0], [2.0, 80.0]]
    assert snap.slipped.tolist() == [0.0, 0.0]


def test_a_grouser_that_slips_off_the_bottom_leaves_the_shield_ringing():
    settings = ["trial.angle_deg=40", "wheel.grousers=22", "daq.ring_share=0"]
    at = float(drive(plant_of(*settings))._state.obstacle.point[STARBOARD, 1])  # it goes down from there
    volts, middle = [], at - 0.002 + 0.5 * 0.4064
    for share in (1.0, 0.0):
        plant = drive(plant_of(*settings, f"obstacle.plate={{centre_up_m: {middle}, snap_share: {share}}}"))
        for _ in range(600):
            plant.advance(plant.t_ns + S // 1000)
        volts.append(np.zeros((12_000, 3)))
        plant.copy_samples(plant.samples - 12_000, volts[-1])
    slip_ns, force = plant.slip
    assert plant.hit_ns < slip_ns < plant.t_ns
    assert force > 20.0
    gain = plant.parameters.piezo.sensitivity[0]
    ring = (volts[0] - volts[1]).sum(axis=1) / gain
    assert ring.max() > 0.5 * force


def test_the_heading_spreads_by_the_seed_and_draws_nothing_if_it_does_not():
    rigs = load_config("sim_impact"), load_config("sim_impact", ["plant.spread.heading_deg=2"])
    plain, given = (
        nominal_rig(rigs[1]).perturbed(spread(one.plant, one.loads), np.random.default_rng(3)) for one in rigs
    )
    assert plain.veer == Veer()
    assert 0.0 < abs(given.veer.heading) < math.radians(8.0)
    assert given.start_distance == plain.start_distance


def test_the_twin_knows_neither_veer_nor_edges():
    config = load_config("sim_impact", ["plant.veer.heading_deg=3", "plant.veer.steering_deg=[1, 1, 0, 0, 0, 0]"])
    assert nominal_rig(config).veer == Veer()
    assert build_plant(Rig(config)).parameters.veer.heading == math.radians(3.0)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (["plant.veer.steering_deg=[1, 2]"], "plant.veer.steering_deg"),
        (["obstacle.leg_backlash_m=0.001"], "obstacle.leg_backlash_m"),
        (["obstacle.leg_stiffness_up_Npm=5e4"], "obstacle.leg_stiffness_up_Npm"),
        (["obstacle.plate={width_m: 0}"], "obstacle.plate.width_m"),
    ],
)
def test_what_cannot_be_is_refused_by_its_key(settings, key):
    with pytest.raises(ConfigError) as caught:
        load_config("sim_impact", settings)
    assert [problem.key for problem in caught.value.problems] == [key]


def test_legs_give_by_the_direction_of_the_force():
    """200 N bend a leg by 4 mm upward and by 2 mm forward; a plate at beta pushes by sin and cos."""
    obstacle = load_config(
        "sim_impact",
        ["obstacle.legs=each", "obstacle.leg_stiffness_Npm=1e5", "obstacle.leg_stiffness_up_Npm=5e4"],
    ).obstacle
    for angle_deg in (90.0, 60.0, 40.0):
        beta = math.radians(angle_deg)
        bend = np.diag([2e-3, 4e-3]) @ np.array([math.sin(beta), math.cos(beta)])
        along = bend @ np.array([math.sin(beta), math.cos(beta)])
        assert 200.0 * obstacle.leg_compliance_mpN(angle_deg) == pytest.approx(along, rel=1e-12)
