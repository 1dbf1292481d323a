"""What to install for an extra is said in the command that fits the installation."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from drivers import extensions
from drivers.extensions import install_command


def installed(monkeypatch, **origin):
    """As if the program had been installed in that way; none: from a package index."""
    text = json.dumps(origin) if origin else None
    monkeypatch.setattr(extensions, "distribution", lambda _: SimpleNamespace(read_text=lambda _: text))


def test_a_clone_is_told_the_python_of_its_own_environment(monkeypatch, tmp_path):
    installed(monkeypatch, url=f"file://{tmp_path}/a%20lab", dir_info={"editable": True})
    monkeypatch.setattr(sys, "executable", str(tmp_path / "a lab/.venv/bin/python"))
    (tmp_path / "a lab").mkdir()
    monkeypatch.chdir(tmp_path / "a lab")
    assert install_command("export") == ".venv/bin/python -m pip install -e '.[export]'"
    monkeypatch.chdir("/")
    clone = tmp_path / "a lab"
    assert install_command("page") == f"'{clone}/.venv/bin/python' -m pip install -e '{clone}[page]'"


@pytest.mark.parametrize("origin", [{}, {"url": "file:///made/rover.whl", "archive_info": {}}])
def test_what_came_from_an_index_or_a_wheel_is_told_the_name_of_the_package(monkeypatch, origin):
    installed(monkeypatch, **origin)
    assert install_command("export") == "pip install 'rover-hil[export]'"


def test_every_hint_of_the_program_is_made_here():
    root = Path(extensions.__file__).parents[1]
    sources = [path for folder in ("hil", "drivers") for path in (root / folder).rglob("*.py")]
    hints = [path.relative_to(root) for path in sources if "pip install '" in path.read_text(encoding="utf-8")]
    assert hints == [Path("drivers/extensions.py")]


def test_every_page_that_names_an_extra_says_it_for_a_clone_as_well():
    root = Path(extensions.__file__).parents[1]
    for page in [root / "README.md", *(root / "docs").rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        if "pip install 'rover-hil[" in text and "decisions" not in page.parts:
            assert "-m pip install -e '.[" in text or "`make install` has them" in text, page
