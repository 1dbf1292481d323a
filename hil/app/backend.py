"""What stands behind the loop: a rig that is ready to run, in virtual time or in separate processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from drivers.host import COMPUTER, Host
from hil.config.rig import Rig
from hil.ipc.run_memory import RunMemory
from hil.messages.fault import Event
from hil.processes.lifecycle import Process
from hil.processes.supervisor import Launch
from hil.realtime import RealtimeRight
from hil.realtime.clock import RealtimeClock
from hil.runtime.loop import Cycle, Loop
from hil.runtime.rig_io import RigIO
from hil.simulator.connection import Endpoints, connect
from hil.simulator.control_socket import RigControl
from hil.simulator.ground_truth import GroundTruth


class Backend(Protocol):
    """A rig that is ready to run, and after a run can be made ready for another."""

    rig_io: RigIO
    cycle: Cycle
    loop: Loop

    @property
    def ground_truth(self) -> GroundTruth:
        """What only a simulated rig can tell."""

    def granted(self) -> Sequence[RealtimeRight]:
        """Rights of the processes but that of the loop."""

    def plant_loop(self) -> dict[str, Any] | None:
        """How a simulated rig in its own process kept up; None where it has none."""

    def links(self) -> dict[str, Any] | None:
        """Health of each link to real devices, by its name; None where there is none."""

    def start_clock(self) -> None:
        """Time begins now."""

    def hold(self) -> None:
        """The loop has ended: whoever has the devices stops them and holds them so, and nobody misses the loop."""

    def close_record(self) -> None:
        """The run is over and the devices are held: finish the record. Raises DeviceError: there is none."""

    def lost(self) -> str:
        """Between two runs: which of its processes are gone, in words; empty: none is, and it can run again."""

    def publish(self, summary: Mapping[str, Any]) -> None:
        """Tell viewers how it ended."""

    def next_run(
        self, folder: Path, latched: Sequence[Event], rig: Rig | None = None, *, attended: bool | None = None
    ) -> None:
        """Make it ready for a run in another folder, with new devices, cycle and loop.

        Args:
            folder: of that run; exists and is empty.
            latched: faults that nobody has cleared.
            rig: of that run and those that follow, the same with the same layout; None: as before.
            attended: an operator arms and starts them; None: as before.

        Raises:
            DeviceError: it cannot run again.
        """


@dataclass(frozen=True)
class Platform:
    """Without arguments it is this computer; `hil.app.virtual.virtual_rig` makes the other.

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
    connect: Callable[[Rig, Path | None, ExitStack], tuple[Endpoints, RigControl]] = connect
    waker: Callable[[RunMemory, str], Callable[[], None]] = lambda shared, name: shared.wake_ups[name].wake
    make_clock: Callable[[int, float], RealtimeClock] = RealtimeClock
    boottime: Callable[[], int] = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)


THIS_COMPUTER = Platform()
