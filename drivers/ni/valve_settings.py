"""Settings of the valves and regulators on NI devices, and those that no device can follow."""

from __future__ import annotations

import msgspec

from drivers.interfaces import DeviceError
from drivers.messages import ValveCommand
from drivers.ni.section import MOST_V
from drivers.valve_layout import ValveLayout


class NiValveSettings(msgspec.Struct, frozen=True):
    """Settings of the valves: lines, watchdog, regulators, pressure sensors.

    Attributes:
        lines: digital lines such as cDAQ1Mod2/port0/line0, in the order of `valves.outputs`.
        valves: which valves and moved regulators there are, and whether there is a camera's trigger line.
        server: host:port of an NI gRPC Device Server; "" for the driver of this computer.
        watchdog_device: device whose watchdog switches the lines off when it is not fed; "" for none.
        watchdog_s: its timeout [s].
        outputs: analog outputs of regulators: of those that are moved, in the order of `valves.regulators`; or, where
            none is moved, one that is set to supply_kPa while open; () for none.
        output_VpkPa: their set-points [V/kPa].
        output_zero_V: their set-points at no pressure [V].
        supply_kPa: see there.
        pressures: analog inputs of the pressures of the chambers with a valve, in the order of the lines; () for none.
        pressure_VpkPa: their sensitivity [V/kPa].
        pressure_zero_V: their output at zero gauge pressure [V].
        rate_hz: samples a second, and set-points of regulators.
        timeout_s: how long a device may take to answer [s].
        device: name for people.
    """

    lines: tuple[str, ...]
    valves: ValveLayout = ValveLayout()
    server: str = ""
    watchdog_device: str = ""
    watchdog_s: float = 0.1
    outputs: tuple[str, ...] = ()
    output_VpkPa: float = 0.01
    output_zero_V: float = 0.0
    supply_kPa: float = 600.0
    pressures: tuple[str, ...] = ()
    pressure_VpkPa: float = 0.01
    pressure_zero_V: float = 0.0
    rate_hz: float = 100.0
    timeout_s: float = 0.05
    device: str = "NI valves"

    def volts(self, command: ValveCommand) -> tuple[float, ...]:
        """Set-points of the outputs under a command [V]."""
        if not self.valves.regulators:
            return (self.output_zero_V + self.supply_kPa * self.output_VpkPa,) * len(self.outputs)
        pressures_Pa = self.valves.pressures(command)
        return tuple(
            [min(self.output_zero_V + pressure_Pa * 1e-3 * self.output_VpkPa, MOST_V) for pressure_Pa in pressures_Pa]
        )


def check(settings: NiValveSettings) -> None:
    """Raises DeviceError: settings that no device can follow."""
    lines, pressures, outputs = settings.lines, settings.pressures, settings.outputs
    switched, count, moved = len(settings.valves.outputs), len(settings.valves.valves), len(settings.valves.regulators)
    volts = settings.output_zero_V + settings.supply_kPa * settings.output_VpkPa if outputs else 0.0
    for wrong, what in (
        (
            len(set(lines)) != switched or not all(lines),
            f"lines {', '.join(lines)}; allowed: {switched}, all different, for {', '.join(settings.valves.outputs)}",
        ),
        (
            len(pressures) not in (0, count),
            f"{len(pressures)} pressure channels; allowed: none, or one for each of the {count} valves",
        ),
        (
            bool(moved) and len(set(outputs)) != moved,
            f"outputs {', '.join(outputs)}; allowed: {moved}, one for each regulator, all different",
        ),
        (len(set(pressures)) != len(pressures), f"pressures {', '.join(pressures)}; allowed: all different"),
        (not 0 <= volts <= 10, f"a regulator's set-point is {volts:g} V; allowed: 0 to 10 (supply_kPa x V/kPa)"),
    ):
        if wrong:
            raise DeviceError(f"{settings.device}: {what}")
