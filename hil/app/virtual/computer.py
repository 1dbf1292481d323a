"""A computer in virtual time, with a simulated rig at the protocol level connected to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from typing_extensions import override

from drivers.host import Host
from drivers.sim.virtual.host import VirtualHost
from drivers.sim.virtual.schedule import VirtualTime
from hil.app.platform import Platform
from hil.app.virtual.processes import VirtualProcesses
from hil.app.virtual.rig import VirtualRig
from hil.config import Config
from hil.messages.stages import Tick
from hil.realtime.clock import RealtimeClock
from hil.realtime.long_ticks import thread_usage
from hil.runtime.clock import Pace
from hil.simulator.connection import Endpoints


class _VirtualClock(RealtimeClock):
    """Deadlines in virtual time; the duration of a tick's stages is measured on this computer.

    Args:
        host: whose time it is.
        pace: keeps virtual time from being ahead of the wall clock; None: as fast as the machine can.
        rate_hz: ticks a second.
    """

    name = "lockstep"

    def __init__(self, host: VirtualHost, pace: Pace | None, rate_hz: int, *_: object) -> None:
        nothing = thread_usage()  # no tick takes too long in virtual time, so the kernel is not asked in each
        super().__init__(rate_hz, now=host.now_ns, sleep_until=host.sleep_until, usage=lambda: nothing)
        self._pace = pace

    @property
    def wake_us(self) -> None:
        """None: virtual time has no wake-up latency."""
        return None

    @override
    def next(self) -> Tick:
        if self._pace is not None:
            self._pace.wait()
        return super().next()._replace(began_ns=time.monotonic_ns())


class VirtualComputer:
    """Clock, ports, network and processes of a run in virtual time, and the simulated rig.

    The thread that makes it is the first actor.

    Args:
        config: of the rig, with `rig: simulated_wire`.
        folder: for the memory of the simulated rig; exists and is empty.
        kill_loop: ends the loop's process, for the watchdog.
        paced_by: a computer whose clock virtual time is never ahead of, because people operate the rig; None: none.

    Attributes:
        time: virtual time.
        host: clock, ports and network.
        rig: the simulated rig.
        processes: the workers.
        suspended_ns: for how long it was suspended so far; its clock stood still then [ns].
        platform: all of it, for `hil.app.backends.RealtimeBackend`.
    """

    def __init__(
        self, config: Config, folder: Path, kill_loop: Callable[[], None], paced_by: Host | None = None
    ) -> None:
        self.time = VirtualTime()
        self.host = VirtualHost(self.time)
        self.rig = VirtualRig(config, folder, self.host)
        self.processes = VirtualProcesses(self.host, kill_loop)
        pace = None if paced_by is None else Pace(paced_by, config.loop.rate_hz)
        make_clock = partial(_VirtualClock, self.host, pace)
        self.suspended_ns = 0
        self.platform = Platform(
            self.host, self.processes.launch, self._connect, self.processes.waker, make_clock,
            lambda: self.host.now_ns() + self.suspended_ns,
        )  # fmt: skip

    def close(self) -> None:
        """End everything; may be called twice."""
        self.time.close()
        for process in self.processes.by_name.values():
            process.kill()
            process.shared.close()
        self.rig.close()

    def _connect(self, *_: object) -> tuple[Endpoints, Any]:
        return self.rig.endpoints, self.rig
