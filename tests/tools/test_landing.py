"""`make test-landing`: which of the slow tests a landing runs."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.fixture
def conftest(pytestconfig):
    return pytestconfig.pluginmanager.get_plugin(str(TESTS / "conftest.py"))


def test_each_module_is_run_by_one_landing_in_six_and_those_of_stops_by_all(conftest):
    always = 0
    for module in TESTS.rglob("test_*.py"):
        shares = sum(conftest.of_landing(module, commit) for commit in range(conftest.SHARES))
        stops = module.relative_to(TESTS).as_posix() in conftest.ALWAYS
        assert shares == (conftest.SHARES if stops else 1), module
        always += stops
    assert always == len(conftest.ALWAYS)


@pytest.mark.slow
def test_a_landing_runs_all_quick_tests_and_slow_ones_of_its_own_modules(conftest):
    folder, share = TESTS / "hil" / "safety", 3

    def collected(*options: str) -> set[str]:
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", *options, str(folder)]
        done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=True)
        return {line for line in done.stdout.splitlines() if "::" in line}

    every, quick = collected(), collected("-m", "not slow and not soak and not hardware")
    of_share = {test for test in every if conftest.of_landing(TESTS.parent / test.partition("::")[0], share)}
    assert quick < collected("--landing", f"abc{share}") == quick | of_share
    assert quick | of_share < every
