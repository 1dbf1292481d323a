"""A rover defined by data: Juno, four wheels and no cylinders, drives over level ground and up a slope."""

from __future__ import annotations

import math

import h5py
import pytest

from hil.app.run import run_experiment
from hil.app.run_loop import simulated_rig_io
from hil.cli import run as hil
from hil.config import ConfigError, load_config
from hil.config.rig import Rig
from hil.estimation.estimator import Estimator
from hil.experiments.base import CONFIRM_NS
from hil.experiments.drive import DrivingState
from hil.recording import read_trial
from hil.safety.arming import arming_checks
from hil.simulator.simulated_rig import build_simulated_rig

pytestmark = pytest.mark.slow

QUICK = ("drive.steps=[{for_s: 1.5, speed_mps: 0.05}]", "telemetry.endpoint=''")
SLOPE_DEG = 10.0


def driven(folder, *overrides):
    outcome = run_experiment(
        load_config("sim_juno", [*QUICK, *overrides]), folder, progress=lambda _: None, figure=False
    )
    assert outcome.summary["reasons"] == []
    assert outcome.exit_code == 0
    return outcome.summary, read_trial(folder, trusted=True)


@pytest.fixture(scope="module")
def level(tmp_path_factory):
    folder = tmp_path_factory.mktemp("level")
    return folder, *driven(folder)


@pytest.fixture(scope="module")
def slope(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slope")
    return folder, *driven(folder, f"ground.pitch_deg={SLOPE_DEG}")


def load_N(record) -> float:
    """Sum of the twin's wheel loads, mean over the second half of the drive."""
    moving = record.tick[record.tick["state"] == DrivingState.DRIVE]
    return float(moving["normal_force_N"][len(moving) // 2 :].sum(axis=1).mean())


@pytest.mark.parametrize("where", ["level", "slope"])
@pytest.mark.parametrize("command", ["verify", "replay", "report"])
def test_its_record_is_whole_replays_to_the_same_bits_and_is_drawn_again(where, command, request):
    folder, *_ = request.getfixturevalue(where)
    assert hil([command, str(folder)]) == 0


def test_the_record_names_four_wheels_no_valve_and_no_force_sensor(level):
    folder, _, record = level
    assert record.tick["wheel_speed_radps"].shape[1] == 4
    assert not {"pressure_Pa", "valves", "force_N"} & set(record.tick.dtype.names)
    with h5py.File(folder / "trial.h5", "r") as file:
        assert set(file) == {"tick", "timing", "events", "meta"}


def test_it_is_armed_once_the_drives_have_had_their_time_to_confirm(level):
    _, _, record = level
    armed = record.tick["t_ns"][record.tick["state"] >= DrivingState.ARMED][0]
    assert armed == CONFIRM_NS


def test_without_sensors_and_valves_it_is_checked_and_recorded_as_one_that_has_them():
    """Only the checks of missing devices are left out."""
    config = load_config("sim_juno")
    simulated_rig = build_simulated_rig(Rig(config))
    devices = simulated_rig_io(config.layout, simulated_rig)
    devices.open()
    simulated_rig.advance(1_000_000)
    samples = devices.sample(1_000_000)
    assert (samples.blocks, samples.daq_age_ns, samples.valves.acknowledged_ns) == ((), 0, -1)
    assert [health.device for health in devices.health()] == ["simulated drives"]
    items = [check.item for check in arming_checks(Rig(config), samples, Estimator(Rig(config)).estimate(samples), [])]
    assert items == ["fault latch", "drives sample age", "drives confirmed cut", "wheel speed before the start"]


def test_its_wheels_bear_its_weight_and_on_a_slope_the_part_of_it_across_the_ground(level, slope):
    weight_N = 317.7 * 9.81
    assert load_N(level[2]) == pytest.approx(weight_N, rel=0.01)
    assert load_N(slope[2]) == pytest.approx(weight_N * math.cos(math.radians(SLOPE_DEG)), rel=0.01)


def test_it_slips_more_up_a_slope(level, slope):
    (flat,), (steep,) = level[1]["steps"], slope[1]["steps"]
    assert max(flat["slip"]) < min(steep["slip"])


def test_another_slope_of_the_plant_with_an_obstacle_is_refused():
    words = r"plant\.ground_pitch_deg: found 10; allowed: 0: an obstacle stands on the nominal ground"
    with pytest.raises(ConfigError, match=words):
        load_config("sim_juno", ["experiment=impact", "plant.ground_pitch_deg=10"])


def test_a_strongly_damped_soil_bears_a_turning_rover_as_any_other(tmp_path):
    """Damping acts on a sinkage that changes, so not on the loads of a steady turn; neither does the step."""
    turning = "drive.steps=[{for_s: 2, speed_mps: 0.05, turn_mps: 0.02}]"

    def loads(name, *overrides):
        folder = tmp_path / name
        folder.mkdir()
        summary, _ = driven(folder, turning, *overrides)
        return summary["steps"][0]["normal_force_N"]

    usual, damped = loads("usual"), loads("damped", "soil.damping_spm=100")
    assert damped == pytest.approx(usual, rel=2e-3)
    assert loads("finer", "soil.damping_spm=100", "plant.substep_us=20") == pytest.approx(damped, rel=1e-4)
    assert max(usual) > 1.4 * min(usual)  # shares of 19 to 31 % are those of the turn
