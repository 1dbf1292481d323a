"""Nothing moves unless every check passes; a failed check reports the value found and the value allowed."""

from __future__ import annotations

import ast
import math
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

import hil
from drivers.messages import DriveSample, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.fault import Check
from hil.messages.stages import Estimate, Samples
from hil.safety.arming import DISK_NEEDED, arming_checks, disk_check
from hil.safety.limits import STANDING_RADPS, limit_checks, standing_limit

PACKAGE = Path(hil.__file__).parent
ZERO_SPEEDS = (0.0,) * 6  # the speeds of six wheels

CONFIG = load_config("sim_impact", ["limits.bias_V=0.05", "limits.noise_V=0.01", "limits.daq_age_ms=10"])
CHANNELS = ("top", "lower_left", "lower_right")
EVERY_ITEM = [
    "fault latch", "DAQ sample age", "drives sample age", "valves sample age",
    "drives confirmed cut", "valves confirmed all off",
    *(f"sensor {name} {what}" for name in CHANNELS for what in ("bias", "noise")),
    "wheel speed before the start", "disk space",
]  # fmt: skip


@pytest.fixture(autouse=True)
def plenty_of_room(monkeypatch):
    have(monkeypatch, 10 * DISK_NEEDED)


def have(monkeypatch, free: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))


def checks(
    folder, *, bias=(0.0,) * 3, noise=(0.0005,) * 3, wheels=ZERO_SPEEDS, age_ms=2.0, faults=(), drives_ms=20.0,
    valves_ms=100.0, confirmed=(0, 0), pressures=(0.0,) * 4, config=CONFIG,
) -> list[Check]:  # fmt: skip
    now_ns, (a, b, c, d) = 10**10, pressures
    drives = DriveSample(0, now_ns - round(drives_ms * 1e6), wheels, confirmed[0])
    valves = ValveSample(0, now_ns - round(valves_ms * 1e6), ((a, b), (c, d)), confirmed[1])
    samples = Samples(now_ns, (), round(age_ms * 1e6), 1, drives, valves)
    estimate = Estimate(True, bias, noise, True, False, None, (0.0,) * 3, (math.nan, math.nan), wheels)
    return [*arming_checks(Rig(config), samples, estimate, faults), disk_check(folder)]


def refused(found: list[Check]) -> Check:
    """The only check that failed."""
    (check,) = [check for check in found if not check.ok]
    return check


@pytest.mark.parametrize("key", ["ground.pitch_deg=10", "ground.roll_deg=-5"])
def test_a_rover_that_rolls_down_a_simulated_slope_is_refused_with_the_keys_that_hold_it(tmp_path, key):
    config = load_config("sim_impact", ["experiment=drive", key])
    check = refused(checks(tmp_path, wheels=one(0.9, 2, of=6), config=config))
    for named in ("ground.pitch_deg", "drives.gear_friction_Nm", "drives.friction_speed_radps"):
        assert named in check.to_do
    level = refused(checks(tmp_path, wheels=one(0.9, 2, of=6)))
    assert "drives." not in level.to_do


def test_a_rover_that_rolls_down_a_scan_is_refused_with_the_keys_that_hold_it():
    limit = standing_limit(Rig(load_config("sim_scan")))
    for named in ("ground.scan.start_m", "drives.gear_friction_Nm", "drives.friction_speed_radps"):
        assert named in limit.to_do


def one(value: float, place: int, others: float = 0.0, of: int = 3) -> tuple[float, ...]:
    return tuple(value if i == place else others for i in range(of))


def test_a_rig_in_order_is_armed_after_every_check(tmp_path):
    found = checks(tmp_path)
    assert [check.item for check in found] == EVERY_ITEM
    assert all(check.ok for check in found)
    assert all(check.found and check.allowed for check in found)


@pytest.mark.parametrize("channel", range(3))
@pytest.mark.parametrize(("volts", "shown"), [(0.051, "0.051 V"), (-0.051, "0.051 V"), (4.99, "4.99 V")])
def test_a_sensor_off_its_bias_is_refused(tmp_path, channel, volts, shown):
    check = refused(checks(tmp_path, bias=one(volts, channel)))
    assert check.item == f"sensor {CHANNELS[channel]} bias"
    assert check.found == shown
    assert check.allowed.startswith("at most 0.05 V (limits.bias_V")


@pytest.mark.parametrize("channel", range(3))
def test_a_noisy_sensor_is_refused(tmp_path, channel):
    check = refused(checks(tmp_path, noise=one(0.02, channel, 0.0005)))
    assert check.item == f"sensor {CHANNELS[channel]} noise"
    assert (check.found, check.allowed) == ("0.02 V", "at most 0.01 V (limits.noise_V)")


def test_values_just_within_are_armed(tmp_path):
    found = checks(tmp_path, bias=(0.05, -0.05, 0.0), noise=(0.01,) * 3, wheels=(STANDING_RADPS,) * 6, age_ms=10.0)
    assert all(check.ok for check in found)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", range(3))
def test_a_bias_or_noise_that_is_no_number_is_refused(tmp_path, value, place):
    assert refused(checks(tmp_path, bias=one(value, place))).item == f"sensor {CHANNELS[place]} bias"
    assert refused(checks(tmp_path, noise=one(abs(value), place))).item == f"sensor {CHANNELS[place]} noise"


@pytest.mark.parametrize("wheel", range(6))
@pytest.mark.parametrize("speed", [0.011, -0.011, 1.0, math.nan, math.inf])
def test_a_wheel_that_turns_or_that_nobody_knows_of_is_refused(tmp_path, wheel, speed):
    check = refused(checks(tmp_path, wheels=one(speed, wheel, of=6)))
    assert check.item == "wheel speed before the start"
    assert check.found == ("no number yet" if math.isnan(speed) else f"{abs(speed):.4g} rad/s")
    assert check.allowed.startswith("at most 0.01 rad/s")


