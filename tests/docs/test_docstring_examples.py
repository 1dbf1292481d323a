"""Examples in docstrings are run: what users and authors of plug-ins meet shows what comes out of it."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

from hil.app.run import run_experiment
from hil.config import load_config

ROOT = Path(__file__).parents[2]
FILES = [path.relative_to(ROOT) for package in ("drivers", "hil", "models") for path in (ROOT / package).rglob("*.py")]
MODULES = sorted(
    ".".join(path.with_suffix("").parts) for path in FILES if ">>> " in (ROOT / path).read_text(encoding="utf-8")
)


def examples_of(module, **options):
    """The examples of a module, by docstring, and the runner that has run them."""
    found = doctest.DocTestFinder().find(importlib.import_module(module))
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, **options)
    return [test for test in found if test.examples], runner


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A folder with the run `runs/jog`, which some examples read."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "runs" / "jog").mkdir(parents=True)
    config = load_config("sim_impact", ["telemetry.endpoint=''", "experiment=jog", "jog.seconds=0.3"])
    run_experiment(config, folder / "runs" / "jog", lambda _: None, figure=False, one_of_many=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_say_what_comes_out(module, runs, monkeypatch, capsys):
    monkeypatch.chdir(runs)
    tests, runner = examples_of(module, verbose=False)
    assert tests
    for test in tests:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0, capsys.readouterr().out


def test_an_example_that_says_something_else_is_noticed(capsys):
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 1


def test_what_users_and_authors_of_plug_ins_meet_has_examples():
    assert sum(len(examples_of(module)[0]) for module in MODULES) >= 25
