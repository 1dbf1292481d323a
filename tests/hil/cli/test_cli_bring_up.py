"""Every shipped config through every command of bring-up: each ends with a result or with a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rig_configs
from hil.app import pace_check
from hil.cli import run
from hil.config import load_config
from hil.config.rig import Rig

SHIPPED = sorted(path.stem for path in Path(rig_configs.__file__).parent.glob("*.yaml"))
QUIET = ("--set", "telemetry.endpoint=''")
MOVES = ("--for", "0.1", "--yes", *QUIET)
ROLES = ("motion", "imu", "joints")
# The last of devices that are simulated in real time, in processes that wait for a processor.
OF_A_BUSY_MACHINE = ("rate of the", "wake-up of the loop", "work of a tick", "machine stalls", "no answer within")
ONE_SENSOR = ("droop", "zero", "shunt", "force")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _cheap(monkeypatch):
    """The machine is measured for a moment instead of 10 s."""
    measure = pace_check.measure_wake_ups
    monkeypatch.setattr(pace_check, "measure_wake_ups", lambda rate_hz, _, *others: measure(rate_hz, 0.02, *others))
    monkeypatch.setattr(pace_check, "PAUSE_S", 0.0)


@pytest.fixture
def said(capsys):
    """Runs a command line, and returns its exit status and all that it says, once it has ended as a user may expect."""

    def ask(*words):
        status = run(words)
        out, err = capsys.readouterr()
        assert "unexpected error" not in err, f"hil {' '.join(words)}: {err}"
        assert "Traceback" not in err, f"hil {' '.join(words)}: {err}"
        assert status in (0, 2, 3), f"hil {' '.join(words)}: status {status}: {err}"
        if status == 2:
            assert err.strip(), f"hil {' '.join(words)}: refused without a word"
        return status, out + err

    return ask


def virtual(name):
    """Words that make a config's runs cheap, on the rig that it is or on a simulated one in its place."""
    rig = load_config(name).rig
    return ("--clock", "lockstep", *(("--set", "rig=simulated") if rig == "real" else ()))


def test_explain_has_a_row_for_every_fault(said):
    status, table = said("explain", "--json")
    assert status == 0
    for row in json.loads(table):
        assert said("explain", str(row["number"]))[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_devices_of_every_shipped_config_are_listed(name, said):
    assert said("devices", name)[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_calibrations_that_do_not_apply_to_a_shipped_config_say_why(name, said):
    config = load_config(name)
    for role in set(ROLES) - set(config.instruments):
        status, text = said("calibrate", role, name, "--yes")
        assert status == 2
        assert "no such instrument" in text or "which has no wheels" in text
    for kind in ONE_SENSOR:
        weight = ("--weight", "5") if kind == "force" else ()
        assert said("calibrate", kind, name, "--sensor", "nobody", *weight)[0] == 2
    assert said("calibrate", "cylinder", name, "--cylinder", "nobody")[0] == 2
    assert said("calibrate", "residuals", name)[0] == 2


@pytest.mark.ci_cases("mars_dome", "sim_impact", "sim_motion", "sim_normal_force", "sim_walk", "sim_wire")
@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_config_is_checked(name, said):
    status, text = said("check", name)
    if load_config(name).rig == "real":
        assert status == 2
        assert "rate of the loop" in text  # to the end, though no device is there
        assert said("check", name, "--quick")[0] == 2
    else:
        refused = [line for line in text.splitlines() if "│ NO " in line]
        assert all(any(row in line for row in OF_A_BUSY_MACHINE) for line in refused), text
        assert status == (3 if refused else 0), text


@pytest.mark.ci_cases("mars_dome", "sim_capture", "sim_impact", "sim_normal_force", "sim_walk", "sim_wire")
@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_config_is_jogged(name, said):
    config, by_config = load_config(name), "problem"  # no wheels, no valves, or a ground of its own experiment's
    status, text = said("jog", name, "--wheel", "all", "--speed", "0.02", *MOVES, *virtual(name))
    assert status == 0 or by_config in text, text
    for joint in config.driven_joints[:1]:
        status, text = said("jog", name, "--joint", joint.name, "--angle", "1", *MOVES, *virtual(name))
        assert status == 0 or by_config in text, text
    cylinders = (*config.layout.cylinders, "left")
    status, text = said("valve", name, cylinders[0], "extend", *MOVES, *virtual(name))
    assert status == 0 or by_config in text, text


@pytest.mark.slow
@pytest.mark.parametrize("rig", ["simulated", "simulated_wire", "real"])
def test_the_work_of_a_tick_is_measured_of_a_rig_that_limits_what_its_controllers_measure(rig):
    """Each controller has a supply of its own: the rig simulated in its place has as many."""
    config = load_config("mars_dome", [f"rig={rig}"])
    assert len(config.layout.supplies) == (1 if rig == "simulated" else 3)
    pace_check._costs(Rig(config))


@pytest.mark.ci_cases("mars_dome", "sim_impact", "sim_wire")
@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_every_sensor_and_instrument_of_a_shipped_config_is_calibrated_or_says_why_not(name, said):
    config = load_config(name, ["telemetry.endpoint=''"])
    apart = config.rig == "simulated"  # those at the protocol level and the real ones have tests of their own
    if apart and config.layout.channels:
        assert said("calibrate", "zero", name, "--sensor", config.layout.channels[0], "--for", "1")[0] == 0
    for role in config.instruments if apart else ():
        drive = () if role == "joints" else ("--way", "0.2", "--speed", "0.08")
        _, text = said("calibrate", role, name, *drive, "--yes", *QUIET)
        assert "did not stand" not in text, f"hil calibrate {role} {name}: {text}"
    if config.rig != "simulated_wire":
        assert said("calibrate", "teds", name)[0] in (0, 2)
