"""Cases in lockstep, in one process: devices, stages, operator, and what arming refuses; and their runner.

An exception is raised in place of a stage's own method, so that nothing of the stage has run.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from operator import methodcaller
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import numpy as np

from drivers.host import HostComputer
from drivers.interfaces import DeviceError
from drivers.sim.devices import SimValves
from hil.app.console import Console
from hil.app.faults.case import LOCKSTEP, Case, ExpectedOutcome, InjectionOutcome, within
from hil.app.faults.faulty_device import DeviceFault
from hil.app.faults.judge import OWN_TIMEOUT_NS, Expectations, Observation, judge, latched, unsafe
from hil.app.faults.lockstep import STOPPED_AFTER_S, Disturb, LockstepResult, LockstepRun
from hil.config import Config, load_config
from hil.config.rig import Rig
from hil.experiments.registry import summarise
from hil.ipc.shared_types import LEASE, CommandMemory
from hil.messages.fault import Fault
from hil.messages.layout import COMMANDED, INSTRUMENTS
from hil.messages.stages import Command
from hil.residuals.judgement import marks_of
from hil.safety.fault_table import FAULT_TABLE, ReactionTimes
from models.validity import LIFTED

# Rows of the fault table that are no faults of a record.
SENSOR_OPEN, WALL_CLOCK, FAULT_IN_SAFE = 5, 26, 28
# Methods that a tick calls, by the stage.
METHODS = (
    ("rig_io", "sample"), ("estimator", "estimate"), ("twin", "predict"), ("safety", "check"),
    ("experiment", "decide"), ("controller", "control"), ("limiter", "check"), ("rig_io", "command"),
    ("tick_logger", "record"),
)  # fmt: skip
# How far the wall clock jumps [s].
JUMP_S = 86400.0


def run_case(case: Case, folder: Path | None = None) -> InjectionOutcome:
    """Make the run of a case, whose `act` is a `Disturb` or None, and judge it.

    Args:
        case: in lockstep.
        folder: of the record; None: it is kept in memory.
    """
    stopped_after_s = math.inf if case.expected.marked else STOPPED_AFTER_S
    run = LockstepRun(Rig(case.config), folder, stopped_after_s=stopped_after_s)
    if case.act is not None:
        run.at(round(case.at_s * case.config.loop.rate_hz), case.act)
    return judge(_observed(run.run(), case.expected), case.expected)


def _observed(run: LockstepResult, expected: ExpectedOutcome) -> Observation:
    wrong, mark, unmarked = list(unsafe(run)), "", ""
    if expected.refused and not (run.refused and (run.ticks["cut"] == 1).all()):
        wrong.append("it was armed")
    if expected.unchanged and run.ticks.tobytes() != LockstepRun(Rig(run.config)).run().ticks.tobytes():
        wrong.append("the run is not the same as without it")
    if expected.marked and not len(run.faults):
        residuals = summarise(run.finished)["residuals"]
        mark = next((found.short() for found in marks_of(residuals)), "")
        why = "no residuals.calibration" if residuals is None else residuals["not_judged"]
        unmarked = f"not judged: {why}" if why else "no residual is over its threshold"
    lasted_ms = (int(np.max(run.ticks["t_ns"])) - run.injected_ns) * 1e-6
    return Observation(
        run.events, run.injected_ns, reaction_ms(run), tuple(wrong), lasted_ms, mark=mark, unmarked=unmarked
    )


def reaction_ms(run: LockstepResult) -> float | None:
    """From the injection until Safe is latched and the simulated drives, servos and valves are without power [ms].

    None: it did not go to Safe.
    """
    faults = latched(Rig(run.config), run.events)
    if not len(faults):
        return None
    safe_ns = int(faults["reaction_tick"][0]) * 1_000_000_000 // run.config.loop.rate_hz
    return (max(safe_ns, run.rig.off_ns()) - run.injected_ns) * 1e-6


class LockstepCases:
    """Cases of one rig.

    Args:
        states: a tick in each state (`state_ticks`).
    """

    def __init__(self, config: Config, states: Mapping[str, int]) -> None:
        self._config, self._states, self._expect = config, states, Expectations(config)
        self._marked = partial(within, ReactionTimes(config), stop_ms=None)
        self._stopped = partial(within, ReactionTimes(config), stop_ms=config.links.drives_delay_ms)

    def every(self) -> Iterator[Case]:
        """All but plausible wrong values: each kind, each device, each state in which it can occur."""
        yield from self.devices()
        yield from self.stages()
        yield from self.consoles()
        yield from self.sensors()

    def devices(self) -> Iterator[Case]:
        """Every kind of fault of every device in every state, but for plausible wrong values."""
        for device, row, fault, state, tick in self._faults(implausible=False):
            expected = self._expect.of(device, fault)
            if row == Fault.ADC_SATURATED and state != "idle":  # sensors are not judged while they are zeroed
                expected = self._marked(row)
            if row == Fault.MODEL_NOT_FINITE and state == "run_up":  # wheels that stand have no speed to be wrong
                expected = self._stopped(row)
            yield lockstep_case(self._config, row, fault.kind, device, state, tick, inject(device, fault), expected)

    def implausible(self) -> Iterator[Case]:
        """Plausible wrong values of every device in every state; the end of the run notices them (row 34).

        Its experiment goes on to its end.
        """
        for device, row, fault, state, tick in self._faults(implausible=True):
            expected = self._expect.mark(device, fault, state)
            yield lockstep_case(self._config, row, fault.kind, device, state, tick, inject(device, fault), expected)

    def _faults(self, *, implausible: bool) -> Iterator[tuple[str, int, DeviceFault, str, int]]:
        for device in [name for name in self._config.layout.links if name not in INSTRUMENTS]:
            for row, fault in self._expect.faults(device):
                if implausible == (row == Fault.IMPLAUSIBLE_VALUE):
                    yield from ((device, row, fault, state, tick) for state, tick in self._states.items())

    def stages(self) -> Iterator[Case]:
        """Exceptions, commands out of limit, stops, a clock that steps (rows 9, 18, 26 to 28, 32, 38)."""
        expect = self._stopped
        rows: list[tuple[int, str, str, Disturb, ExpectedOutcome]] = []
        for stage, method in METHODS:
            expected, name = expect(Fault.EXCEPTION), f"{stage}.{method}"
            rows.append((Fault.EXCEPTION, "exception", name, raising(stage, method), expected))
        for device in [name for name in self._config.layout.links if name in COMMANDED]:
            # drives and servos take no command any more: their own time-out stops them
            own_ms = OWN_TIMEOUT_NS.get(device, 0) * 1e-6
            expected = replace(expect(FAULT_IN_SAFE, own_ms=own_ms), rows=frozenset({Fault.EXCEPTION}))
            rows.append((FAULT_IN_SAFE, "raises on every call", device, partial(_close, device), expected))
        stop, lifted, beyond = Fault.STOP_BY_OPERATOR, Fault.OUTSIDE_MODEL, Fault.COMMAND_OUT_OF_LIMIT
        still = Fault.SPEED_NOT_FOLLOWING
        rows += [
            (stop, "operator command", "loop", _stop, expect(stop)),
            (lifted, "a wheel lifted", "twin", replacing("twin", "predict", _lifted), expect(lifted)),
            (WALL_CLOCK, "jumps by a day", "wall clock", step_wall_clock, ExpectedOutcome(unchanged=True)),
        ]
        for state, tick in self._states.items():
            for row, kind, device, act, expected in rows:
                yield lockstep_case(self._config, row, kind, device, state, tick, act, expected)
        for state, tick in self._driving():
            marked = self._marked(still)
            act = replacing("rig_io", "command", _standing)
            yield lockstep_case(self._config, still, "stand though driven", "wheels", state, tick, act, marked)
            for kind, factor in (("over the limit", 1e3), ("not finite", float("nan"))):
                act = replacing("controller", "control", partial(_scaled, factor))
                yield lockstep_case(self._config, beyond, kind, "controller", state, tick, act, expect(beyond))

    def _driving(self) -> list[tuple[str, int]]:
        """The states in which the controller asks for speeds."""
        ticks = LockstepRun(Rig(self._config)).run().ticks
        return [
            (state, tick) for state, tick in self._states.items() if tick < len(ticks) and not ticks["cut"][tick - 1]
        ]

    def consoles(self) -> Iterator[Case]:
        """A lost console in every state after the start, with both settings (row 19).

        A run that has not started ends as by the operator's stop; this is no fault.
        """
        config, row = self._config, Fault.CONSOLE_LOST
        for setting in ("stop", "finish"):
            effective = config.replace({"operator.console_lost": setting})
            kind = f"no heartbeat, console_lost: {setting}"
            expected = self._stopped(row) if setting == "stop" else self._marked(row)
            for state, tick in self._states.items():
                if state not in ("idle", "armed"):
                    yield lockstep_case(effective, row, kind, "console", state, tick, lose_console, expected)

    def sensors(self) -> Iterator[Case]:
        """Each force sensor with twice the offset, or the noise, that is allowed: it is not armed (row 5)."""
        config = self._config
        for channel, name in enumerate(config.layout.channels):
            for kind, key in (("offset", "bias_V"), ("noise", "noise_V")):
                raw = config.model_dump(mode="json")
                raw["daq"]["channels"][channel][key] = 2.0 * getattr(config.limits, key)
                effective, expected = Config.model_validate(raw), ExpectedOutcome(refused=True)
                yield lockstep_case(effective, SENSOR_OPEN, kind, f"sensor {name}", "idle", 0, None, expected)


def lockstep_case(
    config: Config,
    row: int,
    kind: str,
    device: str,
    state: str,
    tick: int,
    act: Disturb | None,
    expected: ExpectedOutcome,
) -> Case:
    """A case of a run in lockstep that is disturbed in a tick."""
    at_s = tick / config.loop.rate_hz
    return Case(row, kind, device, state, LOCKSTEP, config, run_case, act, at_s, expected)


def inject(device: str, fault: DeviceFault) -> Disturb:
    """Injects a fault into a device."""
    return methodcaller("inject", device, fault)


def replacing(stage: str, method: str, instead: Callable[..., Any]) -> Disturb:
    """Replaces a method of a stage, in this tick and in all that follow (`FaultyStage`)."""
    return methodcaller("replace", stage, method, instead)


def raising(stage: str, method: str) -> Disturb:
    """Makes a method of a stage raise."""
    return replacing(stage, method, _raise)


def _raise(*_: Any) -> None:
    raise DeviceError("injected")


def _lifted(real: Callable[..., Any], *arguments: Any) -> Any:
    """The twin predicts that a wheel has lifted."""
    return msgspec.structs.replace(real(*arguments), outside=float(LIFTED))


def _standing(real: Callable[..., Any], t_ns: int, command: Command) -> Any:
    """The drives are cut, whatever is commanded: their wheels stand."""
    return real(t_ns, msgspec.structs.replace(command, cut=True))


def _scaled(factor: float, real: Callable[..., Any], *arguments: Any) -> Any:
    """The controller asks for speeds that much higher."""
    asked = real(*arguments)
    return msgspec.structs.replace(asked, speed_radps=tuple(speed * factor for speed in asked.speed_radps))


def _close(device: str, run: LockstepRun) -> None:
    """A device that raises whenever it is read or told anything: in the tick, and on the way to Safe."""
    run.devices[device].close()


def _stop(run: LockstepRun) -> None:
    run.loop.stop("fault injection")


def step_wall_clock(run: LockstepRun) -> None:
    """Make `time.time` jump by a day for the rest of a run; the computer's clock stays as it is."""
    real = time.time
    run.cleanup.callback(setattr, time, "time", real)
    time.time = lambda: real() + JUMP_S


