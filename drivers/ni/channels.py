"""Sampling tasks of NI-DAQmx: channels, their units in volts at the sensor, shunt calibration of bridges, and TEDS."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from drivers.channel_calibration import Shunt, Teds
from drivers.driver_type import LoadSetup, RigSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import DeviceError
from drivers.ni.section import NiDaqSection, NiLoadsSection
from drivers.ni.session import NiSession

_V_PER_C = 1e9  # a charge amplifier of 1 mV/pC: pC/N then read as mV/N


class NiChannel(NamedTuple):
    """One sampled channel.

    Attributes:
        name: of the sensor, for people and messages.
        physical: name that NI gives the channel, such as cDAQ1Mod1/ai0.
        kind: how it is conditioned: iepe_force, voltage, bridge or charge.
        sensitivity: mV/N, of a bridge mV/V/N, of a charge sensor pC/N.
        range_V: full scale, either sign, of the volts returned [V].
    """

    name: str
    physical: str
    kind: str
    sensitivity: float
    range_V: float


class NiTask(NamedTuple):
    """What one sampling task is set up for.

    Attributes:
        section: of the config.
        channels: in the order of a block's columns.
        rate_hz: samples a second and channel; has to be one that the device can make exactly.
        block_samples: in a block.
        device: name for messages.
    """

    section: NiDaqSection | NiLoadsSection
    channels: tuple[NiChannel, ...]
    rate_hz: float
    block_samples: int
    device: str

    @property
    def name(self) -> str:
        """Of the task at a device server."""
        return f"rover_hil_{self.section.role}"

    @property
    def e_stop(self) -> str:
        """Digital line that is high while the emergency stop's circuit is whole; "" for none."""
        return self.section.e_stop or "" if isinstance(self.section, NiDaqSection) else ""


def task_of(section: NiDaqSection | NiLoadsSection, rig: RigSetup | LoadSetup) -> NiTask:
    """Returns the task of the rig's force sensors, or of its load channels."""
    if isinstance(section, NiDaqSection):
        assert isinstance(rig, RigSetup)  # as the type of the driver gives it
        by_sensor = {item.sensor: item for item in section.inputs}
        channels = []
        for sensor in rig.sensors:
            place = by_sensor[sensor.name]
            # a bridge's sensitivity is per volt of excitation
            scale = section.excitation_V if place.kind == "bridge" else 1.0
            sensitivity = sensor.sensitivity_mVpN / scale
            channels.append(NiChannel(sensor.name, place.channel, place.kind, sensitivity, rig.range_V))
        return NiTask(section, tuple(channels), rig.sample_rate_hz, rig.block_samples, "NI-DAQ")
    loads = rig.loads if isinstance(rig, RigSetup) else rig
    assert loads is not None  # else the section would have been refused
    places = {item.channel: item for item in section.inputs}
    # a reading is volts at the sensor whatever the sensitivity, which the estimator applies
    inputs = [(cell, places[cell.name]) for cell in loads.cells]
    cells = [NiChannel(cell.name, item.input, item.kind, 1.0, cell.full_scale) for cell, item in inputs]
    return NiTask(section, tuple(cells), loads.rate_hz, loads.block_samples, "NI-DAQ loads")


def to_volts(channel: NiChannel, task: NiTask) -> float:
    """Volts at the sensor per unit that NI-DAQmx scales the channel to."""
    return {
        "iepe_force": channel.sensitivity * 1e-3,
        "voltage": 1.0,
        "bridge": task.section.excitation_V,
        "charge": _V_PER_C,
    }[channel.kind]


