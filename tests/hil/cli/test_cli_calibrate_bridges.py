"""`hil calibrate shunt` and `teds`: channels, sheets and refusals; what the devices do is made up here."""

from __future__ import annotations

import json

import pytest

from drivers.channel_calibration import Teds
from drivers.ni.entry import NI_LOADS
from hil.app import sensor_calibration as calibration
from hil.cli import run
from hil.config import load_config
from hil.config.rig_setup import normal_force_rows
from hil.config.text_io import read_yaml

INPUTS = "[{channel: pull, input: cDAQ1Mod6/ai0, kind: bridge}, {channel: frame, input: cDAQ1Mod6/ai1, kind: bridge}]"
LOADS = "loads={load_cell: {}, strain_gauges: {}}"
RIG = ("sim_wire", "--set", LOADS, "--set", f"devices.loads={{driver: ni, inputs: {INPUTS}}}")
SHUNT = ("--resistor", "100000", "--bridge", "350")


@pytest.fixture
def devices(monkeypatch):
    """No rig is started; what NI would find."""
    monkeypatch.setattr(calibration, "open_access", lambda config, *_: (None, config))
    gains = {"pull": 1.02041, "frame": 1.0}
    monkeypatch.setattr(
        type(NI_LOADS), "shunt_gains", lambda _, _section, _rig, names, *_more: {name: gains[name] for name in names}
    )
    found = {"pull": Teds(59, 208, "C2", 12345), "frame": None}
    monkeypatch.setattr(type(NI_LOADS), "teds", lambda *_: found)
    monkeypatch.setattr("drivers.ni.entry.NiDaqType.teds", lambda *_: {"top": None})


def calibrate(kind, *more):
    return run(["calibrate", kind, *RIG, *more])


def test_the_gains_go_into_the_sheet_and_the_loads_are_multiplied_by_them(devices, tmp_path, capsys):
    sheet = tmp_path / "loads.yaml"
    sheet.write_text("pull: {serial: LC7, offset_V: 0.012, date: 2026-01-31}\n")
    assert calibrate("shunt", "--sensor", "loads", *SHUNT, "--sheet", str(sheet), "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0]) == {"sensor": "pull", "shunt_gain": 1.0204}
    content, _ = read_yaml(sheet.read_text(encoding="utf-8"), "(file)")
    # it is no calibration of the sensor: the date stays
    assert content["pull"] == {"serial": "LC7", "offset_V": 0.012, "date": "2026-01-31", "shunt_gain": 1.0204}
    plain, corrected = (
        normal_force_rows(load_config("sim_juno", [f"loads={{load_cell: {{}}, calibration: {sheets}}}"]))
        for sheets in ("null", {"pull": content["pull"]})
    )
    assert corrected[-1, -1] == pytest.approx(1.0204 * plain[-1, -1])


def test_serial_numbers_of_teds_go_into_the_sheet(devices, tmp_path, capsys):
    sheet = tmp_path / "loads.yaml"
    arguments = ["calibrate", "teds", "sim_juno_wire", *RIG[1:], "--sheet", str(sheet)]
    arguments[4] = "loads={load_cell: {}}"
    arguments[6] = "devices.loads={driver: ni, inputs: [{channel: pull, input: cDAQ1Mod6/ai0, kind: bridge}]}"
    assert run(arguments) == 0
    assert "pull: manufacturer 59, model 208, version C2, serial 12345" in capsys.readouterr().out
    content, _ = read_yaml(sheet.read_text(encoding="utf-8"), "(file)")
    assert content == {"pull": {"serial": "12345"}}


def test_an_unknown_channel_is_refused_with_those_there_are(devices, capsys):
    assert calibrate("shunt", "--sensor", "push", *SHUNT) == 2
    assert (
        "--sensor push: no such channel, allowed: top, lower_left, lower_right, pull, frame" in capsys.readouterr().err
    )


def test_a_rig_without_devices_is_refused_with_what_to_use(capsys):
    assert run(["calibrate", "shunt", "sim_impact", "--sensor", "top", *SHUNT]) == 2
    assert "use a config of a real rig" in capsys.readouterr().err


def test_a_driver_that_offers_none_is_named(devices, capsys):
    inputs = "[{channel: pull, register_number: 0}]"
    modbus = f"devices.loads={{driver: modbus, inputs: {inputs}}}"
    loads = "loads={rate_hz: 50, block_ms: 20, load_cell: {}}"
    arguments = ["sim_juno_wire", "--set", loads, "--set", modbus, "--sensor", "pull", *SHUNT]
    assert run(["calibrate", "shunt", *arguments]) == 2
    assert "devices.loads.driver: the driver modbus offers no shunt calibration" in capsys.readouterr().err
