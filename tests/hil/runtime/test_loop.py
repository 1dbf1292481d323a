"""Any error in a tick stops the rig in the same tick, and the loop continues to run."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import takewhile

import numpy as np
import pytest

from drivers.interfaces import DeviceError
from drivers.messages import DaqBlock, DriveCommand, DriveSample, ValveCommand, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.impact.experiment import ImpactExperiment, ImpactState
from hil.messages.fault import Alarm, Event, Fault
from hil.messages.signals import PHASES
from hil.messages.stages import IDLE_STATE, Command, Estimate, Prediction, Tick
from hil.runtime.loop import TICKS_AFTER_FAULT, Cycle, Loop
from hil.runtime.rig_io import RigIO
from hil.safety.limiter import Limiter
from hil.safety.monitor import SafetyMonitor

VALVES_OFF = ((False, False), (False, False))

ZERO_SPEEDS = (0.0,) * 6  # the speeds of six wheels

CONFIG = load_config("sim_impact")
MS = 1_000_000
FAULT_TICK = 120  # in the run-up, which starts 50 ms after the start of the run

Entries = list[tuple[str, object]]


class OddError(Exception):
    """An unknown kind of error, which also cannot be printed."""

    def __str__(self) -> str:
        raise ValueError("no words")


class FakeClock:
    def __init__(self, entries: Entries) -> None:
        self.entries, self.number = entries, 0
        self.alarm: Alarm | None = None

    def next(self) -> Tick:
        self.number += 1
        self.entries.append(("beat", self.number))
        return Tick(self.number, self.number * MS, 0, 0)


class FakeLink:
    """A device that answers at once and stores its commands."""

    def __init__(self, name: str, entries: Entries) -> None:
        self.name, self.entries, self.write_fails, self.closed = name, entries, False, False

    def close(self) -> None:
        self.closed = True

    def write(self, command: DriveCommand | ValveCommand) -> None:
        self.entries.append((self.name, command))
        if self.write_fails:
            raise DeviceError(f"{self.name}: unplugged")


class FakeDaq(FakeLink):
    last_ns = 0

    def read(self, t_ns: int) -> DaqBlock | None:
        if t_ns == self.last_ns:
            return None
        self.last_ns = t_ns
        return DaqBlock(t_ns // MS, np.array([t_ns]), np.zeros((1, 3)), (False,) * 3)


class FakeDrives(FakeLink):
    def read(self, t_ns: int) -> DriveSample:
        return DriveSample(0, t_ns, ZERO_SPEEDS, -1)


class FakeValves(FakeLink):
    def read(self, t_ns: int) -> ValveSample:
        return ValveSample(0, t_ns, ((0.0, 0.0), (0.0, 0.0)), -1)


class FakeEstimator:
    impact_ns: int | None = None

    def estimate(self, samples) -> Estimate:
        force = (0.0,) * 3
        return Estimate(True, force, force, True, False, self.impact_ns, force, (math.nan, math.nan), ZERO_SPEEDS)


class FakeTwin:
    def predict(self, samples, estimate) -> Prediction:
        return Prediction(ZERO_SPEEDS, ZERO_SPEEDS, ZERO_SPEEDS, 0.0, 0.0, math.inf, True)


class FakeTickLogger:
    def __init__(self) -> None:
        self.rows: list[tuple[Tick, Command]] = []
        self.events: list[Event] = []

    def record(self, tick, samples, estimate, prediction, command) -> None:
        self.rows.append((tick, command))

    def timing(self, tick, laps) -> None:
        assert len(laps.times_ns) == len(PHASES)

    def log_fault(self, event: Event) -> None:
        self.events.append(event)


class Failing:
    """Wraps a stage, and makes one of its calls raise."""

    def __init__(self, stage, call: str, error: type[Exception], when, entries: Entries) -> None:
        self._stage, self._call, self._error, self._when, self._entries = stage, call, error, when, entries
        self._calls = 0

    def __getattr__(self, name: str):
        found = getattr(self._stage, name)
        if name != self._call:
            return found

        def attempt(*arguments):
            self._calls += 1
            if self._when(self._calls):
                self._entries.append(("raise", self._calls))
                raise self._error("on purpose")
            return found(*arguments)

        return attempt


class Bench:
    """The loop with the real latch, limiter, trial and device handling; the rest are fakes."""

    def __init__(self) -> None:
        self.entries: Entries = []
        self.clock = FakeClock(self.entries)
        self.drives, self.valves = FakeDrives("drives", self.entries), FakeValves("valves", self.entries)
        self.tick_logger = FakeTickLogger()
        self.safety = SafetyMonitor(Rig(CONFIG), lambda event: self.tick_logger.log_fault(event))  # noqa: PLW0108 - a test replaces note
        self.trial = ImpactExperiment(Rig(CONFIG), lambda *_: ())
        self.cycle = Cycle(
            RigIO(
                CONFIG.layout,
                {"daq": FakeDaq("daq", self.entries), "drives": self.drives, "valves": self.valves},
            ),
            FakeEstimator(), FakeTwin(), self.safety, self.trial, self.trial.controller(),
            Limiter(Rig(CONFIG), self.safety), self.tick_logger,
        )  # fmt: skip

    def loop(self) -> Loop:
        return Loop(self.clock, self.cycle)

    def fail(self, place: str, error: type[Exception], when) -> None:
        stage, call = place.split(".")
        if stage == "clock":
            self.clock = Failing(self.clock, call, error, when, self.entries)
        else:
            failing = Failing(getattr(self.cycle, stage), call, error, when, self.entries)
            self.cycle = replace(self.cycle, **{stage: failing})

    def at_tick(self, number: int, do) -> None:
        """Call `do` just before that tick."""
        next_tick = self.clock.next

        def interrupted() -> Tick:
            if self.clock.number + 1 == number:
                do()
            return next_tick()

        self.clock.next = interrupted

    def commands_after(self, mark: tuple[str, object]) -> Entries:
        """The commands to the devices from that mark to the next tick."""
        rest = self.entries[self.entries.index(mark) + 1 :]
        return list(takewhile(lambda entry: entry[0] != "beat", rest))


PLACES = ["clock.next", "rig_io.sample", "estimator.estimate", "twin.predict", "safety.check"]
PLACES += ["experiment.decide", "controller.control", "limiter.check", "rig_io.command", "tick_logger.record"]
PLACES += ["tick_logger.timing"]
ERRORS = [ValueError, RuntimeError, ZeroDivisionError, OddError, MemoryError, DeviceError]


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("again", [False, True], ids=["once", "from then on"])
def test_an_exception_anywhere_is_safe_in_that_very_tick(place, error, again):
    bench = Bench()
    bench.fail(place, error, lambda call: call == FAULT_TICK or (again and call > FAULT_TICK))
    bench.loop().run()  # raises nothing

    mark = ("raise", FAULT_TICK)
    last = dict(bench.commands_after(mark))
    assert last["drives"].cut
    assert last["drives"].speed_radps == ZERO_SPEEDS
    assert last["valves"].powered == VALVES_OFF
    (event,) = bench.safety.events
    assert event.alarm.fault is Fault.EXCEPTION
    assert event.tick in (FAULT_TICK, FAULT_TICK - 1)  # a clock that fails gave no new tick
    assert event.alarm.detail.startswith(error.__name__)
    assert bench.tick_logger.events == [event]

    afterwards = bench.entries[bench.entries.index(mark) + 1 :]
    beats = "raise" if again and place == "clock.next" else "beat"
    assert sum(name == beats for name, _ in afterwards) == TICKS_AFTER_FAULT
    assert all(command.cut for name, command in afterwards if name == "drives")
    assert all(command.powered == VALVES_OFF for name, command in afterwards if name == "valves")


@pytest.mark.parametrize("place", ["experiment.decide", "limiter.check", "rig_io.command"])
def test_after_an_exception_what_is_measured_is_compared_with_the_stop(place):
    """A monitor that knows only of the command of the tick before sees wheels, valves and joints that do not follow."""
    bench, recorded = Bench(), []
    bench.fail(place, ValueError, lambda call: call >= FAULT_TICK)
    bench.safety.record_command = lambda t_ns, command: recorded.append(command)
    bench.loop().run()
    driven, stopped = recorded[FAULT_TICK - 2], recorded[FAULT_TICK - 1]
    assert not driven.cut
    assert (stopped.safe, stopped.cut, stopped.servos_cut, stopped.valves) == (True, True, True, VALVES_OFF)
    assert stopped.state != IDLE_STATE  # nothing can be cleared because of it


def test_before_the_fault_the_wheels_were_driven():
    """Without this the test above would prove nothing."""
    bench = Bench()
    bench.fail("tick_logger.record", ValueError, lambda call: call == FAULT_TICK)
    bench.loop().run()
    before = bench.entries[: bench.entries.index(("raise", FAULT_TICK))]
    driven = [command for name, command in before if name == "drives"][-1]
    assert not driven.cut
    assert min(driven.speed_radps) > 0.0


@pytest.mark.parametrize("place", [place for place in PLACES if place not in ("clock.next", "rig_io.sample")])
def test_after_one_exception_a_thousand_ticks_are_recorded(place):
    bench = Bench()
    bench.fail(place, ValueError, lambda call: call == FAULT_TICK)
    bench.loop().run()
    rows = {tick.number: command for tick, command in bench.tick_logger.rows if tick.number > FAULT_TICK}
    assert list(rows) == list(range(FAULT_TICK + 1, FAULT_TICK + TICKS_AFTER_FAULT + 1))
    assert all(command.safe and command.cut for command in rows.values())
    assert bench.trial.state is ImpactState.ABORTED


def test_a_latch_that_trips_in_a_tick_lets_a_thousand_more_be_recorded():
    bench = Bench()
    bench.at_tick(FAULT_TICK, lambda: bench.safety.report(Alarm(Fault.SENSOR_DROPOUT, 1.0, 0.0, "by hand"), 0, 0))
    bench.loop().run()
    safe = [command.safe for _, command in bench.tick_logger.rows]
    assert safe == [False] * (FAULT_TICK - 1) + [True] * (TICKS_AFTER_FAULT + 1)


def test_a_second_fault_in_the_stop_still_turns_the_valves_off():
    bench = Bench()
    bench.fail("estimator.estimate", ValueError, lambda call: call >= FAULT_TICK)
    bench.at_tick(FAULT_TICK, lambda: setattr(bench.drives, "write_fails", True))
    bench.loop().run()
    sent = bench.commands_after(("raise", FAULT_TICK))
    assert [name for name, _ in sent] == ["drives", "valves"]
    assert sent[1][1].powered == VALVES_OFF
    assert bench.safety.safe
    assert bench.clock.number == FAULT_TICK + TICKS_AFTER_FAULT


def test_valves_that_fail_do_not_keep_the_drives_from_being_cut():
    bench = Bench()
    bench.fail("limiter.check", ValueError, lambda call: call == FAULT_TICK)
    bench.valves.write_fails = True
    bench.loop().run()
    assert dict(bench.commands_after(("raise", FAULT_TICK)))["drives"].cut


def test_a_record_that_fails_on_the_fault_too_does_not_unset_the_latch():
    def no_space(event: Event) -> None:
        raise OSError("no space left on device")

    bench = Bench()
    bench.tick_logger.log_fault = no_space
    bench.fail("tick_logger.record", OSError, lambda call: call >= FAULT_TICK)
    bench.loop().run()
    assert bench.safety.safe
    assert dict(bench.commands_after(("raise", FAULT_TICK)))["drives"].cut


def test_a_stop_by_the_operator_is_safe_in_the_next_tick():
    bench = Bench()
    loop = bench.loop()
    bench.at_tick(FAULT_TICK, lambda: (loop.stop("E-stop"), loop.stop("a second reason")))
    loop.run()
    rows = {tick.number: command for tick, command in bench.tick_logger.rows}
    assert not rows[FAULT_TICK - 1].safe
    assert (rows[FAULT_TICK].safe, rows[FAULT_TICK].cut) == (True, True)
    (event,) = bench.safety.events
    assert (event.alarm.fault, event.tick, event.alarm.detail) == (Fault.STOP_BY_OPERATOR, FAULT_TICK, "E-stop")
    assert dict(bench.commands_after(("beat", FAULT_TICK)))["drives"].cut
    assert max(rows) == FAULT_TICK + TICKS_AFTER_FAULT


def test_a_trial_that_is_over_ends_the_loop():
    bench = Bench()
    bench.at_tick(FAULT_TICK, lambda: setattr(bench.cycle.estimator, "impact_ns", FAULT_TICK * MS - 1))
    bench.loop().run()
    assert bench.trial.state is ImpactState.DONE
    assert not bench.safety.safe
    assert bench.tick_logger.rows[-1][0].number == FAULT_TICK + round(CONFIG.trial.settle_s * 1000)
    assert bench.tick_logger.rows[-1][1].cut