def lose_console(run: LockstepRun) -> None:
    """The client that holds the lease has given its last heartbeat in the tick before."""
    place = Path(run.cleanup.enter_context(tempfile.TemporaryDirectory(prefix="hil-faults-")))
    memory = run.cleanup.enter_context(closing(CommandMemory(place / "memory", create=True)))
    last_ns = (run.injected - 1) * 1_000_000_000 // run.rig.rate_hz
    memory.lease.write(np.array([(b"console", 1, last_ns)], LEASE))
    plant = run.simulated_rig.plant
    host: HostComputer = cast("Any", SimpleNamespace(now_ns=lambda: plant.t_ns))  # the time of the run
    console = Console(memory, host)
    console.attend(run.cycle, place, run.rig)
    run.alarms.append(console.alarm)


# The rig of the cylinders' faults: it measures the pressures of its chambers, and powers one valve.
VALVE_RIG = "sim_wire"
VALVE_SETTINGS = (
    "rig=simulated", "clock=lockstep", "telemetry.endpoint=''", "experiment=jog", "jog.wheels=[]",
    "jog.valve=left_extend", "devices.valves.baud=19200", "devices.valves.moves_within_s=0.05",
    "devices.valves.pressure_registers={left_extend: 0, left_retract: 1, right_extend: 2, right_retract: 3, "
    "kPa_per_count: 0.1}",
)  # fmt: skip
# A regulator that lets through so much more than the supply of that rig, limits between the two, and how long a chamber
# takes to fill [s].
OVERPRESSURE, LIMIT_KPA, FULL_AFTER_S = 1.5, 250.0, 0.5


