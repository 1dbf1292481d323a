"""One wheel on its carriage, and a wheel pressed in: from config to record, and to the soil identified."""

from __future__ import annotations

import numpy as np
import pytest

import hil
from hil.analysis.film.moments import filmed
from hil.analysis.identification.forward import IdentificationError, soil_of, wheel_state
from hil.analysis.identification.recorded import soil_section, wheel_of, windows_of
from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.run import run, run_experiment
from hil.config import ConfigError, load_config
from hil.config.rig import Rig
from hil.experiments.sinkage import ARMED, DONE, IDLE, MEASURE, SETTLE
from hil.recording import read_trial

EXACT = ("telemetry.endpoint=''", "plant.spread={soil: 0, mass: 0}")
SHORT = (*EXACT, "drawbar.settle_s=1.5", "drawbar.measure_s=0.5")
PRESSED = (*EXACT, "sinkage.settle_s=0.2", "sinkage.measure_s=0.2")
PAYLOADS = (0.0, 20.0)


def steady(config, slip):
    """Pull, torque and sinkage of the wheel by the closed forms, at the load of the rig."""
    rover = Rig(config).nominal.make_rover()
    load = np.array([9.81 * rover.mass])
    return [float(value[0]) for value in wheel_state(wheel_of(config), soil_of(soil_section(config.soil)), load, slip)]


@pytest.fixture(scope="module")
def pressed(tmp_path_factory):
    """Runs of the sinkage test under two loads."""
    folder = tmp_path_factory.mktemp("pressed")
    for mass in PAYLOADS:
        config = load_config("sim_sinkage", [*PRESSED, f"rover.payload.mass_kg={mass}"])
        (folder / f"{mass:g}").mkdir()
        run_experiment(config, folder / f"{mass:g}", lambda _: None, figure=False)
    return [folder / f"{mass:g}" for mass in PAYLOADS]


DIGS = ("soil.density_kgpm3=1600", "soil.cohesion_Pa=1000", "soil.slip_sinkage=1.5")


@pytest.mark.slow
@pytest.mark.parametrize(
    "rim", [("wheel.grousers=12", "wheel.grouser_thrust=true"), ("wheel.rim_friction=0.67", "soil.shear=exponential")]
)
def test_a_wheel_that_digs_and_pushes_is_in_rig_twin_and_identification_as_its_closed_forms_say(tmp_path, rim):
    terms = [*DIGS, *rim]
    config = load_config(
        "sim_wheel_bed", [*EXACT, "drawbar.settle_s=12", "drawbar.measure_s=0.5", "drawbar.slip=0.4", *terms]
    )
    summary = run_experiment(config, tmp_path, lambda _: None, figure=False).summary
    assert summary["accepted"], summary["reasons"]
    assert replay(tmp_path).differences == []
    (window,) = windows_of([tmp_path]).windows
    pull, torque, depth = steady(config, window.slip[0])
    assert summary["sinkage_m"] == pytest.approx(depth, rel=0.01)
    assert read_trial(tmp_path, trusted=True).tick[-500]["sinkage_m"] == pytest.approx([depth], rel=0.01)
    assert window.pull_N.value == pytest.approx(pull, abs=0.3)
    assert window.torque_Nm.value == pytest.approx(torque, rel=0.01)
    still = load_config("sim_wheel_bed", [*EXACT, *terms[1:]])
    assert pull < steady(still, window.slip[0])[0] - 1.0
    without = load_config("sim_wheel_bed", EXACT)
    assert depth > 1.5 * steady(without, window.slip[0])[2]


@pytest.mark.slow
def test_a_wheel_on_its_carriage_is_recorded_verified_and_replayed(tmp_path):
    config = load_config("sim_wheel_bed", [*SHORT, "drawbar.slip=0.3"])
    summary = run_experiment(config, tmp_path, lambda _: None).summary
    assert summary["accepted"], summary["reasons"]
    assert (tmp_path / "drawbar.png").stat().st_size > 10_000
    assert [check for check in verify(tmp_path) if not check.ok] == []
    assert replay(tmp_path).differences == []
    shown = filmed(tmp_path, 1.0, 1.1)  # none of its joints turns but the wheel's
    assert shown.rows["joint_angle_rad"].shape == (len(shown.rows), 0)
    # the twin's wheel is held by what the load cell measures, so it sinks and slips alike
    last = read_trial(tmp_path, trusted=True).tick[-500]
    assert last["sinkage_m"] == pytest.approx([summary["sinkage_m"]], rel=0.01)
    (window,) = windows_of([tmp_path]).windows
    pull, torque, depth = steady(config, window.slip[0])
    assert window.pull_N.value == pytest.approx(pull, abs=0.3)
    assert window.torque_Nm.value == pytest.approx(torque, rel=0.01)
    assert window.sinkage_m.value == pytest.approx(depth, rel=0.005)


