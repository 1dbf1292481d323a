"""The clocks that start each tick, and the fixed-step loop: wait, run a tick, and go to Safe on any error.

One tick: sample, estimate, predict, check, decide, control, limit, command, record.
"""

from __future__ import annotations

import errno
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from typing_extensions import override

from drivers.host import Host
from hil.control.wheel_speed import Controller
from hil.estimation.estimator import Estimator
from hil.estimation.twin import RoverTwin
from hil.messages.fault import Alarm, Fault
from hil.messages.operator_input import EStop, shortened
from hil.messages.stages import Estimate, Goal, Prediction, Samples, StageTimer, Tick
from hil.recording.sinks import RecordBufferFull, TickLogger
from hil.runtime.rig_io import RigIO
from hil.safety.limiter import Limiter
from hil.safety.monitor import SafetyMonitor

# A paced clock that is later than this does not make up for it [ns].
CATCH_UP_NS = 50_000_000


class _SteppedRig(Protocol):
    """A simulated rig that the clock advances."""

    def advance(self, t_ns: int) -> None:
        """Move to time t_ns [ns]."""


class Clock(Protocol):
    """Produces the ticks, and counts late and skipped ones.

    Attributes:
        name: as in the config.
        late: ticks that ended after the next deadline.
        skipped: periods without a tick.
        alarm: the reason to go Safe in this tick, or None.
    """

    name: str
    late: int
    skipped: int
    alarm: Alarm | None

    @property
    def wake_us(self) -> dict[str, Any] | None:
        """Quantiles and histogram of the wake-up latency [us]; None in virtual time."""

    def next(self) -> Tick:
        """Wait for the next tick."""


class LockstepClock:
    """Virtual time in one process: each tick advances the simulated rig, as fast as the machine can."""

    name = "lockstep"

    def __init__(self, simulated_rig: _SteppedRig, rate_hz: int) -> None:
        self._simulated_rig, self._rate_hz = simulated_rig, rate_hz
        self._number = 0
        # virtual time waits for the loop
        self.late = self.skipped = 0
        self.alarm: Alarm | None = None

    @property
    def wake_us(self) -> None:
        """None: virtual time has no wake-up latency."""
        return None

    def next(self) -> Tick:
        """The next tick."""
        self._number += 1
        t_ns = self._number * 1_000_000_000 // self._rate_hz
        began = time.monotonic_ns()
        self._simulated_rig.advance(t_ns)
        arrived = time.monotonic_ns()
        return Tick(self._number, t_ns, arrived, arrived - began)


class PacedClock(LockstepClock):
    """Virtual time that is never ahead of the wall clock, so that people can operate a simulated rig.

    The values of a tick do not depend on the pace.
    """

    def __init__(self, simulated_rig: _SteppedRig, rate_hz: int, host: Host) -> None:
        super().__init__(simulated_rig, rate_hz)
        self._pace = Pace(host, rate_hz)

    @override
    def next(self) -> Tick:
        self._pace.wait()
        return super().next()


class Pace:
    """Keeps virtual time from being ahead of the wall clock.

    After a stall of the machine virtual time does not hurry.
    """

    def __init__(self, host: Host, rate_hz: int) -> None:
        self._host, self._period_ns = host, 1_000_000_000 // rate_hz
        self._due_ns = 0

    def wait(self) -> None:
        """Wait until the next tick may begin."""
        now_ns = self._host.now_ns()
        if now_ns < self._due_ns:
            self._host.sleep((self._due_ns - now_ns) * 1e-9)
        began_ns = max(self._due_ns, now_ns - CATCH_UP_NS) if self._due_ns else now_ns
        self._due_ns = began_ns + self._period_ns


class _DecideStage(Protocol):
    """The part of an experiment that a tick uses (`hil.experiments.base.Experiment`)."""

    @property
    def over(self) -> bool:
        """Whether the experiment has ended."""

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:
        """The goal of this tick."""


