"""What the wheel takes along: packages and patterns of pyproject.toml against the files in the tree."""

from __future__ import annotations

import tomllib
from itertools import chain

import pytest
from setuptools import find_namespace_packages

# Read by whoever changes the code next to it, not by the program.
SOURCES = {"README.md", "atomics.ll"}
PACKAGES = ("hil", "drivers", "models", "rig_configs")


@pytest.fixture
def taken(root):
    """Data files that the wheel takes along, from the root of the tree."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    patterns = list(chain.from_iterable(settings["package-data"].values()))
    folders = [root / name.replace(".", "/") for name in find_namespace_packages(root, **settings["packages"]["find"])]
    files = (file for folder in folders for pattern in patterns for file in folder.glob(pattern))
    return {str(file.relative_to(root)) for file in files}


def test_the_wheel_has_every_file_that_is_no_python_and_no_source_of_one(root, taken):
    files = (file for name in PACKAGES for file in (root / name).rglob("*") if file.is_file())
    data = {
        str(file.relative_to(root))
        for file in files
        if file.suffix != ".py" and "__pycache__" not in file.parts and file.name not in SOURCES
    }
    assert data == taken


def test_the_wheel_has_the_page_what_it_draws_with_and_their_licences(taken):
    static = "hil/operator/static"
    assert {
        f"{static}/page/index.html", f"{static}/page/page.css", f"{static}/page/main.js", f"{static}/page/icon.svg",
        f"{static}/uplot/uPlot.iife.min.js", f"{static}/uplot/LICENSE",
        f"{static}/three/three.module.min.js", f"{static}/three/LICENSE",
    } <= taken  # fmt: skip
