"""Scripts of tools and docs, imported as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the tree."""
    return ROOT


def script(path: str) -> ModuleType:
    """A script as a module, by its path in the tree."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def reference() -> ModuleType:
    """tools/reference.py."""
    return script("tools/reference.py")


@pytest.fixture(scope="session")
def check_tree() -> ModuleType:
    """tools/check_tree.py."""
    return script("tools/check_tree.py")


@pytest.fixture(scope="session")
def code_reading() -> ModuleType:
    """docs/figures/code_reading.py."""
    return script("docs/figures/code_reading.py")


@pytest.fixture(scope="session")
def structure() -> ModuleType:
    """tools/structure.py."""
    return script("tools/structure.py")


@pytest.fixture(scope="session")
def check_site() -> ModuleType:
    """tools/check_site.py."""
    return script("tools/check_site.py")


@pytest.fixture(scope="session")
def site_versions() -> ModuleType:
    """tools/site_versions.py."""
    return script("tools/site_versions.py")


@pytest.fixture(scope="session")
def site_pages(check_tree) -> ModuleType:
    """tools/site_pages.py, which imports its neighbours by their names."""
    for neighbour in ("site_api", "site_gallery"):
        script(f"tools/{neighbour}.py")
    return script("tools/site_pages.py")
