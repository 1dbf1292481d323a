"""The rover twin: driven by measured wheel speeds, it predicts what the rig does not measure."""

from __future__ import annotations

import math

import numpy as np
import pytest

from drivers.messages import DriveSample, ValveSample
from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from hil.estimation.twin import RoverTwin
from hil.messages.stages import Estimate, Prediction, Samples
from models.impact import effective_kinetic_energy, pair_energy
from models.rover import rcp
from models.rover.dynamics import make_work

ZERO_SPEEDS = (0.0,) * 6  # the speeds of six wheels

ANGLE = math.radians(60.0)
RADIUS = 0.175
WEIGHT_N = 142.7 * 9.81  # 120 kg and the added weights
MS = 1_000_000


class Drive:
    """A twin that gets wheel speeds every millisecond."""

    def __init__(
        self, distance_m: float = 0.3, period_ns: int = MS, law: str = "hunt_crossley", angle_deg: float = 60.0
    ) -> None:
        here = [f"trial.start_distance_m={distance_m}", f"obstacle.law={law}", f"trial.angle_deg={angle_deg}"]
        config = load_config("sim_impact", [*here, "trial.ramp_s=0.1", "trial.timeout_s=200"])
        self.twin = RoverTwin(nominal_rig(config))
        self.t_ns, self.period_ns = 0, period_ns

    def tick(self, speeds, impact_ns: int | None = None) -> Prediction:
        self.t_ns += self.period_ns
        estimate = Estimate(
            zeroed=True, bias_V=(0.0,) * 3, noise_V=(0.0,) * 3, finite=True, saturated=False, impact_ns=impact_ns,
            force_N=(0.0,) * 3, load_point_m=(math.nan, math.nan), wheel_speed_radps=tuple(speeds),
        )  # fmt: skip
        valves = ValveSample(0, self.t_ns, ((0.0, 0.0), (0.0, 0.0)), -1)
        samples = Samples(self.t_ns, (), 0, 0, DriveSample(0, self.t_ns, tuple(speeds), -1), valves)
        return self.twin.predict(samples, estimate)

    def go(self, seconds: float, omega: float = 0.4, impact_ns: int | None = None) -> list[Prediction]:
        """Speed up to omega [rad/s] within 0.1 s of the start, then hold it."""
        return [
            self.tick((omega * min((self.t_ns + MS) / (100 * MS), 1.0),) * 6, impact_ns)
            for _ in range(round(seconds * 1e9 / self.period_ns))
        ]


@pytest.fixture(scope="module")
def cruise() -> list[Prediction]:
    """A second at 0.4 rad/s, 0.07 m/s, a tick each."""
    return Drive().go(1.0)


def test_standing_wheels_leave_the_twin_where_it_is():
    predictions = Drive().go(0.2, omega=0.0)
    assert max(abs(prediction.speed_mps) for prediction in predictions) < 1e-3
    assert sum(predictions[-1].normal_force_N) == pytest.approx(WEIGHT_N, rel=0.01)


@pytest.mark.parametrize("omega", [0.2, 0.4, 0.9])
def test_the_twins_wheels_turn_as_the_rigs_were_measured_to(omega):
    # slip is that of the twin's wheels: rolling = forward / (1 - slip); the twin rocks a little from the start
    last = Drive(distance_m=5.0).go(2.0, omega)[-500:]
    rolling = np.mean(
        [[prediction.speed_mps / (1.0 - slip) for slip in prediction.slip] for prediction in last], axis=0
    )
    np.testing.assert_allclose(rolling, RADIUS * omega, rtol=0.01)


def test_each_wheel_follows_its_own_measurement():
    drive = Drive(distance_m=5.0)
    speeds = np.array([0.40, 0.41, 0.42, 0.43, 0.44, 0.45])
    for tick in range(400):
        drive.tick(speeds * min(tick / 100, 1.0))
    twin = drive.twin
    turning = twin._state.v[5 + twin._rover.chain.wheel_body]
    np.testing.assert_allclose(turning, speeds, rtol=0.01)


def test_normal_forces_carry_the_weight_when_cruising(cruise):
    carried = [sum(prediction.normal_force_N) for prediction in cruise[500:]]
    assert np.mean(carried) == pytest.approx(WEIGHT_N, rel=0.002)
    assert min(min(prediction.normal_force_N) for prediction in cruise) > 0.0


def test_a_slow_tick_ends_where_fast_ones_do(cruise):
    slow = Drive(period_ns=5 * MS).go(1.0)
    assert slow[-1].speed_mps == pytest.approx(cruise[-1].speed_mps, rel=1e-3)
    assert slow[-1].time_to_impact_s == pytest.approx(cruise[-1].time_to_impact_s, rel=1e-3)


def test_a_second_look_at_the_same_time_does_not_move_the_twin():
    drive = Drive()
    drive.go(0.3)
    before = drive.twin._state.q.copy()
    drive.t_ns -= MS
    drive.tick((0.4,) * 6)
    np.testing.assert_array_equal(drive.twin._state.q, before)


def test_energy_is_effective_kinetic_energy_of_the_twins_state():
    drive = Drive()
    for seconds in (0.05, 0.4):
        predictions = drive.go(seconds)
        q, v = drive.twin._state.q, drive.twin._state.v
        rover = drive.twin._rover
        wanted = effective_kinetic_energy(rover.mass_matrix(q), rover.impact_jacobian(q, ANGLE), v)
        assert predictions[-1].effective_kinetic_energy_J == pytest.approx(wanted, rel=1e-10)
        assert wanted > 1e-3


