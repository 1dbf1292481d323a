"""Motor currents, supply voltage and pressures against their limits: rows 30 and 31 of the fault table."""

import math

import pytest

from drivers.messages import DriveSample, PowerSample, ValveSample
from drivers.roboclaw.entry import RoboclawType
from hil.config import ConfigError, load_config
from hil.messages.fault import POWER_AGE_NS, Fault
from hil.messages.stages import Samples
from hil.safety.device_monitors import MeasuredMonitor

NEAR, OUT = Fault.MEASURED_NEAR_LIMIT, Fault.MEASURED_OUT_OF_LIMIT
NOW_NS = 5_000_000_000
LIMITS = (
    "limits.motor_current_A={warn_above: 10, safe_above: 15}",
    "limits.supply_V={safe_below: 20, warn_below: 21, warn_above: 28, safe_above: 30}",
    "limits.pressure_kPa={warn_above: 220, safe_above: 240}",
)


@pytest.fixture(scope="module")
def config():
    return load_config("sim_impact", LIMITS)


def samples(current_A=1.0, supply_V=24.0, pressure_kPa=100.0, age_ns=0):
    power = PowerSample(NOW_NS - age_ns, (0.0, 0.5, current_A, 0.0, 0.0, 0.0), (supply_V,), (30.0,))
    pressures = ((0.0, 0.0), (1e3 * pressure_kPa, 0.0))
    drives = DriveSample(1, NOW_NS, (0.0,) * 6, 0, power=power)
    return Samples(NOW_NS, (), 0, 0, drives, ValveSample(1, NOW_NS, pressures, 0))


def found(config, **values):
    return [alarm[:4] for alarm in MeasuredMonitor(config.layout, config.limits).alarms(samples(**values))]


def test_values_within_their_limits_are_no_fault(config):
    assert not found(config)
    assert not found(config, current_A=10.0, supply_V=21.0, pressure_kPa=220.0)


@pytest.mark.parametrize(
    ("values", "near", "safe"),
    [
        ("current_A", 10.0, 15.0),
        ("supply_V", 21.0, 20.0),
        ("supply_V", 28.0, 30.0),
        ("pressure_kPa", 220.0, 240.0),
    ],
)
def test_a_value_at_a_limit_is_within_it_and_one_just_beyond_is_not(config, values, near, safe):
    def faults(value):
        return [fault for fault, *_ in found(config, **{values: value})]

    out = 1e-6 if safe > near else -1e-6
    assert faults(near) == []
    assert faults(near + out) == faults(safe) == [NEAR]
    assert faults(safe + out) == [OUT]
    checks = {
        value: MeasuredMonitor(config.layout, config.limits).arming_checks(samples(**{values: value}))
        for value in (safe, safe + out)
    }
    assert [sum(not check.ok for check in made) for made in checks.values()] == [0, 1]


@pytest.mark.parametrize(
    ("values", "fault", "value", "limit", "words"),
    [
        ({"current_A": 10.5}, NEAR, 10.5, 10.0, "motor current middle_left: 10.5 A, allowed: at most"),
        ({"current_A": -16.0}, OUT, 16.0, 15.0, "middle_left: 16 A, allowed: at most 15 A"),
        ({"supply_V": 20.5}, NEAR, 20.5, 21.0, "supply voltage rig: 20.5 V, allowed: at least 21 V"),
        ({"supply_V": 19.0}, OUT, 19.0, 20.0, "at least 20 V (limits.supply_V)"),
        ({"supply_V": 29.0}, NEAR, 29.0, 28.0, "at most 28 V"),
        ({"supply_V": 31.0}, OUT, 31.0, 30.0, "at most 30 V"),
        ({"pressure_kPa": 250.0}, OUT, 250.0, 240.0, "pressure right_extend: 250 kPa, allowed: at most"),
    ],
)  # fmt: skip
def test_a_value_beyond_a_limit_is_the_fault_of_that_limit(config, values, fault, value, limit, words):
    ((latched, *numbers, detail),) = found(config, **values)
    assert (latched, numbers) == (fault, pytest.approx([value, limit]))
    assert words in detail


def test_readings_that_are_too_old_are_stale_and_those_not_yet_taken_are_not(config):
    assert not found(config, age_ns=POWER_AGE_NS)
    ((fault, age_ms, allowed_ms, _),) = found(config, age_ns=POWER_AGE_NS + 1_000_000)
    assert (fault, age_ms, allowed_ms) == (Fault.SENSOR_STALE, 1001.0, 1000.0)
    assert [fault for fault, *_ in found(config, age_ns=NOW_NS)] == [Fault.SENSOR_STALE]  # read at the clock's zero
    assert not found(config, age_ns=NOW_NS + 1, current_A=math.nan, supply_V=math.nan)


def test_arming_waits_for_every_value_and_is_refused_beyond_a_limit(config):
    checks = {
        check.item: check
        for check in MeasuredMonitor(config.layout, config.limits).arming_checks(samples(supply_V=19.5))
    }
    assert len(checks) == 6 + 1 + 4
    assert [name for name, check in checks.items() if not check.ok] == ["supply voltage rig"]
    assert checks["supply voltage rig"].allowed == "20 to 30 V (limits.supply_V)"
    (unread,) = (
        check
        for check in MeasuredMonitor(config.layout, config.limits).arming_checks(samples(current_A=math.nan))
        if not check.ok
    )
    assert (unread.item, unread.found) == ("motor current middle_left", "no number yet")


def test_without_limits_nothing_is_watched_read_or_recorded():
    config = load_config("sim_impact")
    assert not MeasuredMonitor(config.layout, config.limits).watched
    assert config.layout.supplies == ()


@pytest.mark.parametrize(
    ("name", "overrides", "key", "words"),
    [
        ("sim_juno", ("limits.pressure_kPa={safe_above: 240}",), "limits.pressure_kPa", "the rover has no cylinders"),
        ("mars_dome", ("limits.pressure_kPa={safe_above: 9}",), "limits.pressure_kPa", "modbus has no pressure inputs"),
        ("sim_impact", ("limits.supply_V={}",), "limits.supply_V", "one or more of safe_below"),
        ("sim_impact", ("limits.supply_V={safe_below: 22, warn_below: 21}",), "limits.supply_V", "rising in"),
    ],
)  # fmt: skip
def test_a_limit_that_nothing_measures_or_that_limits_nothing_is_refused(name, overrides, key, words):
    with pytest.raises(ConfigError) as refused:
        load_config(name, overrides)
    assert [problem.key for problem in refused.value.problems] == [key]
    assert words in str(refused.value)


@pytest.mark.parametrize("key", ["motor_current_A", "supply_V"])
def test_a_limit_of_what_the_driver_does_not_measure_is_refused(monkeypatch, key):
    monkeypatch.setattr(RoboclawType, "supplies", lambda *_: ())
    with pytest.raises(ConfigError, match="null: the driver roboclaw measures neither motor currents nor the supply"):
        load_config("sim_wire", [f"limits.{key}={{safe_above: 20}}"])
