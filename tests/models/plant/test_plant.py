"""The simulated rig as one steppable model: time, samples, and ground truth of its impact."""

from __future__ import annotations

import copy
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.config import load_config
from hil.config.model_parameters import nominal_rig, spread
from models.plant import Plant, Spread
from models.plant.advance import RING

S = 1_000_000_000
DRIVING = (0.4,) * 6  # rad/s, 7 cm/s
OFF = ((False, False), (False, False))


@pytest.fixture(scope="module")
def config():
    return load_config("sim_impact", ["trial.start_distance_m=0.02"])


@pytest.fixture(scope="module")
def nominal(config):
    return nominal_rig(config)


@pytest.fixture(scope="module")
def make(nominal):
    """Copies of one settled plant: settling takes a while."""
    made = {}

    def get(rate_hz: int = 30_000, **piezo) -> Plant:
        key = (rate_hz, *piezo.items())
        if key not in made:
            given = {name: np.array(value) if isinstance(value, tuple) else value for name, value in piezo.items()}
            parameters = replace(nominal, sample_rate_hz=rate_hz, piezo=nominal.piezo._replace(**given))
            made[key] = Plant(parameters, np.random.default_rng(3))
        return copy.deepcopy(made[key])

    return get


def numbers(parameters):
    """All that a perturbation may touch."""
    masses = [getattr(parameters.rover, item.name) for item in fields(parameters.rover) if item.name.endswith("_mass")]
    soil = [parameters.ground.soil.stiffness, parameters.ground.soil.slip_modulus]
    place = [parameters.start_distance, parameters.start_across, *parameters.alignment]
    return np.array([*masses, *soil, parameters.obstacle.stiffness, *parameters.piezo.sensitivity, *place])


def test_a_perturbed_rig_differs_from_its_nominal_model_in_everything_that_is_uncertain(nominal, config):
    for seed in range(5):
        other = numbers(nominal.perturbed(spread(config.plant, config.loads), np.random.default_rng(seed)))
        assert (other != numbers(nominal)).all()
        masses_to_legs = slice(0, 10)
        assert np.abs(other[masses_to_legs] / numbers(nominal)[masses_to_legs] - 1).max() < 0.3


