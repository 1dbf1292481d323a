"""The simulated NI device server as a part of a simulated rig."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from typing_extensions import override

from drivers.ni.section import NiDaqSection, NiLoadsSection, NiValvesSection
from drivers.ni.simulated.chassis import Chassis
from drivers.ni.simulated.parts import ChannelNames, ServerFault
from drivers.ni.simulated.server import NiServer, VirtualNiServer
from drivers.sim.server import ServerSetup, SimulatedServer

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
            lines=(*valves.lines.in_order(rig.valves.valves), *filter(None, (valves.camera_trigger,))),
            outputs=outputs or fixed,
            pressures=pressures.in_order(rig.valves.valves) if pressures else usual.pressures,
        )
    if isinstance(loads := setup.sections.get("loads"), NiLoadsSection) and rig.loads is not None:
        cells = {item.channel: item.input for item in loads.inputs}
        names = names._replace(loads=tuple(cells[cell.name] for cell in rig.loads.cells))
    return names
