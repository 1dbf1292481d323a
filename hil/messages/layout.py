"""What a rig has, by name and in order: its wheels, cylinders, channels; and the roles that its devices can have."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import msgspec

from drivers.messages import (
    DaqBlock,
    DriveCommand,
    DriveSample,
    JointCommand,
    JointSample,
    PowerSample,
    Reading,
    SensorName,
    ValveCommand,
    ValveSample,
    ValveSet,
)
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
# Parameters of the soil that are estimated together with the twin, named as in section soil.
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
        triggers: names of the other trigger lines that it switches.
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
        soil_parameters: names of the soil's parameters that are estimated together with the twin; empty: none is.
        slides: names of the joints of `turning` that slide: their angles are distances in m, their speeds m/s.
        further: names of what the device of any other role measures or moves, by role; each role is an attribute, too.

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
    further: tuple[tuple[str, tuple[str, ...]], ...] = ()
    triggers: tuple[str, ...] = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> tuple[str, ...]:
            """What the device of a role without a field above measures or moves; empty: the rig has none."""
            if name in ROLES:
                return dict(self.further).get(name, ())
            raise AttributeError(name)

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
        """Valves, regulators and trigger lines, as the drivers have them."""
        return ValveLayout(self.cylinders, self.ways, self.regulators, self.trigger, self.triggers)

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Names of the rover's joints on which the cylinders push."""
        return tuple(f"{cylinder}{_BOGIE}" for cylinder in self.cylinders)

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Names of the links to devices, in the order of `ROLES`: without force sensors no DAQ, and so on."""
        return tuple(name for name, role in ROLES.items() if role.present(self))

    @cached_property
    def servo_currents(self) -> bool:
        """The currents of the driven joints' motors are recorded: where those of the wheels are."""
        return bool(self.servos and self.supplies)

    @cached_property
    def instruments(self) -> tuple[str, ...]:
        """The instruments of motion that the rig has, in the order of `INSTRUMENTS`."""
        return tuple(role for role in INSTRUMENTS if self.parts(role))

    @cached_property
    def correcting(self) -> tuple[str, ...]:
        """Those of them that correct the twin: encoders of wheels alone do not, they check the drives' own."""
        wheels_only = not {*self.joints_channels} & {*self.turning}
        return tuple(role for role in self.instruments if role != "joints" or not wheels_only)

    def parts(self, role: str) -> tuple[str, ...]:
        """Names of what a device measures or moves: channels of a data acquisition or an instrument; empty: none."""
        return ROLES[role].parts(self)

    def units_of(self, group: str) -> tuple[LoadUnit, ...]:
        """Unit of the samples of each of these channels."""
        units: list[LoadUnit] = ["V"] * len(self.parts(group))
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


_TURNS = ("roll", "pitch", "yaw")
_CHANNEL_UNITS = {"m": "m", "mps2": "m/s^2", "radps": "rad/s"}


class Signal(NamedTuple):
    """One field of a row.

    Attributes:
        name: of the field.
        kind: its numpy type, little-endian.
        unit: SI; "1" for a pure number, "" for a value without a unit.
        description: its meaning.
        source: of a tick: a Python expression of the values of its stages (`hil.messages.stages`).
        elements: if it is an array, its elements in order: what of `Layout` names them, or their names.
        needs: what of `Layout` a rig must have, or else it has no such field; "" for any rig.
        by_name: telemetry publishes its elements by name, and not as a list.
        flag: 1 is true and 0 false.

    Example:
        >>> slip = Signal("slip", "f8", "1", "slip of each wheel", "prediction.slip", "wheels")
        >>> juno = Layout(("front_left", "front_right", "rear_left", "rear_right"), cylinders=(), channels=())
        >>> slip.shape(juno), slip.present(juno)
        ((4,), True)
    """

    name: str
    kind: str
    unit: str
    description: str
    source: str = ""
    elements: str = ""
    needs: str = ""
    by_name: bool = False
    flag: bool = False

    def names(self, layout: Layout) -> tuple[str, ...]:
        """Names of its elements in order; empty if it is one number."""
        if not self.elements:
            return ()
        by_layout: tuple[str, ...] | None = getattr(layout, self.elements, None)
        return tuple(self.elements.split(",")) if by_layout is None else by_layout

    def unit_of(self, element: str) -> str:
        """Unit of one of its elements; of a reading it follows from the channel's name."""
        if self.unit or not element or self.kind.startswith("u"):
            return self.unit
        if element in _TURNS or self.name == "joints_reading":
            return "rad"
        return _CHANNEL_UNITS.get(element.rpartition("_")[2], "m" if element in ("x", "y", "z") else "1")

    def shape(self, layout: Layout) -> tuple[int, ...]:
        """Of its value; an array of chambers is (cylinders, 2)."""
        if self.elements == "chambers":
            return len(layout.cylinders), 2
        return (len(self.names(layout)),) if self.elements else ()

    def present(self, layout: Layout) -> bool:
        """Whether a rig has it. HDF5 has no empty arrays."""
        return (not self.needs or bool(getattr(layout, self.needs))) and 0 not in self.shape(layout)


