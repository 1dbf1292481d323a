"""`hil init`: a tested package with a driver or an experiment of one's own, or the config of a rig or rover."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, NoReturn

import typer

from hil.cli.configs import write_new
from hil.cli.terminal import USAGE, complain, write_folded

_PYPROJECT = """[build-system]
requires = ["setuptools>=80"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1"
requires-python = ">=3.11"
dependencies = ["rover-hil"]

[project.entry-points."rover_hil.{kind}s"]
{name} = "{name}.{place}"

[tool.setuptools]
packages = ["{name}"]
"""


class _Package(NamedTuple):
    """Modules of `hil.testing.template`, the name that is replaced in them, and the object of the entry point."""

    word: str
    place: str
    modules: tuple[str, ...]


_PACKAGES = {
    "driver": _Package("textline", "entry:TEXTLINE", ("entry", "drives", "simulated")),
    "experiment": _Package("spin", "experiment:Spin", ("experiment", "timed")),
}
# Shipped configs that a rig and a rover begin with, and the command that comes first.
_CONFIGS = {"rig": ("mars_dome", "check"), "rover": ("sim_imported", "trial")}


def init(
    kind: Annotated[
        Literal["driver", "experiment", "rover", "rig"], typer.Argument(metavar="driver|experiment|rover|rig")
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the driver or experiment, or of the config.")],
) -> None:
    """Write a tested package with a driver or an experiment, or the config of a rig, or of a rover with its URDF."""
    if kind in _CONFIGS:
        _write_config(name, *_CONFIGS[kind])
    else:
        _write_package(kind, name, _PACKAGES[kind])


def _write_config(name: str, shipped: str, command: str) -> None:
    from hil.config.loading import shipped_files

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{,63}", name):
        _refuse(f"{name!r} is no name of a config: allowed: letters, digits, - and _")
    texts = shipped_files(shipped)
    own = {path: str(Path(path).with_stem(name)) for path in texts}
    pairs = {**own, f"name: {shipped}": f"name: {name}"}
    files = {Path(own[path]): _renamed(text, pairs) for path, text in texts.items()}
    write_new(files)
    write_folded(f"wrote {', '.join(map(str, files))}: edit them, then for example `hil {command} {name}.yaml`")


def _write_package(kind: str, name: str, package: _Package) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]{,40}", name) or keyword.iskeyword(name):
        _refuse(f"{name!r} is no name of a package: allowed: small letters, digits and _, a letter first")
    if Path(name).exists():
        _refuse(f"{name} already exists and is not changed: choose another name or folder")
    if find_spec(name) is not None:
        _refuse(f"{name} is the name of another package here: choose another name")

    camel = "".join(part.capitalize() for part in name.split("_"))
    word = package.word
    pairs = {"hil.testing.template": name, word: name, word.capitalize(): camel, word.upper(): name.upper()}
    template, root = resources.files("hil.testing.template"), Path(name)
    files = {f"{name}/{module}.py": f"{module}.py" for module in package.modules}
    files[f"test_{name}.py"] = f"{kind}_test.py"
    texts = {
        root / path: _renamed((template / source).read_text(encoding="utf-8"), pairs) for path, source in files.items()
    }
    texts[root / name / "__init__.py"] = f'"""The {kind} {name}."""\n'
    texts[root / "pyproject.toml"] = _PYPROJECT.format(name=name, kind=kind, place=_renamed(package.place, pairs))
    write_new(texts)
    write_folded(f"wrote the package {name}: `python -m pip install --no-deps -e {name}`, then `pytest {name}`")


def _renamed(text: str, pairs: Mapping[str, str]) -> str:
    for old, new in pairs.items():
        text = text.replace(old, new)
    return text


def _refuse(why: str) -> NoReturn:
    complain(why)
    raise typer.Exit(USAGE)