def add_channel(inputs: Any, channel: NiChannel, task: NiTask) -> Any:
    """Add a channel to the inputs of a task, scaled to its unit; returns nidaqmx's channel."""
    from nidaqmx.constants import ForceIEPESensorSensitivityUnits as Sensitivity

    full = channel.range_V / to_volts(channel, task)
    place = (channel.physical, channel.name)
    if channel.kind == "iepe_force" and isinstance(task.section, NiDaqSection):
        return inputs.add_ai_force_iepe_chan(
            *place,
            min_val=-full,
            max_val=full,
            sensitivity=channel.sensitivity,
            sensitivity_units=Sensitivity.MILLIVOLTS_PER_NEWTON,
            current_excit_val=task.section.excitation_mA * 1e-3,
        )
    if channel.kind == "bridge":
        return inputs.add_ai_bridge_chan(
            *place, min_val=-full, max_val=full, voltage_excit_val=task.section.excitation_V
        )
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


# NI-DAQmx: no TEDS in the sensor; the device cannot read any.
_NO_TEDS = (-200709, -200741)
# A gain further from 1 than this is that of a wrong resistor or of a fault, not of the leads.
MOST_FROM_ONE = 0.1


def shunt_gains(
    task: NiTask, channels: tuple[str, ...], shunt: Shunt, host: Host = COMPUTER, alive: Alive = lambda: None
) -> dict[str, float]:
    """Returns the gain of each bridge by its shunt. Raises DeviceError: a gain that no lead explains."""
    chosen = [_bridge(task, name) for name in channels]
    session, gains = NiSession(task.device, task.section.server, alive, host), {}
    session.open()
    try:
        for channel in chosen:
            gain = gains[channel.name] = _shunt_gain(session, task, channel, shunt)
            if not abs(gain - 1.0) <= MOST_FROM_ONE:
                raise DeviceError(
                    f"{session.where}: shunt calibration of {channel.name} on {channel.physical}: gain {gain:.4g}, "
                    f"allowed: {1 - MOST_FROM_ONE:g} to {1 + MOST_FROM_ONE:g}; check the resistors given "
                    f"({shunt.resistor_ohm:g} and {shunt.bridge_ohm:g} ohm), the arm {shunt.arm} and the wires"
                )
    finally:
        session.close()
    return gains


def read_teds(task: NiTask, host: Host = COMPUTER, alive: Alive = lambda: None) -> dict[str, Teds | None]:
    """Returns the data sheet in the sensor of each channel; None: it has none. Raises DeviceError."""
    session = NiSession(task.device, task.section.server, alive, host)
    session.open()
    try:
        return {channel.name: _teds(session, channel) for channel in task.channels}
    finally:
        session.close()


def _bridge(task: NiTask, name: str) -> NiChannel:
    channel = next(one for one in task.channels if one.name == name)
    if channel.kind != "bridge":
        raise ValueError(f"channel {name} is of kind {channel.kind}; only a bridge has a shunt calibration")
    return channel


def _shunt_gain(session: NiSession, task: NiTask, channel: NiChannel, shunt: Shunt) -> float:
    from nidaqmx.constants import ShuntElementLocation

    with session.translated_errors(f"shunt calibration of {channel.name} on {channel.physical}"):
        opened = session.task(f"{task.name}_shunt")
        try:
            made = add_channel(opened.ai_channels, channel, task)
            opened.perform_bridge_shunt_cal(
                channel=channel.name,
                shunt_resistor_value=shunt.resistor_ohm,
                shunt_resistor_location=ShuntElementLocation[shunt.arm],
                bridge_resistance=shunt.bridge_ohm,
            )
            return float(made.ai_bridge_shunt_cal_gain_adjust)
        finally:
            opened.close()


def _teds(session: NiSession, channel: NiChannel) -> Teds | None:
    from nidaqmx.errors import DaqError

    with session.translated_errors(f"TEDS of {channel.name} on {channel.physical}"):
        place = session.physical_channel(channel.physical)
        try:
            place.configure_teds()
        except DaqError as error:
            if error.error_code in _NO_TEDS:
                return None
            raise
        version = f"{place.teds_version_letter}{place.teds_version_num}"
        return Teds(place.teds_mfg_id, place.teds_model_num, version, place.teds_serial_num)
