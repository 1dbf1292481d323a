"""A machine that stalls for 30 ms: there is no effect, or everything stops and stays stopped."""

import os
import random
import signal

import pytest

from hil.messages.fault import Fault
from hil.recording import read_trial

SEEDS = range(int(os.environ.get("SOAK_STALLS", "3")))  # `make soak` tests more moments
STALL_NS, MS = 30_000_000, 1_000_000
pytestmark = pytest.mark.timeout(900)  # wall-clock seconds, of which a busy machine may need many
ADDRESSES = {0x80, 0x81, 0x82}


@pytest.mark.ci_cases("the whole machine-0", "all but the devices-0")
@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("devices", [True, False], ids=["the whole machine", "all but the devices"])
def test_a_stall_at_any_moment_comes_to_nothing_or_to_safe_with_every_controller_stopped(trial, seed, devices):
    chance = random.Random(f"{seed} {devices}")
    moment_s = chance.uniform(0.0, 1.4)
    done = trial(lambda run: run.time.stall(STALL_NS, devices=devices), at_s=moment_s)
    assert done.error is None
    assert done.runs_at_the_end() == set()
    tick = read_trial(done.folder, trusted=True).tick
    if done.events:
        safe_ns = done.start_ns + done.events[0].t_ns
        assert tick["safe"][-1] == 1
        assert [address for address, at_ns in done.all_seen("starts") if at_ns > safe_ns + 2 * STALL_NS] == []
    elif done.stopped_ns is None:  # not armed, or ended early: then it never drove
        assert done.all_seen("starts") == []
    else:
        assert tick["safe"][-1] == 0
        assert done.stopped_ns is not None
        assert {address for address, _ in done.all_seen("starts")} == ADDRESSES


@pytest.mark.slow
def test_a_machine_that_stood_still_ends_the_run_and_the_loop_that_wakes_last_makes_the_next_one(trial):
    """The watchdog stood still, too: it asks again before it takes the loop for hung."""

    def stall(run):
        run.signal("loop", signal.SIGSTOP)
        run.time.stall(2_000_000_000, devices=False)
        run.sleep(2.05)
        run.signal("loop", signal.SIGCONT)

    done = trial(stall, again=1)
    assert done.error is None
    assert (done.folder / "summary.json").is_file()
    assert done.runs_at_the_end() == set()


@pytest.mark.slow
def test_a_suspended_computer_leads_to_safe_in_the_first_tick_after_it_and_nothing_starts_again(trial):
    """The clock by which all act stands still meanwhile: without the other one the run would go on, and be accepted."""
    done = trial(lambda run: run.suspend(3.0))
    assert [event.alarm.fault for event in done.events] == [Fault.COMPUTER_SUSPENDED]
    assert 0 <= done.start_ns + done.events[0].t_ns - done.acted_ns <= MS
    assert done.runs_at_the_end() == set()
    assert read_trial(done.folder, trusted=True).tick["safe"][-1] == 1
    assert [at_ns for _, at_ns in done.all_seen("starts") if at_ns > done.acted_ns] == []


@pytest.mark.slow
def test_a_loop_whose_links_have_stopped_hears_of_it_in_its_next_tick(trial):
    """At 100 Hz no tick is late: the loop would command on until the samples are too old, 200 ms later."""

    def stall(run):
        run.sleep(0.005)  # to the middle of a period
        run.signal("loop", signal.SIGSTOP)
        run.sleep(0.022)
        run.signal("loop", signal.SIGCONT)

    done = trial(stall, "loop.rate_hz=100")
    assert done.events[0].alarm.fault is Fault.DEAD_MAN_ACTED
    assert done.start_ns + done.events[0].t_ns - done.acted_ns <= 40 * MS
    assert done.runs_at_the_end() == set()
