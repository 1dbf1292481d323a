"""Constants of the pressure loops."""

from __future__ import annotations

from typing import NamedTuple


class PressureSettings(NamedTuple):
    """Constants of the loops.

    Attributes:
        supply_Pa: highest gauge pressure.
        dead_band_Pa: smaller changes of a pressure are not worth a switching.
        cycle_ns: from one switch-on of an on-off valve to its next; at least twice `least_pulse_s`.
        integral_per_s: of the moved regulators: correction per second of the error.
        period_s: between ticks.
        fill_s: time constant of a chamber that fills.
        vent_s: of one that vents.
        delay_s: from the command to a valve until its chamber fills or vents.
        least_pulse_s: shortest pulse of an on-off valve, and shortest gap between two.
    """

    supply_Pa: float
    dead_band_Pa: float
    cycle_ns: int
    integral_per_s: float
    period_s: float
    fill_s: float
    vent_s: float
    delay_s: float = 0.0
    least_pulse_s: float = 0.0
