"""`hil operate`: the resident process of a rig, operated by clients of its command socket.

`hil jog` and `hil valve`: move one part for a short time, through the same loop and limiter as a trial.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli.campaign import campaign_of
from hil.cli.run_options import RunOptions, complete_plan, progress, with_groups
from hil.cli.terminal import REFUSED, USAGE, complain, usage_errors
from hil.cli.trial import run_and_show

if TYPE_CHECKING:
    from hil.app.console import Console
    from hil.app.page.server import PageServer
    from hil.app.server_process import CommandServer
    from hil.campaign.plan import Plan
    from hil.campaign.run import CampaignOrder
    from hil.config.files import OpenedFiles
    from hil.messages.operator_input import Jog, JogJoint, Valve


@with_groups
def operate(
    options: RunOptions,
    plan: Annotated[
        str | None,
        typer.Option(
            "--plan", metavar="PLAN", help="A campaign that operators may start.", autocompletion=complete_plan
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="N", min=1, max=65535, help="Port of the command socket."),
    ] = None,
    page: Annotated[bool, typer.Option("--page", help="Serve the operator's page, for a browser.")] = False,
) -> None:
    """Open the rig, and make the runs that operators ask for (hil command, --page), until ended with Ctrl-C."""
    from hil.campaign.run import PlanChoice, plans_for
    from hil.config.operator_settings import Settings

    with usage_errors():
        config = options.load()
        overrides = [] if port is None else [f"operator.endpoint={config.operator.endpoint.rpartition(':')[0]}:{port}"]
        settings = Settings(lambda more, seed: options.load(*overrides, *more, seed=seed))
        config = settings.config
        offered, chosen = plans_for(options.config), None
        if plan is not None:
            chosen = Path(plan).name if Path(plan).is_file() else plan
            offered[chosen] = plan
        plans = PlanChoice(partial(_campaign, options, settings.opened), offered, chosen)

    from hil.app.console import Console
    from hil.app.operate import ResidentProcess
    from hil.app.page.server import PageServer
    from hil.app.run import open_backend, run_experiment
    from hil.app.run_loop import Signals
    from hil.app.server_process import CommandServer
    from hil.campaign.commanded import CommandedCampaign
    from hil.config.rig import Rig
    from hil.recording.run_folder import run_folder

    with usage_errors(), Signals() as signals, ExitStack() as stack:
        server = stack.enter_context(CommandServer(config.operator, config.name))
        out = run_folder(options.out, config.name, "operate")
        pages: list[PageServer] = []
        console = Console(server.memory, idle=partial(keep_alive, server, pages))
        console.status.settings.plan = chosen or ""
        run = partial(run_experiment, endpoints=options.endpoints)
        campaign = CommandedCampaign(plans, out, console, progress, run, partial(_report, console))
        if page:
            where = server.endpoint, server.token_file, out
            pages.append(stack.enter_context(PageServer(Rig(config), *where, campaign.shown(), campaign.offered)))
        opener = partial(open_backend, endpoints=options.endpoints)
        show = pages[0].show if pages else lambda *_: None
        process = ResidentProcess(
            settings, out, console, signals, progress, opener=opener, campaign=campaign, show=show
        )
        _print_doors(server, pages, options.as_json)
        if config.clock == "realtime":
            for one in (server, *pages):
                for sentence in one.refused_rights:
                    progress(sentence)
        process.serve()


def _campaign(
    options: RunOptions, opened: OpenedFiles, plan: str | Plan, more: Sequence[str], seed: int | None
) -> CampaignOrder:
    """The campaign of a plan, on the config as it was opened with further overrides. Raises ConfigError."""
    from hil.campaign.plan import load_plan

    clock = [] if options.clock is None else [f"clock={options.clock}"]
    overrides = [*(options.overrides or ()), *clock, *more]
    plan = load_plan(plan) if isinstance(plan, str) else plan
    with opened.in_use():
        return campaign_of(plan, options.config, overrides, options.seed if seed is None else seed)


def _print_doors(server: CommandServer, pages: Sequence[PageServer], as_json: bool) -> None:
    """Where clients and browsers connect, and what they need for it."""
    token_file = None if server.token_file is None else str(server.token_file)
    url, page_token_file = (pages[0].url, str(pages[0].token_file)) if pages else (None, None)
    if as_json:
        doors = {"url": url, "token_file": token_file, "command_endpoint": server.endpoint}
        print(json.dumps({**doors, "page_token_file": page_token_file}), flush=True)
    else:
        page = f"page {url} (opens once; token in {page_token_file}), " if url else ""
        needs = f"token in {token_file}" if token_file else "clients need keys"
        print(f"{page}command socket {server.endpoint}, {needs}", flush=True)


def _report(console: Console, folder: Path) -> str:
    """Have another process write the report of a campaign, because it can take minutes; what is wrong with it."""
    command = [sys.executable, "-P", "-m", "hil.cli", "report", str(folder)]
    with tempfile.TemporaryFile() as errors, subprocess.Popen(command, stdout=errors, stderr=errors) as process:
        try:
            while process.poll() is None:
                console.rest()
        except BaseException:
            process.kill()
            raise
        if process.returncode == 0:
            return ""
        errors.seek(0)
        last = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
        return last or f"hil report ended with status {process.returncode}"


def keep_alive(server: CommandServer, pages: Sequence[PageServer]) -> None:
    """A server that is gone starts again: without the command server the console is lost meanwhile."""
    from drivers.interfaces import DeviceError

    servers: list[tuple[str, CommandServer | PageServer]] = [("command server", server)]
    servers += [("page server", page) for page in pages]
    for name, one in servers:
        if not one.alive:
            progress(f"{name}: its process is gone; it starts again")
            try:
                one.restart()
            except DeviceError as error:
                progress(str(error))


Seconds = Annotated[float, typer.Option("--for", metavar="SECONDS", help="Duration, up to 10 s.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask: you are at the rig, with the emergency stop in reach.")]


@dataclass(frozen=True)
class JogOptions:
    """What a jog turns, and for how long."""

    seconds: Seconds
    speed: Annotated[
        float | None,
        typer.Option("--speed", metavar="M/S", help="Speed of the rim; negative: backward."),
    ] = None
    wheel: Annotated[
        list[str] | None,
        typer.Option("--wheel", metavar="NAME", help="front_left, ..., or all; repeatable."),
    ] = None
    joint: Annotated[
        str | None,
        typer.Option("--joint", metavar="NAME", help="A driven joint, in place of wheels."),
    ] = None
    angle: Annotated[float | None, typer.Option("--angle", metavar="DEG", help="Angle that the joint turns to.")] = None
    rate: Annotated[float, typer.Option("--rate", metavar="DEG/S", help="Speed of the joint.")] = 5.0

    def command(self) -> Jog | JogJoint:
        """What they ask for. Raises typer.BadParameter: wheels and a joint, or half of either."""
        from hil.messages.operator_input import Jog, JogJoint

        if self.joint is None:
            if self.speed is None or self.angle is not None:
                raise typer.BadParameter("give --speed with --wheel, or --angle with --joint")
            return Jog(tuple(self.wheel or ()), self.speed, self.seconds)
        if self.angle is None or self.speed is not None or self.wheel:
            raise typer.BadParameter("--joint needs --angle, and has no --wheel and no --speed")
        return JogJoint(self.joint, self.angle, self.rate, self.seconds)


@with_groups
def jog(options: RunOptions, what: JogOptions, yes: Yes = False) -> None:
    """Turn wheels or a driven joint for a short time, to check wiring and direction. Wheels off the ground."""
    _move(options, what.command(), yes)


@with_groups
def valve(
    options: RunOptions,
    side: Annotated[str, typer.Argument(metavar="CYLINDER", help="Cylinder: left or right.")],
    way: Annotated[str, typer.Argument(metavar="WAY", help="Direction: extend or retract.")],
    seconds: Seconds,
    yes: Yes = False,
) -> None:
    """Power one valve for a short time, wheels cut, to check cylinder and direction."""
    from hil.messages.operator_input import Valve

    _move(options, Valve(side, way, seconds), yes)  # type: ignore[arg-type]  # the config checks it


def _move(options: RunOptions, asked: Jog | JogJoint | Valve, yes: bool) -> None:
    """Run the config as a jog of what was asked for."""
    from hil.config.rig import Rig
    from hil.experiments.jog import jog_overrides, what_moves

    with usage_errors():
        config = options.load(*jog_overrides(asked))
    if not yes:
        _confirm(what_moves(Rig(config)), config.name, config.rig)
    run_and_show(config, options)


def _confirm(what: str, name: str, rig: str) -> None:
    """Ask for confirmation that the rig may move."""
    complain(f"{name} (rig: {rig}) will move: {what}")
    complain("this program is not an emergency stop: keep the hard-wired one for motor power and valve supply in reach")
    if not sys.stdin.isatty():
        complain("no terminal for the confirmation: run this at the rig, or use --yes")
        raise typer.Exit(USAGE)
    if not typer.confirm("Is it in reach, are the wheels off the ground, and is everybody clear?", err=True):
        complain("not confirmed: nothing has moved")
        raise typer.Exit(REFUSED)
