"""A version names the commit that runs, and says whether the tree was changed since."""

import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

import hil
from hil import version as of

PROJECT = '[project]\nversion = "1.2.3"\n'


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
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    _git(tmp_path, "init", "--quiet")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "--quiet", "--message", "first")
    monkeypatch.setattr(of, "_ROOT", tmp_path)
    return tmp_path


def test_a_checkout_appends_its_commit_whatever_its_tags(checkout: Path) -> None:
    commit = _git(checkout, "rev-parse", "--short=9", "HEAD")
    _git(checkout, "tag", "v2.3.4")
    assert hil.__version__ == f"1.2.3+g{commit}"


def test_a_changed_tree_is_marked_and_a_new_file_is_no_change(checkout: Path) -> None:
    (checkout / "mine.yaml").write_text("a config of a user")
    assert not hil.__version__.endswith(".changed")
    (checkout / "pyproject.toml").write_text(f"{PROJECT}# changed")
    assert not hil.__version__.endswith(".changed")  # once a process: what it imported is of that time
    of.running_version.cache_clear()
    assert hil.__version__.endswith(".changed")


def test_without_git_the_commit_is_unknown_and_nothing_fails(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(checkout / "empty"))
    assert hil.__version__ == "1.2.3+unknown"


def test_outside_a_checkout_the_version_is_that_of_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of, "_ROOT", tmp_path)
    assert hil.__version__ == metadata.version("rover-hil")


def test_a_file_that_is_changed_between_two_processes_makes_no_other_commit() -> None:
    assert of.same_commit("0.1.0+gabc", "0.1.0+gabc.changed")
    assert not of.same_commit("0.1.0+gabc", "0.1.0+gabd")


def test_to_import_hil_asks_nobody_for_the_version() -> None:
    code = (
        "import hil, sys; heavy = {'subprocess', 'importlib.metadata', 'hil.version'} & set(sys.modules); "
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=of._ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
