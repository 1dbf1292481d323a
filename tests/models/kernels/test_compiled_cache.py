"""The cache of compiled kernels: it follows an edited callee, and its folder is the one that the user sets."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import models
from models.kernels import compiled

pytestmark = pytest.mark.slow
SOURCE = Path(models.__file__).resolve().parent
# A package `models` of two kernels in two files, with our own `models/kernels`; `caller` is what a process calls.
CALLEE = """
from models.kernels.compiled import kernel

@kernel
def pull(slip):
    return 10.0 * slip
"""
CALLER = """
from models.callee import pull
from models.kernels.compiled import kernel

@kernel
def torque(slip):
    return 0.25 * pull(slip)
"""
PROGRAM = "from models.caller import torque; print(torque(0.3))"
# What is compiled, and the torque.
COMPILED = "from models.kernels.compiled import on_compiling; on_compiling(print); " + PROGRAM
BOTH_FORMS = """
from models.caller import pull, torque
print(torque(0.3), pull(0.3), len(pull.overloads), len(pull.inlined.overloads))
"""
SETTINGS = ("ROVER_HIL_CACHE", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")


def torque_in_a_new_process(folder: Path, cache: Path) -> float:
    return float(in_a_new_process(PROGRAM, folder, cache))


def in_a_new_process(program: str, folder: Path, cache: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    environment |= {"PYTHONPATH": str(folder), "ROVER_HIL_CACHE": str(cache), "HOME": str(folder)}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=folder,
        env=environment,
        check=True,
        text=True,
        capture_output=True,
    )
    return run.stdout


@pytest.fixture
def package(tmp_path: Path) -> Path:
    package = tmp_path / "models"
    package.mkdir()
    (package / "kernels").mkdir()
    shutil.copy(SOURCE / "kernels" / "compiled.py", package / "kernels")
    for folder in (package, package / "kernels"):
        (folder / "__init__.py").touch()
    (package / "caller.py").write_text(CALLER)
    (package / "callee.py").write_text(CALLEE)
    return package


def test_cache_is_used_again_and_follows_an_edited_callee_in_another_file(package: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = torque_in_a_new_process(tmp_path, cache)
    stored = {path: path.stat().st_mtime_ns for path in cache.rglob("*.nbc")}
    assert stored
    assert torque_in_a_new_process(tmp_path, cache) == first
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*.nbc")} == stored

    (package / "callee.py").write_text(CALLEE.replace("10.0", "5.0"))
    assert torque_in_a_new_process(tmp_path, cache) == 0.5 * first


def test_a_further_clone_of_the_same_source_compiles_nothing(package: Path, tmp_path: Path) -> None:
    cache, clone = tmp_path / "cache", tmp_path / "clone"
    first = in_a_new_process(COMPILED, tmp_path, cache)
    assert first.split() == ["torque", "pull", "0.75"]
    shutil.copytree(package, clone / "models", ignore=shutil.ignore_patterns("__pycache__"))
    assert in_a_new_process(COMPILED, clone, cache) == "0.75\n"
    (clone / "models" / "callee.py").write_text(CALLEE.replace("10.0", "5.0"))
    assert in_a_new_process(COMPILED, clone, cache).split() == ["torque", "pull", "0.375"]
    assert in_a_new_process(COMPILED, tmp_path, cache) == "0.75\n"


def test_python_and_kernels_have_their_own_form_of_a_kernel_each_cached(package: Path, tmp_path: Path) -> None:
    torque, pull, called, inlined = in_a_new_process(BOTH_FORMS, tmp_path, tmp_path / "cache").split()
    assert (float(torque), float(pull), called, inlined) == (0.25 * 10.0 * 0.3, 10.0 * 0.3, "1", "1")
    # of three forms: the caller's that Python calls, and both of the callee; from the cache the caller is whole
    assert len(list((tmp_path / "cache").rglob("*.nbc"))) == 3
    again = in_a_new_process(BOTH_FORMS, tmp_path, tmp_path / "cache").split()
    assert again == [torque, pull, "1", "0"]


def test_source_hash_changes_with_content_path_and_new_files(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\n")
    (tmp_path / "b.py").write_text("two\n")
    seen = [compiled.source_hash(tmp_path)]
    assert compiled.source_hash(tmp_path) == seen[0]
    (tmp_path / "b.py").write_text("tow\n")
    seen.append(compiled.source_hash(tmp_path))
    (tmp_path / "b.py").rename(tmp_path / "c.py")
    seen.append(compiled.source_hash(tmp_path))
    (tmp_path / "sub").mkdir()
    (tmp_path / "c.py").rename(tmp_path / "sub" / "c.py")
    seen.append(compiled.source_hash(tmp_path))
    (tmp_path / "empty.py").touch()
    seen.append(compiled.source_hash(tmp_path))
    assert len(set(seen)) == len(seen)


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """An environment without cache settings, with home and temporary folder in tmp_path."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return monkeypatch


