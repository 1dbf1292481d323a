"""The realtime clock uses the same code as lockstep, and a loop that is late goes Safe."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import hil.app.run
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.fault import Alarm, Fault
from hil.messages.stages import Tick
from hil.realtime.clock import RealtimeClock
from hil.recording import read_trial
from hil.runtime.loop import TICKS_AFTER_FAULT, Loop
from hil.safety.monitor import SafetyMonitor

SHORT = ("trial.start_distance_m=0.03", "trial.ramp_s=0.1", "telemetry.endpoint=''")


def run(folder, watch_rig=lambda _: None):
    folder.mkdir()
    real = hil.app.run.open_backend

    def watched(*args):
        rig = real(*args)
        watch_rig(rig)
        return rig

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hil.app.run, "open_backend", watched)
        return hil.app.run.run_experiment(
            load_config("sim_impact", SHORT), folder, progress=lambda _: None, figure=False
        )


def put_on_a_realtime_clock(rig) -> None:
    """A wall clock on which only sleep takes time; the rig advances during sleep."""
    now_ns = [5_000_000_000]

    def sleep_until(t_ns: int) -> None:
        now_ns[0] = t_ns
        rig.simulated_rig.advance(t_ns - 5_000_000_000)

    rig.loop.clock = RealtimeClock(1000, now=lambda: now_ns[0], sleep_until=sleep_until)


@pytest.mark.slow
def test_a_realtime_trial_that_loses_no_tick_is_the_lockstep_trial(tmp_path) -> None:
    real, lock = run(tmp_path / "realtime", put_on_a_realtime_clock), run(tmp_path / "lockstep")
    assert real.exit_code == lock.exit_code == 0
    assert real.summary["loop"]["skipped"] == 0
    assert real.summary["loop"]["wake_us"]["max"] == 0.0
    ticks = [read_trial(tmp_path / name, trusted=True).tick for name in ("realtime", "lockstep")]
    assert ticks[0].tobytes() == ticks[1].tobytes()


def test_a_loop_that_loses_its_time_goes_safe_in_that_tick() -> None:
    safety = SafetyMonitor(Rig(load_config("sim_impact")))
    safe_at: list[tuple[int, bool]] = []

    class Clock:
        number, alarm = 0, None

        def next(self) -> Tick:
            self.number += 1
            late = Alarm(Fault.LOOP_LATE, 21.0, 20.0, "loop: a tick began 21.0 ms late")
            self.alarm = late if self.number == 5 else None
            return Tick(self.number, self.number, 0, 0)

    cycle = SimpleNamespace(
        safety=safety,
        experiment=SimpleNamespace(over=False),
        run=lambda tick: safe_at.append((tick.number, safety.safe)),
    )
    Loop(Clock(), cycle).run()
    assert [number for number, safe in safe_at if not safe] == [1, 2, 3, 4]
    assert len(safe_at) == 5 + TICKS_AFTER_FAULT
    assert [(event.alarm.fault, event.tick, event.alarm.value) for event in safety.events] == [
        (Fault.LOOP_LATE, 5, 21.0)
    ]
