"""When a simulated device sends the readings of its instrument."""

from itertools import pairwise

import pytest

from drivers.sim.protocol.plant_ports import NEVER_NS
from drivers.sim.protocol.reading_stream import LOOKS, ReadingStream

MS = 1_000_000
DELAY_NS = 3 * MS


@pytest.fixture
def instrument(streams):
    return streams.instrument(("distance_m",), 100.0)


def run(streams, stream, seconds):
    """What it sends, when it is looked at whenever it asks for it: (began, values)."""
    until_ns, come = streams.time.now_ns + round(seconds * 1e9), []
    while streams.time.now_ns < until_ns:
        come += stream.due(streams.time.now_ns)
        streams.time.sleep_until(max(min(stream.wake_ns, until_ns), streams.time.now_ns + 1))
    return come


def test_it_sends_nothing_before_it_is_started_and_after_it_is_stopped(streams, instrument):
    stream = ReadingStream(instrument, DELAY_NS)
    assert stream.wake_ns == NEVER_NS
    assert run(streams, stream, 0.1) == []
    stream.start(streams.time.now_ns, 100.0)
    assert run(streams, stream, 0.1)
    stream.stop()
    assert stream.wake_ns == NEVER_NS
    assert run(streams, stream, 0.1) == []


def test_a_message_begins_a_delay_after_its_measurement_and_none_before_the_start(streams, instrument):
    stream = ReadingStream(instrument, DELAY_NS)
    streams.host.sleep(0.5)
    began_ns = streams.time.now_ns
    stream.start(began_ns, 100.0)
    come = run(streams, stream, 0.5)
    numbers = [round(values[0]) for _, values in come]
    assert numbers == list(range(numbers[0], numbers[0] + len(come)))
    assert [at_ns for at_ns, _ in come] == [instrument.at_ns(number) + DELAY_NS for number in numbers]
    assert began_ns - 5 * MS <= come[0][0] <= began_ns + 10 * MS


def test_at_a_quarter_of_the_rate_each_fourth_reading_is_sent(streams, instrument):
    stream = ReadingStream(instrument, DELAY_NS)
    stream.start(streams.time.now_ns, 25.0)
    numbers = [round(values[0]) for _, values in run(streams, stream, 1.0)]
    assert {later - sooner for sooner, later in pairwise(numbers[1:])} == {4}


def test_a_lost_reading_is_told_half_a_period_after_it_was_due_and_once(streams, instrument):
    stream = ReadingStream(instrument, DELAY_NS)
    instrument.lost = lambda number: number in (20, 21)
    stream.start(streams.time.now_ns, 100.0)
    come = run(streams, stream, 0.5)
    lost_ns = [at_ns for at_ns, values in come if values is None]
    assert lost_ns == [instrument.at_ns(number) + DELAY_NS + 5 * MS for number in (20, 21)]
    assert [at_ns for at_ns, _ in come] == sorted(at_ns for at_ns, _ in come)


def test_a_device_that_was_not_looked_at_for_long_tells_what_it_missed(streams, instrument):
    """Its line was not served meanwhile: messages of the past follow at once, and lost readings have their place."""
    stream = ReadingStream(instrument, DELAY_NS)
    instrument.lost = lambda number: number == 30
    stream.start(streams.time.now_ns, 100.0)
    run(streams, stream, 0.2)
    streams.host.sleep(0.2)
    come = stream.due(streams.time.now_ns)
    assert [values is None for _, values in come].count(True) == 1
    assert len(come) == pytest.approx(20, abs=1)


def test_an_instrument_that_gives_nothing_costs_one_look_a_period(streams, instrument):
    instrument.lost = lambda _number: True
    stream = ReadingStream(instrument, DELAY_NS)
    stream.start(streams.time.now_ns, 100.0)
    run(streams, stream, 1.0)
    looks, since = [], instrument.since
    instrument.since = lambda sequence: looks.append(sequence) or since(sequence)
    run(streams, stream, 1.0)
    assert len(looks) == pytest.approx(100, abs=2)
    assert LOOKS > 1
