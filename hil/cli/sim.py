"""`hil sim`: the simulated rig at the protocol level."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from hil.cli.exits import usage_errors
from hil.cli.options import ConfigSource, Overrides, Seed, config_from, progress


class _StopFlag:
    """Set by Ctrl-C, SIGHUP and SIGTERM."""

    def __init__(self) -> None:
        self.ending = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._end)

    def _end(self, _number: int, _frame: object) -> None:
        self.ending = True


def sim(
    config: ConfigSource,
    endpoints: Annotated[
        Path | None,
        typer.Option("--endpoints", metavar="FILE", help="Write the device addresses to FILE, once all are ready."),
    ] = None,
    overrides: Overrides = None,
    seed: Seed = None,
) -> None:
    """Serve a simulated rig in real time, until stopped: serial ports, a DAQ server, a control socket."""
    with usage_errors():
        effective = config_from(config, overrides, seed, None)

    from hil.app.warm_up import warm_up
    from hil.config.rig import Rig
    from hil.simulator.rig_server import serve_rig

    warm_up(Rig(effective), progress)  # so that its processes find every kernel in the cache
    with usage_errors():
        serve_rig(effective, endpoints, _StopFlag(), progress)
