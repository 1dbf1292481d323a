"""What a rig has: its wheels, its cylinders and their valves, its force channels, by name and in order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Literal, TypeVar

import msgspec

from drivers.messages import PowerSample, SensorName, ValveSet
from drivers.valve_layout import WAYS, ValveLayout

# Names of the force sensors by `daq.layout`, in the order of the channels.
SENSORS: dict[str, tuple[SensorName, ...]] = {
    "triangle": ("top", "lower_left", "lower_right"),
    "bumper": ("front_left", "front_right"),
    "rear": ("link_left", "link_right"),
    "bottom": ("link_left", "link_right"),
}
_BOGIE = "_bogie"
T = TypeVar("T")
LoadUnit = Literal["V", "N", "N m"]
# Groups of a record with samples, each with datasets blocks, raw and t_ns; they are named as the links.
SAMPLED = ("daq", "loads")
# Instruments that measure the rover's motion, named as their links; each has its newest reading in `Samples`.
INSTRUMENTS = ("motion", "imu", "joints")
# Parameters of the soil that are estimated beside the twin, named as in section soil.
SOIL_PARAMETERS = ("stiffness", "rebound", "slip_modulus")


class Layout(msgspec.Struct, frozen=True, dict=True, omit_defaults=True):
    """Made once, from rover and config; it sets the shapes of a record's rows.

    Attributes:
        wheels: names, in the order of every vector by wheel.
        cylinders: names, in the order of valves and pressures; of the joint, without `_bogie`.
        channels: names of the force sensors, in the order of every vector by channel.
        regulators: names of the pressure regulators that are moved during a run.
        loads: names of the slow load channels: those of the leg sensors, and of a load cell.
        leg_sensors: the wheels' normal forces are measured.
        load_cell: the drawbar pull is measured.
        reads_loads: the load channels' readings are loads [N, N m]; otherwise volts.
        trigger: a camera's trigger line is switched, by the device of the valves.
        controls_loads: a controller distributes the wheels' loads; a row has its set-points.
        open_loop: the wheels may be driven by duty instead of speed.
        ways: in which each cylinder can be pushed; a chamber of another way has no valve, and is open to atmosphere.
        supplies: names of the motors' supply voltages that are watched, with the motors' currents; empty: neither is.
        turning: names of the joints that turn, but those of the wheels.
        motion: a row has the rover's motion; the records of earlier versions do not.
        motion_channels: names of the values of a reading of the instrument outside the rover; empty: there is none.
        imu_channels: the same of the inertial measurement unit.
        joints_channels: names of the joints with an encoder.
        servos: names of the joints that servos drive, in the order of every vector by servo.
        soil_parameters: names of the soil's parameters that are estimated beside the twin; empty: none is.
        slides: names of the joints of `turning` that slide: their angles are ways in m, their speeds m/s.

    Example:
        >>> layout = Layout(("left", "right"), ("left", "right"), channels=SENSORS["triangle"], ways=("extend",))
        >>> layout.valves, layout.links
        (('left_extend', 'right_extend'), ('daq', 'drives', 'valves'))
        >>> Layout.from_json(layout.to_json()) == layout
        True
    """

    wheels: tuple[str, ...]
    cylinders: tuple[str, ...]
    channels: tuple[str, ...]
    regulators: tuple[str, ...] = ()
    loads: tuple[str, ...] = ()
    leg_sensors: bool = False
    load_cell: bool = False
    controls_loads: bool = False
    open_loop: bool = False
    ways: tuple[str, ...] = WAYS
    supplies: tuple[str, ...] = ()
    turning: tuple[str, ...] = ()
    motion: bool = False
    motion_channels: tuple[str, ...] = ()
    imu_channels: tuple[str, ...] = ()
    joints_channels: tuple[str, ...] = ()
    reads_loads: bool = False
    trigger: bool = False
    servos: tuple[str, ...] = ()
    soil_parameters: tuple[str, ...] = ()
    slides: tuple[str, ...] = ()

    @cached_property
    def valves(self) -> tuple[str, ...]:
        """Names of all valves; the two of a cylinder are adjacent."""
        return self.valve_layout.valves

    @cached_property
    def chambers(self) -> tuple[str, ...]:
        """Names of all chambers, with a valve or not: two for each cylinder, as `ValveSet` and pressures have them."""
        return tuple(f"{cylinder}_{way}" for cylinder in self.cylinders for way in WAYS)

    @cached_property
    def valve_layout(self) -> ValveLayout:
        """Valves, regulators and trigger line, as the drivers have them."""
        return ValveLayout(self.cylinders, self.ways, self.regulators, self.trigger)

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Names of the rover's joints on which the cylinders push."""
        return tuple(f"{cylinder}{_BOGIE}" for cylinder in self.cylinders)

    def by_valve(self, pairs: Sequence[tuple[T, T]]) -> tuple[T, ...]:
        """See ValveLayout."""
        return self.valve_layout.by_valve(pairs)

    def by_cylinder(self, values: Sequence[T], without: T) -> tuple[tuple[T, T], ...]:
        """See ValveLayout."""
        return self.valve_layout.by_cylinder(values, without)

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Names of the links to devices: without force sensors no DAQ, and so on. `valves` also has a trigger line."""
        fast, slow = ("daq",) * bool(self.channels), ("loads",) * bool(self.loads)
        switched = ("valves",) * bool(self.cylinders or self.trigger)
        return (*fast, "drives", *switched, *slow, *self.instruments, *("servos",) * bool(self.servos))

    @cached_property
    def servo_currents(self) -> bool:
        """The currents of the driven joints' motors are recorded: where those of the wheels are."""
        return bool(self.servos and self.supplies)

    @cached_property
    def instruments(self) -> tuple[str, ...]:
        """The instruments of motion that the rig has, in the order of `INSTRUMENTS`."""
        return tuple(role for role in INSTRUMENTS if self.instrument_channels(role))

    def instrument_channels(self, role: str) -> tuple[str, ...]:
        """Names of the values of a reading of an instrument; empty: there is none."""
        return {"motion": self.motion_channels, "imu": self.imu_channels, "joints": self.joints_channels}[role]

    def of_group(self, group: str) -> tuple[str, ...]:
        """Names of the channels whose samples are in that group of a record (SAMPLED)."""
        return {"daq": self.channels, "loads": self.loads}[group]

    def units_of(self, group: str) -> tuple[LoadUnit, ...]:
        """Unit of the samples of each of these channels."""
        units: list[LoadUnit] = ["V"] * len(self.of_group(group))
        if group == "loads" and self.reads_loads:
            units = ["N m" if name.rpartition("_")[2] in ("mx", "my", "mz") else "N" for name in self.loads]
        return tuple(units)

    @cached_property
    def zero_speeds(self) -> tuple[float, ...]:
        """(wheels,) standing still [rad/s]."""
        return (0.0,) * len(self.wheels)

    @cached_property
    def no_duty(self) -> tuple[float, ...]:
        """(wheels,) the speeds hold, NaN; empty where the wheels are never driven by duty."""
        return (math.nan,) * len(self.wheels) if self.open_loop else ()

    @cached_property
    def no_power(self) -> PowerSample | None:
        """Currents and supply voltages before the first reading; None where they are not watched."""
        if not self.supplies:
            return None
        return PowerSample.unread(len(self.wheels), len(self.supplies))

    @cached_property
    def valves_off(self) -> ValveSet:
        """No valve powered."""
        return self.valve_layout.valves_off

    @cached_property
    def regulators_closed(self) -> tuple[float, ...]:
        """(regulators,) no pressure [Pa]."""
        return self.valve_layout.regulators_closed

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


def layout_of(
    wheels: tuple[str, ...],
    channels: tuple[str, ...],
    *,
    joints: Sequence[str] = (),
    ways: str = "both",
    regulators: str = "none",
    controls_loads: bool = False,
    open_loop: bool = False,
) -> Layout:
    """The layout of a rig.

    Args:
        wheels: names, in the order of the rover's model.
        channels: names of the force sensors.
        joints: those with a cylinder, NAME_bogie each.
        ways: in which the valves can push: both, extend or retract.
        regulators: moved during a run: none, common (one for all cylinders) or each (one for each).
        reads_loads: the load channels' readings are loads [N, N m]; otherwise volts.
        controls_loads: a controller distributes the wheels' loads, where there are cylinders.
        open_loop: the wheels are driven by duty.
    """
    cylinders = tuple(joint.removesuffix(_BOGIE) for joint in joints)
    moved = {"none": (), "common": ("supply",) * bool(cylinders), "each": cylinders}[regulators]
    return Layout(
        wheels,
        cylinders,
        channels,
        moved,
        controls_loads=controls_loads and bool(cylinders),
        open_loop=open_loop,
        ways=WAYS if ways == "both" else (ways,),
    )