def _none(*_: Any) -> None:
    """There is none."""


@dataclass(frozen=True)
class Role:
    """What a device is for; its name is that of its link, and its key under `devices`.

    Attributes:
        title: for people.
        says: what its answers have, for people.
        parts: names of what of a rig it measures or moves, in order; empty: the rig has no such device.
        sample: type of what it delivers; None: it is an output, which only takes commands.
        below_loop: priority of its worker, below that of the loop.
        serial: it may have a serial line.
        unread: its sample before the first one; blocks have none.
        command: type of a command to it; None: it takes none.
        fields: of a command but its time, in order, by name: the field of `hil.messages.stages.Command` that holds it.
        safe: the safe state, as its command at a time [ns].
        held: what its safe state is called.
        age_ms: of its newest sample, above which that is stale: default of limits.NAME_age_ms, and its largest value.
        urgent: of a command: what wakes the worker when it changes; the rest waits for the worker's next round.
        wanted: values of `fields`, in order, that `hil.messages.stages.SetPoints` of a tick ask for, where they need
            no limiter: in Safe it gets `safe`. None: the limiter itself knows this role.
        signals: its numbers in a tick, where `hil.messages.signals.TICK` does not have them in another place.
        always: every rig has it, one without such parts too.
        to_do: where a value is not measured.
    """

    title: str
    says: str
    parts: Callable[[Layout], tuple[str, ...]]
    sample: type[Any] | None
    below_loop: int
    serial: bool = False
    unread: Callable[[Layout], Any] = _none
    command: type[Any] | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    safe: Callable[[int, Layout], Any] = _none
    held: str = ""
    age_ms: tuple[float, float] = 200.0, 5000.0
    urgent: Callable[[Any], object] = _none
    wanted: Callable[[Any], tuple[Any, ...]] | None = None
    signals: tuple[Signal, ...] = ()
    always: bool = False
    to_do: str = ""

    def present(self, layout: Layout) -> bool:
        """Whether a rig has it."""
        return self.always or bool(self.parts(layout))


def _instrument(name: str, title: str, says: str, to_do: str) -> Role:
    """An instrument of motion."""
    names, words = f"{name}_channels", f"of the {title}"
    channels: Callable[[Layout], tuple[str, ...]] = attrgetter(names)

    def unread(layout: Layout) -> Reading:
        return Reading.unread(len(channels(layout)))

    signals = (
        Signal(
            f"{name}_t_ns", "i8", "ns", f"when the newest reading {words} was taken, -1 before",
            f"samples.{name}.t_ns", needs=names,
        ),
        Signal(
            f"{name}_arrived_ns", "i8", "ns", f"when the newest reading {words} arrived, -1 before",
            f"samples.{name}.arrived_ns", needs=names,
        ),
        Signal(
            f"{name}_reading", "f8", "", f"newest reading {words}, in its own axes; SI", f"samples.{name}.value",
            names, by_name=True,
        ),
    )  # fmt: skip
    return Role(title, says, channels, Reading, 8, serial=True, unread=unread, to_do=to_do, signals=signals)


