"""The observer beside the twin: what it corrects, what it leaves alone, and how sure it says that it is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from drivers.messages import DriveSample, Reading, ValveSample
from hil.app.run import run
from hil.config import load_config
from hil.config.rig import Rig
from hil.estimation.observer import ObservedTwin, make_twin
from hil.estimation.twin import RoverTwin
from hil.messages.stages import SOURCE_STATES, Estimate, Prediction, Samples
from models.observer.model import DROPPED
from tests.models.kernels.test_kernels_allocate_nothing import counted

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

MS = 1_000_000
RADIUS = 0.175
BARE = ("telemetry.endpoint=''", "trial.start_distance_m=5", "trial.timeout_s=200")
ALL = ("motion={measures: position, point_m: [0, 0, 0]}", "imu={point_m: [0, 0, 0]}", "joints={}")
NONE, USED, REJECTED, LEFT_OUT, STALE = range(len(SOURCE_STATES))


def rig_with(*settings: str) -> Rig:
    return Rig(load_config("sim_impact", [*BARE, *settings]))


class Drive:
    """A twin whose wheels turn at one speed, and an instrument that sees the rover drive at another.

    Args:
        twin: that drives.
        share: of the twin's speed at which the true rover drives.
        delay_ms: of its readings.
    """

    def __init__(self, twin: RoverTwin, share: float = 1.0, delay_ms: int = 7) -> None:
        self.twin, self.share, self.delay_ms, self.t_ns = twin, share, delay_ms, 0
        self.way = 0.0
        self.random = np.random.default_rng(1)
        self.to_come: list[Reading] = []
        self.newest = Reading.unread(3)
        self.measures = True
        self.prediction: Prediction | None = None

    def tick(self, omega: float) -> Prediction:
        self.t_ns += MS
        while self.to_come and self.to_come[0].t_ns + self.delay_ms * MS <= self.t_ns:
            self.newest = self.to_come.pop(0)
        speeds = (omega,) * 6
        estimate = Estimate(
            zeroed=True, bias_V=(0.0,) * 3, noise_V=(0.0,) * 3, finite=True, saturated=False, impact_ns=None,
            force_N=(0.0,) * 3, load_point_m=(math.nan, math.nan), wheel_speed_radps=speeds,
        )  # fmt: skip
        valves = ValveSample(0, self.t_ns, ((0.0, 0.0), (0.0, 0.0)), -1)
        samples = Samples(
            self.t_ns, (), 0, 0, DriveSample(0, self.t_ns, speeds, -1), valves, motion=self.newest,
            imu=Reading.unread(6), joints=Reading.unread(3),
        )  # fmt: skip
        self.prediction = self.twin.predict(samples, estimate)
        q = self.twin._state.q
        if self.measures and self.t_ns % (10 * MS) == 0:
            place = np.array([self.share * q[0], q[1], q[2]]) + 5e-4 * self.random.standard_normal(3)
            self.to_come.append(Reading(0, self.t_ns, tuple(place.tolist()), self.t_ns))
        return self.prediction

    def go(self, seconds: float, omega: float = 0.4) -> Prediction:
        for _ in range(round(seconds * 1e3)):
            last = self.tick(omega * min((self.t_ns + MS) / (500 * MS), 1.0))
        return last


def test_a_rig_without_instruments_has_the_plain_twin():
    assert type(make_twin(rig_with())) is RoverTwin


def test_without_a_reading_the_model_runs_bit_for_bit_as_the_plain_twin_and_nothing_is_corrected():
    rig = rig_with(*ALL)
    plain, observed = Drive(make_twin(rig_with())), Drive(make_twin(rig))
    observed.measures = plain.measures = False
    for _ in range(300):
        one, other = plain.tick(0.4), observed.tick(0.4)
    np.testing.assert_array_equal(plain.twin._state.q, observed.twin._state.q)
    assert other.speed_mps == one.speed_mps
    assert other.effective_kinetic_energy_J == one.effective_kinetic_energy_J
    assert other.normal_force_N == one.normal_force_N
    np.testing.assert_allclose(other.slip, one.slip, atol=1e-12)
    np.testing.assert_allclose(other.pose, one.pose, atol=1e-15)
    assert other.gap_m == pytest.approx(one.gap_m, abs=1e-12)
    assert other.way_m == pytest.approx(one.way_m, abs=1e-5)  # but for the first tick
    assert other.observed is not None
    assert other.observed.source == (NONE,) * 3
    assert all(math.isnan(one) for one in other.observed.innovation)


def test_a_rover_slower_than_its_twin_is_found_with_its_slip_and_its_time_to_the_impact():
    drive = Drive(make_twin(rig_with(*ALL)), share=0.97)
    first = drive.go(0.3)
    last = drive.go(3.7)
    true = 0.97 * drive.twin._state.v[0]
    observed = last.observed
    assert observed is not None
    assert last.speed_mps == pytest.approx(true, rel=3e-3)
    assert observed.speed_sd_mps < 2e-4 < first.observed.speed_sd_mps
    assert abs(last.speed_mps - true) < 4.0 * observed.speed_sd_mps
    slip = 1.0 - true / (RADIUS * 0.4)
    np.testing.assert_allclose(last.slip, slip, atol=0.006)
    assert last.pose[0] == pytest.approx(0.97 * drive.twin._state.q[0], abs=1e-3)
    approach = true * math.sin(math.radians(60.0))
    assert last.time_to_impact_s == pytest.approx(last.gap_m / approach, rel=0.01)
    assert last.way_m == pytest.approx(0.97 * drive.twin._state.q[0], rel=0.02)
    assert observed.source[0] == USED
    # T_c is of the corrected speed: it goes with its square
    energy = float(drive.twin._twin.out[0])
    assert last.effective_kinetic_energy_J == pytest.approx(energy * 0.97**2, rel=0.01)
    assert 0.01 < observed.energy_sd_J / last.effective_kinetic_energy_J < 0.1


def test_an_instrument_that_falls_silent_is_stale_until_it_comes_again():
    drive = Drive(make_twin(rig_with(*ALL)))
    drive.go(1.0)
    drive.measures = False
    assert drive.go(0.3).observed.source[0] == STALE
    certain = drive.prediction.observed.pose_sd[0]
    drive.measures = True
    assert drive.go(0.1).observed.source[0] == USED
    assert drive.prediction.observed.pose_sd[0] < certain


def test_the_observer_of_a_tick_makes_no_array():
    drive = Drive(make_twin(rig_with(*ALL)))
    drive.go(0.1)
    with counted() as count:
        drive.go(0.1)
    assert count.arrays == 0
    assert drive.twin._filter.ring.mark[DROPPED] == 0


def test_a_rover_pulled_by_who_knows_what_has_speed_and_slip_once_its_motion_is_measured():
    config = load_config(
        "sim_drawbar",
        ["telemetry.endpoint=''", "loads=null", "drawbar.mode=passive", "drawbar.modes=[passive]", ALL[0]],
    )
    assert config.pull_unknown
    drive = Drive(make_twin(Rig(config)), share=0.7)
    before = drive.tick(0.4)
    assert math.isnan(before.speed_mps)
    last = drive.go(3.0)
    error = last.speed_mps - 0.7 * drive.twin._state.v[0]
    assert abs(error) < 4.0 * last.observed.speed_sd_mps < 0.02
    assert all(math.isnan(load) for load in last.normal_force_N)
    np.testing.assert_allclose(last.slip, 1.0 - last.speed_mps / (RADIUS * 0.4), atol=0.05)


@pytest.fixture(scope="module")
def trial():
    return run(load_config("sim_motion", ["telemetry.endpoint=''"]))


def test_a_trial_with_all_instruments_says_how_good_its_observer_was(trial):
    estimation = trial.summary["estimation"]
    assert trial.summary["accepted"]
    assert estimation["speed_error_mps"] < 5e-4
    assert estimation["slip_error"] < 0.01
    assert estimation["load_error_N"] < 15.0
    assert 0.2 < estimation["nees"] < 2.0
    assert set(estimation["sources"]) == {"motion", "imu", "joints"}
    for source in estimation["sources"].values():
        assert source["used"] == source["readings"] > 100
        assert 0.5 < source["innovation"] < 1.5
    energy, plant = (trial.summary[f"effective_kinetic_energy_{of}J"] for of in ("", "plant_"))
    assert abs(energy - plant) < 3.0 * trial.summary["effective_kinetic_energy_sd_J"]


@pytest.mark.ci_cases("motion-frozen-0.1", "imu-jump-0.5")
@pytest.mark.parametrize(
    ("role", "fault", "size"),
    [("motion", "frozen", 0.1), ("motion", "jump", 0.02), ("motion", "biased", 0.01), ("imu", "frozen", 0.1),
     ("imu", "jump", 0.5), ("joints", "jump", 0.02)],
)  # fmt: skip
def test_an_instrument_that_fails_in_a_trial_is_left_out_and_the_estimate_stays_close(role, fault, size):
    errors = [f"{role}.errors.{key}" for key in (f"fault={fault}", f"fault_size={size}", "fault_at_s=2")]
    ended = run(load_config("sim_motion", ["telemetry.endpoint=''", *errors]))
    estimation, at = ended.summary["estimation"], {"motion": 0, "imu": 1, "joints": 2}[role]
    assert estimation["sources"][role]["left_out"]
    others = {name for name, source in estimation["sources"].items() if source["left_out"]}
    assert others == {role}
    left_out = ended.ticks["t_ns"][ended.ticks["source"][:, at] == LEFT_OUT]
    assert 2.0 < left_out[0] * 1e-9 < 3.0
    assert estimation["speed_error_mps"] < 1e-3


def test_the_observer_of_a_rig_is_an_observed_twin():
    assert isinstance(make_twin(rig_with(*ALL)), ObservedTwin)
