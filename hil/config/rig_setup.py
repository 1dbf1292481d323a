"""The values that the drivers need from the config of a rig, load channels among them."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from drivers.device_sections import LoadReading
from drivers.driver_type import InstrumentSetup, LoadChannelSetup, LoadSetup, RigSetup, SensorSetup, ServoSetup
from hil.config.schema.loads import AXES, FRAME, PULL, LegSensorsConfig, LoadsConfig
from hil.config.unchecked_config import UncheckedConfig

Floats = NDArray[np.float64]


def full_loads(legs: LegSensorsConfig) -> Floats:
    """Largest load of each axis (6,) [N, N m]."""
    return np.array([legs.force_N] * 3 + [legs.moment_Nm] * 3)


def full_scales(config: UncheckedConfig) -> Floats:
    """Reading of each channel at full scale, in the unit of its readings (channels,)."""
    layout, loads = config.layout, config.loads
    assert loads is not None
    if config.load_reading == "V":
        return np.full(len(layout.loads), loads.range_V)
    return np.array(loads.loads_at_full_scale(layout.wheels))


def noises(config: UncheckedConfig) -> Floats:
    """Noise of each channel, in the unit of its readings (channels,)."""
    loads = config.loads
    assert loads is not None
    noise_V = np.array(loads.noises_V(config.layout.wheels))
    return noise_V if config.load_reading == "V" else noise_V / loads.range_V * full_scales(config)


def nominal_gain(loads: LoadsConfig, legs: LegSensorsConfig, reading: LoadReading) -> Floats:
    """Readings (6,) of all axes from the loads (6,), from full scale and cross-talk (6, 6) [V/N, V/(N m)]."""
    talk = np.zeros((6, 6)) if legs.cross_talk is None else np.array(legs.cross_talk)
    full = full_loads(legs)
    reached = np.full(6, loads.range_V) if reading == "V" else full
    gain: Floats = reached[:, None] * np.where(np.eye(6) > 0.0, 1.0, talk) / full
    return gain


def leg_matrix(loads: LoadsConfig, legs: LegSensorsConfig, wheel: str, reading: LoadReading) -> Floats:
    """Loads of the measured axes from their readings (axes, axes) [N/V, N m/V].

    Rows that the calibration states come from there, the others from the inverse of the nominal gain.

    Raises numpy.linalg.LinAlgError: the cross-talk cannot be undone.
    """
    used = [AXES.index(axis) for axis in legs.axes]
    matrix = np.asarray(np.linalg.inv(nominal_gain(loads, legs, reading)[np.ix_(used, used)]), np.float64)
    for row, axis in enumerate(legs.axes):
        if (stated := loads.sheet(f"{wheel}_{axis}").gains(reading)) is not None:
            matrix[row] = stated
    return matrix * [loads.sheet(f"{wheel}_{axis}").shunt_gain or 1.0 for axis in legs.axes]


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
            row = leg_matrix(loads, legs, wheel, config.load_reading)[legs.axes.index("fz")]
            rows[number, number * axes : (number + 1) * axes] = row
    if cell is not None:
        place, stated = layout.loads.index(PULL), loads.sheet(PULL).gains(config.load_reading)
        newtons = cell.force_N / full_scales(config)[place] if stated is None else stated[0]
        rows[-1, place] = newtons * (loads.sheet(PULL).shunt_gain or 1.0)
    return rows


def links_gain(config: UncheckedConfig) -> float:
    """Compression of both links [N] from the reading of the strain gauges, which the rig has."""
    assert config.loads is not None
    gauges, stated = config.loads.strain_gauges, config.loads.sheet(FRAME).gains(config.load_reading)
    assert gauges is not None
    scale = float(full_scales(config)[config.layout.loads.index(FRAME)])
    return (gauges.force_N / scale if stated is None else stated[0]) * (config.loads.sheet(FRAME).shunt_gain or 1.0)


def offsets(config: UncheckedConfig) -> Floats:
    """Readings without load, from the calibration (channels,), in the unit of the readings."""
    assert config.loads is not None
    return np.array([config.loads.sheet(name).offset(config.load_reading) for name in config.layout.loads])


# How often motor currents and supply voltages are read [1/s]: where limits watch them, and where they are only shown.
WATCHED_POWER_HZ, READ_POWER_HZ = 5.0, 1.0


def rig_setup(config: UncheckedConfig) -> RigSetup:
    """Of the rig of a config."""
    daq, loads = config.daq, config.loads
    sensors = zip(daq.channels if daq else (), config.sensitivities_mVpN, strict=True)
    return RigSetup(
        rover=config.rover.type,
        wheels=config.layout.wheels,
        wheel_speed_limit_radps=config.limits.wheel_speed_radps,
        on_cut=config.drives.on_cut,
        valves=config.layout.valve_layout,
        supply_kPa=config.cylinders.supply_kPa,
        sensors=tuple(SensorSetup(channel.name, sensitivity) for channel, sensitivity in sensors),
        range_V=daq.range_V if daq else 0.0,
        sample_rate_hz=daq.rate_hz if daq else 0,
        block_samples=daq.block_samples if daq else 0,
        open_loop=config.layout.open_loop,
        loads=LoadSetup(_cells(config), loads.rate_hz, loads.block_samples) if loads else None,
        instruments={
            role: InstrumentSetup(config.layout.parts(role), section.rate_hz, round(section.delay_ms * 1e6))
            for role, section in config.instruments.items()
        },
        servos=_servos(config),
        servos_on_cut=config.servos.on_cut if config.servos else "brake",
        power_hz=WATCHED_POWER_HZ if config.layout.supplies else READ_POWER_HZ,
    )


def _servos(config: UncheckedConfig) -> tuple[ServoSetup, ...]:
    """The driven joints; none of a rover whose sizes are not consistent, which loading names."""
    with suppress(ValueError):
        return tuple(
            ServoSetup(
                one.name, one.start_rad, one.low_rad, one.high_rad, one.rate_radps, one.acceleration_radps2, one.slides
            )
            for one in config.driven_joints
        )
    return ()


def _cells(config: UncheckedConfig) -> tuple[LoadChannelSetup, ...]:
    """The load channels, with the unit and the full scale of what their driver hands out."""
    scales, layout = full_scales(config).tolist(), config.layout
    return tuple(map(LoadChannelSetup, layout.loads, layout.units_of("loads"), scales))
