"""Times from an impact to the cut, in virtual time, and the impacts of a rig in real time."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec

from drivers.interfaces import DeviceError
from hil.app.backends import RealtimeBackend
from hil.app.run_loop import Signals, run_loop
from hil.app.virtual import VirtualComputer
from hil.config.rig import Rig
from hil.control.wheel_speed import DirectSetPoints
from hil.experiments.base import ArmingChecks, Experiment
from hil.experiments.impact.experiment import ImpactState
from hil.messages.stages import ByWheel, Estimate, Goal, Prediction, Samples
from hil.realtime import RightsWanted
from hil.recording.sinks import CutTimes
from hil.simulator.control_socket import ControlClient

# The step ends during the pause after a cut; in the rest of it the channels are zeroed and the rig runs again.
STEP_S = 0.08
REST_S = 0.55
SPREAD_S = 0.1
AFTER = 300  # samples, 10 ms of them at 30 kHz


def inject_impacts(path: str, channel: str, volts: str, seed: str) -> None:
    """Inject steps of so many volts until killed; the path is that of the control socket."""
    chance = random.Random(int(seed))
    sys.stdin.readline()
    try:
        with ControlClient(path) as control:
            while True:
                time.sleep(REST_S + SPREAD_S * chance.random())
                # at any position in a block: the simulated rig sends its samples in groups of a millisecond
                control.ask("step", channel=channel, volts=float(volts), after=chance.randrange(AFTER))
                time.sleep(STEP_S)
                control.ask("clear_steps")
    except DeviceError:  # the rig has been stopped
        return


# Pause after a cut: the sensor returns to rest, and the channels are zeroed again.
PAUSE_NS = 150_000_000


class RepeatedImpacts(Experiment):
    """Repeats: arm, run, cut at the impact, pause, zero the channels.

    Args:
        count: number of impacts.
        speed_radps: (6,) of the wheels between impacts [rad/s].
        timeout_s: with fewer impacts at this time the run is aborted [s].
        rig: that moves.
        checks: runs the arming checks, once.

    Attributes:
        reset: clears the detected impact; set before the first tick.
        driving: called each time the wheels begin to turn; set before the first tick.
        found: the cuts so far.
    """

    name = "repeated impacts"
    states = ImpactState

    def __init__(self, count: int, speed_radps: ByWheel, timeout_s: float, rig: Rig, checks: ArmingChecks) -> None:
        super().__init__(rig, lambda samples, estimate: self.checks or checks(samples, estimate))
        self._count, self._speeds, self._timeout_ns = count, speed_radps, timeout_s * 1e9
        self._began: CutTimes | None = None
        self.reset: Callable[[], None] = lambda: None
        self.driving: Callable[[], None] = lambda: None
        self.found: list[CutTimes] = []

    def controller(self) -> DirectSetPoints:
        """Passes wheel speeds on unchanged."""
        return DirectSetPoints()

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """The goal of this tick."""
        t_ns = samples.t_ns
        if self._begin_or_end(samples, estimate, safe or t_ns > self._timeout_ns):
            pass
        elif self.state == ImpactState.ARMED and self._may_start(samples):
            self._enter(ImpactState.RUN_UP, t_ns)
            self.driving()
        elif self.state == ImpactState.RUN_UP and estimate.impact_ns is not None:
            self._began = _cut_times(samples, estimate.impact_ns)
            self._enter(ImpactState.IMPACT, t_ns)
        elif self.state == ImpactState.IMPACT:
            self._see_stopped(samples)
        if self.state != ImpactState.RUN_UP:
            return Goal(self.state, True)
        return Goal(self.state, False, speed_radps=self._speeds)

    def _see_stopped(self, samples: Samples) -> None:
        """Store when the drives were stopped; after the pause, start again."""
        stopped_ns = samples.drives.stopped_ns
        if self._began is not None and stopped_ns >= self._began.sample_ns:
            self.found.append(msgspec.structs.replace(self._began, stopped_ns=stopped_ns))
            self._began = None
        if len(self.found) >= self._count:
            self._enter(ImpactState.DONE, samples.t_ns)
        elif samples.t_ns - self._since_ns >= PAUSE_NS:
            self.reset()
            self._enter(ImpactState.IDLE, samples.t_ns)


class ImpactsOfRun:
    """Makes the experiment of a run: so many impacts at the speed of the config, aborted after a time [s]."""

    def __init__(self, count: int, timeout_s: float) -> None:
        self._count, self._timeout_s, self.made = count, timeout_s, list[RepeatedImpacts]()

    def make(self, rig: Rig, checks: ArmingChecks) -> RepeatedImpacts:
        """Called once by the run."""
        speeds = tuple(rig.config.trial.speed_mps / radius_m for radius_m in rig.config.wheel_radii_m)
        self.made.append(RepeatedImpacts(self._count, speeds, self._timeout_s, rig, checks))
        return self.made[0]


def _cut_times(samples: Samples, impact_ns: int) -> CutTimes:
    """Times of the block with the sample of the impact; it may be an earlier one: detection takes several samples."""
    block = next((block for block in samples.blocks if block.t_ns[-1] >= impact_ns), samples.blocks[-1])
    return CutTimes(impact_ns, int(block.t_ns[-1]), block.arrived_ns, samples.t_ns, -1)


# A step of a sensor begins so long after the wheels, at a random time of a spread that holds every place in a block and
# in a round of the drives; its end, in the pause after the cut [ns].
BEGINS_NS, SPREAD_NS, ENDS_NS = 100_000_000, 60_000_000, 80_000_000
# An impact and its pause take less than so long [s].
SECONDS_A_CUT = 2.0


def virtual_cuts(rig: Rig, events: int, step_V: float, seed: int = 1) -> list[CutTimes]:
    """Inject impacts into one run in virtual time, at random times.

    The config has `rig: simulated_wire` and `clock: lockstep`, and its rover does not reach the obstacle. The step is
    on the first channel [V]. Returns their cuts; fewer than `events` if the run ended early.
    """
    chance, impacts = random.Random(seed), ImpactsOfRun(events, SECONDS_A_CUT * events)
    with Signals() as signals, ExitStack() as stack:
        folder, scratch = (Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2))
        computer = VirtualComputer(rig, scratch, lambda: None)
        stack.callback(computer.close)

        def step() -> None:
            computer.rig.ask("step", channel=rig.layout.channels[0], volts=step_V, after=chance.randrange(AFTER))

        def end_step() -> None:
            computer.rig.ask("clear_steps")

        def inject() -> None:
            begins_ns = computer.time.now_ns + BEGINS_NS + chance.randrange(SPREAD_NS)
            computer.time.call_at(begins_ns, step)
            computer.time.call_at(begins_ns + ENDS_NS, end_step)

        backend = RealtimeBackend(rig, folder, lambda _: None, stack, make=impacts.make, platform=computer.platform)
        (trial,) = impacts.made
        trial.reset, trial.driving = backend.cycle.estimator.reset, inject
        run_loop(backend, signals, lambda _: None, wanted=RightsWanted())
    return trial.found
