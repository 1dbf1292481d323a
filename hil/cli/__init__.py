"""The command line: `hil COMMAND CONFIG`. Commands import their modules when they run, so that help stays fast."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

import typer
from typer.main import get_command

from hil.cli.bench import bench
from hil.cli.calibrate import calibrate
from hil.cli.campaign import campaign, compare
from hil.cli.check import check, devices, open_foreign, recover, replay, verify
from hil.cli.client import command, keys
from hil.cli.configs import configs, init, rover
from hil.cli.design import optimise, sensitivity
from hil.cli.energy import activity, energy, path
from hil.cli.identify import identify, validate
from hil.cli.operate import jog, operate, valve
from hil.cli.runs import explain, export, faults, note, render, runs
from hil.cli.sim import serve, sim
from hil.cli.terminal import FAULT, LINE, USAGE, OutputError, complain, guard_streams
from hil.cli.traction import drawbar, slope, sweep
from hil.cli.trial import report, trial
from hil.cli.trial import run as run_config
from hil.cli.view import view
from hil.placement import misplaced
from hil.version import running_version


def problems_at_start() -> str:
    """Problems that prevent a start; empty if there are none.

    A folder `models/` in the current folder or on PYTHONPATH would shadow ours and be imported instead.
    """
    if sys.platform == "win32":
        return "the controller runs on Linux; a Windows PC with NI hardware is reached as an NI gRPC device server"
    return "\n".join(misplaced())


def documentation() -> Path:
    """Where the documentation begins: in a checkout its folder, else the path in the source archive."""
    page = Path("docs", "index.md")
    found = Path(__file__).resolve().parents[2] / page
    return found if found.is_file() else page


app = typer.Typer(
    name="hil",
    help="Controller of a rover test rig, with a simulated rig to run impact trials on.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        "Exit status: 0 done (also when a trial is not accepted); 1 fault or abort after arming, or no impact in time; "
        "2 config, usage, missing device or output that cannot be written; 3 arming refused; 130 interrupted by "
        "Ctrl-C, SIGHUP or SIGTERM before the loop ran: nothing has moved.\n\n"
        f"Documentation: {documentation()}"
    ),
)
# Groups of `hil --help`, and their commands in order; a group of commands has its own help.
_GROUPS: dict[str, tuple[Callable[..., None] | typer.Typer, ...]] = {
    "Run": (run_config, trial, campaign, sweep, sensitivity, optimise, drawbar, slope),
    "Rig": (check, devices, calibrate, jog, valve, operate, command, keys),
    "Runs": (runs, note, report, compare, export, render, view, verify, replay, recover),
    "Analysis": (energy, path, activity, identify, validate, open_foreign),
    "Your own parts": (configs, init, rover, serve, sim),
    "Machine": (bench, faults, explain),
}
_NAMES: dict[Callable[..., None] | typer.Typer, str] = {
    run_config: "run", open_foreign: "open", calibrate: "calibrate", command: "command", keys: "keys", rover: "rover",
    bench: "bench", validate: "validate",
}  # fmt: skip
for _panel, _commands in _GROUPS.items():
    for _command in _commands:
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, name=_NAMES[_command], rich_help_panel=_panel)
        else:
            app.command(_NAMES.get(_command), rich_help_panel=_panel)(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hil {running_version()}")
        raise typer.Exit


def _keep_tracebacks(wanted: bool) -> None:
    if wanted:
        os.environ["HIL_DEBUG"] = "1"


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", callback=_keep_tracebacks, help="Print tracebacks, same as HIL_DEBUG=1.")
    ] = False,
) -> None:
    """Controller of a rover test rig, with a simulated rig to run impact trials on."""


@cache
def _program() -> Callable[..., object]:
    """All commands with their options, made once in a process: that takes a tenth of a second."""
    return get_command(app)


def run(arguments: Sequence[str]) -> int:
    """Run one command line.

    Args:
        arguments: without the name of the program.

    Returns:
        The exit status: 0 done, 1 fault, 2 config, usage, missing device or output that cannot be written, 3 arming
        refused, 130 interrupted before the loop ran.
    """
    problems = problems_at_start()
    if problems:
        complain(problems)
        return USAGE
    try:
        _program()(args=list(arguments), prog_name="hil")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else FAULT if stop.code else 0
    except OutputError as error:
        complain(str(error))
        return USAGE
    except Exception as error:
        if os.environ.get("HIL_DEBUG", "") not in ("", "0"):
            traceback.print_exc()
        else:
            text = f"{error}".strip().partition("\n")[0]
            complain(f"{type(error).__name__}: {text}" if text else type(error).__name__)
            complain("unexpected error: `hil --debug ...` or HIL_DEBUG=1 shows the traceback")
        return FAULT
    return 0


def main() -> None:
    """The program `hil`."""
    guard_streams()
    LINE.start(next(iter(sys.argv[1:]), ""))
    status = run(sys.argv[1:])
    LINE.stop()
    try:
        sys.stdout.flush()
    except OutputError as error:
        complain(str(error))
        status = status or USAGE
    sys.exit(status)
