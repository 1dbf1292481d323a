"""From the config to what is wrong with the simulated rig's force sensors: faults of channels, and disturbances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hil.config.schema.equipment import PlantConfig
from hil.config.schema.sensors import DaqConfig
from models.sensors.disturbance import SensorDisturbances, make_disturbance

# Gain of a sensor by its fault; with a gain of 1000 about 0.5 N drive it to the end of its range.
GAINS = {"none": 1.0, "dead": 0.0, "offset": 1.0, "saturated": 1000.0}
# Zero shift of a channel with the fault offset [V]: 18 N of a PCB 208C02.
ZERO_SHIFT_V = 0.2


def fault_gains(daq: DaqConfig) -> NDArray[np.float64]:
    """Factor on each channel's sensitivity (channels,)."""
    return np.array([GAINS[channel.fault] for channel in daq.channels])


def disturbance_of(daq: DaqConfig | None, plant: PlantConfig, wheel_radps: float) -> SensorDisturbances | None:
    """Disturbances of the force sensors, wheels at a speed; None without any, or without sensors."""
    given = plant.vibration
    if daq is None:
        return None
    shifts = np.array([ZERO_SHIFT_V if channel.fault == "offset" else 0.0 for channel in daq.channels])
    if given.none and not shifts.any():
        return None
    return make_disturbance(
        len(daq.channels),
        hum=given.mains_V,
        hum_frequency=given.mains_hz,
        structure_share=given.structure_share,
        structure_frequency=given.structure_hz,
        structure_damping=given.structure_damping,
        run_up_force=given.run_up_N,
        run_up_frequency=given.run_up_hz,
        run_up_speed=wheel_radps,
        footstep_force=given.footsteps_N,
        footstep_frequency=given.footstep_hz,
        footsteps=given.footsteps_per_s,
        zero_shift=shifts,
    )
