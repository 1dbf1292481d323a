"""A worker opens its device once the watchdog has its own descriptors: afterwards nobody can open the port."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hil.app import driver_factory
from hil.app.driver_factory import await_stop_ports


@pytest.fixture
def waited():
    """Runs the wait; after so many looks the watchdog is there, or the worker is asked to end. The number of looks."""

    def wait(ready_after=None, ends_after=None):
        state = SimpleNamespace(looks=0, now_ns=10**9)
        lifecycle = SimpleNamespace(ending=False)

        def sleep(seconds):
            state.looks += 1
            state.now_ns += round(seconds * 1e9)
            lifecycle.ending = state.looks == ends_after

        def last_ns(name):
            assert name == "watchdog"
            return 1 if ready_after is not None and state.looks >= ready_after else 0

        host = SimpleNamespace(sleep=sleep, now_ns=lambda: state.now_ns)
        await_stop_ports(SimpleNamespace(heartbeat=SimpleNamespace(last_ns=last_ns)), lifecycle, host)
        return state.looks

    return wait


def test_a_device_is_opened_once_the_watchdog_has_the_port_too(waited):
    assert waited(ready_after=0) == 0
    assert waited(ready_after=7) == 7


def test_the_wait_for_the_watchdog_ends(waited):
    assert waited(ends_after=3) == 3
    most = driver_factory.STOP_PORTS_NS * 1e-9 / driver_factory.LOOK_S
    assert waited() == pytest.approx(most, abs=2)
