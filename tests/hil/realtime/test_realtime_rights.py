"""Rights are requested, a refusal is reported, and all rights are released."""

import errno
import gc
import os
import resource
import subprocess
import sys
from contextlib import suppress

import pytest

from hil.realtime import RightsWanted, rights
from hil.realtime import rights as package_rights
from hil.realtime.rights import LIMITS_FILE

ALL = RightsWanted(
    fifo_priority=70, nice=-10, lock_memory=True, cpus=(0,), timer_slack_ns=1000, awake=True, freeze_gc=True
)
module = sys.modules["hil.realtime.rights"]


def denied(*_):
    raise PermissionError(errno.EPERM, "Operation not permitted")


@pytest.fixture
def nobody(monkeypatch):
    """An ordinary user on an ordinary machine."""
    monkeypatch.setattr(os, "sched_setscheduler", denied)
    monkeypatch.setattr(os, "sched_setaffinity", denied)
    monkeypatch.setattr(os, "setpriority", denied)
    monkeypatch.setattr(module, "lock_memory", denied)
    monkeypatch.setattr(module, "set_timer_slack_ns", denied)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (8 << 20, 8 << 20))
    monkeypatch.setattr(module, "_may_lock_all", lambda: False)
    monkeypatch.setattr(module, "_DMA_LATENCY", module.Path("/nonexistent/cpu_dma_latency"))
    monkeypatch.setattr(module.getpass, "getuser", lambda: "lab")


def test_refused_rights_are_told_with_the_line_that_helps_and_raise_nothing(nobody):
    with rights(ALL) as granted:
        by_name = {item.name: item for item in granted}
    assert [name for name, item in by_name.items() if item.granted] == ["garbage collector"]
    assert f"`lab - rtprio 70` to {LIMITS_FILE}" in by_name["scheduler"].detail
    assert f"`lab - nice -10` to {LIMITS_FILE}" in by_name["niceness"].detail
    assert f"`lab - memlock unlimited` to {LIMITS_FILE}" in by_name["memory"].detail
    assert "8192 KiB" in by_name["memory"].detail
    assert by_name["scheduler"].wanted == "SCHED_FIFO 70"
    assert all("refused" in item.detail for item in granted if not item.granted)


def test_memory_is_not_locked_under_a_limit_that_would_fail_a_later_request(nobody, monkeypatch):
    monkeypatch.setattr(module, "lock_memory", lambda: pytest.fail("locked"))
    with rights(RightsWanted(lock_memory=True)) as (memory,):
        assert not memory.granted


def test_a_user_without_a_name_is_told_too(nobody, monkeypatch):
    def unknown():
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr(module.getpass, "getuser", unknown)
    with rights(RightsWanted(fifo_priority=1)) as (scheduler,):
        assert "`* - rtprio 1`" in scheduler.detail


def test_nothing_wanted_is_nothing_asked(nobody):
    with rights(RightsWanted()) as granted:
        assert granted == ()


@pytest.mark.parametrize("cpus", [(4711,), (-1,), (2**70,)])
def test_a_processor_that_is_not_there_is_refused(cpus):
    with rights(RightsWanted(cpus=cpus)) as (processors,):
        assert not processors.granted


def state():
    return (
        os.sched_getscheduler(0),
        os.sched_getparam(0).sched_priority,
        os.sched_getaffinity(0),
        os.getpriority(os.PRIO_PROCESS, 0),
        module.timer_slack_ns(),
        gc.isenabled(),
        gc.get_freeze_count(),
    )


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
def test_everything_is_given_back_also_after_an_exception(fails):
    gc.unfreeze()  # what the collection of the tests froze
    before = state()
    with suppress(RuntimeError), rights(ALL) as granted:
        inside = state()
        if fails:
            raise RuntimeError("in the loop")
    after = state()
    gc.freeze()  # again, for the tests that follow
    assert after == before
    assert not inside[5]
    assert inside[6] > 0
    allowed = {item.name: item.granted for item in granted}
    if allowed["niceness"]:
        assert inside[3] == -10
    if allowed["scheduler"]:
        assert inside[:2] == (os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, 70)
    with open("/proc/self/status", encoding="ascii") as file:
        assert "VmLck:\t       0 kB" in file.read()


@pytest.mark.slow
def test_what_was_frozen_before_stays_frozen_and_is_not_searched(monkeypatch):
    if not gc.get_freeze_count():
        gc.freeze()
    before, searched = gc.get_freeze_count(), []
    monkeypatch.setattr(gc, "collect", lambda *_: searched.append(True))
    with rights(RightsWanted(freeze_gc=True)):
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() == before
    assert not searched


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        with rights(RightsWanted(freeze_gc=True)):
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_scheduler_goes_back_without_privileges_too(monkeypatch):
    """An ordinary user cannot clear "reset on fork": the scheduling class must be restored all the same."""
    asked = []

    def ordinary_user(_, policy, parameters):
        asked.append(policy)
        if len(asked) > 1 and not policy & os.SCHED_RESET_ON_FORK:
            denied()

    monkeypatch.setattr(os, "sched_setscheduler", ordinary_user)
    monkeypatch.setattr(os, "sched_getscheduler", lambda _: os.SCHED_OTHER)
    with rights(RightsWanted(fifo_priority=5)) as (scheduler,):
        assert scheduler.granted
    flag = os.SCHED_RESET_ON_FORK
    assert asked == [os.SCHED_FIFO | flag, os.SCHED_OTHER, os.SCHED_OTHER | flag]


def test_children_of_a_real_time_loop_are_ordinary():
    ask = [sys.executable, "-I", "-S", "-c", "import os; print(os.sched_getscheduler(0))"]
    with rights(RightsWanted(fifo_priority=5)):
        policy = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    assert policy == str(os.SCHED_OTHER)


@pytest.mark.parametrize("priority", [-1, 99, 1000])
def test_a_priority_that_belongs_to_the_kernel_is_refused(priority):
    with pytest.raises(ValueError, match="0 to 98"):
        RightsWanted(fifo_priority=priority)


def test_the_package_offers_the_context_manager_itself():
    assert package_rights is module.rights


@pytest.fixture
def inhibit(tmp_path, monkeypatch):
    """Makes this script the computer's systemd-inhibit."""

    def make(script):
        command = tmp_path / "systemd-inhibit"
        command.write_text(f"#!/bin/sh\n{script}\n")
        command.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return tmp_path

    return make


def test_suspension_is_prevented_for_as_long_as_the_rights_are_held(inhibit):
    place = inhibit('echo "$@" > "$(dirname "$0")/asked"; shift 4; "$@"; touch "$(dirname "$0")/ended"')
    with rights(RightsWanted(no_suspend=True)) as (item,):
        assert (item.name, item.granted, item.detail) == ("suspension", True, "granted")
        assert "--what=sleep --mode=block" in (place / "asked").read_text()
        assert not (place / "ended").exists()
    assert (place / "ended").exists()


def test_a_computer_that_may_be_suspended_all_the_same_says_why_and_what_helps(inhibit, monkeypatch):
    inhibit("echo 'Failed to inhibit: Access denied' >&2; exit 1")
    with rights(RightsWanted(no_suspend=True)) as (refused,):
        assert not refused.granted
        assert refused.detail.startswith("refused: systemd-inhibit: Failed to inhibit: Access denied; see to it that")
    monkeypatch.setenv("PATH", "")
    with rights(RightsWanted(no_suspend=True)) as (missing,):
        assert not missing.granted
        assert "No such file" in missing.detail