@pytest.mark.parametrize(("noise", "allowed"), [(0.0, 0.01), (0.002, 0.012), (0.01, 0.06)])
def test_the_noise_that_simulated_encoders_are_said_to_read_is_no_turning_wheel(noise, allowed):
    rig = SimpleNamespace(config=load_config("sim_impact", [f"plant.noise.speed_radps={noise}"]))
    speeds = ((0.0, -0.999 * allowed), (0.0, 1.001 * allowed))
    assert [check.ok for pair in speeds for check in limit_checks([standing_limit(rig)], pair)] == [True, False]


def test_old_samples_are_refused(tmp_path):
    check = refused(checks(tmp_path, age_ms=10.5))
    assert check.item == "DAQ sample age"
    assert (check.found, check.allowed) == ("10.5 ms", "at most 10 ms (limits.daq_age_ms)")


@pytest.mark.parametrize(("device", "at_most_ms"), [("drives", 200.0), ("valves", 1000.0)])
def test_drives_or_valves_that_nobody_has_heard_of_lately_are_refused(tmp_path, device, at_most_ms):
    """An old sample does not show that a wheel stands still now."""
    assert all(check.ok for check in checks(tmp_path, **{f"{device}_ms": at_most_ms}))
    check = refused(checks(tmp_path, **{f"{device}_ms": at_most_ms + 1.0}))
    assert check.item == f"{device} sample age"
    assert check.found == f"{at_most_ms + 1.0:g} ms"
    assert check.allowed == f"at most {at_most_ms:g} ms (limits.{device}_age_ms)"


@pytest.mark.parametrize(
    ("confirmed", "item"), [((-1, 0), "drives confirmed cut"), ((0, -1), "valves confirmed all off")]
)
def test_what_has_not_confirmed_its_stop_is_refused(tmp_path, confirmed, item):
    check = refused(checks(tmp_path, confirmed=confirmed))
    assert (check.item, check.found, check.allowed) == (item, "not confirmed", "confirmed")


REGISTERS = "{left_extend: 0, left_retract: 1, right_extend: 2, right_retract: 3, kPa_per_count: 0.1}"
MEASURED = load_config("sim_wire", [f"devices.valves.pressure_registers={REGISTERS}", "devices.valves.baud=19200"])


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("pressure_Pa", [110e3, -110e3, math.nan])
def test_a_chamber_under_pressure_or_of_unknown_pressure_is_refused_where_it_is_measured(tmp_path, place, pressure_Pa):
    assert all(check.ok for check in checks(tmp_path, config=MEASURED, pressures=(100e3,) * 4))
    check = refused(checks(tmp_path, config=MEASURED, pressures=one(pressure_Pa, place, of=4)))
    assert check.item == f"pressure {('left_extend', 'left_retract', 'right_extend', 'right_retract')[place]}"
    assert check.allowed.startswith("at most 103.5 kPa (half of cylinders.supply_kPa")
    assert all(check.ok for check in checks(tmp_path, config=load_config("sim_wire"), pressures=(math.nan,) * 4))


def test_a_disk_with_too_little_room_is_refused(tmp_path, monkeypatch):
    have(monkeypatch, DISK_NEEDED - 1)
    check = refused(checks(tmp_path))
    assert (check.item, check.found, check.allowed) == ("disk space", "200 MB free", "at least 200 MB")
    have(monkeypatch, DISK_NEEDED)
    assert all(check.ok for check in checks(tmp_path))


def test_the_disk_looked_at_is_the_one_the_record_goes_to(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: asked.append(folder) or SimpleNamespace(free=10**12))
    checks(tmp_path)
    assert asked == [tmp_path]


def test_a_latched_fault_is_refused_and_named(tmp_path):
    check = refused(checks(tmp_path, faults=["sensor dropout", "exception"]))
    assert (check.item, check.found, check.allowed) == ("fault latch", "sensor dropout, exception", "none")


def test_everything_that_is_wrong_is_said_at_once(tmp_path, monkeypatch):
    have(monkeypatch, 0)
    found = checks(tmp_path, bias=(1.0,) * 3, noise=(1.0,) * 3, wheels=(1.0,) * 6, age_ms=99.0, faults=["exception"],
                   drives_ms=999.0, valves_ms=9999.0, confirmed=(-1, -1))  # fmt: skip
    assert [check.item for check in found if not check.ok] == EVERY_ITEM
    assert all(check.to_do in str(check) and len(check.to_do) > 15 for check in found)


def test_what_to_do_is_said_of_a_check_that_fails_and_of_no_other():
    assert [Check("disk", ok, "1 MB", "2 MB", "delete runs").to_do for ok in (False, True)] == ["delete runs", ""]


def test_no_check_of_a_rig_can_fail_without_saying_what_to_do():
    made = []
    for file in (file for part in ("app", "experiments", "safety") for file in (PACKAGE / part).rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text())):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                continue
            if call.func.id == "Limit" and ast.unparse(call.args[0]) != "''":  # a row, and no pattern of rows
                assert "''" not in map(ast.unparse, call.args[4:5]), f"{file}: {ast.unparse(call)}"
            if call.func.id == "Check":
                can_fail = ast.unparse(call.args[1]) != "True"
                made.append(file.name)
                assert len(call.args) == (5 if can_fail else 4), f"{file}: {ast.unparse(call)}"
    assert {"arming.py", "device_checks.py", "experiment.py"} <= set(made)
