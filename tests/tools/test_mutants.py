"""What breaks the code for `make mutants` and `make limits`: mutations, the table of limits, and runs in a copy."""

from __future__ import annotations

import importlib
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = '''
"""Text of 1.5 and 3."""
LIMIT = 2.0
OTHER: tuple[int, ...] = ()


def within(value: float, low: float = -LIMIT) -> bool:
    if not low <= value:
        raise ValueError(f"{value + 1}")
    record(value)
    return value < LIMIT and ready
'''
CHANGES = [
    "2.0 -> 2.6", "2.0 -> 1.53846", "-LIMIT -> LIMIT", "not low <= value -> low <= value",
    "low <= value -> low < value", "low <= value -> low > value",
    'raise ValueError(f"{value + 1}") -> pass', "record(value) -> pass",
    "value < LIMIT and ready -> value < LIMIT or ready", "value < LIMIT -> value <= LIMIT",
    "value < LIMIT -> value >= LIMIT",
]  # fmt: skip


@pytest.fixture
def tools(monkeypatch, root: Path):
    """Modules of tools, by name."""
    monkeypatch.syspath_prepend(root / "tools")
    return importlib.import_module


def test_a_comparison_is_broken_at_its_limit_and_turned_round_and_a_number_is_widened_and_narrowed(tools):
    found = tools("mutations").mutations_of(SOURCE)
    assert [f"{one.old} -> {one.new}" for one in found] == CHANGES
    for one in found:
        compile(one.source, "changed", "exec")
        assert one.source.count("\n") == SOURCE.count("\n")
        assert one.source.splitlines()[one.line - 1] != SOURCE.splitlines()[one.line - 1]


@pytest.mark.slow
def test_every_limit_of_the_table_is_there_once_and_stays_code_when_it_is_broken(tools, root: Path):
    for one in tools("mutants").broken_limits():
        compile(one.change.source, one.file, "exec")
        assert one.change.source != (root / one.file).read_text(), f"{one.file}: {one.limit}, {one.how}"
        assert all((root / test).is_file() for test in one.change.tests)


@pytest.mark.slow
def test_the_page_has_every_broken_limit_and_the_tests_that_it_names_are_there(tools, root: Path):
    mutants = tools("mutants")
    noticed = mutants._noticed(mutants.PAGE.read_text())
    assert set(noticed) == {(one.limit, one.how) for one in mutants.broken_limits()}
    tests: dict[str, str] = {}
    for path in (root / "tests").rglob("test_*.py"):
        tests[path.name] = tests.get(path.name, "") + path.read_text()
    named = re.findall(r"`(test_\w+\.py)::(\w+)`", "\n".join(noticed.values()))
    assert len(named) > len(noticed) / 2
    assert not [(file, test) for file, test in named if f"def {test}(" not in tests.get(file, "")]


def test_a_file_is_tested_first_by_the_tests_that_name_it(tools):
    first, *_, last = tools("mutation_runs").tests_near("hil/safety/limiter.py")
    assert (first, last) == ("tests/hil/safety/test_limiter.py", "tests/hil/runtime/test_loop_alarms.py")


@pytest.fixture
def small_tree(tools, tmp_path: Path, monkeypatch) -> ModuleType:
    """The runner, on a tree of one module and its test."""
    (tmp_path / "speed.py").write_text("def allowed(v):\n    return v <= 2\n")
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\nmarkers = ["slow", "soak", "hardware"]\n')
    (tmp_path / "test_speed.py").write_text(
        "from speed import allowed\n\ndef test_two_is_the_limit():\n    assert allowed(2) and not allowed(2.1)\n"
    )
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text("build/\n__pycache__/\n")
    runs = tools("mutation_runs")
    monkeypatch.setattr(runs, "ROOT", tmp_path)
    return runs


@pytest.mark.slow
def test_a_change_runs_in_a_copy_and_is_noticed_by_the_test_that_fails(small_tree, tmp_path: Path):
    before = (tmp_path / "speed.py").read_text()
    sources = [before.replace("<= 2", "< 2"), before.replace("<= 2", "<= 2.05"), before.replace("v <= 2", "1 / 0")]
    changes = [small_tree.Change("speed.py", source, ("test_speed.py",)) for source in sources]
    noticed = [outcome.noticed_by for outcome in small_tree.run_all(changes, 1)]
    assert noticed == ["test_speed.py::test_two_is_the_limit", "", "test_speed.py::test_two_is_the_limit"]
    assert (tmp_path / "speed.py").read_text() == before
    assert (tmp_path / "build/mutants/0/speed.py").read_text() == before


@pytest.mark.slow
def test_a_tree_whose_own_tests_fail_is_refused(small_tree, tmp_path: Path):
    (tmp_path / "speed.py").write_text("def allowed(v):\n    return True\n")
    with pytest.raises(RuntimeError, match="test_two_is_the_limit fails in the unchanged tree"):
        small_tree.run_all([small_tree.Change("speed.py", "", ("test_speed.py",))], 1)
