"""A campaign at the protocol level: the rig is opened for each trial, and a trial whose link is lost is repeated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hil.analysis.campaign import read_campaign
from hil.app.faults.virtual_run import VirtualRun
from hil.campaign.guided import Question, run_guided
from hil.campaign.plan import campaign_seed, expand, load_plan
from hil.campaign.run import CampaignOrder, CampaignStop
from hil.config import load_config
from hil.config.rig import Rig
from hil.recording.run_folder import run_folder

from .conftest import MOMENT_S, SETTINGS

PLAN = "name: one\nangles_deg: [60]\norder: listed\nset: {trial.start_distance_m: 0.02}\n"


class Attending:
    """Takes every proposal, and notes what was asked."""

    def __init__(self) -> None:
        self.asked: list[Question] = []

    def ask(self, question: Question) -> str:
        self.asked.append(question)
        return question.default or "Ann"


class Silent:
    """Nobody reads how it goes."""

    def text(self, line: str) -> None: ...

    def done(self, count: int, total: int) -> None: ...


@pytest.mark.slow
def test_a_trial_whose_drives_are_lost_is_repeated_on_a_rig_that_is_opened_anew(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(PLAN, encoding="utf-8")
    plan, base = load_plan(str(tmp_path / "one.yaml")), load_config("sim_wire", SETTINGS)
    wanted = CampaignOrder(plan, base, expand(plan, "sim_wire", SETTINGS, None), campaign_seed(plan, base.seed, None))
    runs: list[VirtualRun] = []

    def run(config, place):
        scratch = tmp_path / f"rig_{len(runs)}"
        scratch.mkdir()
        runs.append(one := VirtualRun(Rig(config), place, scratch))
        if len(runs) == 1 and one.until(MOMENT_S):
            one.simulated_rig.ask("inject_fault", device="roboclaw", kind="off")
        one.finish()
        one.close()
        return json.loads((place / "summary.json").read_text(encoding="utf-8"))

    operator, folder = Attending(), run_folder(tmp_path / "campaign", "sim_wire", "one")
    run_guided(wanted, folder, operator, run, Silent(), CampaignStop(Silent()))
    keys = [question.key for question in operator.asked]
    assert keys == ["name", *2 * ("ready", "verdict", "word")]
    found = read_campaign(folder)
    assert not found.wrong
    assert [(row["attempt"], row["status"], row["operator_verdict"]) for row in found.rows] == [
        (1, "faulted", "repeat"),
        (2, "kept", "keep"),
    ]
