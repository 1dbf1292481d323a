"""Shunt calibration of bridges, and TEDS, by NI-DAQmx."""

from __future__ import annotations

from drivers.channel_calibration import Shunt, Teds
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import DeviceError
from drivers.ni.channels import NiChannel, NiTask, add_channel
from drivers.ni.session import NiSession

# NI-DAQmx: no TEDS in the sensor; the device cannot read any.
_NO_TEDS = (-200709, -200741)
# A gain further from 1 than this is that of a wrong resistor or of a fault, not of the leads.
MOST_FROM_ONE = 0.1


def shunt_gains(
    task: NiTask, channels: tuple[str, ...], shunt: Shunt, host: Host = COMPUTER, alive: Alive = lambda: None
) -> dict[str, float]:
    """See `ChannelCalibration`."""
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
    """See `ChannelCalibration`."""
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
