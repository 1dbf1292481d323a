"""A machine that stalls for 30 ms: there is no effect, or everything stops and stays stopped."""

import os
import random

import pytest

from hil.recording import read_trial

SEEDS = range(int(os.environ.get("SOAK_STALLS", "3")))  # `make soak` tests more moments
STALL_NS = 30_000_000
pytestmark = pytest.mark.timeout(900)  # wall-clock seconds, of which a busy machine may need many
ADDRESSES = {0x80, 0x81, 0x82}


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
