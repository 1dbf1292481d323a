"""The commands of the README and the docs: found in their text, and taken as far as the program takes them."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import re
import runpy
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from hil.cli import app, run

ROOT = Path(__file__).parents[2]
HIL = typer.main.get_command(app)  # once: it takes a tenth of a second, and the pages have 500 commands
INLINE = re.compile(r"`((?:\.venv/bin/)?(?:hil|make|python|bash) [^`\n]+)`")
BLOCK = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
SHELL = ("", "sh", "bash", "console")  # languages of blocks that may be scripts
# A block with one of these words at the beginning of a line is a script of the shell: then each of its lines is.
PROGRAMS = ("hil", "make", "python", "bash")
OTHERS = ("dask", "export", "kill", "pre-commit", "pytest")
SETTING = re.compile(r"^(?:[A-Z_]+=\S+ )+")
# Words of a reader: CONFIG, RUN, N; KEY=VALUE; [ARGS]; a file of the reader's. A list of a config is none: a.b=[c, d].
# the drivers that docs/how-to/add-a-driver.md writes, which tests/example_package has, and the rover of add-a-rover.md,
# whose Python test_rover_of_the_docs.py runs, as it does the commands of bring-your-own-rover.md in their order
OF_A_READER = ("textline", "textcells", "wagon", "my_rover")
PLACEHOLDER = re.compile(r"^[A-Z]+$|[A-Z]{3,}=|^\[|^[^=]*\]$|\||\.\.\.|^runs/")
# Where commands begin to work: what comes before is read, loaded and checked.
DOORS = (
    "hil.app.sensor_calibration:read_teds",
    "hil.app.check:check_rig", "hil.app.server_process:CommandServer", "hil.app.discovery:find_devices",
    "hil.app.faults.table:inject_all", "hil.app.run:run_repeatedly",
    "hil.app.view.server:ViewServer",
    "hil.app.warm_up:warm_up", "hil.analysis.energy:energy_curve",
    "hil.analysis.identification.sources:read_sources", "hil.analysis.soil_tests:validate",
    "hil.bench.bench_loop:bench_loop",
    "hil.bench.bench_models:bench_models", "hil.bench.bench_rig:bench_rig", "hil.bench.bench_rig:bench_virtual_cuts",
    "hil.campaign.activity:simulate",
    "hil.campaign.workers:check_cluster", "hil.campaign.folder:locked", "hil.cli.operate:_confirm",
    "hil.operator.client:CommandClient", "hil.simulator.simulated_rig:read_endpoints",
    "hil.simulator.stepping.service:StepService", "hil.testing.serving:make",
)  # fmt: skip


class BeginsError(BaseException):
    """A command has come to one of the doors: the program takes it."""


def lines_of(text: str, name: str) -> list[str]:
    """Lines of a page between the mark of that name and its end. Raises LookupError: the page has none."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", text, re.DOTALL)
    if found is None:
        raise LookupError(name)
    return found[1].splitlines()


