"""A run in lockstep whose devices and stages can be made to fail at any tick, and what is left of it to look at."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from drivers.interfaces import DeviceError
from drivers.sim.in_process_rig import InProcessRig
from hil.app.faults.faulty_device import DeviceFault, FaultyDevice
from hil.app.run_loop import record_meta
from hil.config import Config
from hil.config.rig import Rig
from hil.experiments.base import FinishedRun, State
from hil.experiments.registry import build_cycle, experiment_named
from hil.messages.fault import Alarm
from hil.messages.operator_input import Stop
from hil.messages.stages import Tick
from hil.recording import open_writer, read_trial
from hil.recording.sinks import MemorySink
from hil.runtime.clock import LockstepClock
from hil.runtime.loop import Cycle, Loop
from hil.runtime.rig_io import RigIO
from hil.simulator.ground_truth import GroundTruth
from hil.simulator.simulated_rig import build_simulated_rig

# Simulated time recorded after a fault [s]: longer than any device takes to stop itself.
AFTER_FAULT_S = 0.6
# Devices are held after a run for so long at most [s].
HELD_S = 1.0
# An experiment that goes on is stopped so long after the injection [s]: longer than any fault takes to be noticed.
STOPPED_AFTER_S = 2.5
# States that begin later than this in a run without a fault are left out [s].
REFERENCE_S = 3.0
# A state is disturbed so many ticks after its first, or in its middle if it is shorter.
TICKS_INTO_STATE = 50

# The stages of a tick, by their names in a Cycle.
STAGES = ("rig_io", "estimator", "twin", "safety", "experiment", "controller", "limiter", "tick_logger")

Disturb = Callable[["LockstepRun"], None]


class FaultyStage:
    """A stage of a tick, of which methods can be replaced.

    Attributes:
        replaced: by the name of a method, what is called in its place, with the method itself before its arguments.
    """

    def __init__(self, stage: Any) -> None:
        self._stage = stage
        self.replaced: dict[str, Callable[..., Any]] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._stage, name)
        if name not in self.replaced:
            return found
        instead = self.replaced[name]
        return lambda *arguments: instead(found, *arguments)


@dataclass(frozen=True)
class LockstepResult:
    """What is left of a run.

    Attributes:
        config: of it.
        ticks: rows of `tick_dtype`.
        events: rows of `EVENT`.
        rig: the simulated rig, held.
        injected: number of the tick in which the first fault was injected; 0: none was.
        over: the experiment came to an end.
        refused: arming was refused.
        finished: all that its summary is made of.
    """

    config: Config
    ticks: NDArray[np.void]
    events: NDArray[np.void]
    rig: InProcessRig
    injected: int
    over: bool
    refused: bool
    finished: FinishedRun

    @property
    def injected_ns(self) -> int:
        """The latest time at which the fault had no effect yet, which is the tick before [ns]."""
        return (self.injected - 1) * 1_000_000_000 // self.config.loop.rate_hz

    @property
    def faults(self) -> NDArray[np.void]:
        """Events of the faults, those that only mark the run too."""
        return self.events[self.events["id"] > 0]


class LockstepRun:
    """One run of a config in virtual time and in this process.

    Args:
        rig: of a config in lockstep; the experiment is in it.
        folder: of the record; None: it is kept in memory.
        after_fault_s: simulated time that is recorded after a fault [s].
        stopped_after_s: an experiment that goes on is stopped so long after the injection [s].

    Attributes:
        rig: as given.
        injected: number of the tick in which the first fault was injected; 0: none was.
        simulated_rig: the rig.
        devices: its devices, by the names of their links.
        cycle: its stages, as they are built.
        stages: the same by name, as the loop uses them.
        loop: the loop.
        alarms: of the loop, called in each tick.
        cleanup: what is undone after the run.
    """

    def __init__(
        self,
        rig: Rig,
        folder: Path | None = None,
        *,
        after_fault_s: float = AFTER_FAULT_S,
        stopped_after_s: float = STOPPED_AFTER_S,
    ) -> None:
        self.rig, self._folder, self._stopped_after_s = rig, folder, stopped_after_s
        self.simulated_rig = simulated = build_simulated_rig(rig)
        self.devices: dict[str, FaultyDevice[Any, Any]] = {
            name: FaultyDevice(simulated.devices[name]) for name in rig.layout.links
        }
        rig_io = RigIO(rig.layout, self.devices)
        self._writer = None if folder is None else open_writer(folder, rig.config, record_meta(rig))
        self._memory = MemorySink(rig.layout)
        cycle = build_cycle(rig, rig_io, self._writer or self._memory, None)
        self.cycle = cycle
        self.stages: dict[str, Any] = {name: FaultyStage(getattr(cycle, name)) for name in STAGES}
        self._cycle: Cycle = replace(cycle, **self.stages)
        self._due: list[tuple[int, Disturb]] = []
        self.injected = 0
        self.alarms: list[Callable[[], Alarm | None]] = []
        self.cleanup = ExitStack()
        after = math.ceil(after_fault_s * rig.rate_hz)
        clock = _DisturbedClock(simulated, rig.rate_hz, self._act)
        self.loop = Loop(clock, self._cycle, self.alarms, after_fault=after)

    def at(self, tick: int, disturb: Disturb) -> None:
        """Have the run disturbed in a tick, after the rig has moved and before the loop samples."""
        self._due.append((tick, disturb))

    def inject(self, device: str, fault: DeviceFault) -> None:
        """Start a fault of a device."""
        self.devices[device].inject_fault(fault)

    def replace(self, stage: str, method: str, instead: Callable[..., Any]) -> None:
        """Replace a method of a stage from now on (`FaultyStage`)."""
        self.stages[stage].replaced[method] = instead

    def stop(self, reason: str) -> None:
        """End the experiment as an operator does; this is not a fault."""
        self._cycle.rig_io.operator.put(Stop(reason))

    def run(self) -> LockstepResult:
        """Run to the end, and hold the devices then."""
        with self.cleanup:
            if self._writer is not None:
                self.cleanup.callback(self._writer.close)
            self._cycle.rig_io.open()
            self.loop.run()
        self._hold()
        ticks, events = self._memory.ticks, self._memory.events
        if self._folder is not None:
            record = read_trial(self._folder, trusted=True)
            ticks, events = record.tick, record.events
        experiment: Any = self._cycle.experiment
        ground_truth, timings = GroundTruth.of(self.simulated_rig.plant), self._memory.timings
        samples = self._memory.samples("daq") if self.rig.config.record.sensors == "all" else None
        finished = FinishedRun(
            self.rig, self.cycle, self.loop.clock, ground_truth, ticks, timings, events, None, None, 0.0, samples,
            self._memory.samples("loads"),
        )  # fmt: skip
        over, refused = experiment.over, experiment.refused
        return LockstepResult(
            self.rig.config, ticks, events, self.simulated_rig, self.injected, over, refused, finished
        )

    def _hold(self) -> None:
        """Stop the devices and hold them so, as after every run, until the commands that are under way have arrived."""
        rig, period_ns = self.simulated_rig, 1_000_000_000 // self.rig.rate_hz
        until_ns = rig.plant.t_ns + round(HELD_S * 1e9)

        def settled() -> bool:
            under_way = any(device.commands_under_way for device in self.devices.values())
            return not (rig.active() or under_way)

        while not settled() and rig.plant.t_ns < until_ns:
            rig.advance(rig.plant.t_ns + period_ns)
            for device in self.devices.values():
                with suppress(DeviceError):
                    device.read(rig.plant.t_ns)
            self._cycle.rig_io.stop(rig.plant.t_ns)

    def _act(self, tick: Tick) -> None:
        for due in [one for one in self._due if one[0] <= tick.number]:
            self._due.remove(due)
            self.injected = self.injected or tick.number
            due[1](self)
        if self.injected and tick.number - self.injected == self._stopped_after_s * self.rig.rate_hz:
            self.stop("fault injection: nothing more to wait for")


class _DisturbedClock(LockstepClock):
    """Calls `act` in each tick, after the simulated rig has moved."""

    def __init__(self, rig: InProcessRig, rate_hz: int, act: Callable[[Tick], None]) -> None:
        super().__init__(rig, rate_hz)
        self._act = act

    @override
    def next(self) -> Tick:
        tick = super().next()
        self._act(tick)
        return tick


def state_ticks(rig: Rig, until_s: float = REFERENCE_S) -> dict[str, int]:
    """A tick in each state of the first part of a run without a fault, by the state's name in lower case.

    Args:
        rig: of the run.
        until_s: length of that part [s].
    """
    run = LockstepRun(rig)
    last = round(until_s * rig.rate_hz)
    run.at(last, lambda run: run.stop("fault injection: the states of a run without a fault"))
    states = run.run().ticks["state"][: last - 1]
    found: dict[str, int] = {}
    for state in experiment_named(rig.config.experiment).states:
        ticks = np.flatnonzero(states == state.value)
        if len(ticks) and state.value not in (State.DONE, State.ABORTED):
            found[state.name.lower()] = int(ticks[0]) + 1 + min(TICKS_INTO_STATE, len(ticks) // 2)
    return found
