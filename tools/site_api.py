"""The pages of the stable surface: what stands in the `__all__` of each module, with its docstring."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import NamedTuple


class Module(NamedTuple):
    """A module of the stable surface: a word on it, the programs that use it, and its names, if not all are stable."""

    name: str
    words: str
    examples: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


MODULES = (
    Module("hil", "Load a config, run it, sweep it, open what was recorded.", ("run_a_trial", "sweep_angles")),
    Module("models", "Physics: arrays in, arrays out. Each of its parts has its own page."),
    Module("models.wheel", "A rigid wheel on soil.", ("wheel_curves",)),
    Module("models.rover", "Rovers as reduced multibody systems.", ("own_rover",)),
    Module("models.impact", "The energy that an impact can spend.", ("energy_over_angle",)),
    Module("drivers.interfaces", "What a driver of your own has to do.", ("own_driver",)),
    Module("hil.experiments.base", "What an experiment of your own derives from.", ("own_experiment",)),
    Module(
        "hil.messages.stages",
        "Values that an experiment or a controller takes in and gives in each tick.",
        names=("Estimate", "Goal", "Prediction", "Samples"),
    ),
    Module(
        "hil.config.schema.experiment_section",
        "Section of a config that an experiment of your own has.",
        names=("ExperimentSection",),
    ),
    Module("hil.app.run", "Runs the experiment of a config, with a folder.", names=("run_experiment",)),
    Module("hil.recording", "Records.", names=("in_blocks", "open_trial")),
    Module("hil.operator.client", "Commands to a rig that is open.", names=("CommandClient",)),
    Module("hil.api.stepping", "A simulated rover in steps of another simulator.", names=("Contact", "StepClient")),
    Module(
        "drivers.messages",
        "Commands to devices, and what devices deliver.",
        names=("DaqBlock", "DriveCommand", "JointSample", "Reading", "ValveCommand"),
    ),
    Module("drivers.driver_type", "What a driver gets of its rig.", names=("RigSetup",)),
    Module("hil.testing", "Simulated devices in the tests of your own programs.", ("test_relay_board",)),
)


def api_page(module: Module) -> str:
    """The page of a module, in Markdown, for Sphinx."""
    links = ", ".join(f"[{one.replace('_', ' ')}](../gallery/{one}.md)" for one in module.examples)
    used = f"Programs that use it: {links}.\n\n" if links else ""
    entries = "\n".join(
        _entry(module.name, name) for name in module.names or public_names(importlib.import_module(module.name))
    )
    directive = f".. automodule:: {module.name}\n   :no-members:\n\n.. currentmodule:: {module.name}\n\n{entries}"
    return f"# {module.name}\n\n{module.words}\n\n{used}```{{eval-rst}}\n{directive}```\n"


def api_index() -> str:
    """The first page of the Python interface."""
    rows = "".join(f"| [`{one.name}`]({one.name}.md) | {one.words} |\n" for one in MODULES)
    names = "".join(f"{one.name}\n" for one in MODULES)
    words = "These modules are [the stable surface](../reference/stable-surface.md). The rest may change."
    return (
        f"# Python\n\n{words}\n\n| module | what it is for |\n|---|---|\n{rows}\n"
        f"```{{toctree}}\n:hidden:\n\n{names}```\n"
    )


def public_names(module: ModuleType) -> list[str]:
    """Names of `__all__`, or without one those that are written there; modules and what begins with `_` left out."""
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__
    ]
    return [name for name in names if not name.startswith("_") and not inspect.ismodule(getattr(module, name))]


def _entry(module: str, name: str) -> str:
    """Returns what Sphinx is asked to show of a name."""
    value = getattr(importlib.import_module(module), name)
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, BaseException) else "class"
        return f".. auto{kind}:: {module}.{name}\n   :members:\n   :exclude-members: model_config\n"
    if inspect.isroutine(value):  # what an alias as `dict[str, float]` is not, though it can be called
        return f".. autofunction:: {module}.{name}\n"
    return f".. autodata:: {module}.{name}\n   :no-value:\n"
