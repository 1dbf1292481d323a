"""Trials with a random fault of a simulated device in each: SOAK_WIRE trials, by default 20."""

import os
import random
import signal
import time

import pytest

from hil.recording import read_trial

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("stalls")]
MS = 1_000_000
SETTLED_MS = 250  # after a fault: two tries of the slowest link, a time-out of the controllers, and some margin
LINES = ("roboclaw", "modbus")
SPOILT = ("delayed", "intermittent", "garbage", "slow", "duplicate")


def misbehaviour(wire, chance: random.Random):
    """A disturbance in the middle of a trial, and its description."""
    what = chance.choice(("spoil", "spoil", "spoil", "gone", "daq", "e_stop", "kill"))
    if what == "spoil":
        how = {"kind": chance.choice(SPOILT), "count": chance.randint(1, 30), "every": chance.randint(1, 12),
               "ms": chance.uniform(1, 150), "requests": chance.random() < 0.3}  # fmt: skip
        device = chance.choice(LINES)
        return f"{device} {how}", lambda _: wire.inject_fault(device, **how)
    if what == "gone":
        device, kind = chance.choice(LINES), chance.choice(("off", "disconnect"))
        return f"{device} {kind}", lambda _: wire.inject_fault(device, kind)
    if what == "daq":
        how = chance.choice(({"kind": "delayed", "ms": chance.uniform(1, 200)}, {"kind": "error", "code": -200279},
                             {"kind": "error", "code": -50405}, {"kind": "off"}))  # fmt: skip
        return f"daq {how}", lambda _: wire.inject_fault("daq", **how)
    if what == "e_stop":
        device = chance.choice(("roboclaw", "daq"))
        return f"e_stop of {device}", lambda _: wire.press(device)
    name = chance.choice(("daq", "drives", "valves", "watchdog"))
    number = chance.choice((signal.SIGKILL, signal.SIGSTOP))

    def act(workers):
        os.kill(workers[name], number)
        return time.monotonic_ns()

    return f"{number.name} of {name}", act


@pytest.mark.parametrize("seed", range(int(os.environ.get("SOAK_WIRE", "20"))))
def test_whatever_happens_the_wheels_stop_and_stay_so_and_the_record_is_there(wire, trial, seed):
    chance = random.Random(seed)
    words, act = misbehaviour(wire, chance)
    run = trial(act, at_s=chance.uniform(0.3, 1.8))
    seen = wire.control.ask("stops", device="roboclaw")
    for address in (0x80, 0x81, 0x82):
        last_start = max((at for one, at in seen["starts"] if one == address), default=0)
        last_stop = max((at for one, at in [*seen["stops"], *seen["timeouts"]] if one == address), default=0)
        pressed = words == "e_stop of roboclaw"  # this stop comes neither from a command nor from a time-out
        assert pressed or last_stop > last_start, words
        if run.events:
            assert last_start < run.start_ns + run.events[0].t_ns + SETTLED_MS * MS, (words, run.events)
            if not pressed:
                assert last_stop < run.start_ns + run.events[0].t_ns + SETTLED_MS * MS, (words, run.events)
    tick = read_trial(run.folder).tick
    assert len(tick) > 500
    assert tick["safe"][-1] == bool(run.events)
