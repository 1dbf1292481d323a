"""A signal is declared once: row, packer, messages of links and replay follow from the table."""

from __future__ import annotations

import itertools
import math
from typing import Any

import msgspec
import numpy as np
import pytest

from drivers.messages import (
    DriveCommand,
    DriveSample,
    JointCommand,
    JointSample,
    PowerSample,
    Reading,
    ValveCommand,
    ValveSample,
)
from hil.config import load_config
from hil.messages.link_messages import CommandRow, Row, SampleRow
from hil.messages.loads import LoadSetPoints
from hil.messages.signals import PLAIN, ROWS, TICK, tick_dtype
from hil.messages.stages import Command, Estimate, ObserverOutput, Prediction, Samples, Tick, tick_packer

CONFIGS = ("sim_impact", "sim_juno", "sim_normal_force", "sim_drawbar", "sim_wire", "sim_motion")
numbers = itertools.count(1)


def some(count: int) -> tuple[float, ...]:
    return tuple(float(next(numbers)) for _ in range(count))


def by_cylinder(layout: Any) -> tuple[Any, ...]:
    return tuple((next(numbers), next(numbers)) for _ in layout.cylinders)


def readings(layout: Any) -> dict[str, Reading]:
    return {
        role: Reading(9, next(numbers), some(len(layout.parts(role))), next(numbers)) for role in layout.instruments
    }


def observed(layout: Any) -> ObserverOutput | None:
    wheels, sources = len(layout.wheels), len(layout.instruments)
    if not sources:
        return None
    return ObserverOutput(
        next(numbers), some(wheels), some(wheels), some(wheels), some(6), some(len(layout.turning)), some(3),
        next(numbers), next(numbers), some(sources), (1, 2, 3)[:sources],
    )  # fmt: skip


def stages(layout: Any) -> tuple[Any, ...]:
    """Values of a tick, each number once."""
    wheels, cylinders = len(layout.wheels), len(layout.cylinders)
    power = (
        PowerSample(next(numbers), some(wheels), *(some(len(layout.supplies)) for _ in range(2)))
        if layout.supplies
        else None
    )
    drives = DriveSample(9, next(numbers), some(wheels), next(numbers), next(numbers), power)
    samples = Samples(
        1, (), next(numbers), next(numbers), drives, ValveSample(9, next(numbers), by_cylinder(layout), next(numbers)),
        load_age_ns=next(numbers), load_sequence=next(numbers), **readings(layout),
        servos=JointSample(9, next(numbers), some(len(layout.servos)), *some(2)) if layout.servos else None,
    )  # fmt: skip
    loads = LoadSetPoints(3, some(wheels), some(cylinders), some(2 * cylinders), next(numbers))
    estimate = Estimate(
        True, (), (), True, False, None, some(len(layout.channels)), (1.0, 2.0), drives.speed_radps,
        wheel_load_N=some(wheels), pull_N=some(1),
    )  # fmt: skip
    prediction = Prediction(
        some(wheels), some(wheels), some(wheels), *some(3), True,
        way_m=next(numbers), gap_m=next(numbers), pose=some(7), joint_angle_rad=some(len(layout.turning)),
        cylinder_torque_Nm=some(cylinders), cylinder_angle_rad=some(cylinders), observed=observed(layout),
    )  # fmt: skip
    command = Command(
        2,
        True,
        False,
        some(wheels),
        ((True, False),) * cylinders,
        5,
        some(len(layout.regulators)),
        loads=loads,
        joint_angle_rad=some(len(layout.servos)),
        servos_cut=bool(layout.servos),
    )
    return Tick(next(numbers), next(numbers), 0, 0), samples, estimate, prediction, command


@pytest.mark.parametrize("name", CONFIGS)
def test_each_number_of_a_tick_arrives_in_the_field_of_its_name(name):
    layout = load_config(name).layout
    tick, samples, estimate, prediction, command = values = stages(layout)
    row = Row(tick_dtype(layout))
    row.set(*tick_packer(layout)(*values))
    (found,) = row.array
    expected: dict[str, Any] = {
        "tick": tick.number, "t_ns": tick.t_ns, "state": 2, "safe": 1, "cut": 0, "impact": 0, "clamped": 5,
        "valves": command.valves, "daq_age_ns": samples.daq_age_ns, "drives_stopped_ns": samples.drives.stopped_ns,
        "valves_acknowledged_ns": samples.valves.acknowledged_ns, "set_speed_radps": command.speed_radps,
        "wheel_speed_radps": samples.drives.speed_radps, "pressure_Pa": samples.valves.pressure_Pa,
        "force_N": estimate.force_N, "force_sum_N": sum(estimate.force_N), "slip": prediction.slip,
        "speed_mps": prediction.speed_mps, "regulator_Pa": command.regulators_Pa,
        "wheel_load_N": estimate.wheel_load_N, "pull_N": estimate.pull_N[0], "load_sequence": samples.load_sequence,
        "load_wanted_N": command.loads.load_N, "load_limits": command.loads.binding,
        "pressure_wanted_Pa": np.reshape(command.loads.pressure_Pa, (-1, 2)),
        "cylinder_angle_rad": prediction.cylinder_angle_rad, "way_m": prediction.way_m, "gap_m": prediction.gap_m,
        "pose": prediction.pose, "joint_angle_rad": prediction.joint_angle_rad,
        **(msgspec.structs.asdict(samples.drives.power) if layout.supplies else {}),
        **(msgspec.structs.asdict(prediction.observed) if prediction.observed else {}),
        **{f"{role}_reading": getattr(samples, role).value for role in layout.instruments},
        **{f"{role}_t_ns": getattr(samples, role).t_ns for role in layout.instruments},
    }  # fmt: skip
    for field in expected.keys() & set(found.dtype.names):
        assert np.array_equal(found[field], expected[field]), field


