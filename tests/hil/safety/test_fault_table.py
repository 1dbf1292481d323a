"""The fault table has every row, every fault of a record has its row, and each row says all that a person needs."""

from __future__ import annotations

import dataclasses
import math

import pytest

from hil.config import load_config
from hil.messages.fault import (
    BAD_TICKS_ALLOWED,
    CLAMPS_ALLOWED,
    CONSOLE_SILENT_NS,
    DEAD_MAN_NS,
    E_STOP_NS,
    GAP_ALLOWED,
    LATE_LIMIT_NS,
    LINK_LOST_NS,
    LOOP_HUNG_NS,
    LOOP_SILENT_NS,
    RECORD_LOST_NS,
    RECORDER_SILENT_NS,
    SKIPPED_LIMIT,
    STOP_WRITTEN_NS,
    WATCHDOG_SILENT_NS,
    WATCHDOG_STOP_WRITTEN_NS,
    WINDOW,
    WORKER_SILENT_NS,
    Fault,
)
from hil.safety.fault_table import EXTERNAL_FAULTS, FAULT_TABLE, WARNINGS, ReactionTimes, row_of
from hil.safety.fault_table.times import NOT_ARMED, NOTHING_TO_CLEAR

MS = 1_000_000
ROWS = list(FAULT_TABLE.values())
LIMITS = ["limits.daq_age_ms=30", "limits.drives_age_ms=300", "limits.valves_age_ms=700", "limits.frozen_samples=0"]


def test_the_table_has_its_rows_in_order():
    assert list(FAULT_TABLE) == [row.number for row in ROWS] == sorted(row.number for row in ROWS)
    assert {*range(1, 37), *Fault} <= set(FAULT_TABLE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_says_all_that_a_person_needs(row):
    texts = [getattr(row, field.name) for field in dataclasses.fields(row)]
    assert all(text and text == text.strip() for text in texts if isinstance(text, str))
    assert row.operator.endswith(".")
    assert "\n" not in "".join(text for text in texts if isinstance(text, str))


@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name)
def test_a_fault_of_a_record_is_found_by_its_number_and_by_its_name(fault):
    assert FAULT_TABLE[fault].number == fault
    assert row_of(fault.name) is row_of(str(int(fault))) is row_of(FAULT_TABLE[fault].name) is FAULT_TABLE[fault]


def test_names_are_found_whatever_hyphens_and_capitals():
    assert row_of("Sensor dropout").number == row_of("sensor-drop-out").number == 1
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("text", ["", "0", "99", "-1", "1.0", "valve", "\N{SUPERSCRIPT TWO}"])
def test_an_unknown_fault_is_refused_with_all_that_there_are(text):
    with pytest.raises(ValueError, match="allowed: the number or the name") as refused:
        row_of(text)
    assert all(f"{row.number} {row.name}" in str(refused.value) for row in ROWS)


def test_warnings_are_the_faults_that_do_not_latch_and_only_those():
    assert {
        Fault.ADC_SATURATED, Fault.COMMAND_REFUSED, Fault.MEASURED_NEAR_LIMIT, Fault.MEASURED_MOTION,
        Fault.IMPLAUSIBLE_VALUE, Fault.NOT_LIVE, Fault.SPEED_NOT_FOLLOWING,
    } == WARNINGS  # fmt: skip
    assert {row.number for row in ROWS if row.clears in (NOTHING_TO_CLEAR, NOT_ARMED)} == {
        row.number for row in ROWS if not row.latched
    }


