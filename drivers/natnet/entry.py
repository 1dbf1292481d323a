"""Motion capture by NatNet: the registry's entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from drivers.driver_type import Connection, InstrumentType, RigSetup
from drivers.natnet.section import NatNetSection
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts

_KEY = "devices.motion"
# Channels of a position, and of a pose.
_VALUES = (3, 7)


class _NatNetType(InstrumentType[NatNetSection]):
    """A rigid body of a motion-capture system."""

    name = "natnet"
    role = "motion"
    settings = NatNetSection
    device = "drivers.natnet.motion:NatNetMotion"
    plays_back = True

    @override
    def check(self, section: NatNetSection, rig: RigSetup) -> Iterator[Problem]:
        setup = rig.instruments.get(self.role)
        if setup is not None and len(setup.channels) not in _VALUES:
            allowed = "pose or position: motion capture measures a place in the room, not a distance along one axis"
            yield Problem("motion.measures", "distance", allowed, (f"{_KEY}.driver",))

    @override
    def connections(self, section: NatNetSection) -> Iterator[Connection]:
        yield Connection(f"{_KEY}.address", section.address, network=True)

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        values["address"] = endpoints[self.name]

    @override
    def simulated_ports(
        self, section: NatNetSection | None, rig: RigSetup, ports: PlantPorts
    ) -> Mapping[str, SimulatedPort]:
        instrument, setup = ports.instruments.get(self.role), rig.instruments.get(self.role)
        if instrument is None or setup is None or len(setup.channels) not in _VALUES:
            return {}
        from drivers.natnet.simulated.server import MotionServer, ServerOptions
        from drivers.sim.protocol.line import SimulatedPort

        given = section or NatNetSection(driver="natnet")
        options = ServerOptions(given.body, given.up_axis, setup.delay_ns)
        return {self.name: SimulatedPort(MotionServer(instrument, options), 1, 0, network=True)}


NATNET = _NatNetType()