def test_cache_lies_where_the_user_says(unset: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name = compiled.source_hash(SOURCE)
    assert compiled.cache_folder() == tmp_path / "home" / ".cache" / "rover-hil" / name
    unset.setenv("XDG_CACHE_HOME", "relative")
    assert compiled.cache_folder() == tmp_path / "home" / ".cache" / "rover-hil" / name
    unset.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert compiled.cache_folder() == tmp_path / "xdg" / "rover-hil" / name
    unset.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    assert compiled.cache_folder() == tmp_path / "numba" / name
    unset.setenv("ROVER_HIL_CACHE", str(tmp_path / "ours"))
    assert compiled.cache_folder() == tmp_path / "ours" / name


@pytest.mark.filterwarnings("error")
def test_unwritable_cache_falls_back_to_a_private_temporary_folder(unset: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    unset.setenv("ROVER_HIL_CACHE", str(tmp_path / "file"))
    folder = compiled.cache_folder()
    assert folder.is_dir()
    assert folder.parent.parent == tmp_path
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert compiled.cache_folder() == folder
    folder.parent.chmod(0o777)  # someone else may have put code there: do not run it
    assert compiled.cache_folder().parent != folder.parent


@pytest.mark.parametrize("setting", ["ROVER_HIL_CACHE", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
@pytest.mark.parametrize("place", ["leaf", "above"])
@pytest.mark.parametrize("how", ["owner", "mode"])
def test_code_that_others_may_have_put_there_is_not_run_and_a_private_folder_is_used(
    unset: pytest.MonkeyPatch, tmp_path: Path, setting: str, place: str, how: str
) -> None:
    """Who makes the folder first, in /tmp for example, would have his code run by everybody who is pointed to it."""
    if how == "owner" and os.getuid():
        pytest.skip("a folder of another user needs root")
    unset.setenv(setting, str(tmp_path / "shared"))
    folder = compiled.cache_folder()
    of_others = folder if place == "leaf" else folder.parent
    if how == "owner":
        os.chown(of_others, 65534, 65534)
    else:
        of_others.chmod(0o777)
    with pytest.warns(RuntimeWarning, match=rf"compiled code is not cached in {folder}: .*{of_others}.*; allowed: "):
        private = compiled.cache_folder()
    assert private.parent.parent == tmp_path
    assert stat.S_IMODE(private.parent.stat().st_mode) == 0o700


def test_a_kernel_called_with_other_constants_is_compiled_once(package: Path, tmp_path: Path) -> None:
    (package / "caller.py").write_text(CALLER.replace("pull(slip)", "(pull(1) + pull(2))").replace("slip", "_"))
    counted = "from models.caller import pull, torque; print(torque(0.3), len(pull.inlined.overloads))"
    assert in_a_new_process(counted, tmp_path, tmp_path / "cache").split() == ["7.5", "1"]
