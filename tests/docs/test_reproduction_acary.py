"""The pages of nonsmooth contact say what their scripts compute: Acary's rover, and our solver beside Siconos."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("reproducing")  # `siconos` is ours here


@pytest.mark.soak
def test_exomars_on_the_slope_and_at_the_step_comes_to_what_its_page_says(capsys):
    from acary import main

    assert main(["--check"]) == 0, capsys.readouterr().out


def test_short_phases_of_the_slope_roll_back_and_stop_as_the_closed_forms_say(monkeypatch):
    import acary_runs

    monkeypatch.setattr(acary_runs, "TIMES", (0.0, 0.4, 0.8, 1.2, 1.6, 2.0, 2.4))
    ran = acary_runs.slope()
    assert ran.unsolved == 0
    assert ran.at[0] == pytest.approx(ran.at[1], rel=1e-6)
    assert abs(ran.at[2]) < 1e-6
    pull, (mass, turning) = 9.81 * 0.02, acary_runs.masses()
    assert ran.at[0] == pytest.approx(-pull * mass / (mass + turning) * 0.4, rel=1e-3)


@pytest.mark.slow
def test_what_the_page_says_of_siconos_holds_where_it_is_installed(capsys):
    """Its parts are small; without Siconos it is skipped, which the script says."""
    from siconos import main, missing

    if reason := missing():
        assert main(["--check"]) == 0
        assert reason in capsys.readouterr().out
        pytest.skip(reason)
    assert main(["--check"]) == 0, capsys.readouterr().out


def test_the_page_of_siconos_has_its_tables_and_no_empty_place(pages):
    from siconos import CONTACTS, GLOBAL, GROUNDS, ROVER, SOLVERS

    text = pages["docs/reproduce/siconos.md"]
    assert "{" not in text
    solvers = ["ours", *SOLVERS, *GLOBAL]
    sets = [*(f"{count} contacts" for count in CONTACTS), ROVER, f"{ROVER}, from zero"]
    bodies = [f"{count} feet, {ground}" for ground in GROUNDS for count in CONTACTS]
    for of, shown in [*((of, solvers) for of in sets), *((of, solvers[:3]) for of in bodies)]:
        found = [line.split(" | ")[1] for line in text.splitlines() if line.startswith(f"| {of} | ")]
        assert found[: len(shown)] == shown


def test_a_solver_that_leaves_a_problem_or_finds_other_velocities_is_noticed():
    from siconos import Compared, Motion, Row, wrong

    good = Row("ours", 1.0, 1.0, 0, 1e-10, 10)
    moved = [[Motion("body", by, 1.0, 1.0, 0, (0.0, 0.0, 0.0)) for by in ("ours", "NSGS", "NSN_AC")]]
    assert wrong([Compared("some", [good, good, good], 0, 10, 10)], moved) == []
    left = Compared("some", [good._replace(unsolved=1), good, good], 0, 10, 10)
    assert wrong([left], moved) == ["some: ours has 1 unsolved"]
    assert len(wrong([Compared("some", [good, good, good], 0, 5, 10)], moved)) == 1
    apart = [[moved[0][0], moved[0][1]._replace(apart=(1e-3, 0.0, 0.0)), moved[0][2]]]
    assert len(wrong([], apart)) == 1


def test_the_residual_of_the_script_is_that_of_our_solver():
    import numpy as np
    from cone_problems import random_problem, residual

    from models.contact.cones import make_cones, prepare, residual_of

    rng = np.random.default_rng(0)
    for _ in range(20):
        problem, impulse = random_problem(6, rng), rng.normal(size=18)
        cones = make_cones(6, 6)
        cones.half[:], cones.target[:], cones.friction[:] = problem.half, problem.target, problem.friction
        cones.impulse[:] = impulse
        prepare(cones, 6)
        assert residual(problem, impulse) == pytest.approx(residual_of(cones, 6), rel=1e-12)