@pytest.mark.ci_cases("settings1-0.4")
@pytest.mark.slow
@pytest.mark.parametrize(("settings", "slip"), [((), 0.02), (("soil.shear=oida",), 0.4), (("soil.shear=wong",), 0.9)])
def test_the_carriage_holds_the_slip_where_the_wheel_has_to_be_pushed_and_beyond_the_peak(settings, slip):
    config = load_config("sim_wheel_bed", [*SHORT, *settings, f"drawbar.slip={slip}"])
    summary = run(config).summary
    assert summary["accepted"], summary["reasons"]
    assert summary["slip"] == pytest.approx(slip, abs=0.003)
    expected = steady(config, slip)[0]
    assert summary["pull_N"] == pytest.approx(expected, abs=0.7)
    assert (expected < 0.0) is (slip == 0.02)


@pytest.mark.slow
def test_the_rails_bear_all_that_would_turn_the_carriage_or_push_it_aside():
    ticks = run(load_config("sim_wheel_bed", [*SHORT, "drawbar.slip=0.2"])).ticks
    x, y, _, *quaternion = ticks["pose"][-1]
    assert x > 0.01
    assert (y, *quaternion) == (0.0, 0.0, 0.0, 0.0, 1.0)


@pytest.mark.slow
def test_a_sinkage_test_stands_measures_and_never_turns_the_wheel(pressed):
    record = read_trial(pressed[0], trusted=True)
    states = list(dict.fromkeys(record.tick["state"].tolist()))
    assert states == [IDLE, ARMED, SETTLE, MEASURE, DONE]
    assert np.abs(record.tick["wheel_speed_radps"]).max() < 1e-3
    assert [check for check in verify(pressed[0]) if not check.ok] == []
    assert replay(pressed[0]).differences == []


@pytest.mark.slow
def test_the_sinkages_are_those_of_a_wheel_that_compresses_the_soil_on_both_sides(pressed):
    found = windows_of(pressed)
    soil = load_config("sim_sinkage").soil
    for window in found.windows:
        assert window.slip is None
        volume = window.wheel.on(soil_of(soil_section(soil))).hypervolume(window.sinkage_m.value)
        assert soil.stiffness * volume == pytest.approx(window.load_N[0], rel=1e-3)
    heavier = found.windows[1]
    assert heavier.load_N[0] - found.windows[0].load_N[0] == pytest.approx(20.0 * 9.81, rel=1e-6)


@pytest.mark.soak
def test_pressed_wheels_and_rolling_ones_are_fitted_together_and_other_rovers_beside_them(pressed, tmp_path):
    for number, slip in enumerate((0.1, 0.4)):
        config = load_config("sim_wheel_bed", [*SHORT, f"drawbar.slip={slip}"])
        (tmp_path / str(number)).mkdir()
        run_experiment(config, tmp_path / str(number), lambda _: None, figure=False)
    drives = [tmp_path / "0", tmp_path / "1"]
    found = hil.identify([*pressed, *drives], given={"rebound": 0.1})
    assert found.soil["slip_modulus"] == pytest.approx(0.185, rel=0.02)
    assert found.soil["exponent"] == pytest.approx(0.75, rel=0.02)
    assert set(windows_of([*pressed, *drives]).soil.values()) == set(soil_section(config.soil).values())
    other = load_config("sim_wheel_bed", [*SHORT, "soil.exponent=0.8"])
    (tmp_path / "other").mkdir()
    run_experiment(other, tmp_path / "other", lambda _: None, figure=False)
    with pytest.raises(IdentificationError, match="another soil of the config"):
        windows_of([*pressed, tmp_path / "other"])


@pytest.mark.slow
def test_a_sinkage_test_of_a_wheel_that_has_rolled_is_refused(tmp_path):
    config = load_config("sim_wheel_bed", [*PRESSED, "experiment=sinkage"])
    run_experiment(config, tmp_path, lambda _: None, figure=False)
    with pytest.raises(IdentificationError, match=r"wheel.variant is exact.*sim_sinkage"):
        windows_of([tmp_path])


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (("experiment=impact",), "experiment"),
        (("ground.pitch_deg=5",), "ground.pitch_deg"),
        (("plant.ground_roll_deg=1",), "plant.ground_roll_deg"),
        (("ground.kind=rigid",), "ground.kind"),
        (("wheel.variant=xu", "soil.shear=oida"), "soil.shear"),
        (("soil.shear_residual=1",), "soil.shear_residual"),
        (("soil.shear_residual=0.29",), "soil.shear_residual"),
        (("rover.single_wheel.carriage_height_m=0.05",), "carriage_height"),
        (("experiment=sinkage", "ground.kind=firm"), "ground.kind"),
    ],
)
def test_what_does_not_go_with_a_bed_is_refused_by_its_key(settings, key):
    with pytest.raises(ConfigError, match=key):
        load_config("sim_wheel_bed", settings)
