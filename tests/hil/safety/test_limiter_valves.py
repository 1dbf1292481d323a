"""The valve commands that the limiter allows."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.fault import CLAMPS_ALLOWED, Alarm, Fault
from hil.messages.stages import SetPoints, Tick
from hil.safety.limiter import Limiter
from hil.safety.monitor import SafetyMonitor

MS = 1_000_000
LEAST_MS, MOST = 20, 3
CONFIG = load_config("sim_impact", [f"limits.valve_least_on_ms={LEAST_MS}", f"limits.valve_switchings_per_s={MOST}"])
OFF = ((False, False), (False, False))
EXTEND, RETRACT = ((True, False), (False, False)), ((False, True), (False, False))
BOTH = ((True, True), (False, False))
pairs = st.tuples(st.booleans(), st.booleans())


class Through:
    """A limiter that gets a valve command every millisecond, with the wheels cut."""

    def __init__(self) -> None:
        self.safety = SafetyMonitor(Rig(CONFIG))
        self.limiter = Limiter(Rig(CONFIG), self.safety)
        self.ms = 0

    def ask(self, valves):
        self.ms += 1
        return self.limiter.check(Tick(self.ms, self.ms * MS, 0, 0), SetPoints(2, True, (), valves)).valves

    def hold(self, valves, ms):
        return [self.ask(valves) for _ in range(ms)]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(pairs, pairs), min_size=1, max_size=200))
def test_no_cylinder_is_ever_told_to_extend_and_retract_together(asked):
    through = Through()
    for valves in asked:
        assert not any(extend and retract for extend, retract in through.ask(valves))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(pairs, pairs), min_size=1, max_size=300))
def test_a_valve_is_never_on_for_less_than_its_least_time_but_for_safe(asked):
    through = Through()
    given_ = [OFF, *map(through.ask, asked)]
    if through.safety.safe:
        return
    for cylinder in range(2):
        for way in range(2):
            levels = [valves[cylinder][way] for valves in given_]
            ons = [at for at, (before, now) in enumerate(pairwise(levels), start=1) if now and not before]
            offs = [at for at, (before, now) in enumerate(pairwise(levels), start=1) if before and not now]
            for on, off in zip(ons, offs, strict=False):
                assert off - on >= LEAST_MS


def test_a_pulse_that_is_too_short_is_drawn_out():
    through = Through()
    assert through.ask(EXTEND) == EXTEND
    assert through.hold(OFF, LEAST_MS) == [EXTEND] * (LEAST_MS - 1) + [OFF]


def test_the_other_way_waits_until_the_first_may_go():
    through = Through()
    through.ask(EXTEND)
    assert through.hold(RETRACT, LEAST_MS) == [EXTEND] * (LEAST_MS - 1) + [RETRACT]


def test_a_valve_is_switched_on_no_more_often_in_a_second_than_the_limit():
    through = Through()
    levels = [through.ask(EXTEND if (ms // 50) % 2 == 0 else OFF)[0][0] for ms in range(1050)]
    ons = [ms for ms, (before, now) in enumerate(pairwise([False, *levels])) if now and not before]
    assert len(ons) == MOST + 1
    assert ons[MOST] - ons[0] >= 1000


def test_a_switching_is_allowed_again_a_second_after_the_first_and_not_before():
    through = Through()
    while through.ms < 50 * MOST:
        through.hold(EXTEND, LEAST_MS)
        through.hold(OFF, 50 - LEAST_MS)
    first_ms = 1
    through.ms = first_ms + 1000 - 2
    assert through.ask(EXTEND) == OFF
    assert through.ask(EXTEND) == EXTEND


def test_a_valve_that_safe_switched_off_stays_on_for_its_whole_time_when_it_is_switched_on_again():
    through = Through()
    through.hold(EXTEND, 5)
    through.safety.report(Alarm(Fault.STOP_BY_OPERATOR, 0.0, 0.0, "E-stop"), 0, 0)
    assert through.ask(EXTEND) == OFF
    through.safety.events.clear()  # as an operator does
    assert through.ask(EXTEND) == EXTEND
    assert through.hold(OFF, LEAST_MS) == [EXTEND] * (LEAST_MS - 1) + [OFF]


def test_asking_for_both_ways_counts_as_out_of_limit_and_ends_in_safe():
    through = Through()
    for _ in range(CLAMPS_ALLOWED):
        assert through.ask(BOTH) == OFF
    assert not through.safety.safe
    through.ask(BOTH)
    assert [event.alarm.fault for event in through.safety.events] == [Fault.COMMAND_OUT_OF_LIMIT]


@pytest.mark.parametrize("after_ms", [1, 5, LEAST_MS + 5])
def test_safe_switches_a_valve_off_at_once(after_ms):
    through = Through()
    through.hold(EXTEND, after_ms)
    through.safety.report(Alarm(Fault.STOP_BY_OPERATOR, 0.0, 0.0, "E-stop"), 0, 0)
    assert through.ask(EXTEND) == OFF
