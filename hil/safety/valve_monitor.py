"""Compares the pressure of each chamber with the commanded one: row 17 of the fault table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drivers.messages import ValveSet
from hil.config.schema.devices import DevicesConfig
from hil.messages.fault_bounds import SWITCHING_PRESSURE_RATIO, TIMEOUT_FACTOR
from hil.messages.stages import Samples

if TYPE_CHECKING:
    from hil.config.rig import Rig

# A command that has changed by this part of the allowed error is a new one.
_NEW_COMMAND = 0.5


def measures_pressures(devices: DevicesConfig | None) -> bool:
    """Whether the rig's chambers have pressure sensors."""
    valves = devices.valves if devices else None
    return valves is not None and valves.measures_pressures


class ValveMonitor:
    """Compares each chamber's pressure with the one commanded: that of its regulator, or of the supply, or none.

    The pressure has the time that a valve may take, twice. A command that has moved by half of the allowed error counts
    as a new one: while a regulator follows a moving command, nothing is compared.

    Args:
        rig: that is watched; without `devices.valves.moves_within_s`, or with a supply pressure of 0, nothing is.

    Attributes:
        watched: whether anything is checked.
    """

    def __init__(self, rig: Rig) -> None:
        config, layout = rig.config, rig.layout
        valves = config.devices.valves if config.devices else None
        within_s = valves.moves_within_s if valves else None
        self._supply_Pa, self._layout = config.cylinders.supply_kPa * 1e3, layout
        self._error_Pa = SWITCHING_PRESSURE_RATIO * self._supply_Pa
        if valves and layout.regulators:
            self._error_Pa = min(valves.follows_within_kPa * 1e3, self._error_Pa)
        self.watched = within_s is not None and self._error_Pa > 0.0
        self._timeout_ns = round(TIMEOUT_FACTOR * 1e9 * (within_s or 0.0))
        self._names, self._by_valve = layout.valves, layout.by_valve
        self._commanded_Pa, self._since_ns = [0.0] * len(self._names), [0] * len(self._names)
        self._command: tuple[ValveSet, tuple[float, ...]] = layout.valves_off, ()

    def record_command(self, t_ns: int, valves: ValveSet, regulators_Pa: tuple[float, ...]) -> None:
        """Store the command that holds from a time on [ns]: valves, and regulators where they are moved."""
        if (valves, regulators_Pa) == self._command:
            return
        self._command = valves, regulators_Pa
        supplies_Pa = regulators_Pa or (self._supply_Pa,)
        if len(supplies_Pa) == 1:
            supplies_Pa *= len(valves)
        pairs = [(on * supply, back * supply) for (on, back), supply in zip(valves, supplies_Pa, strict=True)]
        for valve, commanded_Pa in enumerate(self._by_valve(pairs)):
            last_Pa = self._commanded_Pa[valve]
            if abs(commanded_Pa - last_Pa) > _NEW_COMMAND * self._error_Pa or (commanded_Pa > 0.0) != (last_Pa > 0.0):
                self._commanded_Pa[valve], self._since_ns[valve] = commanded_Pa, t_ns

    def stuck(self, samples: Samples) -> tuple[float, float, str] | None:
        """A valve whose chamber does not follow: pressure, limit [Pa] and message. None: all follow.

        A reading is compared with the command that is older than the reading by the valve's timeout.
        """
        for valve, pressure_Pa in enumerate(self._by_valve(samples.valves.pressure_Pa)):
            if samples.valves.t_ns - self._since_ns[valve] <= self._timeout_ns:
                continue
            commanded_Pa = self._commanded_Pa[valve]
            if not abs(pressure_Pa - commanded_Pa) < self._error_Pa:  # NaN is not
                above = commanded_Pa == 0.0 or pressure_Pa > commanded_Pa
                limit_Pa = commanded_Pa + (self._error_Pa if above else -self._error_Pa)
                return pressure_Pa, limit_Pa, self._words(valve, pressure_Pa, limit_Pa, above=above)
        return None

    def _words(self, valve: int, pressure_Pa: float, limit_Pa: float, *, above: bool) -> str:
        commanded_Pa, late = self._commanded_Pa[valve], f"{self._timeout_ns * 1e-9:g} s"
        commanded, side = "on" if commanded_Pa else "off", "below" if above else "above"
        if commanded_Pa and self._layout.regulators:
            commanded += f" with its regulator at {commanded_Pa * 1e-3:.0f} kPa"
        found, allowed = f"{pressure_Pa * 1e-3:.0f} kPa", f"{side} {limit_Pa * 1e-3:.0f}"
        return f"valve {self._names[valve]} is {commanded} for {late} and has {found}, allowed: {allowed}"
