"""The stop-latency breakdown: the run with repeated impacts, and its times."""

from types import SimpleNamespace

import numpy as np
import pytest

import hil.bench.bench_rig
from drivers.messages import DaqBlock, DriveSample, ValveSample
from hil.bench.bench_rig import CUTS_A_RUN, MOST_WITHOUT, Cuts, _cut_rows, _many_cuts, _seen_by_devices
from hil.bench.virtual_cuts import PAUSE_NS, RepeatedImpacts
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.base import ARMED_NS
from hil.experiments.impact.experiment import ImpactState
from hil.messages.stages import Estimate, Samples
from hil.recording.sinks import CutTimes, parts_ms

ZERO_SPEEDS = (0.0,) * 6  # the speeds of six wheels

MS = 1_000_000
SPEEDS = (0.03,) * 6
VALVES = ValveSample(1, 0, ((0.0, 0.0), (0.0, 0.0)), 0)


def samples(t_ns, stopped_ns=-1, block_end_ns=None):
    blocks = ()
    if block_end_ns is not None:
        blocks = (DaqBlock(1, np.array([block_end_ns - 1, block_end_ns]), np.zeros((2, 3)), (), block_end_ns + 7),)
    return Samples(t_ns, blocks, 0, 1, DriveSample(1, t_ns, ZERO_SPEEDS, t_ns, stopped_ns), VALVES)


def estimate(zeroed=True, impact_ns=None):
    return Estimate(zeroed, (), (), True, False, impact_ns, (), (0.0, 0.0), ZERO_SPEEDS)


@pytest.fixture
def trial():
    return RepeatedImpacts(2, SPEEDS, 100.0, Rig(load_config("sim_impact")), lambda *_: ())


def to_run_up(trial, t_ns):
    for at_ns in (t_ns, t_ns + ARMED_NS):
        trial.decide(samples(at_ns), estimate(), None, False)
    assert trial.state is ImpactState.RUN_UP
    return t_ns + ARMED_NS


def hit(trial, t_ns):
    """An impact whose cut is confirmed after 3 ms; returns the end of the pause."""
    sample_ns = t_ns - 2 * MS
    request = trial.decide(samples(t_ns, block_end_ns=t_ns - MS), estimate(impact_ns=sample_ns), None, False)
    assert request.cut
    trial.decide(samples(t_ns + 4 * MS, stopped_ns=t_ns + 3 * MS), estimate(), None, False)
    return t_ns + PAUSE_NS


def test_it_runs_until_it_is_hit_and_then_cuts(trial):
    t_ns = to_run_up(trial, 0)
    request = trial.decide(samples(t_ns + MS), estimate(), None, False)
    assert (request.cut, request.speed_radps) == (False, SPEEDS)
    hit(trial, t_ns + 2 * MS)
    [cut] = trial.found
    times = [cut.sample_ns, cut.block_ns, cut.arrived_ns, cut.tick_ns, cut.stopped_ns]
    assert times == sorted(times)


def test_after_a_pause_it_forgets_the_impact_and_begins_again(trial):
    forgotten = []
    trial.reset = lambda: forgotten.append(trial.state)
    over_ns = hit(trial, to_run_up(trial, 0) + MS)
    trial.decide(samples(over_ns), estimate(), None, False)
    assert (forgotten, trial.state) == ([ImpactState.IMPACT], ImpactState.IDLE)


def test_nothing_is_injected_before_the_wheels_turn(trial):
    begun = []
    trial.driving = lambda: begun.append(trial.state)
    trial.decide(samples(0), estimate(), None, False)
    assert (trial.state, begun) == (ImpactState.ARMED, [])
    trial.decide(samples(ARMED_NS), estimate(), None, False)
    assert begun == [ImpactState.RUN_UP]


def test_it_is_over_after_as_many_as_were_wanted(trial):
    t_ns = 0
    for _ in range(2):
        t_ns = hit(trial, to_run_up(trial, t_ns) + MS)
        if not trial.over:
            trial.decide(samples(t_ns), estimate(), None, False)
            t_ns += MS
    assert (trial.state, len(trial.found)) == (ImpactState.DONE, 2)


