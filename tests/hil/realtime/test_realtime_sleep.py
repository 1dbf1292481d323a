"""Sleep to an absolute time, with signals."""

import errno
import signal
import sys
import time

import pytest

from hil.realtime.rights import monotonic_sleeper

SOON_NS = 60_000_000


def test_an_interrupted_sleep_goes_on_to_the_same_deadline(monkeypatch):
    slept = []

    class Interrupted:
        @staticmethod
        def clock_nanosleep(clock_id, flags, place, rest):
            spec = place._obj
            slept.append((clock_id, flags, spec.tv_sec, spec.tv_nsec))
            return errno.EINTR if len(slept) < 3 else 0

    monkeypatch.setattr(sys.modules[monotonic_sleeper.__module__], "_libc", lambda: Interrupted)
    monotonic_sleeper()(12_000_000_345)
    assert slept == [(time.CLOCK_MONOTONIC, 1, 12, 345)] * 3


def test_a_sleep_that_fails_says_so(monkeypatch):
    class Wrong:
        @staticmethod
        def clock_nanosleep(*_):
            return errno.EINVAL

    monkeypatch.setattr(sys.modules[monotonic_sleeper.__module__], "_libc", lambda: Wrong)
    with pytest.raises(OSError, match="clock_nanosleep"):
        monotonic_sleeper()(0)


@pytest.fixture
def alarm():
    """Schedule a signal that arrives during the sleep."""
    before = signal.getsignal(signal.SIGALRM)

    def arm(handler):
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.005)

    yield arm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_handlers_of_signals_run_during_the_sleep_and_the_deadline_holds(alarm):
    ran_at = []
    alarm(lambda *_: ran_at.append(time.monotonic_ns()))
    deadline = time.monotonic_ns() + SOON_NS  # after the alarm: it comes first, however late this process goes on
    monotonic_sleeper()(deadline)
    assert len(ran_at) == 1
    assert time.monotonic_ns() >= deadline


def test_a_handler_that_raises_ends_the_sleep(alarm):
    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # noqa: PT012  a process that is kept waiting may have the alarm at once
        alarm(stop)
        monotonic_sleeper()(time.monotonic_ns() + 600_000_000_000)
