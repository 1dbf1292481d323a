"""A simulated motion-capture server on a network in virtual time, with an instrument of the test's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from drivers.driver_type import InstrumentSetup
from drivers.messages import Reading
from drivers.natnet.motion import NatNetMotion
from drivers.natnet.section import NatNetSection
from drivers.natnet.simulated.server import MotionServer, ServerOptions
from drivers.sim.protocol.line import Line, LineFault
from drivers.sim.virtual.host import VirtualHost
from drivers.sim.virtual.schedule import VirtualTime
from drivers.sim.virtual.serial import VirtualLines

POSE = ("x_m", "y_m", "z_m", "qx", "qy", "qz", "qw")
PERIOD_NS = 10_000_000
PLACED = (1.0, 2.0, 3.0, 0.5, -0.5, 0.5, 0.5)


def motive(endpoint: str, **keys: Any) -> NatNetSection:
    """The section of a config, unchecked: a virtual network has names of its own, and a busy machine needs patience."""
    return NatNetSection.model_construct(driver="natnet", address=endpoint, **keys)


class Moves:
    """An instrument whose readings are what a function of time gives; numbers in `lost` never come.

    Args:
        now_ns: the clock.
        values: of a reading at a time [s].
    """

    def __init__(self, now_ns: Callable[[], int], values: Callable[[float], tuple[float, ...]]) -> None:
        self._now_ns, self.values = now_ns, values
        self.channels, self.rate_hz = POSE, 1e9 / PERIOD_NS
        self.lost: set[int] = set()

    def since(self, sequence: int) -> list[tuple[int, int, tuple[float, ...]]]:
        newest = self._now_ns() // PERIOD_NS
        return [
            (number, number * PERIOD_NS, self.values(number * PERIOD_NS * 1e-9))
            for number in range(max(sequence + 1, newest - 100), newest + 1)
            if number not in self.lost
        ]


class Rig:
    """A server and a driver in virtual time."""

    def __init__(self, options: ServerOptions, channels: tuple[str, ...] = POSE, **keys: Any) -> None:
        self.time = VirtualTime()
        self.host = VirtualHost(self.time)
        self.instrument = Moves(self.host.now_ns, lambda t_s: PLACED)
        self.server = MotionServer(self.instrument, options)
        self.line = Line(Path("natnet"), self.server, 1, 0, self.host.network_terminal, network=True)
        VirtualLines(self.time, {"natnet": self.line}, self.host.ports)
        setup = InstrumentSetup(channels, self.instrument.rate_hz, options.delay_ns)
        self.driver = NatNetMotion(motive(self.line.endpoint, **keys), setup, self.host)

    def inject_fault(self, kind: Any, **how: Any) -> None:
        self.line.inject_fault(LineFault(kind, **how))

    def step_for(self, seconds: float) -> list[Reading]:
        """All readings of a time."""
        end_ns, found = self.host.now_ns() + round(seconds * 1e9), []
        while self.host.now_ns() < end_ns:
            self.driver.step()
            if (reading := self.driver.read(0)) is not None:
                found.append(reading)
        return found

    def reading(self) -> Reading:
        """The next reading."""
        while True:
            self.driver.step()
            if (reading := self.driver.read(0)) is not None:
                return reading


MakeRig = Callable[..., Rig]


@pytest.fixture
def make_rig() -> Iterator[MakeRig]:
    rigs: list[Rig] = []

    def make(options: ServerOptions | None = None, **keys: Any) -> Rig:
        rigs.append(Rig(options or ServerOptions(), **keys))
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.time.close()


@pytest.fixture
def rig(make_rig: MakeRig) -> Rig:
    return make_rig()


def not_tracked(values: tuple[float, ...]) -> bool:
    return all(map(math.isnan, values))
