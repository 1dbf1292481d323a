"""The values that the drivers need from the config of a rig."""

from __future__ import annotations

from contextlib import suppress

from drivers.driver_type import InstrumentSetup, LoadChannelSetup, LoadSetup, RigSetup, SensorSetup, ServoSetup
from hil.config.load_channels import full_scales
from hil.config.unchecked_config import UncheckedConfig

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