def test_a_seed_gives_one_rig_and_another_seed_another(nominal, config):
    first, again, other = (
        numbers(nominal.perturbed(spread(config.plant, config.loads), np.random.default_rng(seed)))
        for seed in (4, 4, 5)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


def test_no_spread_leaves_the_nominal_rig(nominal):
    none = Spread(mass=0.0, soil=0.0, legs=0.0, sensitivity=0.0, start_m=0.0)
    same = nominal.perturbed(none, np.random.default_rng(1))
    np.testing.assert_array_equal(numbers(same), numbers(nominal))


def test_however_far_it_strays_it_starts_before_the_obstacle(nominal):
    wild = Spread(mass=0.0, soil=0.0, legs=0.0, sensitivity=0.0, start_m=0.5)
    starts = [nominal.perturbed(wild, np.random.default_rng(seed)).start_distance for seed in range(20)]
    assert min(starts) == 1e-3


LEAPS = st.lists(st.integers(1, 20_000_000), min_size=1, max_size=12)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(leaps=LEAPS, rate_hz=st.sampled_from([10_000, 30_000, 44_100, 51_200, 99_999]))
def test_samples_follow_time_however_it_is_cut_into_leaps(make, leaps, rate_hz):
    plant = make(rate_hz)
    for leap in leaps:
        plant.advance(plant.t_ns + leap)
        # sample n is stamped n / rate, in whole ns: all stamped up to now have been taken, and none beyond
        last = plant.samples - 1
        assert last * S // rate_hz <= plant.t_ns < (last + 1) * S // rate_hz
    assert plant.t_ns == sum(leaps)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(ends=st.lists(st.integers(1, 399), unique=True, max_size=20).map(sorted))
def test_the_same_samples_come_whatever_the_ticks_are(make, hit, ends):
    begin = hit[0].hit_ns - 3_000_000  # near the obstacle; then 400 steps of 100 us, through the impact
    whole, cut = make(), make()
    for plant in (whole, cut):
        plant.set_drives(DRIVING, False)
        plant.advance(S // 10)
        plant.advance(begin)
    whole.advance(begin + 40_000_000)
    for end in [*ends, 400]:
        cut.advance(begin + end * 100_000)
    read = np.zeros((2, 1200, 3))
    for plant, volts in zip((whole, cut), read, strict=True):
        plant.copy_samples(plant.samples - 1200, volts)
    assert read[0].max() > 0.1
    assert np.abs(read[0] - read[1]).max() <= 1.01 * whole.parameters.piezo.step  # one count, where rounding tips over
    assert whole.hit_ns == cut.hit_ns
    np.testing.assert_allclose(whole.wheel_speed, cut.wheel_speed, rtol=1e-9)


def test_sensor_noise_never_repeats(make):
    plant = make(step=1e-15, droop_time=(1e12,) * 3)
    seen = np.zeros((3 * RING, 3))
    for last in range(7, len(seen), 8):
        plant.advance(last * S // 30_000)  # to the very ns that a sample is stamped with
        plant.copy_samples(last - 7, seen[last - 7 : last + 1])
    drawn = np.round(seen / plant.parameters.piezo.noise, 9)
    assert len(np.unique(drawn)) > drawn.size - 50  # a few agree to 9 digits by chance
    assert drawn.std() == pytest.approx(1.0, rel=0.02)


def test_too_long_a_leap_is_refused_and_changes_nothing(make):
    plant = make()
    plant.advance(1_000_000)
    samples = plant.samples
    with pytest.raises(ValueError, match="sample ring"):
        plant.advance(1_000_000 + S)
    assert (plant.t_ns, plant.samples) == (1_000_000, samples)
    plant.advance(1_000_000 + S // 4)
    assert plant.t_ns == 1_000_000 + S // 4


def test_time_that_has_passed_is_left_alone(make):
    plant = make()
    plant.advance(2_000_000)
    before = plant.samples
    plant.advance(1_000_000)
    plant.advance(2_000_000)
    assert (plant.t_ns, plant.samples) == (2_000_000, before)


def test_samples_that_were_overwritten_are_not_handed_out(make):
    plant = make()
    for _ in range(3):
        plant.advance(plant.t_ns + S // 4)
    with pytest.raises(OverflowError, match="sample 0 is gone"):
        plant.copy_samples(0, np.zeros((1, 3)))
    plant.copy_samples(plant.samples - RING, np.zeros((1, 3)))  # the oldest kept


@pytest.fixture(scope="module")
def hit(make):
    """Driven into the obstacle one sub-step at a time: the plant at first touch, and the speed measured just before."""
    plant = make()
    plant.set_drives(DRIVING, False)
    peaks, speed = [], 0.0
    while plant.hit_ns is None and plant.t_ns < S:
        assert plant.hit_speed == 0.0
        assert plant.contact_force_peak == 0.0
        began, x = plant.t_ns, plant._state.q[0]
        plant.advance(plant.t_ns + 100_000)
        speed = (plant._state.q[0] - x) / (plant.t_ns - began) * 1e9
    touched = copy.deepcopy(plant)
    for _ in range(3000):
        plant.advance(plant.t_ns + 100_000)
        peaks.append(plant.contact_force_peak)
    return touched, plant, speed, np.array(peaks)


def test_it_notes_the_sub_step_and_speed_of_the_first_touch_and_keeps_them(hit):
    touched, later, speed, _ = hit
    # between the steps before and after which the forces of the newest step hold
    assert touched.t_ns - 2 * touched.parameters.substep_ns <= touched.hit_ns <= touched.t_ns
    assert touched.hit_speed == pytest.approx(speed, rel=1e-3)
    assert -1e-5 < touched._state.obstacle.gap.min() <= 0.0
    assert (later.hit_ns, later.hit_speed) == (touched.hit_ns, touched.hit_speed)
    assert later._state.v[0] != touched.hit_speed


def test_the_peak_of_the_contact_force_never_falls_and_is_that_of_both_wheels(hit):
    _, later, _, peaks = hit
    assert (np.diff(peaks) >= 0).all()
    assert peaks[-1] > 100.0
    assert later._state.obstacle.force.sum() <= peaks[-1]


def test_energy_when_hit_is_the_effective_kinetic_energy_of_that_very_state(hit):
    touched, later, _, _ = hit
    q, v = touched._state.q, touched._state.v
    rows = touched.rover.impact_jacobian(q, touched.parameters.obstacle.angle)
    inverse_masses = rows @ np.linalg.solve(touched.rover.mass_matrix(q), rows.T)
    approach = rows @ v
    expected = 0.5 * approach @ np.linalg.solve(inverse_masses, approach)  # MacMahon 2016 (3.27), straight
    assert expected > 0.05
    assert touched.effective_kinetic_energy_when_hit() == pytest.approx(expected, rel=1e-9)
    assert later.effective_kinetic_energy_when_hit() == touched.effective_kinetic_energy_when_hit()


def test_energy_on_ground_is_that_of_the_one_set_of_wheels_that_push_and_are_not_driven_in(hit):
    touched, later, _, _ = hit
    rover, q, v = touched.rover, touched._state.q, touched._state.v
    plate = rover.impact_jacobian(q, touched.parameters.obstacle.angle)
    ground = -rover.impact_jacobian(q, 0.0, rover.wheel_names)  # speeds of the contact points, up
    inverse = np.linalg.inv(rover.mass_matrix(q))
    energies = []
    for number in range(2**6):  # every set, straight
        held = [wheel for wheel in range(6) if number >> wheel & 1]
        rows = np.vstack([plate, ground[held]])
        impulse = -np.linalg.solve(rows @ inverse @ rows.T, rows @ v)
        after = v + inverse @ rows.T @ impulse
        if (impulse[2:] >= 0.0).all() and (ground @ after >= -1e-12).all():
            energies.append(-0.5 * (rows @ v) @ impulse)
    assert energies
    assert touched.effective_kinetic_energy_on_ground_when_hit() == pytest.approx(energies[0], rel=1e-7)
    assert energies == pytest.approx([energies[0]] * len(energies), rel=1e-7)
    assert later.effective_kinetic_energy_on_ground_when_hit() == touched.effective_kinetic_energy_on_ground_when_hit()


def test_commands_take_hold(make):
    plant = make()
    plant.set_drives(DRIVING, False)
    plant.set_valves(((True, False), (False, False)))
    plant.advance(S // 5)
    np.testing.assert_allclose(plant.wheel_speed, 0.4, rtol=0.1)
    assert plant.pressure[0, 0] > 0.9 * plant.parameters.cylinder.supply
    assert (plant.pressure.ravel()[1:] == 0.0).all()
    plant.set_drives((0.0,) * 6, True)
    plant.set_valves(OFF)
    plant.advance(2 * S // 5)
    assert np.abs(plant.wheel_speed).max() < 0.2  # gear friction stops a wheel that nothing drives
    assert plant.pressure.max() < 0.05 * plant.parameters.cylinder.supply


def test_commands_in_a_list_that_is_changed_in_place_take_hold(make):
    plant = make()
    speeds, cut, powered = [0.2] * 6, [True] * 6, [[False, False], [False, False]]
    for _ in range(2):
        plant.set_each_drive(speeds, cut)
        plant.set_valves(powered)
        speeds[:], cut[:], powered[0][0] = DRIVING, [False] * 6, True
    plant.advance(S // 5)
    np.testing.assert_allclose(plant.wheel_speed, 0.4, rtol=0.1)
    assert plant.pressure[0, 0] > 0.9 * plant.parameters.cylinder.supply


def test_each_bumper_reads_the_force_of_its_own_wheel(nominal):
    pair = nominal.piezo._replace(
        place=np.full((2, 2), np.nan), sensitivity=np.array([0.010, 0.012]), bias=np.zeros(2), noise=np.zeros(2),
        droop_time=np.full(2, 1e6), ring_share=0.0,
    )  # fmt: skip
    plant = Plant(replace(nominal, piezo=pair), np.random.default_rng(3))
    plant.set_drives((0.5, 0.2) * 3, cut=False)  # turns to starboard: the port wheel hits first and harder
    seen, forces, volts = [], [], np.zeros((1, 2))
    for tick in range(1, 1200):
        plant.advance(tick * S // 1000)
        plant.copy_samples(plant.samples - 1, volts)  # taken at the time of the tick: each has 30 samples
        seen.append(volts[0] / pair.sensitivity)
        forces.append(plant._state.obstacle.force.copy())
    forces = np.array(forces)
    assert forces[:, 0].max() > 20.0
    assert np.abs(forces[:, 0] - forces[:, 1]).max() > 10.0
    # forces are those at the beginning of the last step of 0.1 ms, samples of its end
    np.testing.assert_allclose(seen[:-1], forces[:-1] + 0.1 * np.diff(forces, axis=0), atol=1.0)


def test_the_drives_torque_moves_the_rover_and_ends_with_the_cut(make):
    plant = make()
    plant.set_drives((0.3,) * 6, cut=False)
    plant.advance(20_000_000)
    assert plant.drive_torque.min() > 0.0
    plant.set_drives((0.0,) * 6, cut=True)
    for t_ms in range(40, 1000, 20):
        plant.advance(t_ms * 1_000_000)
    assert np.abs(plant.drive_torque).max() < 0.01
