"""The real-time clock in virtual time: a real clock is read only to test which clock is used."""

import datetime
import sys
import time
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.messages.fault import LATE_LIMIT_NS, SKIPPED_LIMIT, WINDOW
from hil.realtime.clock import RealtimeClock
from hil.realtime.rights import monotonic_sleeper

MS = 1_000_000


class Machine:
    """A machine in virtual time: sleep and work take their time, and each reading of the clock takes `look_ns`."""

    def __init__(self, start_ns: int = 7_123_456_789, look_ns: int = 0) -> None:
        self.t_ns, self.look_ns = start_ns, look_ns
        self.wake_late_ns = 0
        self.slept_until: list[int] = []

    def now(self) -> int:
        self.t_ns += self.look_ns
        return self.t_ns

    def sleep_until(self, deadline_ns: int) -> None:
        self.slept_until.append(deadline_ns)
        self.t_ns = max(self.t_ns, deadline_ns) + self.wake_late_ns
        self.wake_late_ns = 0

    def work(self, ns: int) -> None:
        self.t_ns += ns

    def clock(self, rate_hz: int = 1000, spin_share: float = 0.0, **more) -> RealtimeClock:
        return RealtimeClock(rate_hz, spin_share, now=self.now, sleep_until=self.sleep_until, **more)


durations = st.one_of(st.integers(0, 2 * MS), st.integers(0, 300 * MS), st.sampled_from([MS, 10 * MS, 20 * MS]))


@pytest.mark.slow
@given(
    rate_hz=st.sampled_from([100, 500, 999, 1000, 1024, 3000, 4000]),
    story=st.lists(st.tuples(durations, durations), min_size=1, max_size=60),
    start_ns=st.integers(0, 2**62),
)
def test_deadlines_stay_on_the_grid_after_any_sequence_of_late_ticks(rate_hz, story, start_ns):
    machine = Machine(start_ns)
    clock = machine.clock(rate_hz)
    ticks, late, lost = [], 0, set()

    def grid(number: int) -> int:
        return number * 1_000_000_000 // rate_hz

    for work_ns, wake_late_ns in story:
        machine.wake_late_ns = wake_late_ns
        before = ticks[-1].number if ticks else 0
        late += bool(ticks) and machine.t_ns - start_ns > grid(before + 1)
        tick = clock.next()
        machine.wake_late_ns = 0
        assert tick.t_ns == grid(tick.number)
        assert grid(tick.number) <= tick.began_ns - start_ns < grid(tick.number + 1)  # in its own period: no drift
        lost |= set(range(before + 1, tick.number))
        ticks.append(tick)
        assert (clock.late, clock.skipped, clock.ticks) == (late, len(lost), len(ticks))
        recently = len([number for number in lost if number > tick.number - WINDOW])
        behind_ns = tick.began_ns - start_ns - grid(before + 1)
        assert (clock.alarm is not None) is (behind_ns > LATE_LIMIT_NS or recently > SKIPPED_LIMIT)
        machine.work(work_ns)
    assert all(a.number < b.number for a, b in pairwise(ticks))
    assert ticks[-1].number == clock.ticks + clock.skipped
    assert all(
        (deadline - start_ns) in {grid(n) for n in range(ticks[-1].number + 1)} for deadline in machine.slept_until
    )


def test_the_next_deadline_from_now_drifts_and_ours_does_not():
    """The wrong way: `next = now + T` adds every lateness to all later deadlines."""
    naive = Machine(0)
    began = []
    deadline = 0
    for _ in range(1000):
        deadline = naive.now() + MS
        naive.work(100_000)
        naive.wake_late_ns = 20_000
        naive.sleep_until(deadline)
        began.append(naive.now())
    assert began[-1] == 1000 * MS + 1000 * 20_000  # 20 periods behind

    ours = Machine(0)
    clock = ours.clock()
    for _ in range(1000):
        ours.wake_late_ns = 20_000
        tick = clock.next()
        ours.work(100_000)
    assert tick.began_ns == 1000 * MS + 20_000
    assert (clock.late, clock.skipped) == (0, 0)


