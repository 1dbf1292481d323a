"""A simulated device server for each test module, and drivers that use it."""

from __future__ import annotations

import threading

import msgspec
import numpy as np
import pytest

from drivers.host import COMPUTER, HostComputer
from drivers.messages import ValveCommand
from drivers.ni import daq as daq_ni
from drivers.ni import session as ni_session
from drivers.ni.channels import NiChannel, NiDaqSettings
from drivers.ni.daq import NiDaq
from drivers.ni.session import NiSession
from drivers.ni.simulated.chassis import Chassis
from drivers.ni.simulated.server import NiServer
from drivers.ni.valves import NiValves, NiValveSettings

VALVES_OFF = ((False, False), (False, False))

RATE = 25_600
BLOCK = 64
NAMES = ("top", "lower_left", "lower_right")
PATIENCE_S = 300.0  # of real time: no test waits for it, and a busy machine may be slow
LINES = tuple(f"cDAQ1Mod2/port0/line{i}" for i in range(4))


class MachineTime(HostComputer):
    """A host of the chassis and of the DAQ driver: time passes while one of them waits, in any thread."""

    def __init__(self):
        self.t_ns, self._lock = 5_000_000_000, threading.Lock()

    def now_ns(self):
        return self.t_ns

    def sleep(self, seconds):
        with self._lock:
            self.t_ns += max(round(seconds * 1e9), 1_000)


class Ramps:
    """Channels whose volts number the sample, from a rig that keeps 1 s."""

    rate_hz, channels, period = RATE, 3, 4096

    def __init__(self, machine):
        self._machine, self._began_ns = machine, machine.t_ns
        self.skipped, self._stands = 0, None

    def taken(self):
        if self._stands is not None:
            return self._stands
        return (self._machine.t_ns - self._began_ns) * RATE // 1_000_000_000 + self.skipped

    def stand(self):
        self._stands = self.taken()

    def copy(self, first, volts):
        if first < self.taken() - RATE:
            raise OverflowError(f"sample {first}")
        volts[:] = self.volts(np.arange(first, first + len(volts)))

    def at_ns(self, sample):
        return self._began_ns + (sample - self.skipped) * 1_000_000_000 // RATE

    def due_ns(self, count):
        return self.at_ns(count - 1)

    def read_in_blocks(self, first, count):
        pass

    def volts(self, samples):
        return ((samples % self.period) * 5e-4 - 1)[:, None] * (1, -2, 0.5)

    def numbers(self, blocks):
        """Of the samples, modulo the period."""
        return np.rint((np.concatenate([block.values[:, 0] for block in blocks]) + 1) / 5e-4).astype(int)

    def follow(self, blocks):
        """Whether no sample is missing, and none twice."""
        return bool(np.all(np.diff(self.numbers(blocks)) % self.period == 1))


class Daq(NiDaq):
    """The driver, and its worker's loop: samples come in the host's time, calls over gRPC take real time."""

    def __init__(self, settings, machine, alive):
        super().__init__(settings, machine, alive)
        self._session = NiSession(settings.device, settings.server, alive, COMPUTER)

    def blocks(self, count):
        found = []
        while len(found) < count:
            if (block := self.read(0)) is None:
                self.step()
            else:
                found.append(block)
        return found

    def until(self, condition, most=500):
        """The first of the next blocks after which a condition holds; those that wait in the buffer come first."""
        return next(block for _ in range(most) for block in self.blocks(1) if condition(block))


class Rams:
    """Valves that record their commands, under pressures of 100, 200, ... kPa; and regulators."""

    def __init__(self, valves=4, regulators=0):
        self.valves, self.regulators = valves, regulators
        self.on, self.set_Pa, self.log = [False] * valves, [0.0] * regulators, []

    def power(self, valve, on):
        self.on[valve] = on
        self.log.append((valve, on))

    def pressure_Pa(self, valve):
        return (valve + 1) * 1e5

    def regulate(self, regulator, pressure_Pa):
        self.set_Pa[regulator] = pressure_Pa


class Clock(HostComputer):
    """A host of the chassis and of the driver whose time the test advances; sleeping does not."""

    def __init__(self):
        self.t_ns = 1_000_000_000

    def now_ns(self):
        return self.t_ns

    def sleep(self, seconds):
        pass


class Valves(NiValves):
    """The driver, and its worker's loop."""

    def obey(self, *commands):
        for t_ns, *powered in commands:
            self.write(ValveCommand(t_ns, (tuple(powered[:2]), tuple(powered[2:])) if powered else VALVES_OFF))
            self.step()


@pytest.fixture
def machine():
    """Waits for samples are in its time; calls over gRPC take real time."""
    return MachineTime()


@pytest.fixture
def analog(machine):
    return Ramps(machine)


@pytest.fixture
def make_rams():
    return Rams


@pytest.fixture
def rams():
    return Rams()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def chassis(analog, rams, machine, request):
    """In the time of `clock` where a test uses one, else in the machine's."""
    return Chassis(analog, rams, host=request.getfixturevalue("clock") if "clock" in request.fixturenames else machine)


@pytest.fixture
def server(chassis, request, monkeypatch):
    if "clock" in request.fixturenames:
        monkeypatch.setattr(NiServer, "_wake", lambda server: None)  # time is virtual, and the tests wake the chassis
    monkeypatch.setattr(ni_session, "SETUP_TIMEOUT_S", PATIENCE_S)
    server = NiServer(chassis)
    server.port = server.serve()
    yield server
    server.stop()


@pytest.fixture
def make_daq(server, machine, monkeypatch):
    """Makes a DAQ driver; keywords change its settings, `channel` those of its second channel."""
    made = []
    monkeypatch.setattr(daq_ni, "SETTLE_S", 0.02)

    def make(channel=None, alive=lambda: None, **changes):
        channels = [NiChannel(name, f"cDAQ1Mod1/ai{i}", sensitivity=11.24) for i, name in enumerate(NAMES)]
        channels[1] = msgspec.structs.replace(channels[1], **(channel or {}))
        settings = NiDaqSettings(tuple(channels), RATE, BLOCK, f"127.0.0.1:{server.port}", timeout_s=PATIENCE_S)
        made.append(Daq(msgspec.structs.replace(settings, **changes), machine, alive))
        return made[-1]

    yield make
    for daq in made:
        daq.close()


@pytest.fixture
def daq(make_daq):
    daq = make_daq()
    daq.open()
    return daq


@pytest.fixture
def make_valves(server, clock):
    """Makes a valve driver and opens it; keywords change its settings."""
    made = []

    def make(opened=True, **changes):
        plain = {"timeout_s": PATIENCE_S, "watchdog_device": "cDAQ1"}
        settings = NiValveSettings(LINES, server=f"127.0.0.1:{server.port}", **plain)
        made.append(Valves(msgspec.structs.replace(settings, **changes), clock))
        if opened:
            made[-1].open()
        return made[-1]

    yield make
    for valves in made:
        valves.close()
