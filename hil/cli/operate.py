"""`hil operate`: the resident process of a rig, operated by clients of its command socket."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli.campaign import wanted_campaign
from hil.cli.exits import usage_errors
from hil.cli.options import RunOptions, progress, with_groups

if TYPE_CHECKING:
    from hil.app.command_server import CommandServer
    from hil.config import Config


@with_groups
def operate(
    options: RunOptions,
    plan: Annotated[
        str | None, typer.Option("--plan", metavar="PLAN", help="A campaign that operators may start.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="N", min=1, max=65535, help="Port of the command socket."),
    ] = None,
) -> None:
    """Open the rig, and make the runs that operators ask for (hil command), until ended with Ctrl-C."""
    with usage_errors():
        config = options.load()
        overrides = [] if port is None else [f"operator.endpoint={config.operator.endpoint.rpartition(':')[0]}:{port}"]
        config = options.load(*overrides)
        wanted = None
        if plan is not None:
            clock = [] if options.clock is None else [f"clock={options.clock}"]
            wanted = wanted_campaign(options.config, plan, [*(options.overrides or ()), *clock], options.seed)

    from hil.app.command_server import CommandServer
    from hil.app.console import Console
    from hil.app.operate import ResidentProcess
    from hil.app.run import open_backend, run_experiment
    from hil.app.run_loop import Signals
    from hil.campaign.commanded import CommandedCampaign
    from hil.recording.run_folder import run_folder

    def vary(more: Sequence[str]) -> Config:
        return options.load(*overrides, *more)

    with usage_errors(), Signals() as signals, CommandServer(config) as server:
        out = run_folder(options.out, config.name, "operate")
        console = Console(server.memory, idle=partial(_keep_alive, server))
        campaign = None
        if wanted is not None:
            run = partial(run_experiment, endpoints=options.endpoints)
            campaign = CommandedCampaign(wanted, out, console, progress, run)
        opener = partial(open_backend, endpoints=options.endpoints)
        process = ResidentProcess(config, vary, out, console, signals, progress, opener=opener, campaign=campaign)
        _print_doors(server, options.as_json)
        process.serve()


def _print_doors(server: CommandServer, as_json: bool) -> None:
    """Where clients connect, and what they need for it."""
    token_file = None if server.token_file is None else str(server.token_file)
    if as_json:
        print(json.dumps({"url": None, "token_file": token_file, "command_endpoint": server.endpoint}), flush=True)
    else:
        needs = f"token in {token_file}" if token_file else "clients need keys"
        print(f"command socket {server.endpoint}, {needs}", flush=True)


def _keep_alive(server: CommandServer) -> None:
    """A command server that is gone starts again: the console is lost meanwhile."""
    from drivers.interfaces import DeviceError

    if not server.alive:
        progress("command server: its process is gone; it starts again")
        try:
            server.restart()
        except DeviceError as error:
            progress(str(error))
