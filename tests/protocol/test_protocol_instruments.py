"""All instruments of motion at the protocol level: their bytes reach the observer, and the truth is where it says."""

import pytest

from hil.analysis.recompute import recompute
from hil.analysis.recorded_inputs import replayable_config
from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.config.rig import Rig
from hil.ipc.run_memory import LINKS
from hil.messages.fault import Fault
from hil.messages.stages import SOURCE_STATES
from hil.recording import read_trial
from hil.simulator.ground_truth import GroundTruth
from models.plant.motion_history import SPEED, TIME

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]  # wall-clock seconds, of which a busy machine may need many
NO_SUMMARY = ("ticks missing",)  # skipped ticks would be in a summary, which is not written here
POSE = "motion={measures: pose, rate_hz: 100, delay_ms: 12, point_m: [0, 0, 0.45], stale_ms: 300}"
IMU = "imu={rate_hz: 100, delay_ms: 4}"
NATNET = "devices.motion={driver: natnet}"
VECTORNAV = "devices.imu={driver: vectornav, baud: 230400}"
AMPLIFIER = (
    "loads={load_cell: {force_N: 2000}, rate_hz: 50, block_ms: 20, filter_hz: 5}",
    "devices.loads={driver: modbus, inputs: [{channel: pull, register_number: 0}]}",
)
SAND = (
    "soil={stiffness: 1.58e5, exponent: 0.501, rebound: 0.0813, slip_modulus: 0.819, slip_speed_mps: 0.002}",
    "drives={torque_limit_Nm: 400, gear_friction_Nm: 100, friction_speed_radps: 0.004}",
)
JUNO = (POSE, IMU, NATNET, VECTORNAV, *AMPLIFIER, *SAND)


def summary_of(done):
    """The summary of a finished run, which is proved and replayed as well."""
    assert done.error is None
    assert done.faults == []
    assert [check for check in verify(done.folder) if not check.ok and check.item not in NO_SUMMARY] == []
    assert replay(done.folder).differences == []
    record = read_trial(done.folder, trusted=True)
    return recompute(record, Rig(replayable_config(record)), None).summary


def all_used(summary, *roles):
    sources = summary["estimation"]["sources"]
    assert tuple(sources) == roles
    for one in sources.values():
        assert one["used"] > 0.95 * one["readings"] > 50
        assert not one["left_out"]
        assert 0.5 < one["innovation"] < 1.5


def test_a_trial_with_motion_capture_inertial_unit_and_encoders(trial):
    done = trial(None, config="sim_motion_wire")
    summary = summary_of(done)
    assert set(done.run.processes.by_name) & set(LINKS) == {"daq", "drives", "valves", "motion", "imu", "joints"}
    all_used(summary, "motion", "imu", "joints")
    estimation = summary["estimation"]
    assert estimation["speed_error_mps"] < 0.002
    assert estimation["slip_error"] < 0.03
    assert 0.05 < estimation["nees"] < 3.0
    speed, sd = summary["impact_speed_measured_mps"], summary["impact_speed_sd_mps"]
    assert abs(speed - summary["impact_speed_mps"]) < 4.0 * sd < 0.004


@pytest.mark.soak
def test_a_forward_speed_is_followed(trial):
    # it stands before the cut: one reading of the inertial unit in the jolt of a cut can be ten deviations off, by its
    # phase, and would be half of the mean
    profile = "profile: [[0, 0], [1, 0.06], [6, 0.06], [7, 0]], window_from_s: 3, window_s: 3"
    done = trial(None, *JUNO, "experiment=follow", f"follow={{{profile}}}", config="sim_juno_wire")
    summary = summary_of(done)
    all_used(summary, "motion", "imu")
    assert summary["accepted"], summary["reasons"]
    true = GroundTruth.recorded(read_trial(done.folder, trusted=True).events).motion
    window = (true[:, TIME] > 3.5) & (true[:, TIME] < 6.0)
    assert window.sum() > 20
    assert true[window, SPEED].mean() == pytest.approx(0.06, abs=0.001)


@pytest.mark.soak
def test_drawbar_pull_and_slip_are_measured(trial):
    drawbar = "drawbar={speed_mps: 0.08, slip: 0.4, settle_s: 3, measure_s: 2}"
    summary = summary_of(trial(None, *JUNO, "experiment=drawbar", drawbar, config="sim_juno_wire"))
    all_used(summary, "motion", "imu")
    assert abs(summary["slip"] - summary["true_slip"]) <= summary["slip_u95"] < 0.05


def test_motion_capture_that_plays_a_recording_back_is_not_armed(trial):
    done = trial(lambda run: run.inject_fault("natnet", "playback"), config="sim_motion_wire", at_s=0.05)
    record = read_trial(done.folder, trusted=True)
    assert record.tick["cut"].all()
    assert Fault.NOT_LIVE in record.events["id"]


@pytest.mark.soak
def test_motion_capture_that_plays_a_recording_back_in_a_run_marks_it_and_is_left_out(trial):
    play = lambda run: run.inject_fault("natnet", "playback")  # noqa: E731
    short = ("trial.start_distance_m=0.15", "trial.settle_s=0.5", "record.after_s=0.5")
    done = trial(play, "experiment=impact", *short, config="sim_motion_wire", at_s=1.5)
    record = read_trial(done.folder, trusted=True)
    assert set(record.events["id"]) - {0} == {Fault.NOT_LIVE}
    assert not record.tick["safe"].any()
    assert record.tick["source"][-1].tolist() == [SOURCE_STATES.index(state) for state in ("stale", "used", "used")]


@pytest.mark.soak
def test_a_lost_camera_marks_the_run_and_the_trial_goes_on(trial):
    done = trial(lambda run: run.inject_fault("natnet", "off"), "experiment=impact", config="sim_motion_wire", at_s=1.5)
    assert done.error is None
    assert done.faults == []  # none that led to Safe
    record = read_trial(done.folder, trusted=True)
    assert set(record.events["id"]) - {0} == {Fault.MEASURED_MOTION}
    assert b"instrument link lost" in record.events["name"]
    assert not record.tick["safe"].any()
    assert record.tick["impact"][-1]
    assert record.tick["source"][-1].tolist() == [SOURCE_STATES.index(state) for state in ("stale", "used", "used")]
