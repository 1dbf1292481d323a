"""A link that does not make its rounds is named with its number before anything moves."""

from __future__ import annotations

import math

import pytest
from pydantic import BaseModel

from hil.app import pace_check
from hil.app.pace_check import rate_check, refuse_slow_links
from hil.config import load_config
from hil.safety.arming import NotArmedError


@pytest.fixture
def config():
    return load_config("sim_wire")


def test_a_slow_link_is_named_with_its_rounds_what_is_allowed_and_what_to_do(config):
    check = rate_check(config.devices, config.rig, "drives", 28.4)
    assert not check.ok
    assert check.found == "28.4 rounds a second"
    assert check.allowed == "at least 40, 80% of devices.drives.rate_hz (50)"
    assert "--clock lockstep" in check.to_do


def test_a_link_that_makes_its_rounds_passes(config):
    assert rate_check(config.devices, config.rig, "drives", 49.0).ok
    assert rate_check(config.devices, config.rig, "valves", 9.9).ok


def test_where_the_drives_time_out_needs_more_rounds_it_decides(config):
    drives = config.devices.drives.model_copy(update={"rate_hz": 10.0, "timeout_ms": 100})
    slow = BaseModel.model_copy(config, update={"devices": config.devices.model_copy(update={"drives": drives})})
    assert "time-out of 100 ms" in rate_check(slow.devices, slow.rig, "drives", 10.0).allowed


def test_a_link_that_counts_no_rounds_is_not_judged(config):
    assert rate_check(config.devices, config.rig, "valves", math.nan) is None
    other = load_config("sim_juno_wire")
    assert rate_check(other.devices, other.rig, "valves", 10.0) is None


class Host:
    def __init__(self):
        self.t_ns = 0

    def now_ns(self):
        return self.t_ns

    def sleep(self, seconds):
        self.t_ns += round(seconds * 1e9)


@pytest.fixture
def reported(monkeypatch):
    """What the worker of the drives reports, from a time on [s]."""
    host = Host()

    def report(*rates):
        def healths(_shared):
            known = [rate_hz for from_s, rate_hz in rates if host.t_ns >= from_s * 1e9]
            return {"drives": {"rate_hz": known[-1]}} if known else {}

        monkeypatch.setattr(pace_check, "healths", healths)
        return host

    return report


def test_a_link_that_stays_slow_is_refused_before_the_run(config, reported):
    host = reported((0.0, 28.0))
    with pytest.raises(NotArmedError, match=r"not armed: rate of the drives: found 28.0 rounds a second, allowed at"):
        refuse_slow_links(config.rig, config.devices, None, host)
    assert host.t_ns >= 2e9


def test_a_link_that_was_slow_while_it_was_opened_gets_a_second_chance(config, reported):
    host = reported((0.0, 10.0), (1.0, 45.0))
    refuse_slow_links(config.rig, config.devices, None, host)
    assert 1e9 <= host.t_ns < 1.1e9


def test_an_operator_is_told_nothing_of_a_rig_in_the_loops_process(reported):
    refuse_slow_links("simulated", None, None, reported((0.0, 1.0)))


def test_a_driver_that_counts_no_rounds_may_run(config, reported):
    """One of a package need not count them; then only `hil check` says that it does not know."""
    host = reported((0.0, math.nan))
    refuse_slow_links(config.rig, config.devices, None, host)
    assert host.t_ns >= 2e9