@dataclass(frozen=True)
class Cycle:
    """The stages of a tick, in this order; each passes one frozen value to the next."""

    rig_io: RigIO
    estimator: Estimator
    twin: RoverTwin
    safety: SafetyMonitor
    experiment: _DecideStage
    controller: Controller
    limiter: Limiter
    tick_logger: TickLogger

    def run(self, tick: Tick) -> None:
        """Run all stages, from the samples to the command. An exception here leads to Safe (hil.runtime.loop)."""
        timer = StageTimer(tick)
        samples = timer.timed(self.rig_io.sample(tick.t_ns))
        estimate = timer.timed(self.estimator.estimate(samples))
        prediction = timer.timed(self.twin.predict(samples, estimate))
        self.safety.check(tick.number, samples, estimate, prediction)
        timer.end_stage()
        goal = timer.timed(self.experiment.decide(samples, estimate, prediction, self.safety.safe))
        set_points = timer.timed(self.controller.control(goal, samples, estimate, prediction))
        command = timer.timed(self.limiter.check(tick, set_points, samples.servos))
        self.rig_io.command(tick.t_ns, command)
        self.safety.record_command(tick.t_ns, command)
        timer.end_stage()
        self.tick_logger.record(tick, samples, estimate, prediction, command)
        timer.end_stage()
        self.tick_logger.timing(tick, timer)


# Ticks recorded after the first fault.
TICKS_AFTER_FAULT = 1000


class Loop:
    """Runs a cycle until its experiment is over.

    Args:
        alarms: called in each tick; each returns a reason to go Safe that is outside the tick's values, or None.
        feed: called at the end of each good tick; it feeds the watchdog.
        after_fault: ticks recorded after the first fault.
    """

    def __init__(
        self,
        clock: Clock,
        cycle: Cycle,
        alarms: Sequence[Callable[[], Alarm | None]] = (),
        feed: Callable[[], None] = lambda: None,
        after_fault: int = TICKS_AFTER_FAULT,
    ) -> None:
        self.clock, self._cycle, self._alarms, self._feed = clock, cycle, alarms, feed
        self._left = self._after_fault = after_fault
        self.last = Tick(0, 0, 0, 0)

    def stop(self, reason: str) -> None:
        """Request Safe in the next tick (E-stop, Ctrl-C); may be called in a signal handler."""
        self._cycle.rig_io.operator.put(EStop(shortened(reason)))

    @property
    def missed_stop(self) -> bool:
        """A stop was requested that no tick has read."""
        return self._cycle.rig_io.operator.waits

    def run(self) -> None:
        """Tick until the experiment is over; after a fault, record `after_fault` ticks more. Raises no Exception."""
        experiment, safety = self._cycle.experiment, self._cycle.safety
        while self._left > 0 and not (experiment.over and not safety.safe):
            self._left = self._left - 1 if safety.safe else self._after_fault
            try:
                self.last = self.clock.next()
                for alarm in (self.clock.alarm, *[look() for look in self._alarms]):
                    if alarm:
                        safety.report(alarm, self.last.number, self.last.t_ns)
                self._cycle.run(self.last)
                self._feed()
            except Exception as error:
                self._make_safe(error)

    def _make_safe(self, error: Exception) -> None:
        """Stop every device first, then record why."""
        stopped = self._cycle.rig_io.stop(self.last.t_ns)
        alarm = Alarm(_fault_of(error), math.nan, math.nan, _in_words(error))
        # Safe is latched before the fault is recorded: the record may be what failed
        with suppress(Exception):
            self._cycle.safety.report(alarm, self.last.number, self.last.t_ns)
        with suppress(Exception):  # what stands now is not compared with the command of the tick before
            self._cycle.safety.record_command(self.last.t_ns, stopped)


def _fault_of(error: Exception) -> Fault:
    if isinstance(error, RecordBufferFull):
        return Fault.RECORD_RING_FULL
    return Fault.DISK_FULL if isinstance(error, OSError) and error.errno == errno.ENOSPC else Fault.EXCEPTION


def _in_words(error: Exception) -> str:
    """Name and message of an exception, as text that any file can hold; never raises."""
    try:
        message = str(error).encode(errors="replace").decode()
    except Exception:
        message = "cannot be put in words"
    return f"{type(error).__name__}: {message}"
