"""Wheel loads shared by cylinders over dry sand: the runs that the config is made for."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from hil.analysis.recompute import recompute
from hil.analysis.replay import replay
from hil.app.run import run, run_experiment
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.loads import LoadMode
from hil.messages.operator_input import OperatorQueue, SetLoads
from hil.recording import read_trial
from hil.simulator.simulated_rig import build_plant
from models.statics import spread_of

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

QUIET = ("telemetry.endpoint=''",)
TWO = "cylinders.joints=[left_bogie, right_bogie]"
SHORT = "normal_force.steps=[{for_s: 4, mode: passive}, {for_s: 5, mode: uniform}]"


@pytest.fixture(scope="module")
def three():
    return run(load_config("sim_normal_force", [*QUIET, SHORT]))


@pytest.fixture(scope="module")
def two():
    return run(load_config("sim_normal_force", [*QUIET, SHORT, TWO]))


def test_three_cylinders_reach_their_best_within_three_seconds_by_twin_and_pressures_alone(three):
    found = three.summary["normal_force"]
    assert three.summary["accepted"], three.summary["reasons"]
    assert found["spread_before"] > 0.5
    assert abs(found["spread_after"] - found["spread_best"]) <= 0.03
    assert found["settle_s"] <= 3.0
    assert found["limits_met"]


def test_two_cylinders_reach_their_own_best_which_is_worse(two, three):
    found, other = two.summary["normal_force"], three.summary["normal_force"]
    assert abs(found["spread_after"] - found["spread_best"]) <= 0.03
    assert found["settle_s"] <= 3.0
    assert found["spread_best"] - other["spread_best"] > 0.05
    assert two.summary["load_steps"][1]["limits"][:2] == ["equilibrium", "cylinders"]


def test_the_best_is_what_a_search_over_constant_torques_on_the_plant_itself_finds(three):
    """No statics: a plant without friction drives with torques on its joints, improved by finite differences."""
    config = load_config("sim_normal_force", [*QUIET, SHORT, "cylinders.friction={static_N: 0, coulomb_N: 0}"])
    plant = build_plant(Rig(config))
    names = plant.rover.tree_joint_names
    place = [6 + names.index(joint) for joint in config.layout.joints]
    limit_Nm = 207e3 * np.pi / 4.0 * 0.0381**2 * 0.25

    def loads(torque):
        one = build_plant(Rig(config))
        one._state.torque[place] = torque
        one.set_drives((config.normal_force.speed_mps / config.wheel_radius_m,) * 6, False)
        for tick in range(1, 61):
            one.advance(tick * 100_000_000)
        return one.loads[-20:, 1:7].mean(axis=0)

    torque = np.array([50.0, 50.0, -35.0])
    base = loads(torque)
    slope = np.column_stack([(loads(torque + 8.0 * axis) - base) / 8.0 for axis in np.eye(3)])
    for _ in range(2):
        found = lsq_linear(slope, base.mean() - base + slope @ torque, bounds=(-limit_Nm, limit_Nm))
        torque = found.x
        base = loads(torque)
    assert three.summary["normal_force"]["spread_best"] == pytest.approx(float(spread_of(base)), abs=0.015)


def test_no_tick_steps_a_torque(three):
    """60 N m/s in the controller; the lines of 0.03 s that vent at the end of the run are no change of mode."""
    driving = three.ticks[three.ticks["state"] == 2]
    assert np.abs(np.diff(driving["cylinder_torque_Nm"], axis=0)).max() < 0.5


def test_the_loads_of_all_who_know_them_are_in_the_summary(three):
    after = three.summary["load_steps"][1]
    assert set(after["spread_by"]) == {"ground_truth", "twin"}
    assert max(three.summary["load_error_N"]["twin"]) < 15.0
    assert three.summary["loads_from"] == "ground_truth"


def test_on_off_valves_with_the_lines_as_they_are_reach_the_best_within_three_seconds():
    summary = run(load_config("sim_normal_force", [*QUIET, SHORT, "cylinders.regulators=none"])).summary
    found = summary["normal_force"]
    assert summary["accepted"], summary["reasons"]
    assert abs(found["spread_after"] - found["spread_best"]) <= 0.03
    assert found["settle_s"] <= 3.0
    assert found["switchings_per_s"] < 5.0


@pytest.mark.ci_cases("rear_left")
@pytest.mark.parametrize("wheel", ["rear_left", "rear_right"])
def test_a_wheel_made_light_stays_within_the_limit_that_it_is_aimed_at(wheel):
    """Twin and plant differ by 5 % in mass and 10 % in soil; the cylinders' friction is another 8 N."""
    steps = f"normal_force.steps=[{{for_s: 1, mode: passive}}, {{for_s: 5, mode: unload, wheel: {wheel}}}]"
    summary = run(load_config("sim_normal_force", [*QUIET, steps])).summary
    assert summary["accepted"], summary["reasons"]
    assert min(summary["load_steps"][1]["load_N"]) < 45.0
    assert "least_load" in summary["load_steps"][1]["limits"]


EXACT = (
    *QUIET, "plant.spread.mass=0", "plant.spread.soil=0", "plant.noise.pressure_kPa=0", "plant.noise.speed_radps=0",
    "cylinders.friction={static_N: 0, coulomb_N: 0}",
)  # fmt: skip