@pytest.mark.parametrize(
    ("work_ns", "late", "number", "began_ns"),
    [
        (999_999, 0, 2, 2 * MS),
        (MS, 0, 2, 2 * MS),  # just in time
        (MS + 1, 1, 2, 2 * MS + 1),  # late, and the next one begins at once: nothing is skipped
        (2 * MS - 1, 1, 2, 3 * MS - 1),
        (2 * MS, 1, 3, 3 * MS),  # the whole period of number 2 is over
        (3 * MS + 200_000, 1, 4, 4 * MS + 200_000),
    ],
)
def test_late_and_skipped_are_counted_exactly(work_ns, late, number, began_ns):
    machine = Machine(0)
    clock = machine.clock()
    assert clock.next().number == 1
    machine.work(work_ns)
    tick = clock.next()
    assert (tick.number, tick.t_ns, tick.began_ns) == (number, number * MS, began_ns)
    assert (clock.late, clock.skipped) == (late, number - 2)
    assert clock.wake.longest_ns == began_ns - 2 * MS  # measured from the deadline


def test_waking_up_late_skips_without_making_any_work_late():
    machine = Machine(0)
    clock = machine.clock()
    machine.wake_late_ns = 5 * MS + 300_000
    assert clock.next().number == 6
    assert (clock.late, clock.skipped) == (0, 5)


@pytest.mark.parametrize(("behind_ns", "safe"), [(LATE_LIMIT_NS, False), (LATE_LIMIT_NS + 1, True)])
def test_a_tick_over_twenty_ms_late_asks_for_safe(behind_ns, safe):
    machine = Machine(0)
    clock = machine.clock(100)  # 20 ms are two periods: the count of skipped ones is still allowed
    machine.wake_late_ns = behind_ns
    clock.next()
    assert clock.skipped == 2
    assert (clock.alarm is not None) is safe
    if safe:
        assert clock.alarm.value > clock.alarm.limit == 20.0
        assert "late" in clock.alarm.detail
    clock.next()
    assert clock.alarm is None  # it is valid for its tick only; the safety latch keeps it


def test_more_than_five_periods_skipped_in_the_last_hundred_ask_for_safe():
    machine = Machine(0)
    clock = machine.clock()
    for lost in range(1, 8):
        machine.wake_late_ns = MS
        clock.next()
        assert clock.skipped == lost
        assert (clock.alarm is not None) is (lost > 5)
    assert (clock.alarm.value, clock.alarm.limit) == (7, 5)
    assert "7 of the last 100" in clock.alarm.detail


def test_periods_skipped_a_hundred_periods_ago_are_forgotten():
    machine = Machine(0)
    clock = machine.clock()
    machine.wake_late_ns = 6 * MS  # periods 1 to 6
    clock.next()
    held = [clock.alarm is not None]
    held += [(clock.next(), clock.alarm is not None)[1] for _ in range(100)]
    assert held.index(False) == 101 - 7  # tick 101: of the numbers 2 to 101 five are skipped
    assert not any(held[94:])


def test_after_a_long_stall_the_count_is_of_the_last_hundred_periods():
    machine = Machine(0)
    clock = machine.clock()
    machine.wake_late_ns = 300 * MS
    assert clock.next().number == 301
    values = [(clock.next(), clock.alarm and clock.alarm.value)[1] for _ in range(100)]
    assert values == [*range(98, 5, -1), *[None] * 7]


@pytest.mark.parametrize("spin", [0.21, 1.0, -0.01, float("nan")])
def test_a_spin_over_a_fifth_of_the_period_is_refused(spin):
    with pytest.raises(ValueError, match=r"allowed: 0 to 0\.2"):
        RealtimeClock(1000, spin)


