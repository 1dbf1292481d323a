"""Each program of examples/ runs and prints what its docstring says, and the index of the docs leads to it."""

from __future__ import annotations

import ast
import re
import runpy
import sys

import matplotlib.image
import pytest

from hil.app.run import run_experiment
from hil.config import load_config

# The programs: what each needs to be run, and the picture that it draws.
PROGRAMS = {
    "energy_over_angle": "energy_over_angle.png",
    "own_driver": "",
    "own_experiment": "",
    "own_rover": "",
    "pantograph_rover": "",
    "read_a_record": "forces.png",
    "run_a_trial": "",
    "sweep_angles": "",
    "wheel_curves": "wheel_curves.png",
}
SLOW = {"own_experiment", "own_rover", "pantograph_rover", "read_a_record", "run_a_trial", "sweep_angles"}
# Run elsewhere: by pytest, in tests/hil/testing; against a command socket, in tests/hil/operator; against a step
# service, in tests/hil/simulator/stepping.
RUN_OTHERWISE = {"test_relay_board", "operate_a_rig", "on_board_controller"}


@pytest.fixture
def examples(pytestconfig):
    return pytestconfig.rootpath / "examples"


def promised(path):
    """What a program prints, by its docstring: the block after "prints:"."""
    words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return "\n".join(line[4:] for line in re.search(r"prints:\n\n((?: {4}.*\n?)+)", words)[1].splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in PROGRAMS])
def test_a_program_prints_what_its_docstring_says_and_draws_its_picture(
    examples, tmp_path, monkeypatch, capsys, pytestconfig, name
):
    monkeypatch.chdir(tmp_path)
    arguments = []
    if name == "read_a_record":
        (tmp_path / "run").mkdir()
        run_experiment(
            load_config("sim_impact", ["telemetry.endpoint=''"]),
            tmp_path / "run",
            lambda _: None,
            figure=False,
            one_of_many=True,
        )
        arguments = [str(tmp_path / "run")]
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
    runpy.run_path(str(examples / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == promised(examples / f"{name}.py").splitlines()
    made = [path.name for path in tmp_path.iterdir() if path.is_file()]
    assert made == [PROGRAMS[name]] * bool(PROGRAMS[name])
    for picture in made:
        assert matplotlib.image.imread(tmp_path / picture)[..., :3].std() > 0.01, "it is empty"


def test_every_program_is_run_and_the_index_of_the_docs_leads_to_them(examples, pytestconfig):
    there = {path.stem for path in examples.glob("*.py")}
    assert there == PROGRAMS.keys() | RUN_OTHERWISE
    assert "](../examples)" in (pytestconfig.rootpath / "docs" / "index.md").read_text(encoding="utf-8")


def test_every_program_says_how_to_run_it_and_names_only_what_is_there(examples, pytestconfig):
    for path in examples.glob("*.py"):
        words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        assert f"examples/{path.name}" in words
        for named in re.findall(r"(?:docs|tests|examples)/[\w./-]+\w", words):
            assert (pytestconfig.rootpath / named).exists(), f"{path.name} names {named}"
