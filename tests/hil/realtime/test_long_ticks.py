"""What a tick that took longer than a period has used, from counters that the test sets."""

from types import SimpleNamespace

import pytest

from hil.realtime.clock import KEPT, LongTick, LongTickMonitor, RealtimeClock, thread_usage

MS = 1_000_000


class Machine:
    """Time and counters of a thread; each reading of the counters is counted."""

    def __init__(self):
        self.t_ns, self.processor_ns, self.read = 5 * MS, 3 * MS, 0
        self.counts = {"ru_minflt": 10, "ru_majflt": 1, "ru_nvcsw": 100, "ru_nivcsw": 7}

    def usage(self):
        self.read += 1
        return self.processor_ns, SimpleNamespace(**self.counts)

    def now(self):
        return self.t_ns

    def sleep_until(self, t_ns):
        self.t_ns = max(self.t_ns, t_ns)
        self.counts["ru_nvcsw"] += 1

    def work(self, ms, processor_ms, faults=0, waits=0, interruptions=0):
        self.t_ns += round(ms * MS)
        self.processor_ns += round(processor_ms * MS)
        self.counts["ru_minflt"] += faults
        self.counts["ru_nvcsw"] += waits
        self.counts["ru_nivcsw"] += interruptions


@pytest.fixture
def machine():
    return Machine()


@pytest.fixture
def clock(machine):
    return RealtimeClock(1000, now=machine.now, sleep_until=machine.sleep_until, usage=machine.usage)


def test_a_tick_over_a_period_is_noted_with_what_it_used_itself(clock, machine):
    clock.next()
    machine.work(0.2, 0.2, interruptions=5)  # in time: its counts are not those of the next tick
    number = clock.next().number
    machine.work(2.4, 0.3, faults=2, interruptions=1)
    clock.next()
    assert clock.long_ticks.take() == [LongTick(2_400_000, number, 300_000, 2, 0, 1)]
    assert clock.long_ticks.take() == []


def test_the_wait_for_a_tick_is_none_of_its_waits(clock, machine):
    clock.next()
    machine.work(1.5, 1.4, waits=1)
    clock.next()
    [found] = clock.long_ticks.take()
    assert (found.waits, found.interruptions) == (1, 0)


def test_ticks_within_the_period_are_not_noted_and_cost_one_reading_each(clock, machine):
    for _ in range(100):
        clock.next()
        machine.work(1.0, 1.0)
    assert (clock.long_ticks.take(), machine.read) == ([], 100)


def test_the_longest_are_kept_and_come_in_order_of_time(machine):
    monitor = LongTickMonitor(MS, machine.usage)
    for number in range(KEPT + 40):
        monitor.begin()
        monitor.end(number, 2 * MS + (number * 37) % (KEPT + 40))
    numbers = [tick.number for tick in monitor.take()]
    assert numbers == sorted(number for number in range(KEPT + 40) if (number * 37) % (KEPT + 40) >= 40)


def test_the_usage_of_a_thread_that_computes_grows():
    (before_ns, _), _ = thread_usage(), sum(range(200_000))
    after_ns, counted = thread_usage()
    assert after_ns > before_ns
    assert counted.ru_minflt > 0