@pytest.mark.parametrize(("spin", "work_us"), [(0.2, 600.0), (0.0, 800.0), (0.1, 5000.0), (0.1, float("nan"))])
def test_work_and_spin_over_the_limit_are_refused(spin, work_us):
    with pytest.raises(ValueError, match=r"allowed: under 0\.8"):
        RealtimeClock(1000, spin, work_us=work_us)


def test_work_and_spin_under_the_limit_are_accepted():
    assert RealtimeClock(1000, 0.2, work_us=599.0).alarm is None
    with pytest.raises(ValueError, match="rate_hz"):
        RealtimeClock(0)


def test_spinning_wakes_early_and_never_begins_before_the_deadline():
    machine = Machine(0, look_ns=70)
    clock = machine.clock(1000, 0.2)
    for _ in range(50):
        machine.wake_late_ns = 150_000  # less than the spin: it causes no delay
        tick = clock.next()
        assert 0 <= tick.began_ns - 70 - tick.t_ns < 2 * 70  # the clock was first read at 70 ns
    assert machine.slept_until[-1] == tick.t_ns + 70 - 200_000
    assert clock.wake.longest_ns < 2 * 70


def test_spin_is_withheld_while_work_leaves_no_room_for_it():
    machine = Machine(0, look_ns=70)
    clock = machine.clock(1000, 0.2)
    for _ in range(300):
        clock.next()
        machine.work(700_000)  # with a spin of 200 us: 0.9 of the period
    assert clock.spins_withheld > 150
    withheld = clock.spins_withheld
    for _ in range(300):
        clock.next()
        machine.work(100_000)
    assert clock.spins_withheld < withheld + 100
    assert clock.late == 0


def test_the_grid_begins_where_it_is_told_to():
    machine = Machine(0)
    clock = machine.clock()
    clock.start_ns = 7_000_000
    ticks = [clock.next() for _ in range(3)]
    assert [tick.t_ns for tick in ticks] == [1_000_000, 2_000_000, 3_000_000]
    assert [tick.began_ns for tick in ticks] == [8_000_000, 9_000_000, 10_000_000]
    assert (clock.late, clock.skipped) == (0, 0)


def test_steps_of_the_wall_clock_change_nothing(monkeypatch):
    """Real sleeps, and a wall clock that jumps by a day at each reading: only CLOCK_MONOTONIC is used."""
    used = []
    real = sys.modules[monotonic_sleeper.__module__]._libc()

    class Spy:
        @staticmethod
        def clock_nanosleep(clock_id, flags, spec, rest):
            used.append((clock_id, flags))
            return real.clock_nanosleep(clock_id, flags, spec, rest)

    jumps = iter(range(0, 10**9, 86_400))

    def wall(*_):
        raise AssertionError(f"the wall clock was read: {next(jumps)}")

    before = time.monotonic_ns()
    monkeypatch.setattr(sys.modules[monotonic_sleeper.__module__], "_libc", lambda: Spy)
    with monkeypatch.context() as patch:
        for name in ("time", "time_ns", "localtime", "gmtime"):
            patch.setattr(time, name, wall)
        patch.setattr(datetime, "datetime", wall)
        clock = RealtimeClock(1000)
        ticks = [clock.next() for _ in range(20)]
    assert all(tick.t_ns == tick.number * MS for tick in ticks)
    assert before < clock.start_ns < ticks[0].began_ns - MS + 1
    assert set(used) <= {(time.CLOCK_MONOTONIC, 1)}  # 1: TIMER_ABSTIME


@pytest.mark.slow
def test_ticking_leaves_no_memory_behind():
    machine = Machine(0)
    clock = machine.clock()
    tracemalloc.start()
    try:
        for number in range(200):  # the clock keeps the longest of them
            machine.work(number * 20_000)
            clock.next()
        before, _ = tracemalloc.get_traced_memory()
        for number in range(5000):
            machine.work(number * 1000)
            machine.slept_until.clear()
            clock.next()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 2000
