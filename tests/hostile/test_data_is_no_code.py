"""Configs and records are data: nothing in the packages turns what it reads into code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hil
from hil.messages.signals import TICK

ROOT = Path(hil.__path__[0]).parent
# Rows are packed and unpacked by expressions made from `hil.messages.signals` and the fields of samples: constants.
GENERATED = {"hil/messages/stages.py": ["eval"], "hil/messages/link_messages.py": 4 * ["eval"]}
# Formats that carry code or objects of any class, and what reads them.
MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "jsonpickle", "code"}
CALLS = {"eval", "exec", "compile", "__import__", "execfile"}
YAML = {"load", "load_all", "unsafe_load", "unsafe_load_all", "full_load", "full_load_all"}
YAML |= {"Loader", "CLoader", "FullLoader", "UnsafeLoader"}


def findings(text: str) -> Iterator[str]:
    """What a module does that could turn data into code, with its line."""
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names if name.name.split(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module and node.module.split(".")[0] in MODULES else []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            names = [node.func.id]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "yaml":
            names = [f"yaml.{node.attr}"] if node.attr in YAML else []
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            trusts = not (isinstance(node.value, ast.Constant) and node.value.value is False)
            names = ["allow_pickle"] if trusts else []
        yield from (f"{name}, line {getattr(node, 'lineno', '?')}" for name in names)


@pytest.mark.slow
def test_no_module_turns_data_into_code():
    files = [path for package in ("hil", "drivers", "models", "rig_configs") for path in (ROOT / package).rglob("*.py")]
    assert len(files) > 300
    found = {str(path.relative_to(ROOT)): list(findings(path.read_text(encoding="utf-8"))) for path in files}
    assert {path: [line.partition(",")[0] for line in lines] for path, lines in found.items() if lines} == GENERATED


def test_what_the_packer_evaluates_are_constants_of_its_own_package_that_call_nothing_else():
    for signal in TICK:
        tree = ast.parse(signal.source, mode="eval")
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert names <= {"tick", "samples", "estimate", "prediction", "command", "layout", "flat", "sum"}, signal.name
        assert called <= {"flat", "sum"}, signal.name


def test_what_turns_data_into_code_is_found():
    text = "import pickle\nfrom marshal import loads\neval(x)\nyaml.load(x)\nnp.load(x, allow_pickle=True)\n"
    assert len(list(findings(text))) == 5
    assert not list(findings("np.load(x, allow_pickle=False)\nmodel.eval(x)\nyaml.SafeLoader\n"))