def test_external_faults_are_those_that_no_value_of_a_tick_shows():
    noticed_in_values = {
        Fault.SENSOR_DROPOUT, Fault.SENSOR_STALE, Fault.SAMPLE_NOT_FINITE, Fault.ADC_SATURATED, Fault.SEQUENCE_GAP,
        Fault.MODEL_NOT_FINITE, Fault.COMMAND_OUT_OF_LIMIT, Fault.VALVE_STUCK, Fault.COMMAND_REFUSED,
        Fault.MEASURED_OUT_OF_LIMIT, Fault.MEASURED_NEAR_LIMIT, Fault.OUTSIDE_MODEL, Fault.MEASURED_MOTION,
        Fault.IMPLAUSIBLE_VALUE, Fault.JOINT_NOT_FOLLOWING, Fault.JOINT_OUT_OF_RANGE,
        Fault.NOT_LIVE, Fault.SPEED_NOT_FOLLOWING,
    }  # fmt: skip
    assert set(Fault) - EXTERNAL_FAULTS == noticed_in_values


@pytest.mark.parametrize("name", ["sim_impact", "sim_wire", "sim_juno", "sim_normal_force"])
def test_bounds_are_finite_times_on_every_kind_of_rig(name):
    times = ReactionTimes(load_config(name))
    bounds = {row.number: row.bound_for(times) for row in ROWS}
    assert all(bound is None or (math.isfinite(bound) and bound > 0.0) for bound in bounds.values()), bounds


def test_bounds_that_people_at_the_rig_rely_on_are_what_they_were():
    """A longer one weakens a promise: it needs a line in the changelog."""
    assert (DEAD_MAN_NS, LOOP_SILENT_NS, LOOP_HUNG_NS) == (20 * MS, 50 * MS, 1000 * MS)
    assert (WORKER_SILENT_NS, WATCHDOG_SILENT_NS, RECORDER_SILENT_NS) == (20 * MS, 50 * MS, 2000 * MS)
    assert (STOP_WRITTEN_NS, WATCHDOG_STOP_WRITTEN_NS) == (15 * MS, 10 * MS)
    assert (LATE_LIMIT_NS, SKIPPED_LIMIT, WINDOW) == (20 * MS, 5, 100)
    assert (LINK_LOST_NS, E_STOP_NS, CONSOLE_SILENT_NS, RECORD_LOST_NS) == (50 * MS, 75 * MS, 500 * MS, 100 * MS)
    assert (BAD_TICKS_ALLOWED, GAP_ALLOWED, CLAMPS_ALLOWED) == (2, 3, 19)


def test_bounds_follow_the_config():
    times = ReactionTimes(load_config("sim_impact", [*LIMITS, "loop.rate_hz=500"]))
    assert FAULT_TABLE[1].bound_for(times) == 30.0 + 2.0
    assert FAULT_TABLE[2].bound_for(times) == 700.0 + 2.0
    assert FAULT_TABLE[2].bound_for(times, "drives") == 300.0 + 2.0
    assert FAULT_TABLE[2].bound_for(times, "daq") is None  # not checked
    assert FAULT_TABLE[19].bound_for(times) == CONSOLE_SILENT_NS / 1e6 + 2.0
    assert FAULT_TABLE[12].bound_for(times) > DEAD_MAN_NS / 1e6
    assert FAULT_TABLE[25].bound_for(times) is None


def test_a_rig_without_sensors_has_bounds_of_the_links_that_it_has():
    config = load_config("sim_juno")
    times = ReactionTimes(config)
    assert set(FAULT_TABLE[2].bounds(times)) <= set(config.layout.links)
    assert FAULT_TABLE[1].bound_for(times, "valves") is None


def test_a_valve_is_watched_only_where_the_config_says_how_fast_it_moves():
    assert FAULT_TABLE[17].bound_for(ReactionTimes(load_config("sim_wire"))) is None
    registers = "{left_extend: 0, left_retract: 1, right_extend: 2, right_retract: 3, kPa_per_count: 0.1}"
    watched = [f"devices.valves.pressure_registers={registers}", "devices.valves.moves_within_s=0.2"]
    assert (
        FAULT_TABLE[17].bound_for(ReactionTimes(load_config("sim_wire", [*watched, "devices.valves.baud=19200"])))
        == 2 * 200.0 + 100.0 + 1.0
    )
