"""The numbers of the structure may only fall, and a name in a page leads somewhere."""

from __future__ import annotations

import json
import subprocess

import pytest

TREE = {
    "hil/__init__.py": "",
    "hil/one.py": """from hil.two import Two
def run(config: "Config", two: Two):
    # why
    return two
""",
    "hil/two.py": '''"""Two.

Lines.
"""
class Two:
    """See One."""

    def go(self):
        """See One."""
''',
    "hil/rig.py": "drives = valves = servos = imu = 0\n",
    "drivers/__init__.py": "class Two: ...\n",
    "models/__init__.py": "class Alone: ...\n\n\nasync def build(config: model.Config | None): ...\n",
    "tests/test_one.py": "from hil.one import run\n",
    "pyproject.toml": '[[tool.importlinter.contracts]]\nname = "layers"\nignore_imports = ["a -> b", "c -> d"]\n',
    "docs/page.md": "Five words stand on this\n",
    "docs/plain.md": "Mended. It hangs on a word. Of `rig` alone. It is a word of its own.\n\n| No verb. |\n",
    "docs/reference/keys.md": "generated words\n",
    "README.md": "one two\n",
    "CHANGELOG.md": "- short\n- " + "word " * 41 + "\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    for path, text in TREE.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    identity = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    for arguments in (("init", "--quiet"), ("add", "."), (*identity, "commit", "--quiet", "-m", "x")):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    return root


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lines of hil", 14),
        ("code lines of hil", 5),  # docstrings, comments and imports left out
        ("files of hil", 4),
        ("code lines of models", 2),
        ("functions that take the whole Config", 2),
        ("class names of more than one class", 1),
        ("public classes that no other file names", 1),
        ("files that name four or more device roles", 1),
        ("files that only a neighbour imports", 1),
        ("docstrings that only point at another", 1),
        ("modules with a main of their own", 0),
        ("imports that a contract ignores", 2),
        ("words of docs without the reference", 25),
        ("words of docs", 27),
        ("words of pages that are not plain", 2),
        ("sentences of pages without a verb", 1),
        ("words of README", 2),
        ("long entries of CHANGELOG", 1),
    ],
)
def test_a_measure_counts_what_its_name_says(structure, tree, name, value):
    assert structure.measure(tree)[name] == value


def test_a_number_that_rises_is_refused_and_one_that_falls_is_not(structure):
    limits = {"files": 3, "lines": 10}
    assert structure.risen({"files": 3, "lines": 9}, limits) == []
    (problem,) = structure.risen({"files": 4, "lines": 9}, limits)
    assert "files: 4, allowed are 3" in problem


def test_a_measure_without_a_limit_and_a_limit_without_a_measure_are_refused(structure):
    missing, unused = structure.risen({"files": 3}, {"lines": 10})
    assert "no number for: files" in missing
    assert "nothing measures: lines" in unused


def test_the_tree_has_a_limit_for_each_measure(structure, root):
    held = json.loads((root / structure.LIMITS).read_text(encoding="utf-8"))["at_most"]
    assert structure.risen(dict.fromkeys(held, 0), held) == []
    assert {name for name in held if name.startswith("lines of")} == {
        f"lines of {package}" for package in ("hil", "drivers", "models")
    }


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("See `hil.two.Two.go`, `hil.one`, hil/two.py and drivers/MAKER/section.py.", []),
        ("See `hil.two.gone`.", ["hil.two.gone"]),
        ("See `hil.gone`.", ["hil.gone"]),
        ("See hil/gone.py.", ["hil/gone.py"]),
        ("See [it](hil/gone.py).", []),  # a link, which is checked as one
    ],
)
def test_a_name_that_leads_nowhere_is_named(structure, tree, text, lost):
    page = tree / "docs/page.md"
    page.write_text(text, encoding="utf-8")
    try:
        problems = structure.lost_names(tree)
    finally:
        page.write_text(TREE["docs/page.md"], encoding="utf-8")
    assert [problem.split()[2].strip(",") for problem in problems] == lost
