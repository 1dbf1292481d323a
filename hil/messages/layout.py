"""What a rig has: its wheels, its cylinders and their valves, its force channels, by name and in order."""

from __future__ import annotations

from functools import cached_property

import msgspec

from drivers.messages import ValveSet

# Wheels of the six-wheeled rovers, and of the rig's side bogies.
WHEELS = ("front_left", "front_right", "middle_left", "middle_right", "rear_left", "rear_right")
CYLINDERS = ("left", "right")
# Wheels and cylinders of the rovers that differ, by `rover.type`; as in `models.rover.registry`.
OTHER_ROVERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "juno": (("front_left", "front_right", "rear_left", "rear_right"), ()),
}
# Names of the force sensors by `daq.layout`.
TRIANGLE = ("top", "lower_left", "lower_right")
BUMPER = ("front_left", "front_right")
# The two valves of each cylinder, in this order.
WAYS = ("extend", "retract")


class Layout(msgspec.Struct, frozen=True, dict=True):
    """Made once, from rover and config; it sets the shapes of a record's rows.

    Attributes:
        wheels: names, in the order of every vector by wheel.
        cylinders: names, in the order of valves and pressures.
        channels: names of the force sensors, in the order of every vector by channel.
    """

    wheels: tuple[str, ...]
    cylinders: tuple[str, ...]
    channels: tuple[str, ...]

    @cached_property
    def valves(self) -> tuple[str, ...]:
        """Names of all valves; the two of a cylinder are adjacent."""
        return tuple(f"{cylinder}_{way}" for cylinder in self.cylinders for way in WAYS)

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Names of the links to devices: without force sensors no DAQ, without cylinders no valves."""
        return ("daq",) * bool(self.channels) + ("drives",) + ("valves",) * bool(self.cylinders)

    @cached_property
    def zero_speeds(self) -> tuple[float, ...]:
        """(wheels,) standing still [rad/s]."""
        return (0.0,) * len(self.wheels)

    @cached_property
    def valves_off(self) -> ValveSet:
        """No valve powered."""
        return tuple((False, False) for _ in self.cylinders)

    def to_json(self) -> str:
        """As JSON, for `/meta/layout` of a record."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Layout:
        """Read the layout of a record. Raises ValueError if the text is not a layout."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.MsgspecError as error:
            raise ValueError(f"/meta/layout: {error}") from None


def layout_of(rover: str, channels: tuple[str, ...]) -> Layout:
    """The layout of a rig.

    Args:
        rover: type of the rover, as in the config.
        channels: names of the force sensors.
    """
    wheels, cylinders = OTHER_ROVERS.get(rover, (WHEELS, CYLINDERS))
    return Layout(wheels, cylinders, channels)
