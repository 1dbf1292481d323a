"""What is published: the sdist has all that is tracked, the README's links work elsewhere, the wheel works alone."""

import re
import subprocess
import sys
import tarfile
import zipfile

import pytest

from .conftest import ROOT, script


@pytest.fixture(scope="module")
def wheel_check():
    return script("tools/wheel_check.py")


@pytest.fixture(scope="module")
def absolute_links():
    return script("setup.py").absolute_links


@pytest.mark.parametrize(
    ("link", "published"),
    [
        ("[docs](docs/index.md#a)", "[docs](https://a.example/r/blob/v1.2.0/docs/index.md#a)"),
        ("![plot](docs/a.png)", "![plot](https://a.example/r/raw/v1.2.0/docs/a.png)"),
        ("[here](#start), [there](https://b.example/c)", "[here](#start), [there](https://b.example/c)"),
    ],
)
def test_a_link_into_the_tree_is_published_as_an_address(absolute_links, link, published):
    assert absolute_links(link, "https://a.example/r", "1.2.0") == published


def test_before_a_release_links_go_to_the_newest_commit(absolute_links):
    assert (
        absolute_links("[a](b.md)", "https://a.example/r", "1.2.1.dev3+gabc")
        == "[a](https://a.example/r/blob/HEAD/b.md)"
    )


def test_no_link_of_the_readme_is_left_relative(absolute_links, root):
    published = absolute_links((root / "README.md").read_text(encoding="utf-8"), "https://a.example/r", "1.2.0")
    assert not re.findall(r"\]\((?!https?://|#)[^)]*\)", published)


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
    assert "](docs/" not in readme
    summary = wheel_check.try_wheel(wheel, sys.executable, shared=True)  # raises what is wrong
    assert summary["accepted"]
