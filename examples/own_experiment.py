"""An experiment of your own on the simulated rig: forward for a second, faster for a second, then cut.

Arming, faults, the operator's stop, the limiter and the record are those of every experiment. Run it with
`.venv/bin/python examples/own_experiment.py`. It prints:

    states: IDLE 0.201 s, ARMED 0.050 s, SLOW 1.000 s, FAST 1.000 s, DONE 0.001 s
    largest measured wheel speed: 0.41 rad/s; forward by 98 mm
    faults: none

In a package that names this class by an entry point (docs/how-to/add-a-driver.md) `hil run` takes it from a config. Its
own settings and its own part of the summary are in the one that `hil init experiment NAME` writes.
"""

from enum import IntEnum

import numpy as np

from hil.app.run_loop import simulated_rig_io
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.base import Experiment
from hil.experiments.registry import build_cycle
from hil.messages.stages import Estimate, Goal, Prediction, Samples
from hil.recording.sinks import MemorySink
from hil.runtime.loop import LockstepClock, Loop
from hil.simulator.simulated_rig import build_simulated_rig

MOST_CHANGE_RADPS = 0.002  # of the speed in a tick of 1 ms: under limits.wheel_acceleration_radps2


class State(IntEnum):
    """IDLE, ARMED, DONE and ABORTED are those of every experiment."""

    IDLE, ARMED, SLOW, FAST, DONE, ABORTED = 0, 1, 2, 3, 5, 6


SPEED_RADPS = {State.SLOW: 0.2, State.FAST: 0.4}


class TwoSpeeds(Experiment):
    """Decides in each tick what is wanted."""

    name, states = "two_speeds", State
    _speed = 0.0

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """The goal of this tick: a cut, or speeds of the wheels."""
        over = samples.t_ns - self._since_ns >= 1_000_000_000  # ns in this state
        if self._begin_or_end(samples, estimate, safe):
            pass  # a fault, the operator or arming has decided
        elif self.state == State.ARMED and self._may_start(samples):
            self._enter(State.SLOW, samples.t_ns)
        elif self.state in SPEED_RADPS and over:
            self._enter(State.FAST if self.state == State.SLOW else State.DONE, samples.t_ns)
        wanted = SPEED_RADPS.get(State(self.state), 0.0)
        self._speed += min(max(wanted - self._speed, -MOST_CHANGE_RADPS), MOST_CHANGE_RADPS)
        return Goal(self.state, cut=not wanted, speed_radps=(self._speed,) * len(self.config.layout.wheels))


config = load_config("sim_impact", ["trial.start_distance_m=0.5"])
rig, sink = Rig(config), MemorySink(config.layout)
simulated = build_simulated_rig(rig)
devices = simulated_rig_io(rig.layout, simulated)
cycle = build_cycle(rig, devices, sink, None, make=TwoSpeeds)
devices.open()
Loop(LockstepClock(simulated, rig.rate_hz), cycle).run()
devices.close()

ticks = sink.ticks
counts = ((state.name, np.count_nonzero(ticks["state"] == state)) for state in State)
print("states:", ", ".join(f"{name} {count / rig.rate_hz:.3f} s" for name, count in counts if count))
way_m = ticks["speed_mps"].sum() / rig.rate_hz
print(f"largest measured wheel speed: {ticks['wheel_speed_radps'].max():.2f} rad/s; forward by {way_m * 1e3:.0f} mm")
print("faults:", cycle.safety.faults or "none")
