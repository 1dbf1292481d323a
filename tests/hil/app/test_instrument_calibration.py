"""`hil calibrate motion|imu|joints` on a simulated rig whose instruments stand otherwise than the config says."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import BaseModel

from hil.app.instrument_calibration import calibrate_imu, calibrate_joints, calibrate_motion
from hil.cli import run
from hil.config import load_config, parse_config
from hil.config.calibration_sheets import SheetError, update_sheet
from hil.config.rig import Rig
from hil.estimation.observer.filter_setup import joints_model
from hil.recording import read_trial
from hil.signals.calibration_fits import CalibrationError

MOTION_DEG, IMU_DEG, ZEROS_DEG, LATE_MS = (0.0, -2.0, 3.0), (2.0, -3.0, 5.0), (2.0, -1.0), 12.0
INSTRUMENTS = [
    f"motion={{errors: {{mounting_deg: {list(MOTION_DEG)}, late_ms: {LATE_MS}}}}}",
    f"imu={{errors: {{mounting_deg: {list(IMU_DEG)}}}}}",
    "joints={encoders: [{joint: left_bogie, error_deg: 2}, {joint: right_bogie, error_deg: -1}]}",
    "loop.rate_hz=250",
]


@pytest.fixture(
    scope="module", params=[pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.soak)]
)
def calibrated(request, tmp_path_factory):
    """Record and config of a run that `hil calibrate motion` made."""
    folder = tmp_path_factory.mktemp("calibrated") / "run"
    sets = [part for one in INSTRUMENTS for part in ("--set", one)]
    where = ["--way", "0.25", "--seed", str(request.param), "--out", str(folder), "--sheet", str(folder) + ".yaml"]
    assert run(["calibrate", "motion", "sim_impact", *sets, *where, "--json"]) == 0
    record = read_trial(folder)
    return record, parse_config(str(record.meta["config"]), "config"), folder


def deviations(result, key, expected):
    """How many standard deviations each found number of a key is from the truth."""
    found = [one for name, one in result.found.items() if name.startswith(key)]
    assert len(found) == len(expected)
    return [
        (one.value - true) / one.sd if one.sd else one.value - true for one, true in zip(found, expected, strict=True)
    ]


def test_the_axes_and_the_delay_of_an_instrument_outside_are_found_within_three_standard_deviations(calibrated):
    record, config, _ = calibrated
    result = calibrate_motion(record, Rig(config))
    assert np.abs(deviations(result, "turn_deg", MOTION_DEG)).max() < 3.0
    assert np.abs(deviations(result, "body_turn_deg", (0.0, 0.0, 0.0))).max() < 3.0
    assert abs(deviations(result, "delay_ms", [config.motion.delay_ms + LATE_MS])[0]) < 3.0
    assert result.sheet["delay_ms"] > config.motion.delay_ms
    assert result.found["turn_deg yaw [deg]"].sd < 0.1


def test_the_mounting_of_an_inertial_unit_is_found_within_three_standard_deviations(calibrated):
    record, config, _ = calibrated
    result = calibrate_imu(record, Rig(config))
    assert np.abs(deviations(result, "turn_deg", IMU_DEG)).max() < 3.0
    assert result.found["turn_deg yaw [deg]"].sd < 5.0
    assert result.sheet["noise_mps2"] == pytest.approx(config.imu.noise_mps2, rel=0.1)


def test_the_zeros_of_encoders_are_found_within_three_standard_deviations(calibrated):
    record, config, _ = calibrated
    result = calibrate_joints(record, Rig(config))
    zeros = [result.found[f"{name} zero_deg [deg]"] for name in ("left_bogie", "right_bogie")]
    assert [abs(one.value - true) < 3.0 * one.sd for one, true in zip(zeros, ZEROS_DEG, strict=True)] == [True, True]


def test_a_config_that_names_the_written_file_has_its_numbers_in_record_and_rig(calibrated, tmp_path):
    _, _, folder = calibrated
    sheet = folder.with_name("run.yaml")
    config = load_config("sim_impact", ["motion={}", f"motion.calibration={sheet}"])
    assert config.motion.turn_deg[2] == pytest.approx(3.0, abs=0.3)
    assert config.motion.delay_ms == pytest.approx(17.0, abs=11.0)
    again = parse_config(config.to_yaml(), "config")
    assert again == config


def turned_copy(record, by_deg):
    """The record with other readings of the joints."""
    tick = record.tick.copy()
    tick["joints_reading"] += np.radians(by_deg)
    return type("Recorded", (), {"tick": tick})


def test_an_encoder_whose_reading_falls_as_its_joint_turns_up_is_reversed(calibrated):
    record, config, _ = calibrated
    result = calibrate_joints(
        record, Rig(config), turned_copy(record, [-9.0, 11.0]), {"left_bogie": 10, "right_bogie": 10}
    )
    assert [one["reversed"] for one in result.sheet["encoders"]] == [True, False]


def test_a_joint_that_did_not_turn_as_named_is_refused(calibrated):
    record, config, _ = calibrated
    with pytest.raises(CalibrationError, match="left_bogie: its reading changed by 2"):
        calibrate_joints(record, Rig(config), turned_copy(record, [2.0, 0.0]), {"left_bogie": 10.0})


def test_a_rover_that_stood_only_gives_no_yaw_and_says_so(calibrated):
    record, config, _ = calibrated
    standing = type("Recorded", (), {"tick": record.tick[record.tick["t_ns"] < 2_000_000_000]})
    result = calibrate_imu(standing, Rig(config))
    assert result.sheet["turn_deg"][2] == config.imu.turn_deg[2]
    assert any("turn_deg yaw is that of the config" in note for note in result.notes)
    with pytest.raises(CalibrationError, match=r"m at most, allowed: 0\.2 m or more"):
        calibrate_motion(standing, Rig(config))


def test_a_distance_whose_direction_points_the_wrong_way_is_refused(calibrated):
    record, _, _ = calibrated
    ahead = record.tick["motion_reading"][:, :1]
    for direction, fine in (([1.0, 0.0, 0.0], True), ([-1.0, 0.0, 0.0], False)):
        distance = load_config("sim_impact", ["motion={measures: distance}", f"motion.direction={direction}"])
        shape = np.dtype([(name, "<f8", (1,)) if name == "motion_reading" else (name, record.tick.dtype[name])
                          for name in record.tick.dtype.names])  # fmt: skip
        tick = np.zeros(len(record.tick), shape)
        for name in shape.names:
            tick[name] = ahead if name == "motion_reading" else record.tick[name]
        one = type("Recorded", (), {"tick": tick})
        if fine:
            assert "turn_deg" not in calibrate_motion(one, Rig(distance)).sheet
            continue
        with pytest.raises(CalibrationError, match=r"reverse motion\.direction"):
            calibrate_motion(one, Rig(distance))


def test_an_instrument_that_the_rig_lacks_is_refused_before_anything_moves(capsys, tmp_path):
    assert run(["calibrate", "imu", "sim_impact", "--out", str(tmp_path / "run")]) == 2
    assert "no section imu: the rig has no such instrument" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_sheet_keeps_what_another_calibration_has_written(tmp_path):
    sheet = tmp_path / "imu.yaml"
    update_sheet(sheet, {"turn_deg": [1.0, 2.0, 0.0]}, "imu")
    former = update_sheet(sheet, {"noise_mps2": 0.1}, "imu")
    assert former is not None
    config = load_config("sim_impact", ["imu={}", f"imu.calibration={sheet}"])
    assert (config.imu.turn_deg, config.imu.noise_mps2) == ((1.0, 2.0, 0.0), 0.1)
    with pytest.raises(SheetError, match="nothing was written"):
        update_sheet(sheet, {"turn_deg": [1.0]}, "imu")


def test_the_command_shows_what_was_found_and_what_the_data_do_not_tell(calibrated, capsys):
    _, _, folder = calibrated
    assert run(["calibrate", "imu", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "turn_deg yaw [deg]" in said
    assert "standard deviation" in said
    assert "nothing was written: --sheet FILE writes it, and imu.calibration in the config names the file" in said
    assert run(["calibrate", "joints", str(folder)]) == 0
    assert "reversed is that of the config" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--turned", "{run}"], "--turned and --angle belong together"),
        (["--turned", "{run}", "--angle", "elbow=10"], "of an encoder: left_bogie, right_bogie"),
        (["--turned", "{run}", "--angle", "left_bogie=0"], "allowed: JOINT=DEG, not 0"),
        (["--turned", "{run}", "--angle", "left_bogie=10"], "its reading changed by"),
    ],
    ids=["alone", "unknown", "zero", "not turned"],
)
def test_wrong_words_about_turned_joints_are_refused(calibrated, capsys, more, words):
    _, _, folder = calibrated
    given = [word.format(run=folder) for word in more]
    assert run(["calibrate", "joints", str(folder), *given]) == 2
    assert words in capsys.readouterr().err


def test_a_real_rig_is_not_moved_without_a_terminal_or_yes(capsys, monkeypatch, tmp_path):
    from hil.cli import calibrate_instruments

    real = load_config("sim_impact", ["motion={}"])
    real = BaseModel.model_copy(real, update={"rig": "real"})  # unchecked: it has no devices
    monkeypatch.setattr(calibrate_instruments, "config_from", lambda *_: real)
    monkeypatch.setattr("sys.stdin", type("Closed", (), {"isatty": lambda _: False})())
    assert run(["calibrate", "motion", "sim_impact", "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert "the rover drives +0.50 m, -0.50 m" in said
    assert "no terminal for the confirmation" in said
    assert not (tmp_path / "run").exists()


def test_a_wheel_keeps_its_zero_because_nobody_knows_how_it_stands():
    config = load_config("sim_impact", ["joints={encoders: [{joint: front_right, zero_deg: 12}, {joint: left_bogie}]}"])
    t_ns = np.arange(0, 6_000_000_000, 20_000_000)
    speeds = np.zeros((len(t_ns), len(config.layout.wheels)))
    noise = np.random.default_rng(1).normal(0.0, np.radians(0.05), (len(t_ns), 2))
    tick = {
        "t_ns": t_ns,
        "joints_t_ns": t_ns,
        "wheel_speed_radps": speeds,
        "joints_reading": np.radians([3, 77]) + noise,
    }
    result = calibrate_joints(type("Recorded", (), {"tick": tick}), Rig(config))
    assert list(result.found) == ["left_bogie zero_deg [deg]", "noise_deg [deg]"]
    assert {one["joint"]: round(one["zero_deg"]) for one in result.sheet["encoders"]} == {
        "left_bogie": 3,
        "front_right": 12,
    }


def test_encoders_of_wheels_are_no_source_of_the_observer():
    config = load_config("sim_impact", ["joints={encoders: [{joint: front_right}, {joint: right_bogie}]}"])
    assert config.layout.joints_channels == ("right_bogie", "front_right")
    assert joints_model(Rig(config), config.joints).joint.tolist() == [config.layout.turning.index("right_bogie")]
