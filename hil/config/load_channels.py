"""From the config to the load channels as arrays: what a reading is of a load, and a load of the readings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hil.config.model import UncheckedConfig
from hil.config.schema.loads import AXES, FRAME, PULL, LegSensorsConfig, LoadsConfig

Floats = NDArray[np.float64]


def full_loads(legs: LegSensorsConfig) -> Floats:
    """Largest load of each axis (6,) [N, N m]."""
    return np.array([legs.force_N] * 3 + [legs.moment_Nm] * 3)


def nominal_gain(loads: LoadsConfig, legs: LegSensorsConfig) -> Floats:
    """Readings (6,) of all axes from the loads (6,), from full scale and cross-talk (6, 6) [V/N, V/(N m)]."""
    talk = np.zeros((6, 6)) if legs.cross_talk is None else np.array(legs.cross_talk)
    gain: Floats = loads.range_V * np.where(np.eye(6) > 0.0, 1.0, talk) / full_loads(legs)
    return gain


def leg_matrix(loads: LoadsConfig, legs: LegSensorsConfig, wheel: str) -> Floats:
    """Loads of the measured axes from their readings (axes, axes) [N/V, N m/V].

    Rows that the calibration states come from there, the others from the inverse of the nominal gain.

    Raises:
        numpy.linalg.LinAlgError: the cross-talk cannot be undone.
    """
    used = [AXES.index(axis) for axis in legs.axes]
    matrix = np.asarray(np.linalg.inv(nominal_gain(loads, legs)[np.ix_(used, used)]), np.float64)
    for row, axis in enumerate(legs.axes):
        if (stated := loads.sheet(f"{wheel}_{axis}").load_per_V) is not None:
            matrix[row] = stated
    return matrix


def normal_force_rows(config: UncheckedConfig) -> Floats:
    """Wheels' normal forces, and the drawbar pull if there is a load cell, from all readings (outputs, channels) [N/V].

    The normal force is that along the z axis of the leg.
    """
    layout, loads = config.layout, config.loads
    assert loads is not None
    legs, cell = loads.leg_sensors, loads.load_cell
    rows = np.zeros((len(layout.wheels) * layout.leg_sensors + layout.load_cell, len(layout.loads)))
    if legs is not None:
        axes = len(legs.axes)
        for number, wheel in enumerate(layout.wheels):
            row = leg_matrix(loads, legs, wheel)[legs.axes.index("fz")]
            rows[number, number * axes : (number + 1) * axes] = row
    if cell is not None:
        stated = loads.sheet(PULL).load_per_V
        rows[-1, layout.loads.index(PULL)] = cell.force_N / loads.range_V if stated is None else stated[0]
    return rows


def links_newton_per_volt(loads: LoadsConfig) -> float:
    """Compression of both links from the reading of the strain gauges, which the rig has [N/V]."""
    gauges, stated = loads.strain_gauges, loads.sheet(FRAME).load_per_V
    assert gauges is not None
    return gauges.force_N / loads.range_V if stated is None else stated[0]


def offsets_V(config: UncheckedConfig) -> Floats:
    """Readings without load, from the calibration (channels,) [V]."""
    assert config.loads is not None
    return np.array([config.loads.sheet(name).offset_V for name in config.layout.loads])
