"""Looks follow the rhythm of messages: few of them, and none late."""

from itertools import pairwise

import pytest

from drivers.serial.listening import PollTimes

MS = 1_000_000


def follow(period_ns, arrivals, oversleep_ns=60_000):
    """Look at these arrivals [ns]; the looks made, and how long each message has waited [ns]."""
    looks, now_ns, made, waited, next_one = PollTimes(period_ns), 0, [], [], 0
    looks.begin(now_ns)
    while next_one < len(arrivals):
        now_ns = max(now_ns, looks.due_ns) + oversleep_ns
        made.append(now_ns)
        found = next_one
        while found < len(arrivals) and arrivals[found] <= now_ns:
            found += 1
        if found == next_one:
            looks.missed(now_ns)
            continue
        waited += [now_ns - arrival for arrival in arrivals[next_one:found]]
        next_one = found
        looks.came(now_ns)
    return made, waited


def every(period_ns, count, first_ns=3_300_000, without=()):
    return [first_ns + one * period_ns for one in range(count) if one not in without]


@pytest.mark.parametrize("period_ns", [5 * MS, 10 * MS, 20 * MS, 100 * MS])
@pytest.mark.parametrize("ppm", [0, 150, -150])
def test_a_steady_device_takes_few_looks_and_no_message_waits_long(period_ns, ppm):
    made, waited = follow(period_ns, every(round(period_ns * (1 + ppm * 1e-6)), 400))
    assert len(waited) == 400
    assert max(waited[20:]) < 400_000
    assert len(made) < 2.0 * 400 + 100


def test_a_message_that_is_missing_costs_five_looks_and_the_next_is_found_at_its_time():
    made, waited = follow(5 * MS, every(5 * MS, 300, without=(150,)))
    steady, _ = follow(5 * MS, every(5 * MS, 300))
    assert len(made) <= len(steady) + 5
    assert max(waited[20:]) < 400_000


def test_after_a_long_silence_messages_are_searched_for_and_followed_again():
    _, waited = follow(5 * MS, every(5 * MS, 300, without=range(100, 140)))
    assert max(waited[110:]) < 400_000


def test_looks_of_a_silent_device_are_a_quarter_of_a_period_apart_and_not_further_than_4_ms():
    for period_ns, apart_ns in ((5 * MS, 1_250_000), (1 * MS, 500_000), (1000 * MS, 4 * MS)):
        looks = PollTimes(period_ns)
        looks.begin(0)
        dues_ns = []
        for _ in range(10):
            looks.missed(looks.due_ns)
            dues_ns.append(looks.due_ns)
        assert {later - sooner for sooner, later in pairwise(dues_ns)} == {apart_ns}


def test_a_late_look_does_not_move_the_rhythm():
    looks = PollTimes(5 * MS)
    looks.begin(0)
    looks.came(1 * MS)
    looks.came(6 * MS + 13 * MS)  # 13 ms late: three messages at once
    assert (looks.due_ns - 1 * MS) % (5 * MS) == pytest.approx(5 * MS - 20_000)
    assert 19 * MS < looks.due_ns <= 24 * MS


def test_a_message_that_has_begun_is_looked_for_when_its_rest_can_be_there():
    looks = PollTimes(5 * MS)
    looks.begin(0)
    looks.came(1 * MS)
    looks.missed(6 * MS, 700_000)
    assert looks.due_ns == 6_700_000