@pytest.mark.parametrize(("t_ns", "safe"), [(MS, True), (101_000 * MS, False)])
def test_a_fault_or_no_more_time_ends_it(trial, t_ns, safe):
    request = trial.decide(samples(t_ns), estimate(), None, safe)
    assert (trial.state, request.cut) == (ImpactState.ABORTED, True)


def test_the_parts_of_a_cut_add_up_to_it():
    cuts = [CutTimes(10 * MS, 11 * MS, 12 * MS, 14 * MS, 17 * MS), CutTimes(0, 2 * MS, 3 * MS, 3 * MS, 5 * MS)]
    parts = parts_ms(cuts)
    whole = parts.pop("cut_latency")
    assert whole == pytest.approx([7.0, 5.0])
    assert sum(parts.values()) == pytest.approx(whole)


def test_the_device_counts_to_the_last_of_its_controllers_and_not_to_stops_before():
    cut = CutTimes(100 * MS, 0, 0, 0, 0)
    stops = {"roboclaw": [(0x80, 90 * MS), (0x80, 103 * MS), (0x81, 104 * MS), (0x80, 300 * MS)]}
    assert _seen_by_devices([cut], stops, start_ns=0) == pytest.approx([4.0])


def cut_at(t_ns):
    return CutTimes(t_ns, t_ns, t_ns, t_ns, t_ns + MS)


def test_runs_without_a_cut_one_after_another_end_the_measurement_with_what_was_measured(monkeypatch):
    early = ["fault 1: DAQ: newest sample is 10.4 ms old"]
    results = [Cuts([cut_at(1)], [1.0], early), *[Cuts([], [], early)] * (MOST_WITHOUT + 1)]
    monkeypatch.setattr(hil.bench.bench_rig, "_cuts", lambda _config, _events: results.pop(0))
    said = []
    found = _many_cuts(None, 200, said.append)
    assert (len(found.cuts), len(results)) == (1, 1)
    assert said == [f"a run ended early: {early[0]}"] * (1 + MOST_WITHOUT)


def test_a_stall_costs_the_cuts_of_one_short_run_and_not_those_before_it(monkeypatch):
    wanted = []

    def every_second_run_ends_after_a_cut(_config, events):
        wanted.append(events)
        done = events if len(wanted) % 2 else 1
        return Cuts([cut_at(1)] * done, [1.0] * done, [] if done == events else ["fault 11"])

    monkeypatch.setattr(hil.bench.bench_rig, "_cuts", every_second_run_ends_after_a_cut)
    assert len(_many_cuts(None, 10 * CUTS_A_RUN, lambda _: None).cuts) == 10 * CUTS_A_RUN
    assert max(wanted) == CUTS_A_RUN


def test_runs_that_are_slow_end_the_measurement_when_the_time_is_over(monkeypatch):
    now_s = iter(range(0, 10**9, 600))  # each run takes ten minutes
    monkeypatch.setattr(hil.bench.bench_rig, "time", SimpleNamespace(monotonic=lambda: next(now_s)))
    monkeypatch.setattr(hil.bench.bench_rig, "_cuts", lambda _config, _events: Cuts([cut_at(1)], [1.0], []))
    assert len(_many_cuts(None, 200, lambda _: None).cuts) == 1


def test_a_run_after_an_early_end_makes_the_cuts_that_are_missing(monkeypatch):
    results = [Cuts([cut_at(1)], [1.0], ["fault 11: loop: 6 of the last 100 periods skipped"]), None]
    wanted = []

    def cuts(_config, events):
        wanted.append(events)
        return results[0] if len(wanted) == 1 else Cuts([cut_at(i) for i in range(events)], [1.0] * events, [])

    monkeypatch.setattr(hil.bench.bench_rig, "_cuts", cuts)
    assert len(_many_cuts(None, 5, lambda _: None).cuts) == 5
    assert wanted == [5, 4]


def test_no_cut_makes_no_row():
    assert _cut_rows("", Cuts([], [], ["simulated rig: it could not begin"])) == []


def test_a_cut_that_no_controller_has_seen_has_no_time():
    assert _seen_by_devices([cut_at(5 * MS)], {"roboclaw": [(0x80, MS)]}, 0) == []
