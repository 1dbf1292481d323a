"""A rover on wheels that differ, from config to record, and what a config may not ask of them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import hil
from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import ConfigError, load_config
from hil.config.model_parameters import nominal_rig
from hil.config.rig import Rig
from hil.control.wheel_speed import WheelSpeed
from hil.messages.stages import Goal, Prediction
from hil.recording import read_trial
from hil.safety.equilibrium_checks import validity_checks
from models.vehicle.step import step
from models.wheel.kernels import normal_resultants

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

SHORT = ("drive.steps=[{for_s: 0.5, speed_mps: 0.05}]", "telemetry.endpoint=''")


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    """A short drive of the shipped config: its folder, its summary, its config."""
    folder, config = tmp_path_factory.mktemp("mixed"), load_config("sim_mixed_wheels", SHORT)
    return folder, run_experiment(config, folder, progress=lambda _: None, figure=False).summary, config


def test_a_drive_on_three_kinds_of_wheels_is_recorded_verified_and_replayed(drive):
    folder, summary, _ = drive
    assert summary["accepted"], summary["reasons"]
    assert [check for check in verify(folder) if not check.ok] == []
    assert replay(folder).differences == []


def test_all_rims_move_at_one_speed_and_the_larger_wheels_turn_slower(drive):
    folder, _, config = drive
    tick = read_trial(folder, trusted=True).tick[400]
    rims = tick["set_speed_radps"] * config.wheel_radii_m
    assert rims == pytest.approx(np.full(6, rims[0]), rel=1e-12)
    assert tick["set_speed_radps"][4] < 0.9 * tick["set_speed_radps"][0]
    assert tick["slip"] == pytest.approx(np.full(6, tick["slip"].mean()), abs=0.05)


def test_at_rest_each_wheel_bears_what_the_soil_bears_under_a_wheel_of_its_kind_and_all_bear_the_weight():
    rig = Rig(load_config("sim_mixed_wheels"))
    rover, _, state = rig.nominal.build()
    own = [rig.nominal.ground.wheel_of(mount) for mount in rover.tree.wheels]
    expected = [normal_resultants(one.parameters, z)[0] for one, z in zip(own, state.ground.sinkage, strict=True)]
    assert state.ground.vertical == pytest.approx(expected, rel=0.02)
    assert sum(expected) == pytest.approx(9.81 * rover.mass, rel=0.01)
    assert rig.resting_loads_N == pytest.approx(state.ground.vertical.tolist(), rel=0.05)
    assert [one.variant for one in own[::2]] == ["crowned", "flexible", "exact"]


def test_equal_wheels_by_rows_of_their_own_move_as_by_one_row_to_the_last_bit():
    rig = nominal_rig(load_config("sim_mixed_wheels", ["wheel.of={}"]))
    places = []
    for each in (False, True):
        _, vehicle, state = rig.build()
        if each:  # rims as spheres, which is what those without a crown are
            rows, spheres = np.tile(vehicle.ground.wheel, (6, 1)), np.tile([0.175, math.inf], (6, 1))
            ground, chain = vehicle.ground._replace(each=rows), vehicle.chain._replace(crown=spheres)
            vehicle = vehicle._replace(ground=ground, chain=chain)
        state.drives.set_speed[:] = 0.4
        for _ in range(200):
            step(vehicle, state, 5e-4)
        places.append(np.concatenate([state.q, state.v, state.ground.vertical]))
    assert np.array_equal(*places)


def test_rows_of_their_own_are_there_only_where_wheels_differ():
    same = nominal_rig(load_config("sim_mixed_wheels", ["wheel.of={rear: {radius_m: 0.175}}"])).assemble()[1]
    assert same.ground.each is None
    other = nominal_rig(load_config("sim_mixed_wheels", ["wheel.of={rear: {radius_m: 0.18}}"])).assemble()[1]
    assert other.ground.each is not None
    assert other.ground.each[:, 1].tolist() == [0.175] * 4 + [0.18] * 2


def test_wheel_speeds_give_all_rims_the_wanted_speed():
    prediction = Prediction((0.0,) * 2, (0.0,) * 2, (0.0,) * 2, 0.0, 0.0, math.inf, True)
    speeds = WheelSpeed((0.2, 0.1), 1e-3).control(Goal(2, False, 0.05), None, None, prediction).speed_radps
    assert speeds == pytest.approx((0.25, 0.5))


def test_limits_are_those_of_the_smallest_wheel():
    settings = ["wheel.of={rear: {radius_m: 0.1}}", "limits.wheel_speed_radps=0.6"]
    with pytest.raises(ConfigError, match=r"at most 0\.06"):
        load_config("sim_mixed_wheels", [*settings, "drive.steps=[{for_s: 1, speed_mps: 0.08}]"])


def test_the_wheel_that_sinks_deepest_for_its_radius_is_the_one_that_is_checked():
    narrow = "wheel.of={middle: {width_m: 0.01}}"
    ok, deep = (validity_checks(Rig(load_config("sim_mixed_wheels", one)))[0] for one in ([], [narrow]))
    assert ok.ok
    assert float(deep.found.split()[0]) > 1.5 * float(ok.found.split()[0])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("wheel.of={back: {radius_m: 0.2}}", r"wheel\.of: found back; allowed: .*front, middle, rear, front_left"),
        ("wheel.of={rear: {radius_m: 0.4}}", "middle_left and rear_left .* meet"),
        ("wheel.of={rear: {grousers: 3}}", r"wheel\.of\.rear\.grousers: found 3"),
        ("wheel.of={rear: {variant: flexible, grousers: 4}}", "0 with wheel.of.rear.variant flexible"),
        (
            "wheel.of={middle: {variant: flexible, crown_radius_m: 0.3}}",
            r"wheel\.of\.middle\.crown_radius_m: found 0\.3",
        ),
        ("wheel.of={rear: {crown_radius_m: 0.05}}", "at least 0.075 m, half its width"),
        ("wheel.of={rear: {colour: 1}}", r"wheel\.of\.rear\.colour"),
    ],
)
def test_a_wheel_that_cannot_be_is_refused_by_its_key(settings, said):
    with pytest.raises(ConfigError, match=said):
        load_config("sim_mixed_wheels", [settings])


@pytest.mark.parametrize("own", ["{front_left: {radius_m: 0.2}}", "{front_right: {crown_radius_m: 0.3}}"])
def test_front_wheels_that_differ_are_refused_before_an_obstacle_only(own):
    with pytest.raises(ConfigError, match="front_left and front_right alike with experiment impact"):
        load_config("sim_impact", [f"wheel.of={own}"])
    load_config("sim_mixed_wheels", [f"wheel.of={own}"])


def test_an_imported_rover_of_two_radii_stands_on_all_its_wheels(tmp_path):
    wheel = '<cylinder radius="0.12" length="0.10"/>'
    source = Path(hil.__path__[0]).parent / "rig_configs" / "rovers" / "four_wheel_rocker.urdf"
    text = source.read_text(encoding="utf-8")
    for link in ("wheel_rl", "wheel_rr"):
        before, after = text.split(f'<link name="{link}">')
        text = f'{before}<link name="{link}">{after.replace(wheel, wheel.replace("0.12", "0.14"), 1)}'
    (tmp_path / "own.urdf").write_text(text, encoding="utf-8")
    config = load_config("sim_imported", [f"rover.imported.urdf={tmp_path}/own.urdf", "ground.kind=firm"])
    assert config.wheel_radii_m == (0.12, 0.12, 0.14, 0.14)
    rover, _, state = Rig(config).nominal.build()
    centres = rover.wheel_positions(rover.own_configuration(state.q))[:, 2]
    assert centres == pytest.approx(np.array(config.wheel_radii_m), abs=1e-3)
    assert sum(Rig(config).resting_loads_N) == pytest.approx(9.81 * rover.mass, rel=1e-3)
