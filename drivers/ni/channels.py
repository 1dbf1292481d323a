"""Sampled channels of NI-DAQmx: their settings, and the conversion of their units to volts at the sensor."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, Literal, get_args

import msgspec

from drivers.interfaces import DeviceError

Kind = Literal["iepe_force", "voltage", "bridge", "charge"]
UNITS = {"iepe_force": "mV/N", "voltage": "mV/N", "bridge": "mV/V/N", "charge": "pC/N"}
_V_PER_C = 1e9  # a charge amplifier of 1 mV/pC: pC/N then read as mV/N


class NiChannel(msgspec.Struct, frozen=True):
    """One sampled channel.

    Attributes:
        name: of the sensor, for people and messages.
        physical: name that NI gives the channel, such as cDAQ1Mod1/ai0.
        kind: how it is conditioned.
        sensitivity: from the calibration sheet: mV/N, of a bridge mV/V/N, of a charge sensor pC/N.
        range_V: full scale, either sign, of the volts returned [V].
        serial: number of the sensor, for the record.
    """

    name: str
    physical: str
    kind: Kind = "iepe_force"
    sensitivity: float = 0.0
    range_V: float = 5.0
    serial: str = ""


class NiDaqSettings(msgspec.Struct, frozen=True):
    """Settings of the data acquisition.

    Attributes:
        channels: in the order of a block's columns.
        rate_hz: samples a second and channel; has to be one that the device can make exactly.
        block_samples: in a block.
        server: host:port of an NI gRPC Device Server; "" for the driver of this computer.
        excitation_A: constant current of the IEPE channels [A].
        excitation_V: excitation of the bridge channels [V].
        e_stop: digital line that is high while the emergency stop's circuit is whole; "" for none.
        buffer_s: samples that are not read within so long are lost [s].
        timeout_s: how long a block may be overdue [s].
        device: name for messages.
        section: of the config with rate and range, for messages and the name of the task.
    """

    channels: tuple[NiChannel, ...]
    rate_hz: float
    block_samples: int
    server: str = ""
    excitation_A: float = 0.004
    excitation_V: float = 2.5
    e_stop: str = ""
    buffer_s: float = 1.0
    timeout_s: float = 0.05
    device: str = "NI-DAQ"
    section: str = "daq"

    @property
    def task(self) -> str:
        """Name of the sampling task at a device server."""
        return f"rover_hil_{self.section}"


def to_volts(channel: NiChannel, settings: NiDaqSettings) -> float:
    """Volts at the sensor per unit that NI-DAQmx scales the channel to."""
    return {
        "iepe_force": channel.sensitivity * 1e-3,
        "voltage": 1.0,
        "bridge": settings.excitation_V,
        "charge": _V_PER_C,
    }[channel.kind]


def add_channel(inputs: Any, channel: NiChannel, settings: NiDaqSettings) -> Any:
    """Add a channel to the inputs of a task, scaled to its unit; returns nidaqmx's channel."""
    from nidaqmx.constants import ForceIEPESensorSensitivityUnits as Sensitivity

    full = channel.range_V / to_volts(channel, settings)
    place = (channel.physical, channel.name)
    if channel.kind == "iepe_force":
        return inputs.add_ai_force_iepe_chan(
            *place,
            min_val=-full,
            max_val=full,
            sensitivity=channel.sensitivity,
            sensitivity_units=Sensitivity.MILLIVOLTS_PER_NEWTON,
            current_excit_val=settings.excitation_A,
        )
    if channel.kind == "bridge":
        return inputs.add_ai_bridge_chan(*place, min_val=-full, max_val=full, voltage_excit_val=settings.excitation_V)
    if channel.kind == "charge":
        return inputs.add_ai_charge_chan(*place, min_val=-full, max_val=full)
    return inputs.add_ai_voltage_chan(*place, min_val=-full, max_val=full)


def filter_delay_ns(inputs: list[Any]) -> int:
    """The largest filter delay of the channels; 0 where the device reports none."""
    from nidaqmx.constants import DigitalWidthUnits
    from nidaqmx.errors import Error

    delay_s = 0.0
    for channel in inputs:
        with suppress(Error):
            channel.ai_filter_delay_units = DigitalWidthUnits.SECONDS
            delay_s = max(delay_s, channel.ai_filter_delay)
    return round(delay_s * 1e9)


def check_settings(settings: NiDaqSettings) -> None:
    """Raises DeviceError: settings that no device can follow."""
    seen: dict[str, str] = {}
    for channel in settings.channels:
        at = f"{settings.device}: sensor {channel.name} on {channel.physical}"
        if channel.kind not in get_args(Kind):
            raise DeviceError(f"{at}: kind {channel.kind!r}, allowed: {', '.join(get_args(Kind))}")
        if not (math.isfinite(channel.sensitivity) and channel.sensitivity > 0):
            found = "none" if channel.sensitivity == 0 else f"{channel.sensitivity:g}"
            raise DeviceError(
                f"{at}: sensitivity [{UNITS[channel.kind]}] is {found}, allowed: above 0; see its calibration"
            )
        if not (math.isfinite(channel.range_V) and channel.range_V > 0):
            raise DeviceError(f"{at}: range_V is {channel.range_V:g}, allowed: above 0")
        for key in (channel.physical, channel.name):
            if key in seen:
                raise DeviceError(f"{at}: {key} is also that of sensor {seen[key]}; they must differ")
            seen[key] = channel.name
    if not (settings.channels and settings.rate_hz > 0 and settings.block_samples > 0):
        raise DeviceError(
            f"{settings.device}: {len(settings.channels)} channels, rate_hz {settings.rate_hz:g}, block_samples "
            f"{settings.block_samples}; allowed: above 0, each"
        )
