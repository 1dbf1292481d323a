"""The judgement on a run finds what is unsafe about its commands, after a fault and at its end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hil.app.faults.faulty_device import DeviceFault
from hil.app.faults.judge import unsafe
from hil.app.faults.lockstep import LockstepRun, state_ticks
from hil.app.faults.lockstep_cases import inject
from hil.app.faults.table import IN_LOCKSTEP, SHORT_TRIAL
from hil.config import load_config
from hil.config.rig import Rig

TICK = 300  # in the run-up


@pytest.fixture(scope="module")
def config():
    return load_config("sim_impact", [*IN_LOCKSTEP, *SHORT_TRIAL])


@pytest.fixture(scope="module")
def finished(config):
    """A run whose DAQ is off from the middle of the run-up on."""
    run = LockstepRun(Rig(config))
    run.at(TICK, inject("daq", DeviceFault("off")))
    return run.run()


def changed(finished, field, value):
    """The same run, with one field of the ticks after its fault changed."""
    ticks = finished.ticks.copy()
    ticks[field][ticks["tick"] > finished.faults["tick"][0]] = value
    return replace(finished, ticks=ticks)


def test_a_run_that_went_to_safe_is_safe(finished):
    assert finished.faults["id"].tolist() == [1]
    assert list(unsafe(finished)) == []


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("cut", 0, "the drives were not cut"),
        ("safe", 0, "Safe was not latched"),
        ("valves", 1, "a valve was powered"),
        ("state", 2, "the experiment went on"),
    ],
)
def test_what_is_not_safe_after_a_fault_is_found(finished, field, value, words):
    assert any(words in one for one in unsafe(changed(finished, field, value)))


def test_a_speed_and_a_step_over_their_limits_are_found(finished):
    ticks = finished.ticks.copy()
    ticks["set_speed_radps"][TICK - 10] = 99.0
    found = list(unsafe(replace(finished, ticks=ticks)))
    assert any("limits.wheel_speed_radps" in one for one in found)
    assert any("limits.wheel_acceleration_radps2" in one for one in found)


def test_devices_with_power_at_the_end_are_found(config):
    run = LockstepRun(Rig(config))
    run.at(TICK, inject("daq", DeviceFault("off")))
    finished = run.run()
    for role in ("drives", "valves"):
        finished.rig.devices[role].active = True
    assert list(unsafe(finished)) == ["drives have power at the end", "valves have power at the end"]


@pytest.mark.slow
def test_each_state_of_a_trial_has_a_tick(config):
    assert list(state_ticks(Rig(config))) == ["idle", "armed", "run_up", "impact", "settle"]


def test_a_run_that_ends_without_a_cut_is_found(finished):
    ticks = finished.ticks.copy()
    ticks["cut"][-1] = 0
    found = list(unsafe(replace(finished, ticks=ticks, events=finished.events[:0])))
    assert "the last command was no cut" in found


def test_a_delayed_cut_is_waited_for_at_the_end_of_a_run(config):
    run = LockstepRun(Rig(config), after_fault_s=0.1)
    run.at(TICK, inject("drives", DeviceFault("delayed", ms=400.0)))
    finished = run.run()
    assert finished.rig.drives.off_ns - finished.faults["t_ns"][0] > 300_000_000
    assert list(unsafe(finished)) == []