def _unread_joints(layout: Layout) -> JointSample:
    unknown = (math.nan,) * len(layout.servos)
    return JointSample(0, 0, unknown, -1, current_A=unknown)


# By name, in the order in which a tick reads and commands them. Shared memory, the loop's devices, workers, recorded
# inputs and simulated rigs go through this table: a role is added by its row, with its signals, by its places in
# `hil.messages.stages`, and by a package with its messages and drivers, whose section says what the device has.
ROLES: dict[str, Role] = {
    "daq": Role("data acquisition", "force samples", attrgetter("channels"), DaqBlock, 5),
    "drives": Role(
        "wheel drives",
        "wheel speeds",
        attrgetter("wheels"),
        DriveSample,
        6,
        serial=True,
        unread=lambda layout: DriveSample(0, 0, layout.zero_speeds, -1, power=layout.no_power),
        command=DriveCommand,
        fields={"cut": "cut", "speed_radps": "speed_radps", "duty": "duty"},
        safe=lambda t_ns, layout: DriveCommand(t_ns, True, layout.zero_speeds),
        held="cut",
        urgent=attrgetter("cut"),
        always=True,
    ),
    "valves": Role(
        "bogie valves",
        "valves' answer",
        lambda layout: (*layout.cylinders, *layout.valve_layout.trigger_lines),
        ValveSample,
        7,
        serial=True,
        unread=lambda layout: ValveSample(0, 0, ((0.0, 0.0),) * len(layout.cylinders), -1),
        command=ValveCommand,
        fields={"powered": "valves", "regulators_Pa": "regulators_Pa", "trigger": "trigger", "triggers": "triggers"},
        safe=lambda t_ns, layout: ValveCommand(
            t_ns, layout.valves_off, layout.regulators_closed, triggers=layout.valve_layout.triggers_off
        ),
        held="all off",
        age_ms=(1000.0, 10_000.0),
        urgent=lambda command: (
            command.powered,
            tuple(map(bool, command.regulators_Pa)),
            command.trigger,
            command.triggers,
        ),
    ),
    "loads": Role("load channels", "load samples", attrgetter("loads"), DaqBlock, 8),
    "motion": _instrument(
        "motion",
        "instrument outside the rover",
        "measured from outside",
        "bring what is measured into the instrument's view, and look whether the right one is set",
    ),
    "imu": _instrument("imu", "inertial measurement unit", "inertial readings", "look at what the instrument reports"),
    "joints": _instrument(
        "joints", "joint encoders", "joint angles", "look at cable, power and address of the encoder named"
    ),
    "servos": Role(
        "servos of the driven joints",
        "driven joints' angles",
        attrgetter("servos"),
        JointSample,
        6,
        serial=True,
        unread=_unread_joints,
        command=JointCommand,
        fields={"cut": "servos_cut", "angle_rad": "joint_angle_rad"},
        safe=lambda t_ns, layout: JointCommand(t_ns, True, (0.0,) * len(layout.servos)),
        held="hold",
        urgent=attrgetter("cut"),
    ),
}
# Groups of a record with samples, each with datasets blocks, raw and t_ns; they are named as the links.
SAMPLED = tuple(name for name, role in ROLES.items() if role.sample is DaqBlock)
# Those with one newest sample, named as its field of `Samples`.
NEWEST = tuple(name for name, role in ROLES.items() if role.sample not in (DaqBlock, None))
# Instruments that measure the rover's motion.
INSTRUMENTS = tuple(name for name, role in ROLES.items() if role.sample is Reading)
# Those whose newest sample may be no older than limits.NAME_age_ms.
AGED = tuple(name for name in NEWEST if name not in INSTRUMENTS)
COMMANDED = tuple(name for name, role in ROLES.items() if role.command)
# Those that confirm the commands that they got in their samples, and outputs, which confirm nothing.
CONFIRMING = tuple(name for name in COMMANDED if name in AGED)
OUTPUTS = tuple(name for name in COMMANDED if name not in AGED)


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
