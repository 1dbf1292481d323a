"""Reads the code for docs/figures/architecture.py: the stages of a tick, and who writes and reads the shared memory."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections import defaultdict
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from hil.experiments.registry import BUILT_IN
from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_types import CommandMemory
from hil.messages.signals import PHASES
from hil.runtime.loop import Cycle

# Modules that run in each process and use the shared memory; a class, where a module serves several processes.
LINK = "hil.processes.link"
PROCESSES: dict[str, tuple[tuple[str, str], ...]] = {
    "daq": (("hil.processes.link_bridge", "_BlockFeed"), (LINK, "")),
    "drives": (("hil.processes.link_bridge", "_ConfirmingFeed"), (LINK, "")),  # likewise valves and servos
    "motion": (("hil.processes.link_bridge", "_ReadingFeed"), (LINK, "")),  # likewise imu and joints
    "recorder": (("hil.recording.recorder", ""),),
    "watchdog": (("hil.processes.watchdog", ""),),
    "command_server": (("hil.operator.sockets", "SharedCommands"),),
    # what it writes in the place of the workers goes through their feeds, and counts as theirs
    "simulated_rig": (("hil.simulator.simulated_rig", ""),),
    "loop": (("hil.ipc.shared_devices", ""), ("hil.app.console", "Console"), ("hil.recording.sinks", ""),
             ("hil.ipc.run_memory", ""), ("hil.processes.supervisor", ""), ("hil.app.backends", "RealtimeBackend")),
}  # fmt: skip
PLURAL = {"ring": "rings", "mailbox": "mailboxes"}
HOLDERS = ("shared", "_shared", "memory", "_memory")  # what the modules call it
# Methods that write; and classes of other modules that write what they are made with.
WRITES = ("write", "append", "beat", "GroundTruthPublisher", "LatenessLog", "OperatorWriter")


class Stage(NamedTuple):
    """A stage of a tick: its name, what is called, where that is, and what it hands on."""

    name: str
    calls: str
    module: str
    value: str


def stages() -> list[Stage]:
    """The stages of `Cycle.run`: each ends where the stage timer, its first variable, is called."""
    function = ast.parse(textwrap.dedent(inspect.getsource(Cycle.run))).body[0]
    assert isinstance(function, ast.FunctionDef)
    timer = next(node.targets[0].id for node in function.body
                 if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name))  # fmt: skip
    found: list[Stage] = []
    calls: list[tuple[str, str]] = []
    for statement in function.body:
        nodes = [node.func for node in ast.walk(statement) if isinstance(node, ast.Call)]
        attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
        calls += [(node.value.attr, node.attr) for node in attributes if isinstance(node.value, ast.Attribute)]
        if any(isinstance(node.value, ast.Name) and node.value.id == timer for node in attributes):
            found.append(_stage(PHASES[len(found)], calls))
            calls = []
    return found


def _stage(name: str, calls: list[tuple[str, str]]) -> Stage:
    types = [getattr(sys.modules[Cycle.__module__], Cycle.__annotations__[part]) for part, _ in calls]
    hands_on = inspect.signature(getattr(types[0], calls[0][1])).return_annotation
    words = "\n".join(f"{kind.__name__}.{method}" for kind, (_, method) in zip(types, calls, strict=True))
    module = types[0].__module__
    if name == "decide":  # the tick knows a protocol; these are behind it
        words = "\n".join(f"{kind.name}" for kind in BUILT_IN)
        module = "hil.experiments"
    return Stage(name, words, module, "" if hands_on == "None" else str(hands_on))


def boxes() -> dict[str, str]:
    """What lies in the shared memory: its name, and "ring", "mailbox", "mailboxes" or "heartbeats"."""
    kinds = {"ring": "ring", "Ring": "ring", "box": "mailbox", "Mailbox": "mailbox", "Heartbeat": "heartbeats"}
    found = {}
    makers = (textwrap.dedent(inspect.getsource(kind.__init__)) for kind in (RunMemory, CommandMemory))
    for node in chain.from_iterable(ast.walk(ast.parse(maker)) for maker in makers):
        if isinstance(node, ast.Assign):
            pairs = [(node.targets[0], node.value)]
            if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(node.targets[0].elts, node.value.elts, strict=True))
            for target, value in pairs:
                made = [call.func.id for call in ast.walk(value)
                        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)]  # fmt: skip
                if isinstance(target, ast.Attribute) and made and made[0] in kinds:
                    kind = kinds[made[0]]
                    found[target.attr] = PLURAL[kind] if isinstance(value, ast.DictComp) else kind
    return found


class Uses(ast.NodeVisitor):
    """Which boxes of the shared memory some code writes, and which it reads; it follows names given to them."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        self._known: dict[str, set[str]] = defaultdict(set)
        self.writes: set[str] = set()
        self.reads: set[str] = set()

    def boxes_in(self, node: ast.AST) -> set[str]:
        """Boxes that an expression holds."""
        found = set()
        for part in ast.walk(node):
            name = part.attr if isinstance(part, ast.Attribute) else part.id if isinstance(part, ast.Name) else ""
            holder = getattr(part, "value", None)
            called = getattr(holder, "attr", getattr(holder, "id", ""))
            if isinstance(part, ast.Attribute) and called in HOLDERS and name in self._names:
                found.add(name)
            elif not (isinstance(part, ast.Attribute) and called in HOLDERS):
                found |= self._known.get(name, set())
        return found

    def _give(self, target: ast.AST, value: ast.AST) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, of in zip(target.elts, value.elts, strict=True):
                self._give(one, of)
            return
        for part in target.elts if isinstance(target, ast.Tuple) else [target]:
            name = getattr(part, "attr", getattr(part, "id", ""))
            if name and (held := self.boxes_in(value)):
                self._known[name] |= held

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:  # noqa: D102
        for argument in node.args.args:  # its own name for something
            self._known.pop(argument.arg, None)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:  # noqa: D102
        self.generic_visit(node)
        made_by = getattr(getattr(node.value, "func", None), "value", None)
        if isinstance(made_by, ast.Name) and made_by.id[0].isupper():  # a value that is made of what was read
            return
        for target in node.targets:
            self._give(target, node.value)

    def visit_For(self, node: ast.For) -> None:  # noqa: D102
        self._give(node.target, node.iter)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:  # noqa: D102
        self._give(node.target, node.iter)
        self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp) -> None:  # noqa: D102
        for generator in node.generators:
            self.visit(generator)
        self.visit(node.elt)

    def visit_Call(self, node: ast.Call) -> None:  # noqa: D102
        verb = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        held = self.boxes_in(node.func.value) if isinstance(node.func, ast.Attribute) else set()
        own_list = verb in ("append", "extend")  # of the code itself: what it holds goes nowhere
        for argument in () if own_list else (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(argument, ast.Name | ast.Attribute):
                held |= self.boxes_in(argument)
        (self.writes if any(word in verb for word in WRITES) else self.reads).update(held)
        self.generic_visit(node)


def uses(process: str, names: dict[str, str]) -> Uses:
    """What a process writes and reads."""
    total = Uses(names)
    for module, part in PROCESSES[process]:
        tree = ast.parse(Path(str(import_module(module).__file__)).read_text(encoding="utf-8"))
        nodes = [node for node in tree.body if not part or getattr(node, "name", "") == part]
        assert nodes, f"{module} has no {part}"
        bases = {base.id for node in nodes for base in getattr(node, "bases", ()) if isinstance(base, ast.Name)}
        if part:  # what a class inherits reads and writes with the names that the class gave
            nodes += [node for node in tree.body if getattr(node, "name", "") in bases]
        found = Uses(names)
        for node in nodes:
            found.visit(node)
        total.writes |= found.writes
        total.reads |= found.reads
    total.reads -= total.writes
    return total


def memory_table() -> str:
    """Who writes and who reads what lies in the shared memory, as Markdown."""
    names = boxes()
    used = {process: uses(process, names) for process in PROCESSES}
    lines = ["| in memory | kind | written by | read by |", "|---|---|---|---|"]
    for name, kind in names.items():
        writers = ", ".join(process for process, found in used.items() if name in found.writes)
        readers = ", ".join(process for process, found in used.items() if name in found.reads)
        lines.append(f"| `{name}` | {kind} | {writers} | {readers} |")
    return "\n".join(lines)
