"""Dates of calibrations: shown always, and refused at arming where the config sets a largest age."""

from __future__ import annotations

import json
import time
from datetime import date
from types import SimpleNamespace

import pytest

from hil.cli import run
from hil.cli.calibrate_instruments import date_of
from hil.config import load_config
from hil.config.rig import Rig
from hil.safety.arming import calibration_checks, today

TODAY = date(2026, 7, 1)
SENSORS = ("top", "lower_left", "lower_right")
SHEET = "{serial: a, sensitivity_mVpN: 11.24, date: 2026-06-28}"


def checks(dated: str, *settings: str):
    sheet = "" if dated == "none" else f", date: {dated}"
    loads = f"loads={{load_cell: {{}}, calibration: {{pull: {{offset_V: 0.01{sheet}}}}}}}"
    return calibration_checks(Rig(load_config("sim_juno", [loads, *settings])), TODAY)


def test_without_a_limit_the_date_and_the_age_are_shown():
    (one,) = checks("2020-07-01")
    assert (one.ok, one.item) == (True, "date of loads.calibration.pull")
    assert one.found == "2020-07-01, 2191 days ago"


@pytest.mark.parametrize(
    ("dated", "ok", "found"),
    [
        ("2026-06-01", True, "2026-06-01, 30 days ago"),
        ("2026-07-01", True, "2026-07-01, 0 days ago"),
        ("2026-05-31", False, "2026-05-31, 31 days ago"),
        ("2026-07-02", False, "2026-07-02, -1 days ago"),
        ("2026-02-30", False, "2026-02-30, which is no day"),
        ("none", False, "no date"),
    ],
)
def test_with_a_limit_an_older_one_and_one_without_a_date_are_refused_with_what_to_do(dated, ok, found):
    (one,) = checks(dated, "limits.calibration_days=30")
    assert (one.ok, one.found) == (ok, found)
    assert "at most 30 days ago (limits.calibration_days)" in str(one.allowed)
    assert ok or "calibrate it again" in one.to_do


def test_a_rig_without_a_calibration_has_none_to_check():
    assert calibration_checks(Rig(load_config("sim_juno", ["limits.calibration_days=30"])), TODAY) == []


def test_every_kind_of_sheet_is_checked():
    config = load_config(
        "sim_wire",
        [
            "imu={rate_hz: 50, calibration: {date: 2026-06-30}}",
            "devices.imu={driver: vectornav, port: ''}",
            "cylinders.calibration={left: {u95: 0.02, force_NpkPa: 1.1, date: 2026-06-29}}",
            f"devices.daq.calibration={{{', '.join(f'{name}: {SHEET}' for name in SENSORS)}}}",
        ],
    )
    assert [(one.item, one.found[:10]) for one in calibration_checks(Rig(config), TODAY)] == [
        *((f"date of devices.daq.calibration.{name}", "2026-06-28") for name in SENSORS),
        ("date of cylinders.calibration.left", "2026-06-29"),
        ("date of imu.calibration", "2026-06-30"),
    ]


@pytest.mark.slow
def test_a_run_over_a_calibration_without_a_date_is_not_armed(tmp_path):
    loads = "loads={load_cell: {}, calibration: {pull: {offset_V: 0.001}}}"
    settings = ["--set", loads, "--set", "limits.calibration_days=365", "--set", "telemetry.endpoint=''"]
    assert run(["run", "sim_juno", "--out", str(tmp_path / "run"), *settings]) == 3
    (reason,) = json.loads((tmp_path / "run" / "summary.json").read_text())["reasons"]
    assert reason.startswith("not armed: date of loads.calibration.pull")
    assert "at most 365 days ago (limits.calibration_days)" in reason
    assert "calibrate it again" in reason


@pytest.mark.parametrize("zone", ["UTC-14", "UTC+12"])
def test_a_calibration_that_is_made_now_is_of_today_wherever_the_lab_is(zone, monkeypatch):
    """At each moment one of these places has another date than UTC: the sheet would be of tomorrow, and be refused."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        written = date.fromisoformat(date_of(None))
        run = SimpleNamespace(meta={"wall_time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
        ages = {(today() - day).days for day in (written, date.fromisoformat(date_of(run)))}
        here = date(*time.localtime()[:3])
    finally:
        monkeypatch.undo()
        time.tzset()
    assert ages == {0}
    assert written == here
