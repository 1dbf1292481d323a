"""What a run in real time stands on: the computer and its processes, or virtual ones in their place."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from drivers.host import COMPUTER, Host
from hil.app.wire.attach import Endpoints, attach
from hil.app.wire.control import Asked
from hil.config import Config
from hil.realtime import RealtimeClock
from hil.workers.crew import Launch
from hil.workers.process import Process


@dataclass(frozen=True)
class Platform:
    """See above; without arguments it is this computer.

    Attributes:
        host: clock and ports of the loop process.
        launch: starts a worker.
        attach: finds or starts a simulated rig at the wire, as `hil.app.wire.attach.attach`.
        make_clock: of the loop, from its rate [Hz] and the share of a period that may be spent spinning.
    """

    host: Host = COMPUTER
    launch: Launch = Process
    attach: Callable[[Config, Path | None, ExitStack], tuple[Endpoints, Asked]] = attach
    make_clock: Callable[[int, float], RealtimeClock] = RealtimeClock


THIS_COMPUTER = Platform()
