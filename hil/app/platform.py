"""Platform of a run whose drivers work in processes of their own: this computer, or one in virtual time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from drivers.host import COMPUTER, Host
from hil.config import Config
from hil.ipc.run_memory import RunMemory
from hil.processes.process import Process
from hil.processes.supervisor import Launch
from hil.realtime.clock import RealtimeClock
from hil.simulator.connection import Endpoints, connect
from hil.simulator.control_socket import RigControl


@dataclass(frozen=True)
class Platform:
    """Without arguments it is this computer; `hil.app.virtual.computer` makes the other.

    Attributes:
        host: clock and ports of the loop process.
        launch: starts a worker.
        connect: finds or starts a simulated rig at the protocol level, as `hil.simulator.connection.connect`.
        waker: a function that wakes the worker of a link, by its name.
        make_clock: of the loop, from its rate [Hz] and the share of a period that may be spent spinning.
        boottime: the clock that goes on while the computer is suspended [ns].
    """

    host: Host = COMPUTER
    launch: Launch = Process
    connect: Callable[[Config, Path | None, ExitStack], tuple[Endpoints, RigControl]] = connect
    waker: Callable[[RunMemory, str], Callable[[], None]] = lambda shared, name: shared.wake_ups[name].wake
    make_clock: Callable[[int, float], RealtimeClock] = RealtimeClock
    boottime: Callable[[], int] = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)


THIS_COMPUTER = Platform()
