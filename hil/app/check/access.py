"""The two ways in which `hil check` uses a rig's devices: in virtual time, or the real drivers directly."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from drivers.interfaces import ControllerState, DriveLink, DrivesDevice, PolledDevice, Source, ValveLink
from drivers.messages import DaqBlock
from hil.app.driver_factory import make_daq, make_drives, make_valves
from hil.config import Config
from hil.runtime.clock import LockstepClock
from hil.simulator.build import build_simulated_rig


class Access(Protocol):
    """Devices, one after the other; none of them is open yet."""

    def daq(self) -> Source[DaqBlock]:
        """The data acquisition. Raises DeviceError."""

    def drives(self) -> DriveLink:
        """The wheel drives. Raises DeviceError."""

    def valves(self) -> ValveLink:
        """The bogie valves. Raises DeviceError."""

    def go_on(self) -> int:
        """Poll the device requested last once; return the time afterwards [ns]. Raises DeviceError."""

    def states(self) -> Sequence[ControllerState]:
        """State of each motor controller, as reported so far."""

    @property
    def filter_delay_ms(self) -> float:
        """Delay of the converters' filter, as reported by the device [ms]."""


class VirtualAccess:
    """A simulated rig in this process.

    Args:
        config: of the rig.
    """

    filter_delay_ms = 0.0

    def __init__(self, config: Config) -> None:
        self._simulated_rig = build_simulated_rig(config)
        self._clock = LockstepClock(self._simulated_rig, config.loop.rate_hz)

    def daq(self) -> Source[DaqBlock]:
        """See Access."""
        return self._simulated_rig.daq

    def drives(self) -> DriveLink:
        """See Access."""
        return self._simulated_rig.drives

    def valves(self) -> ValveLink:
        """See Access."""
        return self._simulated_rig.valves

    def go_on(self) -> int:
        """One tick."""
        return self._clock.next().t_ns

    def states(self) -> Sequence[ControllerState]:
        """There are no controllers."""
        return ()


class DirectAccess:
    """The real drivers, polled by this process.

    Args:
        config: of the rig, with all ports.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._stepped: PolledDevice | None = None
        self._daq = make_daq(config) if config.daq else None
        self._drives: DrivesDevice | None = None

    @property
    def filter_delay_ms(self) -> float:
        """See Access."""
        return self._daq.filter_delay_ns * 1e-6 if self._daq else 0.0

    def daq(self) -> Source[DaqBlock]:
        """See Access."""
        assert self._daq is not None  # not called for a rig without force sensors
        self._stepped = self._daq
        return self._daq

    def drives(self) -> DriveLink:
        """See Access."""
        self._stepped = self._drives = drives = make_drives(self._config)
        return drives

    def valves(self) -> ValveLink:
        """See Access."""
        self._stepped = valves = make_valves(self._config)
        return valves

    def go_on(self) -> int:
        """One transaction."""
        if self._stepped:
            self._stepped.step()
        return time.monotonic_ns()

    def states(self) -> Sequence[ControllerState]:
        """See Access."""
        return self._drives.states() if self._drives else ()
