"""The realtime clock drives the same path as lockstep does, and a loop that loses its time goes Safe."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest

import hil.app
from hil.clock import Overrun
from hil.config import load_config
from hil.loop import TICKS_AFTER_FAULT, Loop
from hil.realtime import RealtimeClock
from hil.record import read_trial
from hil.safety import Fault, Safety
from hil.values import Tick

SHORT = ("trial.start_distance_m=0.03", "trial.ramp_s=0.1", "telemetry.endpoint=''", "realtime.fifo_priority=0")
ORDINARY = ("realtime.lock_memory=false", "realtime.awake=false")


class FakeTime:
    """A wall clock on which nothing takes time but sleep."""

    def __init__(self) -> None:
        self.t_ns = 5_000_000_000

    def now(self) -> int:
        return self.t_ns

    def sleep_until(self, t_ns: int) -> None:
        self.t_ns = max(self.t_ns, t_ns)


def run(folder, clock: str):
    folder.mkdir()
    config = load_config("sim_impact", [*SHORT, *ORDINARY, f"clock={clock}"])
    return hil.app.run_trial(config, folder, say=lambda _: None)


def test_a_realtime_trial_that_loses_no_tick_is_the_lockstep_trial(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeTime()
    monkeypatch.setattr(hil.app, "RealtimeClock", partial(RealtimeClock, now=fake.now, sleep_until=fake.sleep_until))
    real, lock = run(tmp_path / "realtime", "realtime"), run(tmp_path / "lockstep", "lockstep")
    assert real.exit_code == lock.exit_code == 0
    assert real.summary["loop"]["skipped"] == 0
    assert real.summary["loop"]["wake_us"]["max"] == 0.0
    ticks = [read_trial(tmp_path / name).tick for name in ("realtime", "lockstep")]
    assert ticks[0].tobytes() == ticks[1].tobytes()


def test_what_the_kernel_granted_is_in_the_record(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeTime()
    monkeypatch.setattr(hil.app, "RealtimeClock", partial(RealtimeClock, now=fake.now, sleep_until=fake.sleep_until))
    run(tmp_path / "run", "realtime")
    events = read_trial(tmp_path / "run").events
    assert {row["detail"].split(b":")[0] for row in events if row["id"] == 0} == {b"garbage collector", b"timer slack"}


def test_a_loop_that_loses_its_time_goes_safe_in_that_tick() -> None:
    safety = Safety(load_config("sim_impact"))
    safe_at: list[tuple[int, bool]] = []

    class Clock:
        number, overrun = 0, None

        def next(self) -> Tick:
            self.number += 1
            self.overrun = Overrun(21.0, 20.0, "loop: a tick began 21.0 ms late") if self.number == 5 else None
            return Tick(self.number, self.number, 0, 0)

    cycle = SimpleNamespace(
        safety=safety,
        trial=SimpleNamespace(over=False),
        run=lambda tick: safe_at.append((tick.number, safety.safe)),
    )
    Loop(Clock(), cycle).run()
    assert [number for number, safe in safe_at if not safe] == [1, 2, 3, 4]
    assert len(safe_at) == 5 + TICKS_AFTER_FAULT
    assert [(event.fault, event.tick, event.value) for event in safety.events] == [(Fault.LOOP_LATE, 5, 21.0)]
