"""All instruments of motion at the protocol level: their bytes reach the observer, and the truth is where it says."""

import math

import numpy as np
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
from models.plant.motion_history import PITCH, SPEED, TIME, X

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


PRISM_M = (0.0, 0.0, 0.45)
TOTAL_STATION = (
    *(f"{role}=null" for role in ("imu", "joints", "devices.imu", "devices.joints")),
    "motion={measures: position, rate_hz: 5, delay_ms: 140, stale_ms: 1000, noise_m: 0.002, frozen_readings: 0, "
    f"point_m: {list(PRISM_M)}}}",
    "devices.motion={driver: leica}",
)


def test_a_trial_with_a_total_station_that_is_late_and_slow(trial):
    done = trial(None, *TOTAL_STATION, "experiment=impact", config="sim_motion_wire")
    summary = summary_of(done)
    source = summary["estimation"]["sources"]["motion"]
    assert source["used"] == source["readings"] > 30
    assert 0.5 < source["innovation"] < 1.6
    assert 140.0 < source["age_ms"] < 400.0
    assert summary["estimation"]["speed_error_mps"] < 0.002
    assert (
        abs(summary["impact_speed_measured_mps"] - summary["impact_speed_mps"]) < 4.0 * summary["impact_speed_sd_mps"]
    )
    record = read_trial(done.folder, trusted=True)
    tick, true = record.tick, GroundTruth.recorded(record.events).motion
    _, first = np.unique(tick["motion_t_ns"], return_index=True)
    seen = tick[first][1:]
    seconds = seen["motion_t_ns"] * 1e-9
    true_x_m = np.interp(seconds, true[:, TIME], true[:, X])
    off_m = (
        seen["motion_reading"][:, 0] - true_x_m - PRISM_M[2] * np.interp(seconds, true[:, TIME], np.sin(true[:, PITCH]))
    )
    assert abs(off_m.mean()) < 4.0 * 0.002 / math.sqrt(off_m.size)
    assert off_m.std() == pytest.approx(0.002, rel=0.4)


COUNTERS = (
    *("imu=null", "devices.imu=null", "joints.frozen_readings=0"),
    "motion={measures: distance, rate_hz: 100, delay_ms: 2, noise_m: 0.0005, frozen_readings: 0, "
    "origin_m: [-1.2, 0, 0.35], point_m: [-0.4, 0, 0.35]}",
    "devices.motion={driver: ni, counter: cDAQ1Mod7/ctr0, m_per_pulse: 1.0e-4, initial_m: 0.8}",
    "devices.joints={driver: ni, encoders: [{joint: left_bogie, counter: cDAQ1Mod7/ctr1}, "
    "{joint: right_bogie, counter: cDAQ1Mod7/ctr2}, {joint: rear_bogie, counter: cDAQ1Mod7/ctr3}]}",
)


def test_a_trial_with_a_draw_wire_and_joints_on_counters(trial):
    summary = summary_of(trial(None, *COUNTERS, "experiment=impact", config="sim_motion_wire"))
    sources = summary["estimation"]["sources"]
    assert tuple(sources) == ("motion", "joints")
    assert all(one["used"] > 0.95 * one["readings"] > 50 for one in sources.values())
    assert summary["estimation"]["speed_error_mps"] < 0.002
    assert abs(sources["motion"]["drift_mps"]) < 0.002


ON_WHEELS = (
    *("motion=null", "devices.motion=null", "imu=null", "devices.imu=null", "joints.frozen_readings=0"),
    "joints.encoders=[{joint: front_right, zero_deg: 10}, {joint: left_bogie}, {joint: front_left, reversed: true}]",
    "devices.joints={driver: ni, encoders: [{joint: front_right, counter: cDAQ1Mod7/ctr0, initial_deg: 10}, "
    "{joint: front_left, counter: cDAQ1Mod7/ctr1}, {joint: left_bogie, counter: cDAQ1Mod7/ctr2}]}",
)


def test_quadrature_encoders_at_the_wheels_say_how_the_wheel_stood_at_the_impact(trial):
    done = trial(None, *ON_WHEELS, "wheel.grousers=22", "experiment=impact", config="sim_motion_wire")
    summary, record = summary_of(done), read_trial(done.folder, trusted=True)
    tick = record.tick
    before = tick[tick["t_ns"] <= 1e9 * summary["impact_time_s"]]
    by_drive = np.trapezoid(before["wheel_speed_radps"][:, 1], 1e-9 * before["t_ns"])
    assert summary["wheel_angle_deg"] == pytest.approx(math.degrees(by_drive), abs=0.3)
    assert 0 <= summary["grouser_number"] < 22
    assert list(summary["estimation"]["sources"]) == ["joints"]
    np.testing.assert_allclose(
        tick["joints_reading"][-1, 2], -tick["joints_reading"][-1, 1] + math.radians(10), atol=0.1
    )


@pytest.mark.parametrize("kind", ["cable_crossed", "cable_open"])
def test_a_counter_whose_cable_is_wrong_marks_the_run_and_is_left_out(trial, kind):
    done = trial(lambda run: run.inject_fault("daq", kind), *COUNTERS, config="sim_motion_wire", at_s=1.0)
    assert done.faults == []  # none that led to Safe
    record = read_trial(done.folder, trusted=True)
    assert set(record.events["id"]) - {0} == {Fault.MEASURED_MOTION}
    assert SOURCE_STATES[record.tick["source"][-1][0]] == "left_out"


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
