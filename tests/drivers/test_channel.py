"""A call to a device server blocks its thread, and another one says meanwhile that the process is alive."""

import threading
from types import SimpleNamespace

import pytest

from drivers.channel import BlockingChannel

FOREVER_S = 600.0


class Server:
    """A gRPC channel with one method, `answer`."""

    def __init__(self, answer):
        self._answer, self.closed, self.unary_stream = answer, False, None

    def unary_unary(self, _name):
        return lambda request, metadata, timeout: self._answer(request)

    def close(self):
        self.closed = True


class Rounds:
    """In place of the event that a thread waits for between two signs of life: the test says when a round begins."""

    def __init__(self):
        self._begin, self._waits, self._over = threading.Semaphore(0), threading.Semaphore(0), False

    def wait(self, _seconds):
        self._waits.release()
        self._begin.acquire()
        return self._over

    def one(self):
        """One whole round."""
        self._waits.acquire()
        self._begin.release()
        self._waits.acquire()
        self._waits.release()

    def set(self):
        self._over = True
        self._begin.release()


@pytest.fixture
def rounds(monkeypatch):
    made = Rounds()
    stand_in = SimpleNamespace(Event=lambda: made, Thread=threading.Thread)
    monkeypatch.setattr("drivers.channel.threading", stand_in)
    return made


@pytest.fixture
def open_channel(rounds):
    made = []

    def make(answer):
        signs = []
        channel = BlockingChannel(Server(answer), lambda: signs.append(1), FOREVER_S)
        made.append(channel)
        return channel, channel.unary_unary("read"), signs

    yield make
    for channel in made:
        channel.close()


def test_a_waiting_call_shows_in_each_round_that_the_process_is_alive(open_channel, rounds):
    def answer(request):
        rounds.one()
        rounds.one()
        return request + 1

    _, call, signs = open_channel(answer)
    assert call(41, None, FOREVER_S) == 42
    assert len(signs) == 2


def test_nothing_speaks_for_a_process_that_waits_for_no_answer(open_channel, rounds):
    _, call, signs = open_channel(lambda request: request)
    rounds.one()
    call(1, None, FOREVER_S)
    rounds.one()
    assert signs == []


def test_a_call_that_failed_no_longer_waits(open_channel, rounds):
    def answer(_request):
        raise ConnectionError

    _, call, signs = open_channel(answer)
    with pytest.raises(ConnectionError):
        call(1, None, FOREVER_S)
    rounds.one()
    assert signs == []


def test_a_call_that_hangs_beyond_its_deadline_counts_as_a_process_that_hangs(open_channel, rounds):
    _, call, signs = open_channel(lambda _request: rounds.one())
    call(1, None, 0.0)
    assert signs == []


def test_a_closed_channel_has_no_thread(open_channel):
    channel, _, _ = open_channel(lambda request: request)
    before = threading.active_count()
    channel.close()
    assert channel.channel.closed
    assert threading.active_count() == before - 1
