"""Which plans are offered to operators, and that a choice which fails leaves the one before it."""

from __future__ import annotations

import pytest

from hil.campaign.plan import shipped_plans
from hil.campaign.run import PlanChoice, plans_for
from hil.config import ConfigError, Problem


def test_plans_beside_the_config_and_in_its_folder_plans_are_offered_and_the_shipped_ones(tmp_path):
    (tmp_path / "plans").mkdir()
    for name, text in (
        ("rig.yaml", "name: rig\nrig: simulated\n"), ("mine.yaml", "name: mine\nangles_deg: [60]\n"),
        ("plans/ours.yaml", "name: ours\nangles_deg: [5]\n"), ("torn.yaml", "angles_deg: ["), ("list.yaml", "[1]"),
        ("big.yaml", "angles_deg: [60]\n#" + "x" * 2**19), ("notes.txt", "angles_deg: [60]"),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "not_there")
    offered = plans_for(str(tmp_path / "rig.yaml"))
    assert [*offered] == ["mine.yaml", "plans/ours.yaml", *shipped_plans()]
    assert offered["plans/ours.yaml"] == str(tmp_path / "plans" / "ours.yaml")


def test_for_a_shipped_config_the_shipped_plans_are_offered():
    assert plans_for("sim_impact") == {name: name for name in shipped_plans()}


def test_a_choice_that_fails_leaves_the_plan_before_it_and_another_config_makes_that_again(wanted):
    made = []

    def make(source, overrides, seed):
        made.append((source, list(overrides), seed))
        if source == "bad":
            raise ConfigError("bad", [Problem("angles_deg", "5", "10 to 90")], "plan")
        return wanted("name: one\nangles_deg: [60]\n")

    plans = PlanChoice(make, {"good": "good", "bad": "bad"})
    plans.prepare(["trial.speed_mps=0.05"], 3)
    assert (made, plans.wanted, plans.shown()) == ([], None, None)
    plans.choose("good", [], None)
    with pytest.raises(ConfigError):
        plans.choose("bad", [], None)
    assert plans.shown()["choice"] == "good"
    plans.prepare(["trial.speed_mps=0.05"], 3)
    assert made[-1] == (plans.wanted.plan, ["trial.speed_mps=0.05"], 3)
