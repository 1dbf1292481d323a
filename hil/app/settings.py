"""From the devices' part of a config to the settings of their drivers, in the drivers' units."""

from __future__ import annotations

import math

from drivers.modbus.settings import ModbusValvesSettings, Regulator
from drivers.ni.channels import NiChannel, NiDaqSettings
from drivers.ni.valves import NiValveSettings
from drivers.roboclaw import settings as roboclaw_settings
from drivers.roboclaw.settings import RoboClawSettings
from drivers.roboteq import settings as roboteq_settings
from drivers.roboteq.settings import RoboteqSettings
from hil.config import Config
from hil.config.devices import ModbusValves, NiDaq, NiValves, RoboclawDrives, RoboteqDrives

_Pa_PER_kPa = 1e3


def roboclaw(config: Config, drives: RoboclawDrives) -> RoboClawSettings:
    """Wheel drives on RoboClaw controllers."""
    wheels = config.layout.wheels
    return RoboClawSettings(
        buses=tuple(roboclaw_settings.Bus(port, drives.baud) for port in drives.ports),
        controllers=tuple(
            roboclaw_settings.Controller(one.bus, one.address, wheels.index(one.m1), wheels.index(one.m2))
            for one in drives.controllers
        ),
        counts_per_rev=drives.counts_per_rev,
        sign=_signs(config, drives.reversed),
        acceleration_qpps2=round(drives.acceleration_radps2 * drives.counts_per_rev / math.tau),
        rate_hz=drives.rate_hz,
        timeout_ms=drives.timeout_ms,
        on_cut=config.drives.on_cut,
    )


def roboteq(config: Config, drives: RoboteqDrives) -> RoboteqSettings:
    """Wheel drives on Roboteq controllers."""
    wheels = config.layout.wheels
    return RoboteqSettings(
        controllers=tuple(
            roboteq_settings.Controller(one.port, wheels.index(one.channel_1), wheels.index(one.channel_2))
            for one in drives.controllers
        ),
        max_rpm=round(drives.max_rpm),
        gear_ratio=drives.gear_ratio,
        sign=_signs(config, drives.reversed),
        baud=drives.baud,
        rate_hz=drives.rate_hz,
        watchdog_ms=drives.watchdog_ms,
    )


def modbus(config: Config, valves: ModbusValves) -> ModbusValvesSettings:
    """Valves on the coils of a relay board or valve terminal."""
    registers, regulator = valves.pressure_registers, valves.regulator
    return ModbusValvesSettings(
        port=valves.port,
        coils=valves.coils.in_order,
        baud=valves.baud,
        address=valves.address,
        flash_on=valves.flash_on,
        flash_s=valves.flash_s,
        pressure_registers=registers.in_order if registers else None,
        Pa_per_count=registers.kPa_per_count * _Pa_PER_kPa if registers else 1.0,
        regulator=(
            Regulator(
                regulator.holding_register,
                config.cylinders.supply_kPa * _Pa_PER_kPa,
                regulator.kPa_per_count * _Pa_PER_kPa,
            )
            if regulator
            else None
        ),
        rate_hz=valves.rate_hz,
    )


def ni_valves(config: Config, valves: NiValves) -> NiValveSettings:
    """Valves on digital lines."""
    lines, inputs, regulator = valves.lines, valves.pressure_channels, valves.regulator
    return NiValveSettings(
        lines=lines.in_order,
        server=valves.server,
        watchdog_device=chassis_of(lines.left_extend) if valves.watchdog_ms else "",
        watchdog_s=(valves.watchdog_ms or 0) * 1e-3,
        regulator=regulator.channel if regulator else "",
        regulator_VpkPa=1.0 / regulator.kPa_per_V if regulator else 1.0,
        supply_kPa=config.cylinders.supply_kPa if regulator else 0.0,
        pressures=inputs.in_order if inputs else (),
        pressure_VpkPa=1.0 / inputs.kPa_per_V if inputs else 1.0,
        rate_hz=valves.rate_hz,
    )


def ni_daq(config: Config, daq: NiDaq) -> NiDaqSettings:
    """Force sensors."""
    by_sensor = {item.sensor: item for item in daq.inputs}
    channels = []
    for channel, sensitivity in zip(config.daq.channels, config.sensitivities_mVpN, strict=True):
        place, sheet = by_sensor[channel.name], daq.sheet(channel.name)
        # a bridge's sheet is for each volt of excitation
        scale = daq.excitation_V if place.kind == "bridge" else 1.0
        channels.append(
            NiChannel(
                channel.name,
                place.channel,
                place.kind,
                sensitivity / scale,
                config.daq.range_V,
                sheet.serial if sheet else "",
            )
        )
    return NiDaqSettings(
        channels=tuple(channels),
        rate_hz=config.daq.rate_hz,
        block_samples=config.daq.block_samples,
        server=daq.server,
        excitation_A=daq.excitation_mA * 1e-3,
        bridge_V=daq.excitation_V,
        e_stop=daq.e_stop or "",
    )


def chassis_of(line: str) -> str:
    """The device that has the watchdog: of a chassis' modules it is the chassis."""
    return line.lstrip("/").partition("/")[0].partition("Mod")[0]


def _signs(config: Config, reversed_: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(-1 if wheel in reversed_ else 1 for wheel in config.layout.wheels)
