"""Compares the pressure of each chamber with the command of its valve: row 17 of the fault table."""

from __future__ import annotations

from drivers.messages import ValveSet
from hil.config import Config
from hil.messages.fault_bounds import SWITCHING_PRESSURE_RATIO, TIMEOUT_FACTOR
from hil.messages.stages import Samples


def measures_pressures(config: Config) -> bool:
    """Whether the rig's chambers have pressure sensors."""
    valves = config.devices.valves if config.devices else None
    return valves is not None and valves.measures_pressures


class ValveMonitor:
    """Compares each chamber's pressure with the command of its valve, once the valve's timeout has passed.

    Args:
        config: of the rig; without `devices.valves.moves_within_s`, or with a supply pressure of 0, nothing is checked.

    Attributes:
        watched: whether anything is checked.
    """

    def __init__(self, config: Config) -> None:
        valves = config.devices.valves if config.devices else None
        within_s = valves.moves_within_s if valves else None
        self._limit_Pa = SWITCHING_PRESSURE_RATIO * config.cylinders.supply_kPa * 1e3
        # controlled pressures are anything between; the load controller compares them with what it wants
        self.watched = within_s is not None and self._limit_Pa > 0.0 and not config.layout.controls_loads
        self._timeout_ns = round(TIMEOUT_FACTOR * 1e9 * (within_s or 0.0))
        self._names, self._by_valve = config.layout.valves, config.layout.by_valve
        self._commanded, self._since_ns = [0.0] * len(self._names), [0] * len(self._names)
        self._command = config.layout.valves_off

    def record_command(self, t_ns: int, command: ValveSet) -> None:
        """Store the command that holds from a time on [ns]."""
        if command == self._command:
            return
        self._command = command
        for valve, on in enumerate(self._by_valve(command)):
            if on != self._commanded[valve]:
                self._commanded[valve], self._since_ns[valve] = on, t_ns

    def stuck(self, samples: Samples) -> tuple[float, float, str] | None:
        """A valve whose chamber does not follow: pressure, limit [Pa] and message. None: all follow.

        A reading is compared with the command that is older than the reading by the valve's timeout.
        """
        for valve, pressure_Pa in enumerate(self._by_valve(samples.valves.pressure_Pa)):
            if samples.valves.t_ns - self._since_ns[valve] <= self._timeout_ns:
                continue
            on = self._commanded[valve]
            if not (pressure_Pa > self._limit_Pa if on else pressure_Pa < self._limit_Pa):  # NaN is neither
                return pressure_Pa, self._limit_Pa, self._words(valve, pressure_Pa)
        return None

    def _words(self, valve: int, pressure_Pa: float) -> str:
        commanded, side = ("on", "above") if self._commanded[valve] else ("off", "below")
        found, late = f"{pressure_Pa * 1e-3:.0f} kPa", f"{self._timeout_ns * 1e-9:g} s"
        name, allowed = self._names[valve], f"{side} {self._limit_Pa * 1e-3:.0f}"
        return f"valve {name} is {commanded} for {late} and has {found}, allowed: {allowed}"
