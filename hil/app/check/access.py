"""The two ways to use a rig's devices without a run (`hil check`): in virtual time, or the real drivers directly."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

from typing_extensions import override

from drivers.interfaces import ControllerState, PolledDevice, Source
from drivers.messages import DaqBlock
from hil.app.backends import RigLock
from hil.app.driver_factory import DriverFactory, at_endpoints
from hil.app.warm_up import warm_up
from hil.config.rig import Rig
from hil.runtime.clock import LockstepClock
from hil.simulator.simulated_rig import build_simulated_rig, connect


class Access(Protocol):
    """Devices, one after the other; none of them is open yet."""

    def device(self, role: str) -> Any:
        """The device of a role, which the rig has. Raises DeviceError."""

    def go_on(self) -> int:
        """Poll the device requested last once; return the time afterwards [ns]. Raises DeviceError."""

    def states(self) -> Sequence[ControllerState]:
        """State of each motor controller of the drives or servos requested last, as reported so far."""
        return ()

    @property
    def filter_delay_ms(self) -> float:
        """Delay of the converters' filter, as reported by the device [ms]."""
        return 0.0


class _VirtualAccess(Access):
    """A simulated rig in this process."""

    def __init__(self, rig: Rig) -> None:
        self._simulated_rig = build_simulated_rig(rig)
        self._clock = LockstepClock(self._simulated_rig, rig.rate_hz)

    @override
    def device(self, role: str) -> Any:
        return self._simulated_rig.devices[role]

    def go_on(self) -> int:
        """One tick."""
        return self._clock.next().t_ns


class DirectAccess(Access):
    """The real drivers, polled by this process."""

    def __init__(self, rig: Rig) -> None:
        self._make = DriverFactory(rig.config.devices, rig.setup)
        self._stepped: PolledDevice | None = None
        self._daq = self._make.device("daq") if rig.layout.channels else None
        self._states: Callable[[], Sequence[ControllerState]] = tuple

    @property
    @override
    def filter_delay_ms(self) -> float:
        return self._daq.filter_delay_ns * 1e-6 if self._daq else 0.0

    @override
    def device(self, role: str) -> Any:
        self._stepped = device = self._daq if role == "daq" else self._make.device(role)
        self._states = getattr(device, "states", tuple)
        return device

    def go_on(self) -> int:
        """One transaction."""
        if self._stepped:
            self._stepped.step()
        return time.monotonic_ns()

    @override
    def states(self) -> Sequence[ControllerState]:
        return self._states()


def read_blocks(
    access: Access, daq: Source[DaqBlock], for_ns: float, each_round: Callable[[int], None] = lambda _: None
) -> tuple[list[tuple[int, DaqBlock]], int]:
    """Blocks that an open data acquisition delivers from now on, each with the time of its reading [ns].

    `each_round`: called after each reading with how much time has passed [ns].

    Returns:
        The blocks, and the time at the end [ns].

    Raises:
        DeviceError: the device is silent or lost.
    """
    blocks: list[tuple[int, DaqBlock]] = []
    t_ns = began_ns = access.go_on()
    while t_ns - began_ns < for_ns:
        while (block := daq.read(t_ns)) is not None:
            blocks.append((t_ns, block))
        each_round(t_ns - began_ns)
        t_ns = access.go_on()
    return blocks, t_ns


def open_access(
    rig: Rig, progress: Callable[[str], None], endpoints: Path | None, stack: ExitStack
) -> tuple[Access, Rig]:
    """The way to a rig's devices, and the rig with all ports; the stack gives it back.

    `endpoints`: of a running simulated rig at the protocol level (`hil sim --endpoints`).

    Raises:
        DeviceError: there is no such simulated rig, or another process uses the rig.
    """
    if rig.kind == "simulated":
        warm_up(rig, progress)
        return _VirtualAccess(rig), rig
    if rig.kind == "simulated_wire":
        if endpoints is None:
            warm_up(rig, progress)
        start = "starting the simulated rig at the protocol level"
        progress(start if endpoints is None else f"using the rig of {endpoints}")
        rig = Rig(at_endpoints(rig.config, connect(rig, endpoints, stack)[0]))
    stack.enter_context(RigLock(rig.kind, rig.config.devices))
    return DirectAccess(rig), rig