def pages_of_users() -> dict[str, str]:
    """Text of every page that users and contributors read, by its path; decisions tell of their time."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    paths = [path for path in found if "decisions" not in path.parts]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def commands(text: str) -> list[list[str]]:
    """All commands in a text of Markdown, in words."""
    scripts = [block.replace("\\\n", " ").splitlines() for language, block in BLOCK.findall(text) if language in SHELL]
    lines = [_plain(line) for script in scripts if any(_begins(line, PROGRAMS) for line in script) for line in script]
    found = [*map(_plain, INLINE.findall(BLOCK.sub("", text))), *lines]
    words = [shlex.split(line.replace("\\|", "|").partition(" | ")[0], comments=True) for line in found]
    return [one for one in words if one]


def _plain(line: str) -> str:
    return SETTING.sub("", line.strip().removeprefix("$ ")).removeprefix(".venv/bin/").removesuffix("&")


def _begins(line: str, programs: tuple[str, ...]) -> bool:
    return _plain(line).startswith(tuple(f"{name} " for name in programs))


def complete(words: list[str]) -> bool:
    """Whether a command of `hil` can be given as it stands: nothing is left to the reader, and no argument missing."""
    if any(PLACEHOLDER.search(word) or any(name in word for name in OF_A_READER) for word in words):
        return False
    command, rest = _command(words[1:])
    if isinstance(command, TyperGroup):
        return bool(rest)
    given, _ = _given(command, rest)
    return not any(one.required and given.get(one.name) is None for one in command.params)


def problem(words: list[str]) -> str | None:
    """What the program would not take of a command, as far as it can be told without its reader; None: nothing."""
    if words[0] != "hil":
        return _problem_of_others(words)
    words = [word for word in words if not PLACEHOLDER.search(word)]
    command, rest = _command(words[1:])
    if isinstance(command, TyperGroup):
        return f"{words}: no such command" if rest and not rest[0].startswith("-") else None
    return _given(command, rest)[1]


def _problem_of_others(words: list[str]) -> str | None:
    """The same of other programs: make has the target, a script or test is in the tree."""
    if words[0] not in PROGRAMS + OTHERS:
        return f"{words[0]}: no program that the pages use"
    if words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        wrong = [word for word in words[1:] if "=" not in word and word not in targets]
        return f"make has no {', '.join(wrong)}" if wrong else None
    paths = [word for word in words[1:] if "/" in word and not word.startswith((".", "tcp:"))]
    missing = [path for path in paths if not (ROOT / path).exists()]
    return f"{', '.join(missing)}: not in the tree" if missing else None


def options_refused(words: list[str]) -> str | None:
    """What a script of the tree says of its options, before it begins to work; None: it takes them."""
    script = next(ROOT / word for word in words if word.endswith(".py"))

    def begin(parser: argparse.ArgumentParser, given: list[str] | None = None, _space: object = None) -> None:
        # the true parse_args, which this stands for, asks the same
        _, left = parser.parse_known_args(given)
        if left:
            parser.error(f"unrecognized arguments: {' '.join(left)}")
        raise BeginsError

    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(said):
        patch.setattr(argparse.ArgumentParser, "parse_args", begin)
        patch.setattr(sys, "argv", [str(script), *words[words.index(str(script.relative_to(ROOT))) + 1 :]])
        patch.syspath_prepend(str(script.parent))
        try:
            runpy.run_path(str(script), run_name="__main__")
        except BeginsError:
            return None
        except SystemExit:
            return said.getvalue().strip()
    return "it asks for no options"


def _command(words: list[str]) -> tuple[typer.core.TyperCommand | TyperGroup, list[str]]:
    """The command that words name, and those that follow its name."""
    command, rest = HIL, list(words)
    while isinstance(command, TyperGroup) and rest and rest[0] in command.commands:
        command = command.commands[rest.pop(0)]
    return command, rest


def _given(command: typer.core.TyperCommand, rest: list[str]) -> tuple[dict[str, object], str | None]:
    """Values of the options and arguments, and what is wrong with them."""
    try:
        return command.make_parser(command.context_class(command)).parse_args(list(rest))[0], None
    except Exception as error:  # typer's own usage errors have no public name
        # a page may name an option without its value: `--sheet`
        return {}, None if "requires an argument" in str(error) else f"{' '.join(rest)}: {error}"


@contextlib.contextmanager
def closed_doors(folder: Path) -> Iterator[None]:
    """Commands come as far as to the doors, in a folder with a reader's copies of the configs, at a terminal."""

    def begin(*_: object, **__: object) -> None:
        raise BeginsError

    begin.running = begin  # type: ignore[attr-defined]  # of the client of the command socket

    copy_configs(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        for door in DOORS:
            module, _, name = door.partition(":")
            patch.setattr(importlib.import_module(module), name, begin)
        yield


def copy_configs(folder: Path) -> None:
    """Leave there what `hil configs --copy` makes of the configs that the pages have copied."""
    with contextlib.chdir(folder):
        assert [run(["configs", "--copy", name]) for name in ("sim_impact", "mars_dome")] == [0, 0]


def done(words: list[str]) -> int:
    """The exit status of a complete command; one that leaves files gets an empty folder."""
    if words[1] not in ("configs", "keys"):
        return run(words[1:])
    with tempfile.TemporaryDirectory() as empty, contextlib.chdir(empty):
        return run(words[1:])


def refusal(words: list[str]) -> str | None:
    """Why the program refuses a complete command; None: it begins to work, or has done all. In `closed_doors`."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            status = done(words)
        except BeginsError:
            return None
    return None if status == 0 else said.getvalue() or f"exit status {status}"
