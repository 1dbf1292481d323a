"""Series of traction with an operator: what is asked in which order, what is repeated, kept and written."""

from __future__ import annotations

import csv
import json

import pytest

from hil.app.resident import LatchedFaults
from hil.campaign.commanded import CommandedOperator
from hil.campaign.guided import NoAnswerError, Question
from hil.campaign.traction.guided import SAID, Guide, refuse_unmeasured, run_drawbar, run_slopes
from hil.campaign.traction.series import curves, expand_drawbar, expand_slope
from hil.config import ConfigError, load_config

from .conftest import Lines, NeverStop
from .test_guided import Scripted

TWO = ["drawbar.modes=[passive]", "drawbar.slips=[0.1, 0.3]", "drawbar.weights=[]", "motion={}"]
MEASURED = {"measured": True, "slip_u95": 0.01, "pull_u95_N": 9.0, "true_slip": None, "true_pull_N": None}


def guide(folder, *answers, summary=None, climbs_up_to=20.0):
    """A guide whose runs are a stand-in's: of a drawbar at the wanted slip, of a slope by its steepness."""
    made = []

    def run(config, place):
        made.append((config, place))
        slip = config.drawbar.slip
        found = {"aborted": False, "accepted": True, "reasons": [], "slip": slip, "pull_N": 100.0, "spread": 0.1}
        climbed = {"climbed": config.ground.pitch_deg <= climbs_up_to} if config.experiment == "slope" else {}
        return {**found, **MEASURED, **climbed, **(summary or {})}

    one = Guide(Scripted(*answers), run, Lines(), NeverStop(), folder)
    return one, made


def test_each_run_is_asked_for_made_and_judged_and_one_may_be_repeated(tmp_path):
    asks, made = guide(tmp_path, "Ada", "go", "repeat", "slack", "go", "keep", "", "go", "keep", "good")
    rows = run_drawbar(expand_drawbar("sim_drawbar", TWO, None), asks)
    assert [q.key for q in asks.operator.asked] == ["name", *["ready", "verdict", "word"] * 3]
    assert [config.drawbar.slip for config, _ in made] == [0.1, 0.1, 0.3]
    first, again, last = (q.text for q in asks.operator.asked if q.key == "ready")
    assert "weight: none" in first
    assert "pull back so that the slip settles at 0.1" in first
    assert "attempt 2" in again
    assert "weight" not in last
    assert [(row["at_slip"], row["operator"], row["word"]) for row in rows] == [(0.1, "Ada", ""), (0.3, "Ada", "good")]
    assert json.loads((made[0][1] / SAID).read_text()) == {"name": "Ada", "verdict": "repeat", "word": "slack"}
    with (tmp_path / "drawbar.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert [(row["slip"], row["slip_u95"], row["pull_u95_N"], row["measured"]) for row in table] == [
        ("0.1", "0.01", "9.0", "true"), ("0.3", "0.01", "9.0", "true"),
    ]  # fmt: skip
    (curve,) = curves(rows)
    assert (curve["measured"], curve["slip_u95"], curve["pull_u95_N"]) == (True, [0.01, 0.01], [9.0, 9.0])


def test_an_operator_who_goes_leaves_a_series_that_goes_on(tmp_path):
    runs = expand_drawbar("sim_drawbar", TWO, None)
    asks, _ = guide(tmp_path, "Ada", "go", "keep", "")
    assert [row["number"] for row in run_drawbar(runs, asks)] == [1]
    asks, made = guide(tmp_path, "Bob", "go", "keep", "")
    rows = run_drawbar(runs, asks, resume=True)
    assert [(row["number"], row["operator"]) for row in rows] == [(1, "Ada"), (2, "Bob")]
    assert [config.drawbar.slip for config, _ in made] == [0.3]


def test_the_bed_is_tilted_as_it_was_measured_until_the_slope_is_known(tmp_path):
    answers = ["Ada"]
    for measured in ("", "28", "17.0", "steep", "22.5", "19.4", "21", "20.2"):
        answers += [measured] if measured == "steep" else [measured or "5", "go", "keep", ""]
    base = expand_slope("sim_slope", ["slope.modes=[passive]", "slope.resolution_deg=1", "motion={}"], None)
    asks, made = guide(tmp_path, *answers)
    (search,) = run_slopes(base, asks)
    assert [one["slope_deg"] for one in search.tried] == [5.0, 28.0, 17.0, 22.5, 19.4, 21.0, 20.2]
    assert [config.ground.pitch_deg for config, _ in made] == [one["slope_deg"] for one in search.tried]
    assert (search.low_deg, search.high_deg) == (19.4, 20.2)
    assert any("found 'steep'" in line for line in asks.report.lines)
    assert search.tried[0]["measured"] is True


@pytest.mark.parametrize("name", ["drawbar", "slope"])
def test_a_real_rig_without_its_instruments_is_refused_with_the_keys_to_set(name):
    base = load_config("sim_drawbar", [f"experiment={name}", f"{name}.modes=[passive]", "loads=null"])
    with pytest.raises(ConfigError) as refused:
        refuse_unmeasured(base, name)
    assert "motion: found none" in str(refused.value)
    assert ("loads.load_cell" in str(refused.value)) == (name == "drawbar")
    refuse_unmeasured(load_config("sim_drawbar", ["motion={}"]), name)


def test_commands_answer_what_they_can_and_the_proposed_slope_holds():
    operator = CommandedOperator(None, "Ada", LatchedFaults())
    assert operator.ask(Question("name", "Name")) == "Ada"
    assert operator.ask(Question("slope", "Measured slope", (), "16.50")) == "16.50"


def test_stop_instead_of_ready_ends_the_series(tmp_path):
    asks, made = guide(tmp_path, "Ada", "stop")
    assert run_drawbar(expand_drawbar("sim_drawbar", TWO, None), asks) == []
    assert made == []
    assert asks.stop.wanted
    with pytest.raises(NoAnswerError):
        guide(tmp_path)[0].begin()
