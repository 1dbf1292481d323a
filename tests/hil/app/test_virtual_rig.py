"""A rig at the protocol level that is opened with `--clock lockstep`: real drivers, simulated devices, virtual time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from drivers.cia402.state_machine import Cia402State
from drivers.interfaces import DeviceError
from hil.analysis.replay import replay
from hil.app import virtual
from hil.app.run import run, run_experiment
from hil.app.virtual import VirtualComputer
from hil.config import ConfigError, load_config
from hil.messages.fault import Fault
from hil.messages.operator_input import Arm, ClearFault, EStop, Start, Stop
from hil.recording import read_trial

from .conftest import moved, wrong

pytestmark = pytest.mark.slow
JOG = ("clock=lockstep", "experiment=jog", "jog.seconds=0.3")


@pytest.fixture
def made(tmp_path):
    """Make a short run on that rig; the folder of its record."""

    def make(name="run", *overrides):
        (tmp_path / name).mkdir()
        config = load_config("sim_wire", [*JOG, *overrides])
        outcome = run_experiment(config, tmp_path / name, lambda _: None, figure=False)
        assert outcome.exit_code == 0
        return tmp_path / name

    return make


def test_two_runs_are_equal_to_the_bit(made):
    one, other = (read_trial(made(name), trusted=True) for name in ("one", "other"))
    for name in one.tick.dtype.names:
        np.testing.assert_array_equal(one.tick[name], other.tick[name], err_msg=name)
    np.testing.assert_array_equal(one.raw, other.raw)


def test_its_record_is_verified_and_replayed(made):
    folder = made()
    assert moved(folder)
    assert wrong(folder) == []
    assert replay(folder).differences == []


def test_its_drivers_have_used_their_lines_and_no_tick_is_late(made):
    config = load_config("sim_wire", JOG)
    summary = run(config).summary
    assert summary["links"]["drives"]["rate_hz"] == pytest.approx(config.devices.drives.rate_hz, rel=0.05)
    assert (summary["loop"]["late"], summary["loop"]["skipped"], summary["loop"]["wake_us"]) == (0, 0, None)


def test_a_run_as_one_of_many_equals_one_alone(made, tmp_path):
    alone = read_trial(made(), trusted=True)
    (tmp_path / "many").mkdir()
    run_experiment(load_config("sim_wire", JOG), tmp_path / "many", lambda _: None, figure=False, one_of_many=True)
    many = read_trial(tmp_path / "many", trusted=True)
    np.testing.assert_array_equal(alone.tick["wheel_speed_radps"], many.tick["wheel_speed_radps"])


def test_an_operator_arms_starts_and_stops_two_runs_on_it(operated):
    rig = operated("sim_wire", "clock=lockstep", "experiment=drive", "drive.steps=[{for_s: 60, speed_mps: 0.03}]")
    rig.until(state="idle")
    rig.take_lease()
    for number in (1, 2):
        rig.ask(Arm())
        rig.until(state="armed")
        rig.ask(Start())
        rig.until(state="drive")
        rig.host.sleep(0.5)
        rig.ask(Stop("enough"))
        rig.until(state="idle", runs=number)
    rig.end()
    for number in (1, 2):
        folder = rig.folder / f"run_{number}"
        assert wrong(folder) == []
        assert moved(folder)


def drives_of(computer):
    """The simulated drives of a rig."""
    return computer.rig._serial.lines["cia402"].device.drives.values()


def test_a_drive_that_keeps_its_fault_is_reset_when_the_operator_clears_it_and_not_before(operated, monkeypatch):
    made = []
    monkeypatch.setattr(virtual, "VirtualComputer", lambda *how: made.append(VirtualComputer(*how)) or made[-1])
    steps = "drive.steps=[{for_s: 60, speed_mps: 0.03}]"
    rig = operated("sim_cia402_wire", "clock=lockstep", "experiment=drive", steps)
    rig.until(state="idle")
    rig.take_lease()

    def drives():
        rig.ask(Arm())
        rig.until(state="armed")
        rig.ask(Start())
        rig.until(state="drive")
        rig.host.sleep(0.5)

    drives()
    made[-1].rig.ask("inject_fault", device="cia402", kind="status", status="state", value=8, node=3)
    status = rig.until(state="idle", runs=1)
    assert [fault["number"] for fault in status["faults"]] == [Fault.DEVICE_FAULT]
    rig.host.sleep(1.0)
    assert {drive.state for drive in drives_of(made[-1])} == {Cia402State.SWITCH_ON_DISABLED, Cia402State.FAULT}
    rig.ask(ClearFault(Fault.DEVICE_FAULT))
    rig.until(safe=False, faults=[], state="idle")
    drives()
    rig.ask(EStop("smoke"))  # whose drives then miss their heartbeat, which is no fault of theirs
    rig.until(state="idle", runs=2)
    rig.host.sleep(1.0)
    rig.ask(ClearFault(Fault.STOP_BY_OPERATOR))
    rig.until(safe=False, faults=[], state="idle")
    drives()
    rig.ask(Stop("enough"))
    rig.until(state="idle", runs=3)
    rig.end()
    assert moved(rig.folder / "run_2")
    assert moved(rig.folder / "run_3")
    assert wrong(rig.folder / "run_3") == []


def test_the_test_of_the_page_for_a_users_own_ci_passes(tmp_path):
    page = Path(__file__).parents[3] / "docs" / "how-to" / "test-on-mock-hardware.md"
    code = page.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    names = {}
    exec(compile(code, str(page), "exec"), names)
    names["test_the_drives_are_cut_within_10_ms_of_the_onset"](tmp_path)


def test_a_real_rig_has_no_virtual_time_and_a_rig_that_runs_already_has_its_own(tmp_path):
    with pytest.raises(ConfigError, match="clock: found lockstep"):
        load_config("mars_dome", ["clock=lockstep"])
    with pytest.raises(DeviceError, match="found clock: lockstep"):
        run_experiment(load_config("sim_wire", JOG), tmp_path, lambda _: None, tmp_path / "endpoints.json")
