"""`import hil` takes no time, lists what there is, and names what stands in its way."""

from __future__ import annotations

import subprocess
import sys

import pytest

import hil

HEAVY = ("numpy", "numba", "pydantic", "h5py", "matplotlib", "scipy", "zmq", "hil.config", "hil.api")


def python(code, folder, *options):
    """What a program says that runs in a folder."""
    (folder / "program.py").write_text(code, encoding="utf-8")
    command = [sys.executable, *options, str(folder / "program.py")]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def test_import_hil_imports_nothing_that_takes_time(tmp_path):
    done = python(f"import sys, hil\nprint([name for name in {HEAVY!r} if name in sys.modules])", tmp_path)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_name_that_is_not_there_is_answered_by_those_that_are():
    with pytest.raises(AttributeError, match=r"no attribute 'lode'; it has .*load"):
        _ = hil.lode


@pytest.mark.parametrize("name", ["models", "drivers", "rig_configs"])
@pytest.mark.parametrize("is_file", [True, False])
def test_a_folder_or_file_beside_the_script_that_stands_before_ours_is_named(tmp_path, name, is_file):
    if is_file:
        place = tmp_path / f"{name}.py"
    else:
        (tmp_path / name).mkdir()
        place = tmp_path / name / "__init__.py"
    place.touch()
    done = python("import hil", tmp_path)
    mine = place if is_file else tmp_path / name
    assert f"ImportError: the package {name} would come from {mine} but belongs to" in done.stderr
    assert f"rename {mine}" in done.stderr


@pytest.mark.slow
def test_a_folder_without_python_in_it_is_in_nobodys_way(tmp_path):
    (tmp_path / "models").mkdir()
    assert python("import hil, models; models.wheel", tmp_path).returncode == 0


def test_the_program_says_it_without_a_traceback_and_ends_with_status_2(tmp_path):
    (tmp_path / "models.py").touch()
    command = [sys.executable, "-m", "hil.cli", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"hil: the package models would come from {tmp_path / 'models.py'}")
