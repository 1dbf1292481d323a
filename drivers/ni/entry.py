"""NI-DAQmx, data acquisition, valves and counters: the registry's entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override

from drivers.channel_calibration import ChannelCalibration, Shunt, Teds
from drivers.checks import channel_problems, each_once, regulator_problems, valve_problems
from drivers.driver_type import Connection, DaqType, DriverType, InstrumentType, LoadsType, RigSetup, ValvesType
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import IoDevice
from drivers.ni.section import (
    MOST_V,
    NiDaqSection,
    NiJointsSection,
    NiLoadsSection,
    NiMotionSection,
    NiValvesSection,
    chassis_of,
)
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.sim.server import ServerSetup, SimulatedServer


S = TypeVar("S", NiDaqSection, NiLoadsSection, NiValvesSection, NiMotionSection, NiJointsSection)


class _ByServer(DriverType[S]):
    """What all NI devices have in common: they are reached by a device server, or on this computer."""

    name = "ni"
    uses_servers = True

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        values["server"] = endpoints["daq"]

    @override
    def servers(self, section: S) -> Sequence[str]:
        return (section.server,)

    @override
    def list_devices(self, server: str) -> tuple[IoDevice, ...]:
        from drivers.ni.session import NiSession

        session = NiSession("NI devices", server, lambda: None)
        try:
            session.open()
            return session.devices()
        finally:
            session.close()


class _CalibratedType(ChannelCalibration):
    """Shunt calibration of bridges and TEDS, through the task that the driver itself has."""

    @override
    def shunt_gains(
        self,
        section: Any,
        rig: RigSetup,
        channels: tuple[str, ...],
        shunt: Shunt,
        host: Host = COMPUTER,
        alive: Alive = lambda: None,
    ) -> dict[str, float]:
        from drivers.ni.channels import shunt_gains, task_of

        return shunt_gains(task_of(section, rig), channels, shunt, host, alive)

    @override
    def teds(
        self, section: Any, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> dict[str, Teds | None]:
        from drivers.ni.channels import read_teds, task_of

        return read_teds(task_of(section, rig), host, alive)


class NiDaqType(_ByServer[NiDaqSection], _CalibratedType, DaqType[NiDaqSection]):
    """Force sensors on NI devices."""

    settings = NiDaqSection
    device = "drivers.ni.daq:NiDaq"

    @override
    def connections(self, section: NiDaqSection) -> Iterator[Connection]:
        for place, item in enumerate(section.inputs):
            yield physical_channel(f"devices.daq.inputs.{place}.channel", item.channel, section.server)
        if section.e_stop is not None:
            yield physical_channel("devices.daq.e_stop", section.e_stop, section.server)

    @override
    def simulated_server(self, setup: ServerSetup) -> SimulatedServer:
        from drivers.ni.simulated.server import NiRigPart

        return NiRigPart(setup)


class _NiValvesType(_ByServer[NiValvesSection], ValvesType[NiValvesSection]):
    """Valves on digital lines of NI devices."""

    settings = NiValvesSection
    device = "drivers.ni.valves:NiValves"

    @override
    def check(self, section: NiValvesSection, rig: RigSetup) -> Iterator[Problem]:
        valves, names = rig.valves.valves, "cylinders.joints"
        yield from section.lines.problems("devices.valves.lines", valves, names)
        if section.pressure_channels is not None:
            yield from section.pressure_channels.problems("devices.valves.pressure_channels", valves, names)
        yield from valve_problems(section, "pressure_channels", self.dead_man(section), "watchdog_ms")
        dead_man, fixed = self.regulators_dead_man(section), section.regulator is not None
        yield from regulator_problems(section.regulators, dead_man, "watchdog_ms", fixed=fixed, rig=rig)
        if section.regulator is not None and rig.supply_kPa > (most_kPa := MOST_V * section.regulator.kPa_per_V):
            found, allowed = f"a supply of {rig.supply_kPa:g} kPa", f"0 to {most_kPa:g} kPa at this scale"
            yield Problem("devices.valves.regulator", found, allowed, ("cylinders.supply_kPa",))

    @override
    def connections(self, section: NiValvesSection) -> Iterator[Connection]:
        for key in ("lines", "pressure_channels", "regulators", "camera_triggers"):
            named = getattr(section, key)
            for name, channel in named.given.items() if named is not None else ():
                yield physical_channel(f"devices.valves.{key}.{name}", channel, section.server)
        if section.regulator is not None:
            yield physical_channel("devices.valves.regulator.channel", section.regulator.channel, section.server)
        if section.camera_trigger is not None:
            yield physical_channel("devices.valves.camera_trigger", section.camera_trigger, section.server)

    @override
    def dead_man(self, section: NiValvesSection) -> str:
        return "" if section.watchdog_ms is None else f"NI's watchdog: {section.watchdog_ms} ms"

    @override
    def regulators_dead_man(self, section: NiValvesSection) -> str:
        return self.dead_man(section)


class _NiLoadsType(_ByServer[NiLoadsSection], _CalibratedType, LoadsType[NiLoadsSection]):
    """Leg sensors and load cell on NI devices."""

    settings = NiLoadsSection
    device = "drivers.ni.daq:NiDaq"

    @override
    def check(self, section: NiLoadsSection, rig: RigSetup) -> Iterator[Problem]:
        yield from channel_problems([item.channel for item in section.inputs], rig)

    @override
    def connections(self, section: NiLoadsSection) -> Iterator[Connection]:
        for place, item in enumerate(section.inputs):
            yield physical_channel(f"devices.loads.inputs.{place}.input", item.input, section.server)


class _NiMotionType(_ByServer[NiMotionSection], InstrumentType[NiMotionSection]):
    """A draw-wire encoder on a counter of an NI device."""

    role = "motion"
    settings = NiMotionSection
    device = "drivers.ni.counters:NiCounters"

    @override
    def check(self, section: NiMotionSection, rig: RigSetup) -> Iterator[Problem]:
        if (motion := rig.instruments.get(self.role)) is not None and len(motion.channels) != 1:
            found, allowed = f"a reading of {', '.join(motion.channels)}", "distance: a draw-wire encoder measures one"
            yield Problem("motion.measures", found, allowed, ("devices.motion.driver",))

    @override
    def connections(self, section: NiMotionSection) -> Iterator[Connection]:
        yield physical_channel("devices.motion.counter", section.counter, section.server)


class _NiJointsType(_ByServer[NiJointsSection], InstrumentType[NiJointsSection]):
    """Incremental encoders of joints on counters of an NI device."""

    role = "joints"
    settings = NiJointsSection
    device = "drivers.ni.counters:NiCounters"

    @override
    def check(self, section: NiJointsSection, rig: RigSetup) -> Iterator[Problem]:
        if (joints := rig.instruments.get(self.role)) is not None:
            found = [one.joint for one in section.encoders]
            yield from each_once("devices.joints.encoders", "joint", found, joints.channels, ("joints", "rover.type"))

    @override
    def connections(self, section: NiJointsSection) -> Iterator[Connection]:
        for place, one in enumerate(section.encoders):
            yield physical_channel(f"devices.joints.encoders.{place}.counter", one.counter, section.server)


# Names of one and the same host: two runs that name a server differently lock one another out all the same.
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]", "::1", "ip6-localhost"})


def physical_channel(key: str, channel: str, server: str) -> Connection:
    """The connection of a channel or line that a key of the config names."""
    host, _, port = server.lower().rpartition(":")
    place = f"{'this computer' if host in _LOOPBACK else host}:{port}" if server else "this computer"
    return Connection(key, channel, server, f"{chassis_of(channel).lower()} on {place}")


NI_DAQ = NiDaqType()
NI_VALVES = _NiValvesType()
NI_LOADS = _NiLoadsType()
NI_MOTION = _NiMotionType()
NI_JOINTS = _NiJointsType()
