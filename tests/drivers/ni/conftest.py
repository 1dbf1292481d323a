"""A simulated device server for each test module, and drivers that use it."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from drivers.driver_type import RigSetup
from drivers.host import COMPUTER, HostComputer
from drivers.messages import ValveCommand
from drivers.ni import daq as daq_ni
from drivers.ni import session as ni_session
from drivers.ni import valves as valves_ni
from drivers.ni.channels import NiChannel, NiTask
from drivers.ni.daq import NiDaq
from drivers.ni.section import NiDaqSection, NiValvesSection
from drivers.ni.session import NiSession
from drivers.ni.simulated.chassis import Chassis
from drivers.ni.simulated.server import NiServer
from drivers.ni.valves import NiValves
from drivers.valve_layout import ValveLayout

VALVES_OFF = ((False, False), (False, False))

RATE = 25_600
BLOCK = 64
NAMES = ("top", "lower_left", "lower_right")
PATIENCE_S = 300.0  # of real time: no test waits for it, and a busy machine may be slow
TWO_WAYS = ValveLayout()
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

    def __init__(self, section, rig, machine, alive):
        super().__init__(section, rig, machine, alive)
        self._session = NiSession("NI-DAQ", section.server, alive, COMPUTER)

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
    """Makes a DAQ driver; keywords change its section and task, `channel` its second channel."""
    made = []
    monkeypatch.setattr(daq_ni, "SETTLE_S", 0.02)

    def make(
        channel=None,
        alive=lambda: None,
        section_type=NiDaqSection,
        section=None,
        buffer_s=1.0,
        timeout_s=PATIENCE_S,
        **changes,
    ):
        monkeypatch.setattr(daq_ni, "BUFFER_S", buffer_s)
        monkeypatch.setattr(daq_ni, "TIMEOUT_S", timeout_s)
        channels = [NiChannel(name, f"cDAQ1Mod1/ai{i}", "iepe_force", 11.24, 5.0) for i, name in enumerate(NAMES)]
        channels[1] = channels[1]._replace(**(channel or {}))
        made_section = section_type(driver="ni", **{"server": f"127.0.0.1:{server.port}", **(section or {})})
        task = NiTask(made_section, tuple(channels), RATE, BLOCK, "NI-DAQ")._replace(**changes)
        monkeypatch.setattr(daq_ni, "task_of", lambda section, rig: task)
        made.append(Daq(made_section, None, machine, alive))
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
def make_valves(server, clock, monkeypatch):
    """Makes a valve driver and opens it; keywords change its section."""
    made = []
    monkeypatch.setattr(valves_ni, "TIMEOUT_S", PATIENCE_S)

    def make(
        opened=True,
        lines=LINES,
        layout=TWO_WAYS,
        outputs=(),
        pressures=(),
        kPa_per_V=100.0,
        supply_kPa=600.0,
        zero_V=0.0,
        **keys,
    ):
        scale = {"kPa_per_V": kPa_per_V}
        section = {"server": f"127.0.0.1:{server.port}", "lines": dict(zip(layout.valves, lines, strict=True))}
        if pressures:
            section["pressure_channels"] = {**dict(zip(layout.valves, pressures, strict=True)), **scale}
        if layout.regulators:
            section["regulators"] = {**dict(zip(layout.regulators, outputs, strict=True)), **scale, "zero_V": zero_V}
        elif outputs:
            section["regulator"] = {"channel": outputs[0], **scale}
        checked = NiValvesSection.model_validate({"driver": "ni", "watchdog_ms": 100, **section})
        rig = RigSetup(valves=layout, supply_kPa=supply_kPa)
        made.append(Valves(checked.model_construct(**{**dict(checked), **keys}), rig, clock))
        if opened:
            made[-1].open()
        return made[-1]

    yield make
    for valves in made:
        valves.close()
