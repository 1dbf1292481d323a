"""A version names the commit that runs, and says whether the tree was changed since."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hil
from hil import version as of


@pytest.fixture(autouse=True)
def _asked_again() -> Iterator[None]:
    of.running_version.cache_clear()
    yield
    of.running_version.cache_clear()


def _git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of one commit, which this program takes for its own."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "pyproject.toml").write_text("")
    _git(tmp_path, "init", "--quiet")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "--quiet", "--message", "first")
    monkeypatch.setattr(of, "_ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("described", "version"),
    [
        ("v0.1.0-0-g1a2b3c4d5", "0.1.0"),
        ("v0.1.0-0-g1a2b3c4d5-changed", "0.1.1.dev0+g1a2b3c4d5.changed"),
        ("v0.1.9-12-g1a2b3c4d5", "0.1.10.dev12+g1a2b3c4d5"),
        ("v1.2-3-g1a2b3c4d5-changed", "1.3.dev3+g1a2b3c4d5.changed"),
        ("1a2b3c4d5", "0.0+g1a2b3c4d5"),
        ("1a2b3c4d5-changed", "0.0+g1a2b3c4d5.changed"),
    ],
)
def test_what_git_says_of_a_commit_is_its_version(described: str, version: str) -> None:
    assert of.of_commit(described) == version


def test_a_checkout_names_its_commit_and_then_its_release(checkout: Path) -> None:
    commit = _git(checkout, "rev-parse", "--short=9", "HEAD")
    assert hil.__version__ == f"0.0+g{commit}"
    of.running_version.cache_clear()
    _git(checkout, "tag", "experiment-1")  # no release
    assert hil.__version__ == f"0.0+g{commit}"
    of.running_version.cache_clear()
    _git(checkout, "tag", "v2.3.4")
    assert hil.__version__ == "2.3.4"


def test_a_changed_tree_is_marked_and_a_new_file_is_no_change(checkout: Path) -> None:
    (checkout / "mine.yaml").write_text("a config of a user")
    assert not hil.__version__.endswith(".changed")
    (checkout / "pyproject.toml").write_text("changed")
    assert not hil.__version__.endswith(".changed")  # once a process: what it imported is of that time
    of.running_version.cache_clear()
    assert hil.__version__.endswith(".changed")


def test_without_git_the_commit_is_unknown_and_nothing_fails(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(checkout / "empty"))
    assert hil.__version__ == f"{of.installed_version().partition('+')[0]}+unknown"


def test_outside_a_checkout_the_version_is_that_of_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of, "_ROOT", tmp_path)
    assert hil.__version__ == of.installed_version()


def test_a_file_that_is_changed_between_two_processes_makes_no_other_commit() -> None:
    assert of.same_commit("0.1.1.dev2+gabc", "0.1.1.dev2+gabc.changed")
    assert not of.same_commit("0.1.1.dev2+gabc", "0.1.1.dev3+gabd")


def test_to_import_hil_asks_nobody_for_the_version() -> None:
    code = (
        "import hil, sys; heavy = {'subprocess', 'importlib.metadata', 'hil.version'} & set(sys.modules); "
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=of._ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
