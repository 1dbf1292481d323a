"""Whether a machine holds a rate, measured in virtual time."""

import pytest

from hil.app.pace_check import measure_wake_ups
from hil.realtime.clock import Stall
from hil.realtime.histogram import Histogram

MS = 1_000_000
ALLOWED_US = 6000.0


class Machine:
    """Ends each sleep later than requested, by these times in turn [ns]."""

    def __init__(self, *late_ns):
        self._late_ns, self._turn, self._now_ns = late_ns, 0, 10**9

    def now(self):
        return self._now_ns

    def sleep_until(self, due_ns):
        self._now_ns = due_ns + self._late_ns[self._turn % len(self._late_ns)]
        self._turn += 1


def pace(machine, rate_hz=1000, seconds=2.0, work_us=None):
    work = Histogram()
    for _ in range(100 if work_us else 0):
        work.add(round(work_us * 1e3))
    return measure_wake_ups(rate_hz, seconds, ALLOWED_US, work, machine.now, machine.sleep_until)


def test_a_punctual_machine_holds_the_rate():
    found = pace(Machine(20_000), work_us=150)
    assert found.holds
    assert (found.skipped, found.stalls) == (0, ())


def test_a_machine_that_wakes_the_loop_periods_late_does_not_hold_it_and_a_lower_rate_is_proposed():
    found = pace(Machine(*[50_000] * 50, *[3_500_000] * 3))
    assert not found.holds
    assert found.proposed_hz == 250


def test_the_proposed_rate_is_one_that_the_same_machine_holds():
    late_ns = (*[50_000] * 50, *[3_500_000] * 3)
    assert pace(Machine(*late_ns), rate_hz=pace(Machine(*late_ns)).proposed_hz).holds


def test_no_rate_is_proposed_where_samples_would_grow_too_old_at_any():
    found = pace(Machine(*[50_000] * 50, *[8_000_000] * 3))
    assert not found.holds
    assert found.proposed_hz is None


def test_work_that_leaves_no_time_for_the_wakeup_needs_a_lower_rate():
    found = pace(Machine(20_000), work_us=1000)
    assert not found.holds
    assert found.proposed_hz == 500


def test_no_proposal_is_above_what_was_asked():
    assert pace(Machine(*[50_000] * 50, *[3_500_000] * 3), rate_hz=200).proposed_hz in (125, 100, None)


def test_a_stall_is_listed_with_when_the_wakeup_was_due():
    found = pace(Machine(*[0] * 1000, 31 * MS, *[0] * 100_000))
    [stall] = found.stalls
    assert stall == Stall(10**9 + 1001 * MS, 31 * MS)


@pytest.mark.parametrize("rate_hz", [100, 250, 4000])
def test_it_ends_after_the_time_that_was_asked_for(rate_hz):
    assert pace(Machine(0), rate_hz=rate_hz, seconds=1.0).ticks == rate_hz
