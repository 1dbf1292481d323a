"""What is published: the sdist has all that is tracked, the wheel works alone."""

import subprocess
import sys
import tarfile
import zipfile

import pytest

from .conftest import ROOT, script


@pytest.fixture(scope="module")
def wheel_check():
    return script("tools/wheel_check.py")


@pytest.mark.slow
def test_wheel_and_sdist_are_whole_and_the_wheel_works_in_an_empty_environment(wheel_check, root, tmp_path):
    wheel, sdist = wheel_check.build(tmp_path / "dist")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
    tracked = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert tracked <= packed
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        readme = archive.read(metadata).decode()
        assert {name.partition("/")[0] for name in archive.namelist() if ".dist-info" not in name} == set(
            wheel_check.PACKAGES
        )
    assert f"Version: {wheel_check.version_of(wheel)}\n" in readme
    summary = wheel_check.try_wheel(wheel, sys.executable, shared=True)  # raises what is wrong
    assert summary["accepted"]
