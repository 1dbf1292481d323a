"""Whether the machine holds the loop's rate: before a run without real-time rights, and for `hil check`."""

import pytest
from pydantic import BaseModel

import hil.app.pace_check
from hil.app.pace_check import WakeUpTest, check_pace, refuse_without_pace
from hil.config import load_config
from hil.config.rig import Rig
from hil.realtime import RealtimeRight
from hil.realtime.clock import Stall
from hil.safety.arming import NotArmedError

GRANTED = RealtimeRight("scheduler", "SCHED_FIFO 80", True, "granted")
REFUSED = RealtimeRight("scheduler", "SCHED_FIFO 80", False, "refused: Operation not permitted; ask for rtprio")
QUIET = ["telemetry.endpoint=''", "clock=realtime"]


def quantiles(p99_us, p99_9_us):
    return {"p50": 50.0, "p99": p99_us, "p99_9": p99_9_us, "max": 2.0 * p99_9_us}


@pytest.fixture
def config():
    return load_config("sim_impact", QUIET)


@pytest.fixture
def machine(monkeypatch):
    """Set how late the machine wakes the loop [us]; returns the list of measurements."""

    def machine(p99_us, p99_9_us, *stalls):
        measured = []

        def measure(rate_hz, seconds, allowed_us, work=None):
            measured.append(seconds)
            work_us = work and quantiles(80.0, 200.0)  # not the time on this machine, which may be busy
            return WakeUpTest(rate_hz, quantiles(p99_us, p99_9_us), work_us, 7, 993, stalls, allowed_us)

        monkeypatch.setattr(hil.app.pace_check, "measure_wake_ups", measure)
        return measured

    return machine


def progress(_):
    pass


def test_with_real_time_rights_nothing_is_measured_before_a_run(config, machine):
    measured = machine(9000.0, 9000.0)
    refuse_without_pace(Rig(config), [GRANTED], progress)
    assert measured == []


def test_in_virtual_time_nothing_is_measured(machine):
    measured = machine(9000.0, 9000.0)
    lockstep = load_config("sim_impact", ["telemetry.endpoint=''"])
    refuse_without_pace(Rig(lockstep), [], progress)
    assert check_pace(Rig(lockstep), progress) == []
    assert measured == []


def test_without_rights_a_machine_that_holds_the_rate_runs(config, machine):
    measured = machine(80.0, 200.0)
    refuse_without_pace(Rig(config), [REFUSED], progress)
    assert measured == [config.realtime.measure_s]


def test_without_rights_a_machine_that_does_not_hold_the_rate_is_refused_with_a_rate_that_it_holds(config, machine):
    machine(3900.0, 4500.0)
    with pytest.raises(NotArmedError) as refused:
        refuse_without_pace(Rig(config), [REFUSED], progress)
    words = str(refused.value)
    assert "cannot hold 1000 Hz: wake-up p99 3.90 ms" in words
    assert "run with --set loop.rate_hz=250" in words
    assert "grant scheduler SCHED_FIFO 80: refused: Operation not permitted; ask for rtprio" in words


def test_where_no_rate_helps_none_is_proposed(config, machine):
    machine(9000.0, 9500.0)
    with pytest.raises(NotArmedError, match="no lower rate helps") as refused:
        refuse_without_pace(Rig(config), [REFUSED], progress)
    assert "loop.rate_hz" not in str(refused.value)


def test_a_config_that_asks_for_no_rights_is_named_as_the_cause(machine):
    machine(3900.0, 4500.0)
    config = load_config("sim_impact", [*QUIET, "realtime.fifo_priority=0"])
    with pytest.raises(NotArmedError, match=r"realtime\.fifo_priority"):
        refuse_without_pace(Rig(config), [], progress)


def test_the_measurement_before_a_run_can_be_left_out(machine):
    measured = machine(9000.0, 9000.0)
    refuse_without_pace(Rig(load_config("sim_impact", [*QUIET, "realtime.measure_s=0"])), [REFUSED], progress)
    assert measured == []


@pytest.mark.slow
def test_check_says_that_it_measures_and_what_it_found(config, machine):
    said = []
    measured = machine(0.0, 0.0)
    wake, work, stalls, rate = check_pace(Rig(config), said.append)
    assert (measured, said) == ([10.0], ["measuring for 10 s whether this machine holds 1000 Hz"])
    assert "p99.9" in wake.found
    assert "p99" in work.found
    assert stalls.found == "none"
    assert "hold 1000 Hz" in rate.found


@pytest.mark.slow
def test_check_proposes_a_rate_where_the_machine_does_not_hold_that_of_the_config(config, machine):
    machine(3900.0, 4500.0)
    *_, rate = check_pace(Rig(config), progress)
    assert not rate.ok
    assert "cannot hold 1000 Hz" in rate.found
    assert "--set loop.rate_hz=" in rate.to_do


@pytest.mark.slow
def test_a_stall_that_would_end_a_run_fails_the_check_of_a_real_rig_and_is_named_for_a_simulated_one(machine):
    machine(10.0, 20.0, Stall(0, 31_000_000))
    for rig, ok in (("simulated_wire", True), ("real", False)):
        config = BaseModel.model_copy(load_config("sim_wire", ["telemetry.endpoint=''"]), update={"rig": rig})
        check = next(check for check in check_pace(Rig(config), progress) if check.item == "machine stalls")
        assert (check.ok, check.found) == (ok, "1, longest 31 ms")
