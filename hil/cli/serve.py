"""`hil serve`: a simulated rover that another simulator moves, step by step."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from hil.cli.exits import USAGE, complain, usage_errors
from hil.cli.options import AsJson, ConfigOptions, progress, with_groups
from hil.processes.stop_flag import SignalStop


@with_groups
def serve(
    options: ConfigOptions,
    endpoint: Annotated[
        str,
        typer.Option("--endpoint", metavar="tcp://ADDRESS:PORT", help="Where callers connect; * as the port: free."),
    ] = "tcp://127.0.0.1:*",
    contacts: Annotated[
        str,
        typer.Option(
            "--contacts", metavar="built_in|outside", help="The config's ground, or contacts that the caller sends."
        ),
    ] = "built_in",
    as_json: AsJson = False,
) -> None:
    """Serve a simulated rover to another simulator, which moves it step by step, until ended with Ctrl-C.

    The first line on standard output says where (with --json as one object: step_endpoint, contacts, rig). The messages
    are in docs/reference/step-service.md; clients in Python and C in docs/how-to/step-from-a-simulator.md.
    """
    if contacts not in ("built_in", "outside"):
        raise typer.BadParameter(f"found {contacts!r}; allowed: built_in, outside", param_hint="--contacts")
    if not endpoint.startswith("tcp://"):
        raise typer.BadParameter(f"found {endpoint!r}; allowed: tcp://ADDRESS:PORT", param_hint="--endpoint")
    with usage_errors():
        config = options.load()

    from hil.app.warm_up import report_compiling
    from hil.config.rig import Rig
    from hil.simulator.stepping.service import StepService
    from hil.simulator.stepping.socket import StepSocket

    stop = SignalStop()
    report_compiling(progress)
    try:
        service = StepService(Rig(config), outside=contacts == "outside", progress=progress)
        socket = StepSocket(service, endpoint, config.operator.keys)
    except ValueError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    with socket:
        if as_json:
            where = {"step_endpoint": socket.endpoint, "contacts": contacts, "rig": f"{service.number:08x}"}
            print(json.dumps(where), flush=True)
        else:
            print(f"step service {socket.endpoint}, contacts {contacts}", flush=True)
        socket.serve(stop)