def test_without_duties_the_row_has_nan_where_the_speeds_hold():
    layout = load_config("sim_drawbar").layout
    values = stages(msgspec.structs.replace(layout, open_loop=True))
    row = Row(tick_dtype(msgspec.structs.replace(layout, open_loop=True)))
    row.set(*tick_packer(msgspec.structs.replace(layout, open_loop=True))(*values))
    assert np.isnan(row.array["duty"]).all()


@pytest.mark.parametrize(
    ("name", "link"),
    [
        (name, link)
        for name in CONFIGS
        for link in ("drives", "valves", *load_config(name).layout.instruments)
        if (name, link) != ("sim_juno", "valves")
    ],
)  # Juno has no cylinders
def test_a_sample_comes_out_of_shared_memory_and_out_of_a_record_as_it_went_in(name, link):
    layout = load_config(name).layout
    values = stages(layout)
    sample = getattr(values[1], link)
    shared = SampleRow(link, layout)
    row = Row(shared.dtype)
    row.set(*shared.pack(sample, 0))
    assert shared.unpack(row.numbers()) == sample
    tick = Row(tick_dtype(layout))
    tick.set(*tick_packer(layout)(*values))
    assert shared.of_tick(tick.array[0]) == msgspec.structs.replace(sample, sequence=values[0].number)


def test_times_in_shared_memory_are_of_the_run_and_minus_one_before_it():
    layout = load_config("sim_wire").layout
    shared = SampleRow("drives", layout)
    early = DriveSample(1, 900, layout.zero_speeds, 950, 1500, layout.no_power)
    found = shared.unpack(shared.pack(early, 1000))
    assert (found.t_ns, found.acknowledged_ns, found.stopped_ns) == (-100, -1, 500)
    if found.power is not None:
        assert found.power.t_ns == -1


def test_a_reading_that_never_came_is_nan_and_has_no_time():
    layout = load_config("sim_motion").layout
    shared = SampleRow("imu", layout)
    found = shared.unpack(shared.pack(Reading.unread(6), 0))
    assert (found.t_ns, found.arrived_ns) == (-1, -1)
    assert all(map(math.isnan, found.value))


def test_currents_that_were_never_measured_are_nan():
    layout = msgspec.structs.replace(load_config("sim_impact").layout, supplies=("one", "two"))
    shared = SampleRow("drives", layout)
    power = shared.unpack(shared.pack(DriveSample(1, 2, layout.zero_speeds, 3), 0)).power
    assert power is not None
    assert power.t_ns == -1
    assert all(map(math.isnan, power.current_A + power.supply_V))
    assert (len(power.current_A), len(power.supply_V)) == (6, 2)


def test_commands_come_out_as_they_went_in():
    layout = msgspec.structs.replace(load_config("sim_normal_force").layout, open_loop=True)
    drives, valves = CommandRow("drives", layout), CommandRow("valves", layout)
    for command in (DriveCommand(5, True, some(6)), DriveCommand(5, False, some(6), some(6))):
        row = Row(drives.dtype)
        row.set(*drives.pack(command))
        assert drives.unpack(row.numbers(), 1000) == msgspec.structs.replace(command, t_ns=1005)
    powered = ((True, False), (False, True), (False, False))[: len(layout.cylinders)]
    servos = CommandRow(
        "servos", layout := msgspec.structs.replace(layout, servos=("front_left_walking", "rear_bogie"))
    )
    for command in (JointCommand(5, True, some(2)), JointCommand(5, False, some(2))):
        row = Row(servos.dtype)
        row.set(*servos.pack(command))
        assert servos.unpack(row.numbers(), 1000) == msgspec.structs.replace(command, t_ns=1005)
    sent, row = ValveCommand(5, powered, some(len(layout.regulators))), Row(valves.dtype)
    row.set(*valves.pack(sent))
    assert valves.unpack(row.numbers(), 1000) == msgspec.structs.replace(sent, t_ns=1005)


def test_every_field_of_a_sample_is_recorded_so_that_a_replay_has_it():
    layout = msgspec.structs.replace(load_config("sim_impact").layout, supplies=("one",))
    for link in ("drives", "valves"):
        sample, row = getattr(stages(layout)[1], link), SampleRow(link, layout)
        assert row.unpack(row.pack(sample, 0)) == sample


def test_every_name_is_declared_once_with_unit_words_and_source():
    assert len({signal.name for signal in TICK}) == len(TICK)
    assert all(signal.source for signal in TICK)
    for _, signals in ROWS.values():
        assert all(signal.description for signal in signals)
    assert all(signal.unit and signal.description for signal in PLAIN.values())