@pytest.mark.parametrize("seed", range(40))
def test_the_tick_kernel_for_two_contacts_is_the_general_formula(seed):
    random = np.random.default_rng(seed)
    rover = rcp(added_mass=random.uniform(0.0, 50.0))
    q, v = rover.neutral(), random.normal(size=rover.nv)
    q[:3] = random.normal(size=3)
    q[3:7] = (turn := random.normal(size=4)) / np.linalg.norm(turn)
    q[7:] = random.uniform(-1.0, 1.0, len(q) - 7)
    angle, rows = random.uniform(math.radians(10), math.radians(90)), np.full((2, rover.nv), np.nan)
    jacobian = rover.impact_jacobian(q, angle)
    wanted = effective_kinetic_energy(rover.mass_matrix(q), jacobian, v)
    assert pair_energy(rover.chain, q, v, angle, rows, make_work(rover.chain)) == pytest.approx(wanted, rel=1e-10)
    np.testing.assert_allclose(rows, jacobian, atol=1e-12)


def test_time_to_impact_runs_down_a_second_a_second_while_cruising():
    left = np.array([prediction.time_to_impact_s for prediction in Drive().go(3.5)[1000:]])
    run_down = np.polyfit(np.arange(len(left)) * 1e-3, left, 1)[0]
    assert run_down == pytest.approx(-1.0, abs=0.03)
    assert 0.0 < left[-1] < 1.5


def test_time_to_impact_is_the_way_left_over_the_speed(cruise):
    travelled = sum(prediction.speed_mps for prediction in cruise) * 1e-3
    last = cruise[-1]
    # the wheels reach the plane after the start distance, with a small correction for the sinkage
    assert last.time_to_impact_s == pytest.approx((0.3 - travelled) / last.speed_mps, abs=0.15)


def test_who_stands_still_will_never_arrive():
    assert Drive().go(0.01, omega=0.0)[-1].time_to_impact_s > 1e3


@pytest.mark.parametrize("law", ["hunt_crossley", "kelvin_voigt"])  # the second has a separate damper
def test_before_an_impact_is_measured_the_obstacle_does_not_push(law):
    near, far = Drive(distance_m=0.011, law=law), Drive(distance_m=1.0, law=law)
    for here, there in zip(near.go(0.6), far.go(0.6), strict=True):
        assert here.normal_force_N == there.normal_force_N
        assert here.speed_mps == there.speed_mps
    assert near.twin._state.obstacle.gap.max() < -0.01  # it has driven into the obstacle
    assert near.go(0.01)[-1].time_to_impact_s == 0.0


@pytest.mark.parametrize("distance_m", [0.011, 0.3])
def test_from_the_impact_on_the_obstacle_pushes_whether_the_twin_is_early_or_late(distance_m):
    drive = Drive(distance_m)
    before = drive.go(0.6)[-1]
    measured = drive.tick((0.4,) * 6, drive.t_ns)
    assert measured.speed_mps == pytest.approx(before.speed_mps, rel=0.02)  # the tick of the impact comes before it
    after = drive.go(0.2, impact_ns=drive.t_ns)
    pushed = [prediction.speed_mps for prediction in after]
    assert min(pushed) < 0.7 * before.speed_mps
    assert all(prediction.finite for prediction in after)
    depth = -drive.twin._state.obstacle.gap.min()
    assert 0.0 < depth < 0.01  # the obstacle is where the wheels were


def test_energy_at_impact_is_that_of_the_tick_of_the_impact():
    drive = Drive()
    assert math.isnan(drive.twin.energy_at_impact_J)
    drive.go(0.6)
    assert math.isnan(drive.twin.energy_at_impact_J)
    measured = drive.tick((0.4,) * 6, drive.t_ns)
    drive.go(0.05, impact_ns=drive.t_ns)
    assert drive.twin.energy_at_impact_J == measured.effective_kinetic_energy_J
    assert 0.05 < drive.twin.energy_at_impact_J < 0.5 * 142.7 * 0.075**2


@pytest.mark.parametrize(("angle_deg", "more"), [(40.0, False), (80.0, True)])
def test_the_ground_adds_to_the_energy_at_impact_of_a_steep_obstacle_alone(angle_deg, more):
    drive = Drive(angle_deg=angle_deg)
    drive.go(0.6)
    assert math.isnan(drive.twin.energy_on_ground_at_impact_J())
    drive.tick((0.4,) * 6, drive.t_ns)
    without, on_ground = drive.twin.energy_at_impact_J, drive.twin.energy_on_ground_at_impact_J()
    assert on_ground > 1.4 * without if more else on_ground == pytest.approx(without, rel=1e-6)
    drive.go(0.05)
    assert drive.twin.energy_on_ground_at_impact_J() == on_ground  # of the impact, not of now


@pytest.mark.slow
@pytest.mark.parametrize("wheel", range(6))
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_speed_that_is_not_finite_is_left_out_and_the_one_before_it_holds(wheel, bad):
    drive, other = Drive(), Drive()
    speeds = [0.3] * 6
    for one in (drive, other):
        one.tick(tuple(speeds))
    speeds[wheel] = bad
    assert drive.tick(tuple(speeds)) == other.tick((0.3,) * 6)


@pytest.mark.parametrize("wheel", range(6))
def test_a_speed_that_no_wheel_can_have_makes_the_twin_not_finite_and_raises_nothing(wheel):
    drive = Drive()
    assert drive.tick(ZERO_SPEEDS).finite
    speeds = list(ZERO_SPEEDS)
    speeds[wheel] = 1e300
    assert not drive.tick(tuple(speeds)).finite
    assert not drive.tick(ZERO_SPEEDS, impact_ns=0).finite  # and it does not recover without a reset
