"""One tick: sample, estimate, model, control, gate, command, record. Read this and you know the program."""

from __future__ import annotations

from dataclasses import dataclass

from hil.devices import Devices
from hil.estimate.estimator import Estimator
from hil.estimate.twin import RoverTwin
from hil.gate import Gate
from hil.safety import Safety
from hil.scribe import Scribe
from hil.trials.state import Trial
from hil.values import Laps, Tick


@dataclass(frozen=True)
class Cycle:
    """The rooms that a tick passes through, in this order; each hands one frozen value to the next."""

    devices: Devices
    estimator: Estimator
    twin: RoverTwin
    safety: Safety
    trial: Trial
    gate: Gate
    scribe: Scribe

    def run(self, tick: Tick) -> None:
        """Take one sample of the rig all the way to a command. An exception here ends in Safe (hil.loop)."""
        laps = Laps(tick)
        samples = laps.of(self.devices.sample(tick.t_ns))
        estimate = laps.of(self.estimator.estimate(samples))
        prediction = laps.of(self.twin.predict(samples, estimate))
        self.safety.watch(tick.number, samples, estimate, prediction)
        request = laps.of(self.trial.control(samples, estimate, prediction, self.safety.safe))
        command = laps.of(self.gate.check(tick, request))
        self.devices.command(tick.t_ns, command)
        self.safety.heed(tick.t_ns, command)
        laps.end()
        self.scribe.record(tick, samples, estimate, prediction, command)
        laps.end()
        self.scribe.timing(tick, laps)
