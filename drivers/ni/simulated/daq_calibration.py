"""Shunt calibration and TEDS of a simulated chassis: its sensors and their wires, and the calls that find them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from nidaqmx.constants import ShuntElementLocation

from drivers.channel_calibration import Teds
from drivers.ni.simulated.parts import DaqmxError, Task

_ARMS = tuple(arm.value for arm in ShuntElementLocation if arm is not ShuntElementLocation.NONE)


class Sensors(msgspec.Struct):
    """The sensors behind physical channels; without an entry: wires without loss, and no TEDS.

    Attributes:
        wires: share of a bridge's output that arrives at the device, by physical channel.
        teds: by physical channel.
    """

    wires: dict[str, float] = {}
    teds: dict[str, Teds] = {}

    def perform_shunt(self, task: Task, request: Any) -> None:
        """Set the gains of a task's channels so that the shunt reads as it should. Raises DaqmxError."""
        names = [channel.name for channel in task.channels]
        if request.channel and request.channel not in names:
            raise DaqmxError(-200170, f"Channel is not in the task. Channel: {request.channel}")
        for channel in task.channels:
            if request.channel not in ("", channel.name):
                continue
            if not channel.bridge:
                raise DaqmxError(-209810, f"Channel does not support shunt calibration. Channel: {channel.name}")
            if request.shunt_resistor_location_raw not in _ARMS or request.shunt_resistor_value <= 0:
                raise DaqmxError(-209810, "Invalid shunt calibration configuration.")
            task.gains = {**task.gains, channel.name: 1.0 / self.wires.get(channel.physical, 1.0)}

    def calls(self) -> Mapping[str, Callable[[Any], dict[str, Any]]]:
        """Returns the calls of the device server about physical channels, by name."""

        def configure(request: Any) -> dict[str, Any]:
            self._of(request)
            return {}

        return {
            "ConfigureTEDS": configure,
            "GetPhysicalChanAttributeUInt32": lambda r: {"value": self._number(r)},
            "GetPhysicalChanAttributeString": lambda r: {"value": self._of(r).version[:1]},
        }

    def _number(self, request: Any) -> int:
        teds = self._of(request)
        numbers = {0x21DA: teds.manufacturer, 0x21DB: teds.model, 0x21DC: teds.serial}
        return numbers.get(request.attribute_raw, int(teds.version[1:] or 0))

    def _of(self, request: Any) -> Teds:
        if request.physical_channel not in self.teds:
            raise DaqmxError(-200709, f"TEDS sensor was not detected. Channel: {request.physical_channel}")
        return self.teds[request.physical_channel]
