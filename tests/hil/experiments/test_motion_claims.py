"""What a run says of the rover's motion is held against the truth, with what the plant's spread explains."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from hil.app.run import run as run_without_files
from hil.app.run import run_experiment
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.base import Experiment
from hil.experiments.motion_claims import motion_claims, traction_claims, truth_check
from hil.experiments.registry import BUILT_IN
from hil.experiments.summary_table import ALONE, FALSE, MEASURED, SIMULATED, TRUTH_CHECK, Claim, verdict_rows
from hil.simulator.ground_truth import GroundTruth
from models.plant import Plant
from models.plant.motion_history import BY_WHEEL, EVERY_NS, PITCH, X, Z
from models.plant.towing import Traction

QUICK = ["telemetry.endpoint=''", "drive.steps=[{for_s: 1.0, speed_mps: 0.05}]"]
WHEELS = 4


def summary_of(folder, name, *overrides):
    folder.mkdir(exist_ok=True)
    return run_experiment(load_config(name, overrides), folder, progress=lambda _: None, figure=False).summary


def drive_of(true_motion, config, *, rig="simulated", **fields):
    """A drive of 10 s at 0.05 m/s by the twin."""
    count = 101
    t_ns = np.arange(count) * EVERY_NS
    motion_fields = [("motion_t_ns", "i8"), ("motion_reading", "f8", (3,))] if config.motion else []
    ticks = np.zeros(
        count,
        [
            ("t_ns", "i8"), ("cut", "u1"), ("pose", "f8", (7,)), ("speed_mps", "f8"),
            ("wheel_speed_radps", "f8", (WHEELS,)), ("slip", "f8", (WHEELS,)), ("normal_force_N", "f8", (WHEELS,)),
            *motion_fields, *([("pose_sd", "f8", (6,))] if "pose_sd" in fields else []),
        ],
    )  # fmt: skip
    ticks["t_ns"], ticks["pose"][:, 6], ticks["normal_force_N"] = t_ns, 1.0, 800.0
    ticks["pose"][:, 0], ticks["speed_mps"] = 0.05e-9 * t_ns, 0.05
    ticks["wheel_speed_radps"], ticks["slip"] = 0.052 / np.array(config.wheel_radii_m), 0.04
    for name, values in fields.items():
        ticks[name] = values
    ground_truth = SimpleNamespace(hit_ns=None, motion=true_motion)
    asked = SimpleNamespace(rig=rig, section=config.section, wheel_radii_m=config.wheel_radii_m)
    return SimpleNamespace(
        rig=Rig(config), config=asked, ticks=ticks, ground_truth=ground_truth, experiment=SimpleNamespace(done=True)
    )


def false_by(true_motion, config, **given):
    """Names of the claims of such a drive that do not hold, and who says so."""
    run = drive_of(true_motion, config, **given)
    claims = motion_claims(run)
    assert claims
    found, reasons = truth_check(run, claims)
    names = [one["name"] for one in found[TRUTH_CHECK]["values"] if one["ok"] is False]
    assert [reason.startswith(FALSE) for reason in reasons] == [True] * len(names)
    return found[TRUTH_CHECK]["by"], names


def true_rows(config, way_share=1.0, pitch_deg=0.0, load_share=1.0):
    rows = np.zeros((101, BY_WHEEL + 2 * len(config.layout.wheels)))
    rows[:, 0] = np.arange(101) * 1e-9 * EVERY_NS
    rows[:, X] = 0.05 * way_share * rows[:, 0]
    rows[:, PITCH] = math.radians(pitch_deg)
    rows[:, BY_WHEEL + WHEELS :] = 800.0 * load_share
    return rows


@pytest.mark.parametrize(
    ("found", "names"),
    [
        ({}, []),
        ({"way_share": 0.1}, ["distance"]),
        ({"way_share": 0.9}, ["distance"]),
        ({"pitch_deg": 5.0}, ["largest pitch"]),
        (
            {"load_share": 0.85},
            [f"load of {one}" for one in ("front left", "front right", "rear left", "rear right")],
        ),
    ],
)
def test_what_the_truth_has_otherwise_is_a_reason(found, names):
    config = load_config("sim_juno")
    assert false_by(true_rows(config, **found), config) == (SIMULATED, names)


@pytest.mark.parametrize(("spread", "names"), [(0.0, ["distance"]), (0.2, [])])
def test_the_allowed_difference_follows_from_the_spread_of_the_plant(spread, names):
    config = load_config("sim_juno", [f"plant.spread={{mass: 0, soil: {spread}}}"])
    slipping = 0.08 / np.array(config.wheel_radii_m)  # 0.3 m of slip on 0.5 m
    assert false_by(true_rows(config, 0.85), config, wheel_speed_radps=slipping, slip=0.375) == (SIMULATED, names)


def test_a_real_rig_is_held_against_the_readings_of_its_instrument_whatever_their_axes():
    config = load_config("sim_juno", ["motion={}"])
    ahead = np.linspace(0.0, 0.5, 101)
    readings = np.column_stack([np.zeros(101), -ahead, np.ones(101)])
    times = np.arange(101) * EVERY_NS
    assert false_by(None, config, rig="real", motion_reading=readings, motion_t_ns=times) == (MEASURED, [])
    assert false_by(None, config, rig="real", motion_reading=0.5 * readings, motion_t_ns=times) == (
        MEASURED,
        ["distance"],
    )


def test_a_real_rig_without_an_instrument_says_that_it_is_by_the_twin_alone():
    assert false_by(None, load_config("sim_juno"), rig="real") == (ALONE, [])
    summary = {"accepted": True, "reasons": [], TRUTH_CHECK: {"by": ALONE, "values": []}}
    assert verdict_rows(summary)[0][1].endswith(", by the twin alone")


def test_what_is_allowed_follows_from_slip_and_mass_and_what_observer_and_instrument_are_off():
    """Three standard deviations of each, and a hundredth, of a way of 0.5 m; axles are apart by the wheel base."""
    mass, soil, sd_m, noise_m = 0.02, 0.1, 0.002, 0.003
    config = load_config("sim_juno", [f"plant.spread={{mass: {mass}, soil: {soil}}}", f"motion={{noise_m: {noise_m}}}"])

    def way_off_m(rows):
        slipped_m = 0.04 * 0.052 * rows * 1e-9 * EVERY_NS
        off_m = 3.0 * (math.hypot(mass, math.sqrt(2.0) * soil) * slipped_m + math.sqrt(2.0) * sd_m)
        return off_m + (0.01 * (rows - 1) + 1.0) * 0.05 * 1e-9 * EVERY_NS + 1e-3

    rover = Rig(config).nominal.make_rover()
    base_m = np.ptp(rover.wheel_positions(rover.neutral())[:, 0])
    by_name = {one.name: one.allowed for one in motion_claims(drive_of(true_rows(config), config, pose_sd=sd_m))}
    assert by_name["distance"] == pytest.approx(way_off_m(101))
    assert by_name["largest pitch"] == pytest.approx(
        math.degrees(math.atan2(way_off_m(101), base_m) + 1e-3 + 3.0 * sd_m)
    )
    assert by_name["load of front left"] == pytest.approx(800.0 * (3.0 * mass + 0.01))
    read = {"motion_reading": np.zeros((101, 3)), "motion_t_ns": np.arange(101) * EVERY_NS}
    (measured,) = motion_claims(drive_of(None, config, rig="real", pose_sd=sd_m, **read))
    # the tick at the start of a run is no row of a real rig
    assert measured.allowed == pytest.approx(way_off_m(100) + 3.0 * noise_m * math.sqrt(2.0 * (100 / 10 + 1)))


def test_a_claim_may_be_off_by_what_is_allowed_and_by_no_more():
    assert Claim("distance", "m", 1.0, 1.5, 0.5).ok
    assert Claim("distance", "m", 1.0, 1.6, 0.5).ok is False


def test_a_value_that_nobody_knows_is_not_judged():
    assert Claim("distance", "m", 1.0, math.nan, 0.1).ok is None
    assert Claim("distance", "m", 1.0, 1.1, 0.2).ok
    assert Claim("wheels across", "", 6, 0, 0.0).ok is False


def test_every_experiment_compares_or_says_that_it_claims_nothing():
    own = {kind.name for kind in BUILT_IN if kind.claims is not Experiment.claims}
    assert own == {"impact", "jog", "normal_force", "crossing", "capture", "drawbar", "slope"}


def test_a_truth_of_many_wheels_is_recorded_whole():
    rows = np.round(np.random.default_rng(1).normal(size=(3, BY_WHEEL + 2 * 24)), 4)
    rows[:, 0] = 0.1, 0.2, 0.3
    loads = np.column_stack([rows[:, 0], np.full((3, 24), 123456.789)])
    known = GroundTruth(loads=loads, motion=rows)
    read = GroundTruth.recorded(np.concatenate(list(known.events(1000))))
    assert read.motion == pytest.approx(rows, rel=1e-12)
    assert read.loads == pytest.approx(loads, rel=1e-12)


@pytest.mark.slow
def test_a_drive_is_accepted_if_the_rig_drove_it_and_not_if_the_rig_stood_still(tmp_path, monkeypatch):
    summary = summary_of(tmp_path / "drove", "sim_juno", *QUICK)
    assert summary["accepted"]
    assert summary[TRUTH_CHECK]["by"] == SIMULATED
    assert all(one["ok"] for one in summary[TRUTH_CHECK]["values"])
    moved = Plant.motion.fget
    standing = np.ones(BY_WHEEL + 2 * WHEELS)
    standing[X : Z + 1] = 0.0
    monkeypatch.setattr(Plant, "motion", property(lambda plant: moved(plant) * standing))
    summary = summary_of(tmp_path / "stood", "sim_juno", *QUICK)
    assert not summary["accepted"]
    assert [reason.partition(" 0.")[0] for reason in summary["reasons"]] == [f"{FALSE}{SIMULATED}: distance"]


@pytest.mark.slow
def test_a_rig_on_a_slope_that_the_twin_does_not_know_is_not_accepted(tmp_path):
    summary = summary_of(tmp_path, "sim_juno", *QUICK, "plant.ground_pitch_deg=8")
    assert not summary["accepted"]
    assert any("largest pitch" in reason for reason in summary["reasons"])


@pytest.mark.slow
def test_a_crossing_by_the_twin_alone_is_not_accepted(tmp_path, monkeypatch):
    moved = Plant.motion.fget

    def stopped(plant):
        rows = moved(plant)
        rows[:, X] = np.minimum(rows[:, X], rows[0, X] + 0.155)
        return rows

    monkeypatch.setattr(Plant, "motion", property(stopped))
    summary = summary_of(tmp_path, "sim_step", "telemetry.endpoint=''")
    assert summary["crossed"]
    assert not summary["accepted"]
    assert any(reason.startswith(f"{FALSE}{SIMULATED}: wheels across 6, there 0") for reason in summary["reasons"])


@pytest.mark.parametrize(
    ("name", "key", "half", "known", "allowed"),
    [
        # load cell of 1000 N: 3 of 1.96 parts of 2 % and of 5 N, and a hundredth
        ("drawbar pull", "pull_N", None, 350.0, 3.0 / 1.959964 * math.hypot(0.02 * 350.0, 5.0) + 3.5),
        ("slip", "slip", "slip_u95", 0.2, 3.0 / 1.959964 * 0.01 + 0.002),
        ("forward speed", "speed_mps", "speed_u95_mps", 0.05, 3.0 / 1.959964 * 0.01 + 0.0005),
    ],
)
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_measured_traction_is_held_against_that_of_the_simulated_rig(name, key, half, known, allowed, side):
    """What a load cell or an instrument reads may be off by three times what it states of itself, on both sides."""
    towed = {"pull_N": 350.0, "slip": 0.2, "speed_mps": 0.05}
    measured = {**towed, **({half: 0.01} if half else {})}

    def is_so(share):
        true = {**towed, key: known + share * side * allowed}
        ground_truth = SimpleNamespace(traction=Traction(*true.values()))
        run = SimpleNamespace(config=load_config("sim_drawbar"), ground_truth=ground_truth)
        return {one.name: one.ok for one in traction_claims(run, measured)}[name]

    assert is_so(0.99)
    assert not is_so(1.01)


def test_nothing_is_known_of_the_traction_of_a_real_rig():
    run = SimpleNamespace(config=load_config("sim_drawbar"), ground_truth=SimpleNamespace(traction=None))
    assert traction_claims(run, {"pull_N": 350.0, "slip": None, "speed_mps": None}) == []


@pytest.mark.slow
def test_a_pull_that_the_simulated_rig_contradicts_is_not_accepted():
    """A load cell that reads a tenth too little, which nothing else in the run can tell."""
    short = ["drawbar.ramp_s=0.2", "drawbar.settle_s=2", "drawbar.measure_s=0.4", "telemetry.endpoint=''"]
    summary = run_without_files(load_config("sim_drawbar", [*short, "loads.errors.gain=0.2"])).summary
    assert [FALSE in one and "drawbar pull" in one for one in summary["reasons"]] == [True]
    assert run_without_files(load_config("sim_drawbar", short)).summary["accepted"]
