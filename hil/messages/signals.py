"""Every number of a record, declared once: name, type, shape, unit, meaning and source.

From these tables come the rows on disk and in shared memory, the packer of a tick, the inputs of a replay, telemetry,
the exports, the series of the page, and docs/reference/record.md. A new signal is one line here, and the line that
computes or measures it; those of a device role may stand in its row (`hil.messages.layout`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from hil.messages.layout import ROLES, SAMPLED, Layout, Signal

# The stages of a tick, in the order in which they run (hil/runtime/loop.py).
PHASES = ("sample", "estimate", "predict", "check", "decide", "control", "limit", "command", "record")


TICK = (
    Signal("tick", "i8", "1", "number of the tick; a gap: ticks were skipped", "tick.number"),
    Signal("t_ns", "i8", "ns", "time of the tick on the monotonic clock, 0 at the start of the run", "tick.t_ns"),
    Signal("state", "u1", "1", "state of the experiment, by number; /meta/states names them", "command.state"),
    Signal("safe", "u1", "1", "1 while Safe is latched", "command.safe", flag=True),
    Signal("cut", "u1", "1", "1 where a cut is commanded", "command.cut", flag=True),
    Signal(
        "impact", "u1", "1", "1 from the tick in which the impact was detected", "estimate.impact_ns is not None",
        flag=True,
    ),
    Signal("clamped", "u4", "1", "number of commands clamped so far", "command.clamped"),
    Signal(
        "valves", "u1", "1", "1 where a valve is commanded to be powered", "flat(command.valves)", "chambers",
        flag=True,
    ),
    Signal(
        "camera_trigger", "u1", "1", "1 while the camera's trigger line is commanded to be on", "command.trigger",
        needs="trigger", flag=True,
    ),
    Signal(
        "camera_triggers", "u1", "1", "1 while the trigger line of that name is commanded to be on", "command.triggers",
        "triggers", by_name=True, flag=True,
    ),
    Signal("daq_age_ns", "i8", "ns", "age of the newest sensor sample", "samples.daq_age_ns"),
    Signal(
        "daq_sequence", "i8", "1", "number of the newest block of sensor samples read, 0 before the first",
        "samples.daq_sequence",
    ),
    Signal("drives_t_ns", "i8", "ns", "when the newest speeds were measured", "samples.drives.t_ns"),
    Signal(
        "drives_acknowledged_ns", "i8", "ns", "time of the newest command that the drives have confirmed, -1 before",
        "samples.drives.acknowledged_ns",
    ),
    Signal(
        "drives_stopped_ns", "i8", "ns", "when the newest cut had been sent to all drives, -1 while they run",
        "samples.drives.stopped_ns",
    ),
    Signal(
        "valves_t_ns", "i8", "ns", "when the newest pressures were measured, or when the valves last answered",
        "samples.valves.t_ns",
    ),
    Signal(
        "valves_acknowledged_ns", "i8", "ns", "time of the newest command that the valves have confirmed, -1 before",
        "samples.valves.acknowledged_ns",
    ),
    Signal("set_speed_radps", "f8", "rad/s", "commanded wheel speeds", "command.speed_radps", "wheels", by_name=True),
    Signal(
        "wheel_speed_radps", "f8", "rad/s", "measured wheel speeds", "samples.drives.speed_radps", "wheels",
        by_name=True,
    ),
    Signal(
        "pressure_Pa", "f8", "Pa", "measured gauge pressures of the chambers", "flat(samples.valves.pressure_Pa)",
        "chambers",
    ),
    Signal(
        "servos_t_ns", "i8", "ns", "when the newest angles of the driven joints were measured", "samples.servos.t_ns",
        needs="servos",
    ),
    Signal(
        "servos_acknowledged_ns", "i8", "ns", "time of the newest command that the servos have confirmed, -1 before",
        "samples.servos.acknowledged_ns", needs="servos",
    ),
    Signal(
        "servos_stopped_ns", "i8", "ns", "when the newest cut had been sent to all servos, -1 while they run",
        "samples.servos.stopped_ns", needs="servos",
    ),
    Signal(
        "servos_cut", "u1", "1", "1 where a cut of the servos is commanded", "command.servos_cut", needs="servos",
        flag=True,
    ),
    Signal(
        "set_servo_angle_rad", "f8", "rad", "commanded angle of each driven joint; displacement [m] of one that slides",
        "command.joint_angle_rad", "servos", by_name=True,
    ),
    Signal(
        "servo_angle_rad", "f8", "rad", "measured angle of each driven joint; displacement [m] of one that slides",
        "samples.servos.angle_rad", "servos", by_name=True,
    ),
    Signal(
        "servo_current_A", "f8", "A", "measured current of each driven joint's motor", "samples.servos.current_A",
        "servos", "servo_currents", by_name=True,
    ),
    Signal("force_N", "f8", "N", "forces at the newest sample, droop corrected", "estimate.force_N", "channels"),
    Signal("force_sum_N", "f8", "N", "sum of these forces", "sum(estimate.force_N)"),
    Signal(
        "load_point_m", "f8", "m",
        "load point from the sensors' centroid; NaN: unloaded, or bumpers; up also of links",
        "estimate.load_point_m", "across,up",
    ),
    Signal(
        "normal_force_N", "f8", "N", "normal force of the ground on each wheel, from the rover twin",
        "prediction.normal_force_N", "wheels", by_name=True,
    ),
    Signal(
        "sinkage_m", "f8", "m",
        "sinkage of each wheel: its own radius, grousers included, less the height of its centre over the ground, from "
        "the rover twin",
        "prediction.sinkage_m", "wheels", by_name=True,
    ),
    Signal("slip", "f8", "1", "slip of each wheel, from the rover twin", "prediction.slip", "wheels", by_name=True),
    Signal("speed_mps", "f8", "m/s", "forward speed of the rover, from the rover twin", "prediction.speed_mps"),
    Signal(
        "effective_kinetic_energy_J", "f8", "J", "T_c of an impact at this moment, from the rover twin",
        "prediction.effective_kinetic_energy_J",
    ),
    Signal(
        "time_to_impact_s", "f8", "s", "time to the impact, from the rover twin; infinity while not approaching",
        "prediction.time_to_impact_s",
    ),
    Signal(
        "way_m", "f4", "m", "distance driven so far, forwards less backwards, from the rover twin", "prediction.way_m",
        needs="motion",
    ),
    Signal(
        "gap_m", "f4", "m",
        "from the nearer front wheel to the obstacle along its normal, from the rover twin; below 0: in contact",
        "prediction.gap_m", needs="motion",
    ),
    Signal(
        "pose", "f4", "m, 1",
        "of the rover's base in the world, from the rover twin: position [m], and quaternion (world from base)",
        "prediction.pose", "x,y,z,qx,qy,qz,qw", "motion",
    ),
    Signal(
        "joint_angle_rad", "f4", "rad",
        "angle of each joint that turns, but the wheels', or displacement [m] of one that slides, from the rover twin",
        "prediction.joint_angle_rad", "turning", "motion", by_name=True,
    ),
    Signal(
        "servo_torque_Nm", "f4", "N m",
        "torque on each driven joint that its motion takes, without its gear's friction, from the rover twin",
        "prediction.servo_torque_Nm", "servos", by_name=True,
    ),
    Signal(
        "regulator_Pa", "f8", "Pa", "commanded gauge pressure of each regulator", "command.regulators_Pa", "regulators"
    ),
    Signal(
        "duty", "f8", "1", "commanded duty of each wheel's drive, -1 to 1, in place of a speed",
        "(command.duty or layout.no_duty)", "wheels", "open_loop",
    ),
    Signal(
        "power_t_ns", "i8", "ns", "when the oldest of the newest currents and supply voltages was measured, -1 before",
        "samples.drives.power.t_ns", needs="supplies",
    ),
    Signal(
        "current_A", "f8", "A", "measured current of each wheel's motor", "samples.drives.power.current_A", "wheels",
        "supplies",
    ),
    Signal(
        "supply_V", "f8", "V", "measured supply voltage of the motors, by controller",
        "samples.drives.power.supply_V", "supplies",
    ),
    Signal(
        "temperature_degC", "f8", "deg C",
        "measured temperature of the motors' power stages, by controller; NaN: not measured",
        "samples.drives.power.temperature_degC", "supplies",
    ),
    Signal(
        "load_age_ns", "i8", "ns", "age of the newest sample of the load channels", "samples.load_age_ns",
        needs="loads",
    ),
    Signal(
        "load_sequence", "i8", "1", "number of the newest block of load samples read, 0 before the first",
        "samples.load_sequence", needs="loads",
    ),
    Signal(
        "wheel_load_N", "f8", "N", "normal force of the ground on each wheel, measured by the leg sensors",
        "estimate.wheel_load_N", "wheels", "leg_sensors",
    ),
    Signal("pull_N", "f8", "N", "drawbar pull, measured by the load cell", "estimate.pull_N[0]", needs="load_cell"),
    Signal(
        "load_mode", "u1", "1", "acting mode of the load control, as in `hil.messages.loads`; 0: passive",
        "command.loads.mode", needs="controls_loads",
    ),
    Signal(
        "load_wanted_N", "f8", "N", "wheel loads that the load control aims at", "command.loads.load_N", "wheels",
        "controls_loads",
    ),
    Signal(
        "torque_wanted_Nm", "f8", "N m", "torque that each cylinder should give to its joint",
        "command.loads.torque_Nm", "cylinders", "controls_loads",
    ),
    Signal(
        "pressure_wanted_Pa", "f8", "Pa", "gauge pressure that each chamber should have", "command.loads.pressure_Pa",
        "chambers", "controls_loads",
    ),
    Signal(
        "load_limits", "u4", "1",
        "limits that keep the load control from its goal, a bit each; from bit 16 on: why it is passive",
        "command.loads.binding", needs="controls_loads",
    ),
    Signal(
        "cylinder_torque_Nm", "f8", "N m", "torque of each cylinder on its joint, from the rover twin",
        "prediction.cylinder_torque_Nm", "cylinders", "controls_loads",
    ),
    Signal(
        "cylinder_angle_rad", "f8", "rad", "angle of each cylinder's joint, from the rover twin",
        "prediction.cylinder_angle_rad", "cylinders", "controls_loads",
    ),
    *chain.from_iterable(role.signals for role in ROLES.values()),
    Signal(
        "innovation", "f4", "1",
        "squared normalised innovation of each instrument's newest reading, over its degrees of freedom; NaN before",
        "prediction.observed.innovation", "instruments", by_name=True,
    ),
    Signal(
        "source", "u1", "1",
        "state of each instrument as a source of the observer: 0 nothing yet, 1 used, 2 its newest reading rejected, "
        "3 left out, 4 stale",
        "prediction.observed.source", "instruments", by_name=True,
    ),
    Signal(
        "speed_sd_mps", "f4", "m/s", "standard deviation of speed_mps", "prediction.observed.speed_sd_mps",
        needs="instruments",
    ),
    Signal(
        "slip_sd", "f4", "1", "standard deviation of each slip", "prediction.observed.slip_sd", "wheels", "instruments",
        by_name=True,
    ),
    Signal(
        "sinkage_sd_m", "f4", "m", "standard deviation of each sinkage", "prediction.observed.sinkage_sd_m", "wheels",
        "instruments", by_name=True,
    ),
    Signal(
        "normal_force_sd_N", "f4", "N", "standard deviation of each normal force",
        "prediction.observed.normal_force_sd_N", "wheels", "instruments", by_name=True,
    ),
    Signal(
        "pose_sd", "f4", "", "standard deviation of the pose: position [m], rotation about the base's axes [rad]",
        "prediction.observed.pose_sd", "x,y,z,roll,pitch,yaw", "instruments", by_name=True,
    ),
    Signal(
        "joint_angle_sd_rad", "f4", "rad", "standard deviation of each joint angle",
        "prediction.observed.joint_angle_sd_rad", "turning", "instruments", by_name=True,
    ),
    Signal(
        "gravity", "f4", "1", "direction of gravity in the base frame, a unit vector", "prediction.observed.gravity",
        "x,y,z", "instruments", by_name=True,
    ),
    Signal(
        "energy_sd_J", "f4", "J", "standard deviation of effective_kinetic_energy_J",
        "prediction.observed.energy_sd_J", needs="instruments",
    ),
    Signal(
        "time_to_impact_sd_s", "f4", "s", "standard deviation of time_to_impact_s",
        "prediction.observed.time_to_impact_sd_s", needs="instruments",
    ),
    Signal(
        "soil_value", "f4", "", "parameters of the soil as estimated; in the units of section soil",
        "prediction.soil.value", "soil_parameters", by_name=True,
    ),
    Signal(
        "soil_sd", "f4", "1", "standard deviation of the log of each of them", "prediction.soil.sd", "soil_parameters",
        by_name=True,
    ),
    Signal(
        "soil_correlation", "f4", "1",
        "correlation of these logs: stiffness and rebound, stiffness and slip modulus, rebound and slip modulus",
        "prediction.soil.correlation", "stiffness_rebound,stiffness_slip_modulus,rebound_slip_modulus",
        "soil_parameters", by_name=True,
    ),
    Signal(
        "soil_innovation", "f4", "1",
        "squared normalised innovation of the newest measurement of the soil, over its number of values; NaN before",
        "prediction.soil.innovation", needs="soil_parameters",
    ),
    Signal(
        "soil_state", "u1", "1",
        "what became of it: 0 none yet, 1 used, 2 rejected; not taken: 3 the rover does not drive forward, 4 not "
        "steadily and straight, 5 slip or loads are not measured, 6 it has hit the obstacle",
        "prediction.soil.state", needs="soil_parameters",
    ),
    Signal(
        "soil_observable", "u1", "1",
        "1 where the drive has told at least one of the parameters; max_traction uses the estimate then",
        "prediction.soil.observable", needs="soil_parameters", flag=True,
    ),
)  # fmt: skip
EVENTS = (
    Signal("id", "u2", "1", "number of the fault (docs/reference/faults.md), 0: an event that is not a fault"),
    Signal("name", "S32", "", "name of the fault or event"),
    Signal("tick", "i8", "1", "tick in which it was detected"),
    Signal("t_ns", "i8", "ns", "time of the event, 0 at the start of the run"),
    Signal("value", "f8", "", "value found, in the unit of the detail"),
    Signal("limit", "f8", "", "value allowed, in the unit of the detail"),
    Signal("reaction_tick", "i8", "1", "tick whose command reacted, -1 if none did"),
    Signal("detail", "S128", "", "description for people"),
)
TIMES = (
    Signal("tick", "i8", "1", "number of the tick"),
    Signal("work_ns", "i8", "ns", "work of the tick: from reading the samples to passing on the record"),
    Signal("plant_ns", "i8", "ns", "time of a simulated rig that runs in the loop's process"),
    *(Signal(f"{phase}_ns", "i8", "ns", f"part of work_ns in the stage {phase}") for phase in PHASES),
)


def _blocks(channels: str) -> tuple[Signal, ...]:
    return (
        Signal("sequence", "i8", "1", "number of the block, without gaps if no block is lost"),
        Signal("t_ns", "i8", "ns", "time of its first sample, 0 at the start of the run"),
        Signal("samples", "i8", "1", "number of samples of each channel"),
        Signal("overload", "u1", "1", "1 where the device flagged the channel", elements=channels, flag=True),
        Signal("arrived_ns", "i8", "ns", "when the driver received the block, -1 if that is not measured"),
    )


# By the path of the dataset in a record: the meaning of a row, and its fields.
ROWS = {
    "tick": ("one row a tick", TICK),
    "events": ("faults, and other events: the impact, commands of the operator, rights granted", EVENTS),
    "timing": ("time of each tick; histogram[i] counts histogram_fields[i] from histogram_from_ns on", TIMES),
    "daq/blocks": ("blocks of sensor samples as they arrived; the samples are in /daq/raw", _blocks("channels")),
    "loads/blocks": ("blocks of load samples as they arrived; the samples are in /loads/raw", _blocks("loads")),
}
# The same for datasets of plain numbers.
PLAIN = {
    "daq/raw": Signal("raw", "f8", "V", "readings of the force sensors, one row a sample", elements="channels"),
    "daq/t_ns": Signal("t_ns", "i8", "ns", "times of these samples, 0 at the start of the run"),
    "loads/raw": Signal(
        "raw",
        "f8",
        "V",
        "readings of the leg sensors, the load cell and the strain gauges, one row a sample",
        elements="loads",
    ),
    "loads/t_ns": Signal("t_ns", "i8", "ns", "times of these samples, 0 at the start of the run"),
}


def raw_signals(group: str, layout: Layout) -> list[tuple[str, Signal]]:
    """Signal of each channel of a group of samples, in its unit, and the name of such values: raw_V, raw_N, raw_Nm."""
    plain = PLAIN[f"{group}/raw"]
    units = layout.units_of(group)
    return [(f"raw_{unit.replace(' ', '')}", plain._replace(unit=unit)) for unit in units]


# Signal of a tick with the number of the newest block read, by the group of samples.
SEQUENCE = {"daq": "daq_sequence", "loads": "load_sequence"}
# The same with the age of its newest sample.
AGE = {"daq": "daq_age_ns", "loads": "load_age_ns"}
assert set(SEQUENCE) == set(SAMPLED)


def signals_of(path: str) -> dict[str, Signal]:
    """Fields of the rows of a dataset, by name."""
    return {signal.name: signal for signal in ROWS[path][1]}


def row_dtype(signals: Sequence[Signal], layout: Layout) -> np.dtype[Any]:
    """A row with those of the fields that a rig has."""
    return np.dtype([(one.name, f"<{one.kind}", one.shape(layout)) for one in signals if one.present(layout)])


@cache
def tick_dtype(layout: Layout) -> np.dtype[Any]:
    """One tick of a rig with that layout.

    One object for each layout: to compare two equal ones field by field takes 3 us.
    """
    return row_dtype(TICK, layout)


@cache
def block_dtype(layout: Layout, group: str = "daq") -> np.dtype[Any]:
    """One block of samples as it came from the DAQ of the force sensors, or of the `loads`; one object for each."""
    return row_dtype(ROWS[f"{group}/blocks"][1], layout)


def as_recorded(layout: Layout, ticks: np.dtype[Any]) -> Layout:
    """The layout of a rig as a record of it has it: the ticks of earlier versions lack the rover's motion."""
    return msgspec.structs.replace(layout, motion="way_m" in (ticks.names or ()))


def flat(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """(rows, numbers) of the values of a signal, whatever its shape."""
    return values.reshape(len(values), math.prod(values.shape[1:]))
