"""A command that computes and prints nothing shows in a terminal that it works; nothing of it stays."""

from __future__ import annotations

import os
import pty
import signal
import sys
import time
from contextlib import contextmanager

import pytest

from hil.cli.terminal import COMPUTE, LINE, WaitingLine, _Stream


@contextmanager
def terminal():
    """Standard error in a terminal; gives what has come there so far."""
    reading, writing = pty.openpty()
    os.set_blocking(reading, False)
    handler, timer = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    with os.fdopen(writing, "w") as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", stream)

        def came():
            try:
                return os.read(reading, 100_000).decode()
            except BlockingIOError:
                return ""

        yield came
        LINE.stop()
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *timer)  # pytest's own, for a test that hangs
    os.close(reading)


def shown(came, words="working"):
    """What has come, once these words are among it: a terminal passes on what is written a little later."""
    text = ""
    while words not in text:  # pytest's time-out ends a wait that is too long
        time.sleep(0.01)
        text += came()
    return text


def test_a_silent_command_says_for_how_long_it_works_and_clears_that_for_its_output():
    with terminal() as came:
        LINE.start("energy", after_s=0.0, every_s=0.01)
        assert "hil energy: working for 0 s" in shown(came)
        LINE.stop()
        came()
        LINE.start("energy", after_s=0.0, every_s=0.01)
        shown(came)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        _Stream(sys.stderr, raises=False).write("a line\n")
        sys.stderr.flush()
        assert shown(came, "a line\r\n").endswith("\r\x1b[Ka line\r\n")


def test_one_that_may_wait_for_somebody_says_it_until_its_first_output_only():
    line = WaitingLine()
    with terminal() as came:
        line.start("operate", after_s=0.0, every_s=0.01)
        assert "hil operate: working" in shown(came)
        line.written()
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        line.start("run", after_s=0.0, every_s=0.01)
        line.written()
        assert signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0)
        line.only_until_output()
        line.written()
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_without_a_terminal_nothing_is_said(monkeypatch):
    before = signal.getsignal(signal.SIGALRM)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        monkeypatch.setattr(sys, "stderr", nowhere)
        line = WaitingLine()
        line.start("energy")
        line.written()
        line.stop()
    assert signal.getsignal(signal.SIGALRM) == before


def test_no_command_that_asks_serves_or_measures_is_among_those_that_compute():
    assert not COMPUTE & {"operate", "jog", "valve", "calibrate", "check", "devices", "sim", "bench", "command", "view"}