def cylinder_cases() -> Iterator[Case]:
    """Faults of the cylinders, on a rig that measures their pressures (rows 17, 30, 31)."""
    config = load_config(VALVE_RIG, VALVE_SETTINGS)
    powered = int(LockstepRun(Rig(config)).run().ticks["valves"].any(axis=(1, 2)).argmax())
    # it takes no command any more, the last one included: its own time-out switches it off
    own_ms = SimValves.timeout_ns * 1e-6 + ReactionTimes(config).tick_ms
    after_command, full = powered + 2, powered + round(FULL_AFTER_S * config.loop.rate_hz)
    too_high = DeviceFault("wrong", factor=OVERPRESSURE)
    for row, limit, fault, tick in (
        (Fault.VALVE_STUCK, "", DeviceFault("stuck"), after_command),
        (Fault.MEASURED_OUT_OF_LIMIT, "safe_above", too_high, full),
        (Fault.MEASURED_NEAR_LIMIT, "warn_above", too_high, full),
    ):
        if limit:
            config = load_config(VALVE_RIG, [*VALVE_SETTINGS, f"limits.pressure_kPa={{{limit}: {LIMIT_KPA:g}}}"])
        stop_ms, slow_ms = 0.0 if FAULT_TABLE[row].latched else None, own_ms if row == Fault.VALVE_STUCK else 0.0
        expected = within(ReactionTimes(config), row, stop_ms=stop_ms, own_ms=slow_ms)
        yield lockstep_case(config, row, fault.kind, "valves", "jog", tick, inject("valves", fault), expected)
