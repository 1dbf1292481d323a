"""Faults of the loop in lockstep: exceptions, commands out of limit, stops, a clock that steps (rows 9, 18, 26-28, 32).

Exceptions are raised in place of a stage's own method, so that nothing of the stage has run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import msgspec

from drivers.interfaces import DeviceError
from drivers.sim.rig import DRIVES_TIMEOUT_NS
from hil.app.faults.device_faults import judge, run_disturbed
from hil.app.faults.injection import LOCKSTEP, Case, Expected, Injection, Outcome
from hil.app.faults.lockstep import Disturb, LockstepRun
from hil.config import Config
from hil.messages.fault import Fault
from hil.safety.fault_table import FAULT_TABLE
from models.validity import LIFTED

FAULT_IN_SAFE, WALL_CLOCK = 28, 26
# Methods that a tick calls, by the stage.
METHODS = (
    ("rig_io", "sample"), ("estimator", "estimate"), ("twin", "predict"), ("safety", "check"),
    ("experiment", "decide"), ("controller", "control"), ("limiter", "check"), ("rig_io", "command"),
    ("tick_logger", "record"),
)  # fmt: skip
# How far the wall clock jumps [s].
JUMP_S = 86400.0


def stage_cases(config: Config, states: Mapping[str, int]) -> Iterator[Case]:
    """Every such fault in every state in which it can occur.

    Args:
        config: of the rig, in lockstep.
        states: a tick in each state (`state_ticks`).
    """
    for state, tick in states.items():
        for stage, method in METHODS:
            yield _case(config, Fault.EXCEPTION, "exception", f"{stage}.{method}", state, tick, raising(stage, method))
        for device in [name for name in config.layout.links if name in ("drives", "valves")]:
            yield _closed(config, device, state, tick)
        yield _case(config, Fault.STOP_BY_OPERATOR, "operator command", "loop", state, tick, _e_stop)
        yield _case(config, Fault.OUTSIDE_MODEL, "a wheel lifted", "twin", state, tick, _lift)
        yield _wall_clock(config, state, tick)
    for state, tick in _driving(config, states):
        for kind, factor in (("over the limit", 1e3), ("not finite", float("nan"))):
            disturb = _scaling(factor)
            yield _case(config, Fault.COMMAND_OUT_OF_LIMIT, kind, "controller", state, tick, disturb)


def raising(stage: str, method: str) -> Disturb:
    """Makes a method of a stage raise, in this tick and in all that follow."""

    def disturb(run: LockstepRun) -> None:
        run.stages[stage].replaced[method] = _raise

    return disturb


def _raise(*_: Any) -> None:
    raise DeviceError("injected")


def _case(config: Config, row: int, kind: str, device: str, state: str, tick: int, disturb: Disturb) -> Case:
    bound_ms = FAULT_TABLE[row].bound_for(config)
    expected = Expected(frozenset({row}), bound_ms, (bound_ms or 0.0) + config.links.drives_delay_ms)
    injection = Injection(row, kind, device, state, LOCKSTEP, config.name)
    return Case(injection, expected, partial(run_disturbed, config, tick, disturb))


def _closed(config: Config, device: str, state: str, tick: int) -> Case:
    """A device that raises whenever it is read or told anything: in the tick, and on the way to Safe."""

    def disturb(run: LockstepRun) -> None:
        run.devices[device].close()

    bound_ms = FAULT_TABLE[FAULT_IN_SAFE].bound_for(config) or 0.0
    own_ms = DRIVES_TIMEOUT_NS * 1e-6 if device == "drives" else 0.0  # they take no command: their time-out stops them
    expected = Expected(frozenset({Fault.EXCEPTION}), bound_ms, max(bound_ms + config.links.drives_delay_ms, own_ms))
    injection = Injection(FAULT_IN_SAFE, "raises on every call", device, state, LOCKSTEP, config.name)
    return Case(injection, expected, partial(run_disturbed, config, tick, disturb))


def _e_stop(run: LockstepRun) -> None:
    run.loop.stop("fault injection")


def _lift(run: LockstepRun) -> None:
    """Has the twin predict that a wheel has lifted."""

    def predict(real: Callable[..., Any], *arguments: Any) -> Any:
        return msgspec.structs.replace(real(*arguments), outside=float(LIFTED))

    run.stages["twin"].replaced["predict"] = predict


def _scaling(factor: float) -> Disturb:
    """Has the controller ask for speeds that much higher."""

    def control(real: Callable[..., Any], *arguments: Any) -> Any:
        asked = real(*arguments)
        return msgspec.structs.replace(asked, speed_radps=tuple(speed * factor for speed in asked.speed_radps))

    def disturb(run: LockstepRun) -> None:
        run.stages["controller"].replaced["control"] = control

    return disturb


def _driving(config: Config, states: Mapping[str, int]) -> list[tuple[str, int]]:
    """The states in which the controller asks for speeds."""
    ticks = LockstepRun(config).run().ticks
    return [(state, tick) for state, tick in states.items() if tick < len(ticks) and not ticks["cut"][tick - 1]]


def _wall_clock(config: Config, state: str, tick: int) -> Case:
    """The wall clock jumps by a day: everything happens as if it had not."""

    def run(expected: Expected) -> Outcome:
        usual = LockstepRun(config).run()
        disturbed = LockstepRun(config)
        with _steps() as step:
            disturbed.at(tick, lambda _: step())
            result = disturbed.run()
        outcome = judge(result, expected)
        if result.ticks.tobytes() != usual.ticks.tobytes():
            return replace(outcome, wrong=("the run is not the same as without the jump",))
        return outcome

    injection = Injection(WALL_CLOCK, "jumps by a day", "wall clock", state, LOCKSTEP, config.name)
    return Case(injection, Expected(), run)


@contextmanager
def _steps() -> Iterator[Callable[[], None]]:
    """A function that makes `time.time` jump until the end of this block; the computer's clock stays as it is."""
    real, ahead_s = time.time, [0.0]

    def step() -> None:
        ahead_s[0] = JUMP_S

    def wall_s() -> float:
        return real() + ahead_s[0]

    with mock.patch("time.time", wall_s):
        yield step
