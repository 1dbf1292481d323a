"""Unit and description of each field of a record, as stored in the attributes of `trial.h5`."""

from __future__ import annotations

from typing import NamedTuple

from hil.messages.layout import Layout
from hil.messages.schema import PHASES


class Field(NamedTuple):
    """One field of a row.

    Attributes:
        unit: SI; "1" for a pure number, "" for a value without a unit.
        description: its meaning.
        elements: its elements in order, if it is an array: what of `Layout` names them, or their names.
    """

    unit: str
    description: str
    elements: str = ""


TICK_FIELDS = {
    "tick": Field("1", "number of the tick; a gap: ticks were skipped"),
    "t_ns": Field("ns", "time of the tick on the monotonic clock, 0 at the start of the run"),
    "state": Field("1", "state of the experiment, by number; /meta/states names them"),
    "safe": Field("1", "1 while Safe is latched"),
    "cut": Field("1", "1 where a cut is commanded"),
    "impact": Field("1", "1 from the tick in which the impact was detected"),
    "clamped": Field("1", "number of commands clamped so far"),
    "valves": Field("1", "1 where a valve is commanded to be powered", "chambers"),
    "daq_age_ns": Field("ns", "age of the newest sensor sample"),
    "daq_sequence": Field("1", "number of the newest block of sensor samples read, 0 before the first"),
    "drives_t_ns": Field("ns", "when the newest speeds were measured"),
    "drives_acknowledged_ns": Field("ns", "time of the newest command that the drives have confirmed, -1 before"),
    "drives_stopped_ns": Field("ns", "when the newest cut had been sent to all drives, -1 while they run"),
    "valves_t_ns": Field("ns", "when the newest pressures were measured, or when the valves last answered"),
    "valves_acknowledged_ns": Field("ns", "time of the newest command that the valves have confirmed, -1 before"),
    "set_speed_radps": Field("rad/s", "commanded wheel speeds", "wheels"),
    "wheel_speed_radps": Field("rad/s", "measured wheel speeds", "wheels"),
    "pressure_Pa": Field("Pa", "measured gauge pressures of the chambers", "chambers"),
    "force_N": Field("N", "forces at the newest sample, droop corrected", "channels"),
    "force_sum_N": Field("N", "sum of these forces"),
    "load_point_m": Field(
        "m", "load point from the sensors' centroid; NaN: unloaded, or bumpers; up also of links", "across,up"
    ),
    "normal_force_N": Field("N", "normal force of the ground on each wheel, from the rover twin", "wheels"),
    "sinkage_m": Field("m", "sinkage of each wheel in the soil, from the rover twin", "wheels"),
    "slip": Field("1", "slip of each wheel, from the rover twin", "wheels"),
    "speed_mps": Field("m/s", "forward speed of the rover, from the rover twin"),
    "effective_kinetic_energy_J": Field("J", "T_c of an impact at this moment, from the rover twin"),
    "time_to_impact_s": Field("s", "time to the impact, from the rover twin; infinity while not approaching"),
    "regulator_Pa": Field("Pa", "commanded gauge pressure of each regulator", "regulators"),
    "duty": Field("1", "commanded duty of each wheel's drive, -1 to 1, in place of a speed", "wheels"),
    "power_t_ns": Field("ns", "when the oldest of the newest currents and supply voltages was measured, -1 before"),
    "current_A": Field("A", "measured current of each wheel's motor", "wheels"),
    "supply_V": Field("V", "measured supply voltage of the motors, by controller", "supplies"),
    "load_age_ns": Field("ns", "age of the newest sample of the load channels"),
    "load_sequence": Field("1", "number of the newest block of load samples read, 0 before the first"),
    "wheel_load_N": Field("N", "normal force of the ground on each wheel, measured by the leg sensors", "wheels"),
    "pull_N": Field("N", "drawbar pull, measured by the load cell"),
    "load_mode": Field("1", "acting mode of the load control, as in `hil.messages.loads`; 0: passive"),
    "load_wanted_N": Field("N", "wheel loads that the load control aims at", "wheels"),
    "torque_wanted_Nm": Field("N m", "torque that each cylinder should give to its joint", "cylinders"),
    "pressure_wanted_Pa": Field("Pa", "gauge pressure that each chamber should have", "chambers"),
    "load_limits": Field(
        "1", "limits that keep the load control from its goal, a bit each; from bit 16 on: why it is passive"
    ),
    "cylinder_torque_Nm": Field("N m", "torque of each cylinder on its joint, from the rover twin", "cylinders"),
    "cylinder_angle_rad": Field("rad", "angle of each cylinder's joint, from the rover twin", "cylinders"),
}
EVENT_FIELDS = {
    "id": Field("1", "number of the fault (docs/reference/faults.md), 0: an event that is not a fault"),
    "name": Field("", "name of the fault or event"),
    "tick": Field("1", "tick in which it was detected"),
    "t_ns": Field("ns", "time of the event, 0 at the start of the run"),
    "value": Field("", "value found, in the unit of the detail"),
    "limit": Field("", "value allowed, in the unit of the detail"),
    "reaction_tick": Field("1", "tick whose command reacted, -1 if none did"),
    "detail": Field("", "description for people"),
}
TIMING_FIELDS = {
    "tick": Field("1", "number of the tick"),
    "work_ns": Field("ns", "work of the tick: from reading the samples to passing on the record"),
    "plant_ns": Field("ns", "time of a simulated rig that runs in the loop's process"),
    **{f"{phase}_ns": Field("ns", f"part of work_ns in the stage {phase}") for phase in PHASES},
}
BLOCK_FIELDS = {
    "sequence": Field("1", "number of the block, without gaps if no block is lost"),
    "t_ns": Field("ns", "time of its first sample, 0 at the start of the run"),
    "samples": Field("1", "number of samples of each channel"),
    "overload": Field("1", "1 where the device flagged the channel", "channels"),
    "arrived_ns": Field("ns", "when the driver received the block, -1 if that is not measured"),
}
LOAD_BLOCK_FIELDS = {**BLOCK_FIELDS, "overload": BLOCK_FIELDS["overload"]._replace(elements="loads")}
# By the path of the dataset: the meaning of a row, and its fields.
COMPOUND = {
    "tick": ("one row a tick", TICK_FIELDS),
    "events": ("faults, and other events: the impact, commands of the operator, rights granted", EVENT_FIELDS),
    "timing": ("time of each tick; histogram[i] counts histogram_fields[i] from histogram_from_ns on", TIMING_FIELDS),
    "daq/blocks": ("blocks of sensor samples as they arrived; the samples are in /daq/raw", BLOCK_FIELDS),
    "loads/blocks": ("blocks of load samples as they arrived; the samples are in /loads/raw", LOAD_BLOCK_FIELDS),
}
# The same for datasets of plain numbers: unit and description.
PLAIN = {
    "daq/raw": Field("V", "readings of the force sensors, one row a sample", "channels"),
    "daq/t_ns": Field("ns", "times of these samples, 0 at the start of the run"),
    "loads/raw": Field(
        "V", "readings of the leg sensors, the load cell and the strain gauges, one row a sample", "loads"
    ),
    "loads/t_ns": Field("ns", "times of these samples, 0 at the start of the run"),
}


def element_names(field: Field, layout: Layout) -> tuple[str, ...]:
    """Names of a field's elements in order; empty if it is one number.

    Args:
        field: which one.
        layout: of the rig.
    """
    known = {"wheels": layout.wheels, "chambers": layout.chambers, "channels": layout.channels, "": ()}
    known |= {"cylinders": layout.cylinders, "regulators": layout.regulators, "loads": layout.loads}
    known["supplies"] = layout.supplies
    return known[field.elements] if field.elements in known else tuple(field.elements.split(","))
