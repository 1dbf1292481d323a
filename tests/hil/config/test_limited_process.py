"""Work on what strangers wrote ends within limits, and can do nothing besides, whatever it calls."""

from __future__ import annotations

import os
import resource
import signal
import socket
import time

import pytest

from hil.config import limited_process
from hil.config.limited_process import LimitError, in_limited_process


def nothing():
    pass


def forever():
    while True:
        pass


def test_the_result_of_the_work_comes_back():
    assert in_limited_process(nothing, lambda: ["x" * 1_000_000, 2]) == ["x" * 1_000_000, 2]


def test_an_error_of_the_work_or_its_preparation_comes_back_with_its_text():
    for prepare, work in ((nothing, lambda: int("x")), (lambda: int("x"), nothing)):
        with pytest.raises(ValueError, match="invalid literal"):
            in_limited_process(prepare, work)


@pytest.mark.parametrize(
    "work",
    [
        lambda: open("/etc/passwd"),  # noqa: SIM115
        lambda: open("/tmp/written", "w"),  # noqa: SIM115
        lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
        os.pipe,
    ],
)
def test_the_work_can_open_no_file_and_no_socket(work):
    with pytest.raises(ValueError, match="Too many open files"):
        in_limited_process(nothing, work)


def test_the_work_can_start_no_process_unless_it_is_the_superusers():
    limits = in_limited_process(nothing, lambda: resource.getrlimit(resource.RLIMIT_NPROC))
    assert limits[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "work",
    [
        lambda: len(bytearray(2**28)),
        os.abort,
        lambda: os.kill(os.getpid(), signal.SIGSEGV),
        forever,
        lambda: time.sleep(1e6),
    ],
)
def test_work_without_bounds_or_that_crashes_ends_in_a_sentence(monkeypatch, work):
    children = []

    def fork(start=os.fork):
        children.append(start())
        return children[-1]

    monkeypatch.setattr(os, "fork", fork)
    monkeypatch.setattr(limited_process, "MOST_MEMORY", 2**27)
    monkeypatch.setattr(limited_process, "MOST_WORK_S", 1)
    monkeypatch.setattr(limited_process, "_MOST_S", 3)
    with pytest.raises(LimitError, match=r"more than 1 s of processor time or 0\.125 GiB of memory, or crashed"):
        in_limited_process(nothing, work)
    with pytest.raises(ChildProcessError):
        os.waitpid(children[0], os.WNOHANG)
