"""The page of the stable surface says what the code has: every public name, and how it is called."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from enum import Enum
from pathlib import Path

import msgspec

sys.path.append(str(Path(__file__).parents[2] / "tools"))
site_api = importlib.import_module("site_api")
SUMMED_UP = ("models", "hil.testing")  # by what stands in the parts of the first, and on the page of the second
MODULES = {one.name: one.names for one in site_api.MODULES if one.name not in SUMMED_UP}
BLOCK = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
OF_A_CONFIG = ("replace", "rover_model")  # the rest of it is its keys
PAGE = "docs/reference/stable-surface.md"


def called(value):
    """How something is called: names, kinds and defaults of its parameters."""
    signature = inspect.signature(value)
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    text = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r"<function .*? at \w+>", "...", text)


def public(module):
    """Public names of a module: those that the site names, those of `__all__`, or its own classes."""
    found = importlib.import_module(module)
    if MODULES[module]:
        return sorted(MODULES[module])
    own = [name for name, one in vars(found).items() if name[0] != "_" and getattr(one, "__module__", "") == module]
    own = [name for name in own if inspect.isclass(vars(found)[name])]
    return sorted(getattr(found, "__all__", own))


def surface():
    """A line for each name, and for each public method of a class of ours."""
    for module in MODULES:
        for name in public(module):
            value = getattr(importlib.import_module(module), name)
            if not callable(value) or "[" in str(value):
                yield f"{module}.{name}"
            elif not inspect.isclass(value):
                yield f"{module}.{name}{called(value)}"
            else:
                yield f"{module}.{name}" + (called(value) if made_by_users(value) else "")
                yield from methods(f"{module}.{name}", value)


def made_by_users(kind):
    """Whether a program makes such objects itself, or reads their fields; others it derives a class from."""
    if issubclass(kind, msgspec.Struct):
        return True
    handed_out = kind.__module__.startswith("hil.") and kind.__name__ != "Experiment"
    sizes = kind.__name__.endswith("Parameters")  # by name, as a config has them
    return not (handed_out or sizes or getattr(kind, "_is_protocol", False) or issubclass(kind, Enum | Exception))


def methods(path, kind):
    # what a rig inherits from the client of a running one is its own; elsewhere the base class has its lines
    own = vars(kind) if path != "hil.OperatedRig" else {**vars(kind.__base__), **vars(kind)}
    for base in kind.__bases__:
        own = {**(vars(base) if base.__name__[0] == "_" else {}), **own}  # a private base has no lines
    for name, value in sorted(own.items()):
        if (
            name.startswith(("_", "model_"))
            or f"{path}.{name}" == "hil.OperatedRig.running"
            or (path == "hil.Config" and name not in OF_A_CONFIG)
        ):
            continue
        if isinstance(value, classmethod | staticmethod):
            yield f"{path}.{name}{called(getattr(kind, name))}"
        elif inspect.isfunction(value):
            yield f"{path}.{name}{called(value).replace('(self, ', '(').replace('(self)', '()')}"
        elif isinstance(value, property) or type(value).__name__ == "cached_property":
            yield f"{path}.{name}"


def test_the_page_has_every_public_name_as_it_is_called_and_no_other(pages):
    listed = [line for block in BLOCK.findall(pages[PAGE]) for line in block.splitlines()]
    there = list(surface())
    assert len(there) > 150
    missing, gone = [line for line in there if line not in listed], [line for line in listed if line not in there]
    assert not missing, f"not on {PAGE}, and a new name or another call:\n" + "\n".join(missing)
    assert not gone, f"on {PAGE}, and not in the code:\n" + "\n".join(gone)


def test_every_public_name_can_be_listed_and_imported():
    for module in ("hil", "models", "models.wheel", "models.rover", "models.impact"):
        found = importlib.import_module(module)
        assert dir(found) == sorted(found.__all__)
        assert all(getattr(found, name) is not None for name in found.__all__)
