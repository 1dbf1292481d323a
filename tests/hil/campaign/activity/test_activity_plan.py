"""Energy, power and battery of a plan of activities."""

import json
import math

import pytest

from hil.campaign.activity import load_activity_plan, simulate
from hil.campaign.plan import load_plan, shipped_plans
from hil.cli import run
from hil.config import ConfigError, load_config
from hil.config.rig import Rig

PLAN = """
name: short
battery: {capacity_Wh: 10, start_share: 0.5, least_share: 0.1}
always_W: 20
motor_efficiency: 0.5
activities:
  - {name: look, for_s: 360, supply_W: 30}
  - {name: go, to_m: [0.5, 0.0], speed_mps: 0.2, load_W: 5}
  - {name: wait, for_s: 180}
"""


def planned(tmp_path, text=PLAN, **replaced):
    for old, new in replaced.values():
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / "plan.yaml"
    file.write_text(text)
    return load_activity_plan(file)


@pytest.fixture(scope="module")
def rig():
    return Rig(load_config("sim_juno"))


@pytest.fixture(scope="module")
def result(rig, tmp_path_factory):
    return simulate(rig, planned(tmp_path_factory.mktemp("plan")))


def test_a_stay_draws_its_loads_and_takes_what_is_supplied(result):
    look, _, wait = result.phases
    assert (look.from_s, look.to_s, look.way_m, look.motors_J) == (0.0, 360.0, 0.0, 0.0)
    assert look.loads_J == 20 * 360
    assert look.charge == pytest.approx(0.5 + (30 - 20) * 360 / 36000)
    assert wait.loads_J == 20 * 180


def test_a_drive_draws_the_work_of_its_motors_over_their_efficiency(result):
    _, go, _ = result.phases
    assert go.problem == ""
    assert math.dist((go.x_m, go.y_m), (0.5, 0.0)) < 0.1
    assert go.way_m == pytest.approx(0.4, abs=0.03)
    assert go.motors_J == pytest.approx(go.work_J / 0.5)
    assert go.loads_J == pytest.approx(25 * (go.to_s - go.from_s))
    friction_J = 2 * 100 / 0.2794 * go.way_m  # of the gears of two motors at wheels of that radius; the soil takes more
    assert friction_J < go.work_J < 1.6 * friction_J
    assert go.peak_W > go.drawn_J / (go.to_s - go.from_s)


def test_the_battery_loses_what_the_phases_draw_and_the_rows_say_the_same(result):
    drawn = math.fsum(one.drawn_J - one.supply_J for one in result.phases)
    assert result.phases[-1].charge == pytest.approx(0.5 - drawn / 36000)
    t_s, drawn_W, supplied_W, charge = result.rows.T
    assert math.fsum((drawn_W - supplied_W)[1:] * (t_s[1:] - t_s[:-1])) == pytest.approx(drawn)
    assert charge[-1] == result.phases[-1].charge
    assert result.problems == ()


def test_a_battery_that_runs_low_makes_the_plan_not_feasible(rig, tmp_path):
    plan = planned(tmp_path, drive=("  - {name: go, to_m: [0.5, 0.0], speed_mps: 0.2, load_W: 5}\n", ""),
                   wait=("for_s: 180", "for_s: 1800"))  # fmt: skip
    result = simulate(rig, plan)
    assert result.problems == ("wait: state of charge 0.000, allowed: 0.1 and more",)
    assert result.phases[-1].charge == 0.0


def test_a_full_battery_takes_no_more(rig, tmp_path):
    plan = planned(tmp_path, drive=("  - {name: go, to_m: [0.5, 0.0], speed_mps: 0.2, load_W: 5}\n", ""),
                   look=("supply_W: 30", "supply_W: 3000"))  # fmt: skip
    assert simulate(rig, plan).phases[0].charge == 1.0


def test_a_rover_that_does_not_arrive_ends_the_plan(tmp_path):
    plan = planned(tmp_path, goal=("to_m: [0.5, 0.0]", "to_m: [0.2, 0.0]"))
    held = Rig(load_config("sim_juno", ["drives.torque_limit_Nm=100.1"]))  # hardly more than the friction of its gears
    result = simulate(held, plan)
    assert [phase.name for phase in result.phases] == ["look", "go"]
    assert result.problems[0].startswith("go: not arrived in time; at ")


def test_an_obstacle_in_the_way_is_refused():
    with pytest.raises(ConfigError, match="experiment: found impact; allowed: one without an obstacle, as drive"):
        simulate(Rig(load_config("sim_impact")), load_activity_plan("one_sol"))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("for_s: 360, ", "", "activities.0: found neither to_m nor for_s; allowed: one of to_m and for_s"),
        ("for_s: 360", "for_s: 360, to_m: [1, 1]", "activities.0: found to_m and for_s"),
        ("name: wait", "name: look", "activities.2.name: found look again; allowed: each name once"),
        ("start_share: 0.5", "start_share: 0.05", "battery.start_share: found 0.05; allowed: 0.1"),
        ("motor_efficiency: 0.5", "motor_efficiency: 0", "motor_efficiency: found 0"),
        ("always_W", "allways_W", "allways_W"),
    ],
)
def test_a_plan_that_is_wrong_is_refused_with_what_is_allowed(tmp_path, old, new, words):
    with pytest.raises(ConfigError) as refused:
        planned(tmp_path, change=(old, new))
    assert words in str(refused.value)


def test_a_shipped_plan_is_found_by_its_name_and_is_no_campaign():
    assert load_activity_plan("rig_configs/activities/one_sol.yaml").name == "one_sol"
    assert "one_sol" in shipped_plans("activities")
    with pytest.raises(ConfigError, match="a shipped plan: laboratory, thesis"):
        load_plan("one_sol")


@pytest.mark.slow
def test_the_command_writes_table_rows_and_figure(tmp_path, capsys):
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN.replace("[0.5, 0.0]", "[0.2, 0.0]"))
    assert run(["activity", "sim_juno", "--plan", str(file), "--out", str(tmp_path / "out"), "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert reported == json.loads((tmp_path / "out" / "activity.json").read_text())
    assert (reported["feasible"], [phase["name"] for phase in reported["phases"]]) == (True, ["look", "go", "wait"])
    assert (tmp_path / "out" / "activity.csv").read_text().startswith("t_s,drawn_W,supplied_W,state_of_charge\n0.0,")
    assert (tmp_path / "out" / "activity.png").stat().st_size > 10_000
