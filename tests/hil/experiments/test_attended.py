"""An attended run: it waits for its operator, who arms, starts, stops, changes set-points and clears faults."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hil.app.run_loop import simulated_rig_io
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.impact.experiment import ImpactState
from hil.experiments.registry import build_cycle
from hil.messages.fault import Alarm, Fault
from hil.messages.operator_input import Arm, ClearFault, EStop, SetPoint, Start, Stop
from hil.recording.sinks import MemorySink
from hil.runtime.loop import LockstepClock
from hil.simulator.simulated_rig import build_simulated_rig

SHORT = ("trial.start_distance_m=0.03", "trial.ramp_s=0.2", "trial.settle_s=0.5", "record.after_s=0.5")
STOP = int(Fault.STOP_BY_OPERATOR)


class Attended:
    """A simulated rig in lockstep whose experiment waits for an operator."""

    def __init__(self, *overrides):
        self.config = load_config("sim_impact", [*SHORT, *overrides])
        simulated_rig, self.record_sink = build_simulated_rig(Rig(self.config)), MemorySink(self.config.layout)
        self.devices = simulated_rig_io(self.config.layout, simulated_rig)
        self.cycle = build_cycle(Rig(self.config), self.devices, self.record_sink, None, attended=True)
        self.clock = LockstepClock(simulated_rig, self.config.loop.rate_hz)
        self.devices.open()

    @property
    def experiment(self):
        return self.cycle.experiment

    def ticks(self, count, *commands):
        for command in commands:
            self.devices.operator.put(command)
        for _ in range(count):
            self.cycle.run(self.clock.next())
        return self.experiment.state


@pytest.fixture
def impact():
    return Attended()


def test_nothing_is_armed_before_the_operator_asks(impact):
    assert impact.ticks(1000) == ImpactState.IDLE
    assert impact.experiment.checks == ()
    assert (impact.record_sink.ticks["cut"] == 1).all()


@pytest.mark.slow
def test_armed_it_stands_until_the_operator_starts_it(impact):
    impact.ticks(400)
    assert impact.ticks(1000, Arm()) == ImpactState.ARMED
    assert impact.ticks(1, Start()) == ImpactState.RUN_UP
    assert impact.ticks(3000) in (ImpactState.SETTLE, ImpactState.DONE)
    assert impact.record_sink.events["name"].tolist().count(b"operator arm") == 1


def test_a_start_without_arming_moves_nothing(impact):
    impact.ticks(400)
    assert impact.ticks(500, Start()) == ImpactState.IDLE


def test_an_arm_that_comes_before_the_sensors_are_zeroed_is_tried_once_when_they_are(impact):
    assert impact.ticks(50, Arm()) == ImpactState.IDLE
    assert impact.ticks(400) == ImpactState.ARMED


def test_a_start_counts_from_the_moment_it_is_armed_and_moves_it_50_ms_later(impact):
    impact.ticks(400)
    assert impact.ticks(1, Arm()) == ImpactState.ARMED
    assert impact.ticks(49, Start()) == ImpactState.ARMED
    assert impact.ticks(1) == ImpactState.RUN_UP


def test_a_start_that_came_before_the_arming_moves_nothing_after_it(impact):
    impact.ticks(50, Arm(), Start())
    assert impact.ticks(1000) == ImpactState.ARMED


def test_a_stop_ends_it_cut_and_is_no_fault(impact):
    impact.ticks(400)
    impact.ticks(100, Arm())
    impact.ticks(200, Start())
    assert impact.ticks(1, Stop("enough")) == ImpactState.ABORTED
    assert impact.experiment.stopped
    assert not impact.cycle.safety.safe
    assert impact.record_sink.ticks["cut"][-1] == 1


def test_after_a_stop_it_is_over_once_the_drives_have_confirmed_their_cut(impact):
    impact.ticks(400)
    impact.ticks(100, Arm())
    impact.ticks(200, Start())
    impact.ticks(1, Stop())
    assert impact.record_sink.ticks["drives_stopped_ns"][-1] < 0
    while not impact.experiment.over:
        impact.ticks(1)
    stopped_ns = impact.record_sink.ticks["drives_stopped_ns"]
    assert stopped_ns[-1] >= 0 > stopped_ns[-2]
    assert impact.experiment.state == ImpactState.ABORTED


def test_a_stop_whose_cut_nobody_confirms_ends_it_200_ms_later(impact, monkeypatch):
    impact.ticks(400)
    impact.ticks(100, Arm())
    impact.ticks(200, Start())
    impact.ticks(1, Stop())
    sample = impact.devices.sample

    def never_stopped(t_ns):
        samples = sample(t_ns)
        return replace(samples, drives=replace(samples.drives, stopped_ns=-1))

    monkeypatch.setattr(impact.devices, "sample", never_stopped)
    impact.ticks(199)
    assert not impact.experiment.over
    impact.ticks(1)
    assert impact.experiment.over


def test_a_stop_before_the_start_ends_it_at_once(impact):
    impact.ticks(400)
    impact.ticks(100, Arm())
    impact.ticks(1, Stop())
    assert impact.experiment.over


def test_an_emergency_stop_is_safe_in_the_tick_that_takes_it_in(impact):
    impact.ticks(400)
    impact.ticks(100, Arm())
    impact.ticks(200, Start())
    assert impact.ticks(1, EStop("button")) == ImpactState.ABORTED
    last = impact.record_sink.ticks[-1]
    assert (last["safe"], last["cut"]) == (1, 1)


def test_arming_refused_for_a_fault_can_be_tried_again_once_the_fault_is_cleared(impact):
    impact.ticks(400)
    impact.ticks(1, EStop("button"))
    assert impact.ticks(10, Arm()) == ImpactState.IDLE
    assert impact.experiment.refused
    assert impact.ticks(10, ClearFault(STOP)) == ImpactState.IDLE
    assert impact.cycle.safety.faults == []
    assert impact.ticks(1, Arm()) == ImpactState.ARMED


def test_clearing_one_fault_leaves_the_others_latched(impact):
    impact.ticks(400)
    impact.cycle.safety.report(Alarm(Fault.VALVE_STUCK, 0.0, 0.0, "a valve"), 400, 0)
    impact.ticks(1, EStop("button"))
    impact.ticks(1, ClearFault(STOP))
    assert [event.alarm.fault for event in impact.cycle.safety.events] == [Fault.VALVE_STUCK]
    assert impact.cycle.safety.safe
    assert [event.alarm.fault for event in impact.cycle.safety.cleared] == [Fault.STOP_BY_OPERATOR]


def test_a_fault_whose_cause_is_still_there_latches_again(impact):
    impact.ticks(400)
    (age_ms, _, limit), *others = impact.cycle.safety._ages
    every_one = limit._replace(most=-1.0)  # every sample is too old from now on
    impact.cycle.safety._ages = [(age_ms, every_one.most, every_one), *others]
    impact.ticks(1)
    assert impact.cycle.safety.safe
    impact.ticks(1, ClearFault(int(Fault.SENSOR_DROPOUT)))
    assert [event.alarm.fault for event in impact.cycle.safety.events] == [Fault.SENSOR_DROPOUT]


def test_an_e_stop_and_its_clearing_in_one_tick_end_the_run_in_safe(impact):
    impact.ticks(400)
    impact.ticks(100, Arm())
    impact.ticks(200, Start())
    assert impact.ticks(50, EStop("button"), ClearFault(STOP)) == ImpactState.ABORTED
    assert impact.cycle.safety.faults == ["stop by operator"]
    assert impact.record_sink.ticks["cut"][-50:].all()


def test_an_e_stop_and_its_clearing_in_one_tick_leave_an_idle_rig_safe(impact):
    impact.ticks(400)
    impact.ticks(1, EStop("button"), ClearFault(STOP))
    assert impact.cycle.safety.safe
    impact.ticks(1, ClearFault(STOP))
    assert not impact.cycle.safety.safe


@pytest.mark.parametrize("after", [1, 50])
def test_a_fault_of_a_tick_that_failed_cannot_be_cleared_before_everybody_has_acted_on_it(impact, after):
    impact.ticks(400)
    impact.ticks(100, Arm())
    impact.ticks(200, Start())
    impact.cycle.safety.report(
        Alarm(Fault.EXCEPTION, 0.0, 0.0, "as the loop does where a tick fails"), 700, 700_000_000
    )
    assert impact.ticks(after, ClearFault(int(Fault.EXCEPTION))) == ImpactState.ABORTED
    assert impact.ticks(1, ClearFault(int(Fault.EXCEPTION))) == ImpactState.ABORTED
    assert [event.alarm.fault for event in impact.cycle.safety.events] == [Fault.EXCEPTION]
    assert impact.record_sink.ticks["cut"][-after:].all()


def test_an_arm_that_waits_for_the_sensors_is_forgotten_where_a_fault_is_cleared(impact):
    impact.ticks(50, Arm())
    impact.ticks(10, EStop("button"))
    impact.ticks(10, ClearFault(STOP))
    assert not impact.cycle.safety.safe
    assert impact.ticks(1000) == ImpactState.IDLE
    assert impact.ticks(1, Arm()) == ImpactState.ARMED


@pytest.mark.slow
def test_a_set_point_changes_the_speed_of_a_drive():
    drive = Attended("experiment=drive", "drive.steps=[{for_s: 60, speed_mps: 0.02}]")
    drive.ticks(400)
    drive.ticks(100, Arm())
    drive.ticks(500, Start())
    radius = drive.config.wheel_radius_m
    assert drive.record_sink.ticks["set_speed_radps"][-1] * radius == pytest.approx([0.02] * 6)
    drive.ticks(500, SetPoint("speed_mps", 0.05))
    assert drive.record_sink.ticks["set_speed_radps"][-1] * radius == pytest.approx([0.05] * 6)
    drive.ticks(500, SetPoint("turn_mps", 0.01))
    left, right = drive.record_sink.ticks["set_speed_radps"][-1][:2] * radius
    assert (left, right) == (pytest.approx(0.04), pytest.approx(0.06))