@pytest.mark.ci_cases("three")
@pytest.mark.parametrize(
    ("joints", "best"),
    [(("left_bogie", "right_bogie", "rear_bogie"), 0.146), (("rear_bogie",), 0.630)],
    ids=["three", "rear bogie"],
)
def test_the_controller_goes_to_the_best_spread_where_twin_and_plant_are_equal(joints, best):
    """Tractions follow the loads: taken as constant, three end at 0.150, and the rear bogie at 0.647 with 2 N m."""
    config = load_config("sim_normal_force", [*EXACT, SHORT, f"cylinders.joints=[{', '.join(joints)}]"])
    passive, uniform = run(config).summary["load_steps"]
    assert uniform["spread"] == pytest.approx(uniform["spread_best"], abs=0.002)
    assert uniform["spread_best"] == pytest.approx(best, abs=0.002)
    assert passive["spread_best"] == pytest.approx(best, abs=0.003)  # and not that of the tractions of the moment
    if len(joints) == 1:
        assert uniform["torque_Nm"] == pytest.approx([-59.0], abs=0.1)


def test_max_traction_finds_less_slip_than_uniform_and_stays_there():
    steps = "normal_force.steps=[{{for_s: 0.5, mode: passive}}, {{for_s: 3.5, mode: {}}}]"
    slips, changes, torques = {}, {}, {}
    for mode in ("uniform", "max_traction"):
        result = run(load_config("sim_normal_force", [*EXACT, steps.format(mode)]))
        driving = result.ticks[result.ticks["state"] == 2]
        slips[mode] = driving["slip"][-1000:].mean()
        settled = driving[driving["load_mode"] != LoadMode.PASSIVE][2000:]
        changes[mode] = np.abs(np.diff(settled["load_wanted_N"], axis=0)).max()
        torques[mode] = result.summary["load_steps"][1]["torque_Nm"]
    assert slips["max_traction"] < slips["uniform"] - 3e-4
    assert max(changes.values()) < 1.0
    assert torques["max_traction"] == pytest.approx([59.0, 59.0, -9.0], abs=3.0)


SLOW_VALVES = ("cylinders.model=compressible", "cylinders.valve.on_ms=20", "cylinders.valve.off_ms=20")


@pytest.mark.parametrize(
    "rig",
    [
        ("each",),
        pytest.param(("none",), marks=pytest.mark.slow),
        pytest.param(("none", *SLOW_VALVES), marks=pytest.mark.slow),
    ],
    ids=["each", "none", "slow valves"],
)
def test_a_step_of_a_fifth_of_a_share_settles_in_two_seconds_without_much_overshoot(rig):
    """All change the share of middle_right."""
    even, more = "[0.1667, 0.1667, 0.1667, 0.1667, 0.1666, 0.1666]", "[0.16, 0.16, 0.16, 0.2, 0.16, 0.16]"
    less = "[0.1734, 0.1733, 0.1733, 0.1334, 0.1733, 0.1733]"
    shares = ", ".join(f"{{for_s: 3.5, mode: share, share: {share}}}" for share in (even, more, less))
    regulators, *valves = rig
    given = ("rover.drawbar.pull_N=200", f"cylinders.regulators={regulators}", *valves)
    config = load_config("sim_normal_force", [*QUIET, f"normal_force.steps=[{shares}]", *given])
    summary = run(config).summary
    up, down = summary["load_steps"][1:]
    for step in (up, down):
        assert step["settle_s"] <= 2.0
        assert step["overshoot"] < 0.15
    assert up["load_N"][3] / down["load_N"][3] > 1.3
    assert summary["normal_force"]["switchings_per_s"] < 5.0


def test_an_operator_changes_the_goal_and_the_run_is_replayed_bit_for_bit(tmp_path, monkeypatch):
    steps = "normal_force.steps=[{for_s: 0.5, mode: passive}, {for_s: 1.2, mode: uniform}]"
    config, asked = load_config("sim_normal_force", [*QUIET, steps]), SetLoads("hold")
    tick = count()
    with monkeypatch.context() as patch:
        patch.setattr(OperatorQueue, "read", lambda _: (asked,) if next(tick) == 1200 else ())
        outcome = run_experiment(config, tmp_path, progress=lambda _: None)
    assert outcome.exit_code == 0
    assert [step["mode"] for step in outcome.summary["load_steps"]] == ["passive", "uniform", "hold"]
    assert (tmp_path / "normal_force.png").stat().st_size > 10_000
    record = read_trial(tmp_path, trusted=True)
    assert (record.tick["load_mode"][[900, 1300]] == [LoadMode.UNIFORM, LoadMode.HOLD]).all()
    assert replay(tmp_path).differences == []
    assert recompute(record, Rig(config), outcome.summary).summary["load_steps"] == outcome.summary["load_steps"]


@pytest.mark.soak
def test_an_operator_who_wants_most_traction_on_firm_ground_changes_nothing(monkeypatch):
    steps = "normal_force.steps=[{for_s: 0.5, mode: passive}, {for_s: 1, mode: uniform}]"
    config = load_config("sim_normal_force", [*QUIET, steps, "ground.kind=firm", "rover.drawbar.pull_N=200"])
    tick, asked = count(), SetLoads("max_traction")
    with monkeypatch.context() as patch:
        patch.setattr(OperatorQueue, "read", lambda _: (asked,) if next(tick) == 1200 else ())
        outcome = run(config)
    assert not outcome.summary["aborted"], outcome.summary["reasons"]
    assert [step["mode"] for step in outcome.summary["load_steps"]] == ["passive", "uniform"]
    assert (outcome.ticks["load_mode"][[900, 1300]] == LoadMode.UNIFORM).all()
