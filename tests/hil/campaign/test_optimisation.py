"""Optimisation: the best of known functions, conditions, rejected runs, and going on after an end."""

from __future__ import annotations

import json

import pytest

from hil.analysis.listed_runs import FilterError
from hil.campaign.evaluations import EVALUATIONS, StudyStoppedError
from hil.campaign.optimisation import OPTIMUM, optimisation_study, run_optimisation
from hil.campaign.sweep import UNFINISHED
from hil.config import ConfigError, load_config

from .conftest import NeverStop
from .design_runs import ANGLE, MASS, SPEED, closed_form, execution

BASE = load_config("sim_impact", {"telemetry.endpoint": ""})
OVER = {SPEED: (0.02, 0.15), ANGLE: (40.0, 90.0)}
FORCE, BOWL = "contact_force_peak_N", "impulse_Ns"


@pytest.mark.slow
def test_the_bottom_of_a_bowl_is_found_and_how_flat_it_is(pretend, here, tmp_path):
    pretend(closed_form)
    found = run_optimisation(optimisation_study(BASE, OVER, BOWL, None), execution(tmp_path, here))
    assert found["best"][SPEED] == pytest.approx(0.09, abs=1e-3)
    assert found["best"][ANGLE] == pytest.approx(75.0, abs=0.3)
    assert found["value"] == pytest.approx(1.0, abs=1e-3)
    assert found["ended"] == "converged"
    speed, _ = found["around"]
    assert speed["at_below"] == pytest.approx(1.0 + 0.065**2, abs=1e-3)  # 5 % of the range is 0.0065 m/s
    assert speed["at_above"] == pytest.approx(1.0 + 0.065**2, abs=1e-3)
    assert speed["flat"] is False
    assert found["evaluations"] <= 200 + 5 + 4
    assert json.loads((tmp_path / OPTIMUM).read_text()) == found


@pytest.mark.slow
def test_the_most_is_at_the_end_of_a_range_and_that_is_said(pretend, here, tmp_path):
    pretend(closed_form)
    found = run_optimisation(optimisation_study(BASE, {SPEED: (0.02, 0.15)}, None, FORCE), execution(tmp_path, here))
    (speed,) = found["around"]
    assert speed["best"] == pytest.approx(0.15, rel=1e-3)
    assert speed["at_end_of_range"] is (speed["best"] == 0.15)
    assert found["value"] > found["at_config"]


@pytest.mark.slow
def test_a_result_within_the_scatter_of_its_seeds_is_flat(pretend, here, tmp_path):
    pretend(lambda job: {**closed_form(job), BOWL: closed_form(job)[BOWL] + closed_form(job)["seed"]})
    found = run_optimisation(optimisation_study(BASE, OVER, BOWL, None, budget=60), execution(tmp_path, here))
    assert found["scatter"] == pytest.approx(1.5811, abs=1e-4)  # of 1, 2, 3, 4, 5
    assert [row["flat"] for row in found["around"]] == [True, True]


@pytest.mark.slow
def test_a_condition_keeps_the_best_on_its_side(pretend, here, tmp_path):
    """The most force that is at most 300 N has that force; the condition may name keys, too."""
    pretend(closed_form)
    where = f"{FORCE} <= 300 and {SPEED} > 0.05"
    over = {SPEED: (0.02, 0.15), MASS: (0.0, 100.0)}
    found = run_optimisation(optimisation_study(BASE, over, None, FORCE, where=where), execution(tmp_path, here))
    assert 295.0 < found["value"] <= 300.0
    assert found["condition_not_met"] > 0


@pytest.mark.slow
def test_rejected_and_refused_runs_are_counted_and_never_the_best(pretend, here, tmp_path):
    def make(job):
        made = closed_form(job)
        return made if made[FORCE] < 200.0 else {**made, "accepted": False, "reasons": ["too hard"]}

    pretend(make)
    study = optimisation_study(BASE, {SPEED: (0.02, 0.15)}, None, FORCE, budget=60)
    found = run_optimisation(study, execution(tmp_path, here))
    assert 180.0 < found["value"] < 200.0
    assert found["not_accepted"] == found["reasons"]["too hard"] > 0


@pytest.mark.slow
def test_without_an_accepted_run_there_is_no_best(pretend, here, tmp_path):
    pretend(lambda job: {**closed_form(job), "accepted": False, "reasons": ["veered"]})
    found = run_optimisation(optimisation_study(BASE, OVER, FORCE, None, budget=48), execution(tmp_path, here))
    assert found["best"] is None
    assert found["ended"] == "no run fulfils what is asked"
    assert found["not_accepted"] == found["evaluations"]


@pytest.mark.ci_cases("30")
@pytest.mark.slow
@pytest.mark.parametrize("runs", [1, 30, 70])
def test_one_that_was_killed_goes_on_and_leaves_the_bytes_of_one_that_ran_through(runs, pretend, here, tmp_path):
    study = optimisation_study(BASE, OVER, BOWL, None, where=f"{FORCE} < 400", budget=80)
    pretend(closed_form)
    run_optimisation(study, execution(tmp_path / "whole", here))
    stop = NeverStop()

    def make(job):
        stop.wanted = len(jobs) == runs
        return closed_form(job)

    jobs = pretend(make)
    with pytest.raises(StudyStoppedError):
        run_optimisation(study, execution(tmp_path / "parts", here, stop=stop))
    assert (tmp_path / "parts" / UNFINISHED).is_file()
    jobs = pretend(closed_form)
    found = run_optimisation(study, execution(tmp_path / "parts", here, resume=True))
    assert len(jobs) == found["evaluations"] - runs
    for name in (EVALUATIONS, OPTIMUM):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_all_that_is_wrong_is_said_at_once_before_the_first_run():
    over = {"trial.angl_deg": (40.0, 90.0), SPEED: (0.001, 0.1)}
    with pytest.raises(ConfigError) as caught:
        optimisation_study(BASE, over, FORCE, FORCE, where="peak_forces_N < 300", budget=3, repeats=0)
    said = str(caught.value)
    for part in (
        "did you mean angle_deg?",
        "trial.speed_mps: found 0.001; allowed: a number 0.005 to 2",
        "result: found both or none",
        "peak_forces_N: found no result of impact; did you mean peak_force_N",
        "evaluations: found 3; allowed: at least 48",
        "repeats: found 0",
    ):
        assert part in said
    with pytest.raises(ConfigError, match="where: found '1 \\+'"):
        optimisation_study(BASE, OVER, FORCE, None, where="1 +")


def test_a_condition_that_cannot_be_evaluated_is_said(pretend, here, tmp_path):
    pretend(closed_form)
    with pytest.raises(FilterError, match="reasons"):
        run_optimisation(optimisation_study(BASE, OVER, FORCE, None, where="reasons < 3"), execution(tmp_path, here))
