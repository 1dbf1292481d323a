"""The simulated NI device server on a network and in a rig, for the calls of the nidaqmx package."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from typing_extensions import override

from drivers.host import COMPUTER, Host
from drivers.ni.section import NiDaqSection, NiJointsSection, NiLoadsSection, NiMotionSection, NiValvesSection
from drivers.ni.simulated.chassis import Chassis
from drivers.ni.simulated.counters import Counters, Encoder
from drivers.ni.simulated.parts import ChannelNames, ServerFault
from drivers.ni.simulated.service import NiService
from drivers.rpc.server import Server
from drivers.sim.protocol.udp import is_own
from drivers.sim.server import ServerSetup, SimulatedServer
from drivers.sim.virtual.grpc import Network

# Period of the watchdog check while its time runs [s].
WAKE_S = 0.005


class NiServer(NiService):
    """The device server, with a thread for each connection, for processes of the same user.

    Args:
        chassis: the chassis that it serves.
        host: whose clock is used.
    """

    def __init__(self, chassis: Chassis, host: Host = COMPUTER) -> None:
        super().__init__(chassis, host)
        self._server = Server(self.handlers(), is_own)
        self._ending = False
        self._waker: threading.Thread | None = None

    @override
    def listen(self, host: str, port: int) -> int:
        bound = self._server.listen(host, port)
        if self._waker is None:
            self._ending = False
            self._waker = threading.Thread(target=self._wake, name="ni-watchdog", daemon=True)
            self._waker.start()
        return bound

    @override
    def disconnect(self) -> None:
        self._server.stop()

    def stop(self) -> None:
        """Stop serving; may be called twice."""
        self.switch_off()
        self._ending = True
        self.chassis.watched.set()  # the thread may wait for it
        if self._waker is not None:
            self._waker.join()
            self._waker = None
            self.chassis.watched.clear()

    def _wake(self) -> None:
        while not self._ending:
            self.chassis.watched.wait()
            time.sleep(WAKE_S)
            self.chassis.wake(self.host.now_ns())


_WAKE_NS = round(WAKE_S * 1e9)


class VirtualNiServer(NiService):
    """The simulated device server, called by `Channel` instead of gRPC.

    Args:
        chassis: the chassis that it serves.
        network: the virtual network that it listens on.
    """

    def __init__(self, chassis: Chassis, network: Network) -> None:
        super().__init__(chassis, network)
        self._network, self._listens_at = network, ""
        self.called = self.handlers()
        self._wake()

    @override
    def listen(self, host: str, port: int) -> int:
        self._listens_at = f"{host}:{port}"
        self._network.servers[self._listens_at] = self
        return port

    @override
    def disconnect(self) -> None:
        self._network.servers.pop(self._listens_at, None)

    def _wake(self) -> None:
        time = self._network.time
        self.chassis.wake(time.now_ns)
        time.call_at(time.now_ns + _WAKE_NS, self._wake)


# Its address in virtual time.
VIRTUAL_HOST, VIRTUAL_PORT = "simulated", 31763


class NiRigPart(SimulatedServer):
    """A `drivers.sim.server.SimulatedServer`.

    Args:
        setup: its parts.
    """

    def __init__(self, setup: ServerSetup) -> None:
        self._chassis = chassis = Chassis(
            setup.analog,
            setup.cylinders,
            range_V=setup.range_V,
            delivered=setup.delivered,
            host=setup.host,
            loads=setup.loads,
            loads_range_V=setup.loads_range_V,
            rename=partial(_as_in_config, setup),
            counters=Counters(_encoders(setup)),
        )
        self._server: NiServer | VirtualNiServer
        if setup.network is None:
            self._server, self._address = NiServer(chassis, setup.host), ("127.0.0.1", 0)
        else:
            self._server, self._address = VirtualNiServer(chassis, setup.network), (VIRTUAL_HOST, VIRTUAL_PORT)

    @property
    @override
    def lines(self) -> Mapping[str, bool]:
        return dict(self._chassis.lines)

    @override
    def start(self) -> str:
        host, port = self._address
        return f"{host}:{self._server.serve(host, port)}"

    @override
    def stop(self) -> None:
        self._server.stop()

    @override
    def step(self, channel: int, volts: float, after: int) -> tuple[int, int]:
        return self._chassis.step(channel, volts, after)

    @override
    def clear_steps(self) -> None:
        self._chassis.clear_steps()

    @override
    def press(self, pressed: bool) -> None:
        self._chassis.e_stop = pressed

    @override
    def inject_fault(self, fault: Mapping[str, Any]) -> None:
        self._server.inject_fault(msgspec.convert(fault, ServerFault))


def _as_in_config(setup: ServerSetup, usual: ChannelNames) -> ChannelNames:
    """Returns the names of the channels that the config gives; the usual ones of what it does not name."""
    names, rig = usual, setup.rig
    if rig is None:
        return names
    if isinstance(daq := setup.sections.get("daq"), NiDaqSection):
        inputs = {item.sensor: item.channel for item in daq.inputs}
        stop = (daq.e_stop,) if daq.e_stop else usual.inputs
        names = names._replace(sampled=tuple(inputs[sensor.name] for sensor in rig.sensors), inputs=stop)
    if isinstance(valves := setup.sections.get("valves"), NiValvesSection):
        outputs = valves.regulators.in_order(rig.valves.regulators) if valves.regulators else ()
        fixed = (valves.regulator.channel,) if valves.regulator else usual.outputs
        pressures = valves.pressure_channels
        names = names._replace(
            lines=(
                *valves.lines.in_order(rig.valves.valves),
                *filter(None, (valves.camera_trigger,)),
                *(valves.camera_triggers.given.values() if valves.camera_triggers else ()),
            ),
            outputs=outputs or fixed,
            pressures=pressures.in_order(rig.valves.valves) if pressures else usual.pressures,
        )
    if isinstance(loads := setup.sections.get("loads"), NiLoadsSection) and rig.loads is not None:
        cells = {item.channel: item.input for item in loads.inputs}
        names = names._replace(loads=tuple(cells[cell.name] for cell in rig.loads.cells))
    return names._replace(counters=tuple(_encoders(setup)))


def _encoders(setup: ServerSetup) -> dict[str, Encoder]:
    """The encoders at the counters that the config names."""
    found: dict[str, Encoder] = {}
    if isinstance(motion := setup.sections.get("motion"), NiMotionSection) and "motion" in setup.instruments:
        found[motion.counter] = Encoder(setup.instruments["motion"], 0)
    if isinstance(joints := setup.sections.get("joints"), NiJointsSection) and "joints" in setup.instruments:
        instrument = setup.instruments["joints"]
        found |= {one.counter: Encoder(instrument, instrument.channels.index(one.joint)) for one in joints.encoders}
    return found
