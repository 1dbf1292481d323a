"""Faults of lines, devices and processes at the protocol level, each with what must come of it (in virtual time)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

from hil.app.faults.injection import VIRTUAL_TIME, Case, Expected, Injection
from hil.app.faults.virtual_run import RIG, Act, VirtualFault, run_disturbed, virtual_config
from hil.app.virtual.run import VirtualRun
from hil.config import Config
from hil.messages.fault import Fault
from hil.messages.fault_bounds import (
    LATE_LIMIT_NS,
    LINK_LOST_NS,
    LOOP_SILENT_NS,
    RECORDER_SILENT_NS,
    SKIPPED_LIMIT,
    STOP_WRITTEN_NS,
    WATCHDOG_SILENT_NS,
    WORKER_SILENT_NS,
)
from hil.recording.recorder import PERIOD_S
from hil.recording.writer import RecordWriter
from hil.safety.fault_table import FAULT_TABLE
from hil.safety.fault_table.row import period_ms

# When the trial is in each state [s].
MOMENTS_S = {"idle": 0.1, "run_up": 0.5, "settle": 1.4}
RUN_UP, EVERY_STATE = ("run_up",), tuple(MOMENTS_S)
# A trial whose wheels run for longer than a silent recorder is waited for, or its ring is full.
LONGER = ("trial.start_distance_m=0.3",)
# A disk on which a flush of the record takes so long, and for how long it is so slow [s]. The recorder has a heartbeat
# between two of them, so it is not taken for a lost process.
SLOW_FLUSH_S, SLOW_FOR_S = 1.5, 3.0
# Simulated controllers look at their time-outs so often [ms].
WAKE_MS = 2.0
# Rows of the fault table that are no faults of a record.
TICK_LATE, ANSWER_LATE, DRIVE_RESUMES, CUT_SHORT, WORKER_LOST = 10, 15, 16, 23, 29
# A valve board is waited for so long, once and once more [ms].
BOARD_ANSWERS_MS = 60.0


@dataclass(frozen=True)
class Disturbance:
    """What is done in the middle of a run, and what must come of it.

    Attributes:
        row: of the fault table.
        kind: of the fault.
        device: that has it.
        act: does it.
        faults: one of which must be noticed first; none: none may be.
        detect_ms: longest time until it is noticed [ms]; None: not a matter of time.
        react_ms: longest time until all drives have stopped [ms]; None: as above.
        states: in which it is done.
        settings: of the run.
        ends: the loop does not go on after it.
        optional: it need not be noticed.
    """

    row: int
    kind: str
    device: str
    act: Act
    faults: tuple[Fault, ...] = ()
    detect_ms: float | None = None
    react_ms: float | None = None
    states: tuple[str, ...] = RUN_UP
    settings: tuple[str, ...] = ()
    ends: bool = False
    optional: bool = False


def virtual_cases() -> Iterator[Case]:
    """Every such disturbance in the states of a trial in which it matters."""
    config = virtual_config()
    for one in (*line_disturbances(config), *process_disturbances(config)):
        for state in one.states:
            injection = Injection(one.row, one.kind, one.device, state, VIRTUAL_TIME, RIG)
            expected = Expected(frozenset(one.faults), one.detect_ms, one.react_ms, one.optional)
            yield Case(
                injection,
                expected,
                partial(run_disturbed, VirtualFault(one.act, MOMENTS_S[state], one.settings, one.ends)),
            )


def line_disturbances(config: Config) -> Iterator[Disturbance]:
    """Faults of a line or of the device at its end (rows 1, 6, 13 to 16, 18)."""
    assert config.devices is not None
    assert config.devices.valves is not None
    assert config.daq is not None
    own_ms = _timeout_ms(config)
    lost_ms = LINK_LOST_NS * 1e-6
    lost, damaged, gone = Fault.LINK_LOST, Fault.FRAMES_DAMAGED, Fault.SENSOR_DROPOUT

    def stopped_ms(detect_ms: float) -> float:
        return detect_ms + STOP_WRITTEN_NS * 1e-6

    def for_a_while(kind: str) -> Act:
        def act(run: VirtualRun) -> None:
            line_fault("roboclaw", kind)(run)
            run.host.sleep(0.3)
            line_fault("roboclaw", "reconnect")(run)

        return act

    drive = partial(Disturbance, device="roboclaw")
    yield drive(
        lost, "off", act=line_fault("roboclaw", "off"), faults=(lost,), detect_ms=lost_ms, react_ms=own_ms,
        states=EVERY_STATE,
    )  # fmt: skip
    yield drive(
        lost, "unplugged and plugged in", act=for_a_while("disconnect"), faults=(lost,), detect_ms=lost_ms,
        react_ms=own_ms, states=EVERY_STATE,
    )  # fmt: skip
    yield drive(
        lost, "intermittent", act=line_fault("roboclaw", "intermittent", count=4), faults=(lost,), detect_ms=lost_ms,
        react_ms=own_ms,
    )  # fmt: skip
    yield drive(
        DRIVE_RESUMES, "off and on again", act=for_a_while("off"), faults=(lost,), detect_ms=lost_ms, react_ms=own_ms
    )
    garbage = line_fault("roboclaw", "garbage", count=3, every=3)
    yield drive(damaged, "garbage", act=garbage, faults=(damaged,), states=EVERY_STATE)
    yield drive(ANSWER_LATE, "delayed", act=line_fault("roboclaw", "delayed", ms=25.0))
    yield drive(ANSWER_LATE, "duplicate", act=line_fault("roboclaw", "duplicate", count=5, every=7))
    # the late half of an answer may come in the middle of the repeated one: then both are damaged, which is row 14
    half = line_fault("roboclaw", "slow", ms=25.0)
    yield drive(ANSWER_LATE, "slow", act=half, faults=(damaged,), optional=True)
    # a valve board is found dead when it is next asked, and then asked once more
    asked_ms = 1e3 / config.devices.valves.rate_hz + 2.0 * BOARD_ANSWERS_MS + period_ms(config)
    for kind, does in (("off", "off"), ("unplugged", "disconnect")):
        yield Disturbance(
            lost, kind, "modbus", line_fault("modbus", does), (lost,), asked_ms, stopped_ms(asked_ms), EVERY_STATE
        )
    for row, kind, act, faults in (
        (Fault.SAMPLES_LOST, "error -200279", line_fault("daq", "error", code=-200279), (Fault.SAMPLES_LOST,)),
        (gone, "delayed", line_fault("daq", "delayed", count=3, ms=80.0), (gone,)),
        (gone, "off", line_fault("daq", "off"), (gone, lost)),
        (Fault.STOP_BY_OPERATOR, "emergency stop line", _press("daq"), (Fault.STOP_BY_OPERATOR,)),
        (Fault.STOP_BY_OPERATOR, "emergency stop", _press("roboclaw"), (Fault.STOP_BY_OPERATOR,)),
    ):
        # a fault of the device server begins with its next read, a block later
        bound_ms = (FAULT_TABLE[row].bound_for(config) or 0.0) + config.daq.block_ms
        device = "roboclaw" if kind == "emergency stop" else "daq"
        react_ms = stopped_ms(bound_ms) if device == "daq" else None  # at its button a controller stops by itself
        yield Disturbance(row, kind, device, act, faults, bound_ms, react_ms, EVERY_STATE)


def process_disturbances(config: Config) -> Iterator[Disturbance]:
    """Processes that are late, stopped or killed (rows 10 to 12, 23, 24, 29)."""
    lost, tick_ms = Fault.PROCESS_LOST, period_ms(config)
    own_ms, stop_ms = _timeout_ms(config), STOP_WRITTEN_NS * 1e-6
    dead_man_ms = FAULT_TABLE[lost].bound_for(config)
    logged_ms = LOOP_SILENT_NS * 1e-6 + tick_ms
    loop = partial(Disturbance, device="loop")
    yield loop(TICK_LATE, "stopped for 3 ms", act=_loop_stopped(0.003))
    late_ms = SKIPPED_LIMIT * tick_ms + LATE_LIMIT_NS * 1e-6
    yield loop(
        Fault.LOOP_LATE, "stopped for 19 ms", act=_loop_stopped(0.019), faults=(Fault.LOOP_LATE,), detect_ms=late_ms,
        react_ms=late_ms + stop_ms,
    )  # fmt: skip
    stopped = partial(loop, faults=(lost,), detect_ms=logged_ms, react_ms=dead_man_ms)
    yield stopped(lost, "stopped for 0.3 s", act=_loop_stopped(0.3), states=EVERY_STATE)
    yield stopped(lost, "hangs for ever", act=_loop_stopped(1.5), ends=True)
    yield stopped(lost, "killed", act=lambda run: run.kill_loop(), states=EVERY_STATE, ends=True)
    yield Disturbance(CUT_SHORT, "killed", "all processes", _kill_all, react_ms=own_ms, states=EVERY_STATE, ends=True)
    for name, silent_ns in (
        ("drives", WORKER_SILENT_NS), ("valves", WORKER_SILENT_NS), ("daq", WORKER_SILENT_NS),
        ("watchdog", WATCHDOG_SILENT_NS), ("recorder", RECORDER_SILENT_NS),
    ):  # fmt: skip
        row = lost if name in ("watchdog", "recorder") else WORKER_LOST
        faults = (lost, Fault.SENSOR_DROPOUT) if name == "daq" else (lost,)
        detect_ms = silent_ns * 1e-6 + tick_ms
        stopped_ms = FAULT_TABLE[row].bound_for(config) if row == WORKER_LOST else detect_ms + stop_ms
        states, settings = (RUN_UP, LONGER) if name == "recorder" else (EVERY_STATE, ())
        for kind, act in (("killed", _kill(name)), ("stopped", _stop(name))):
            what = (row, kind, f"{name} process", act, faults, detect_ms, stopped_ms)
            yield Disturbance(*what, states=states, settings=settings)
    full = Fault.RECORD_RING_FULL
    behind_ms = (FAULT_TABLE[full].bound_for(config) or 0.0) + PERIOD_S * 1e3  # slow from the recorder's next round on
    yield Disturbance(full, "slow", "disk", _slow_disk, (full,), behind_ms, behind_ms + stop_ms, settings=LONGER)


def _timeout_ms(config: Config) -> float:
    """Longest time until a controller that hears nothing has stopped by itself [ms]."""
    assert config.devices is not None
    assert config.devices.drives is not None
    return float(config.devices.drives.model_dump()["timeout_ms"]) + WAKE_MS


def line_fault(device: str, kind: str, **how: Any) -> Act:
    """Injects a fault of a device or of its line."""

    def act(run: VirtualRun) -> None:
        run.simulated_rig.ask("inject_fault", device=device, kind=kind, **how)

    return act


def _press(device: str) -> Act:
    def act(run: VirtualRun) -> None:
        run.simulated_rig.ask("e_stop", device=device, pressed=True)

    return act


def _loop_stopped(seconds: float) -> Act:
    def act(run: VirtualRun) -> None:
        run.time.stop(run.loop)
        run.host.sleep(seconds)
        run.time.go_on(run.loop)

    return act


def _kill(name: str) -> Act:
    return lambda run: run.processes.by_name[name].kill()


def _stop(name: str) -> Act:
    def act(run: VirtualRun) -> None:
        actor = run.processes.by_name[name].actor
        assert actor is not None
        run.time.stop(actor)

    return act


def _slow_disk(run: VirtualRun) -> None:
    flush = RecordWriter.flush

    def slow(writer: RecordWriter) -> None:
        flush(writer)
        run.host.sleep(SLOW_FLUSH_S)

    with mock.patch.object(RecordWriter, "flush", slow):
        run.host.sleep(SLOW_FOR_S)


def _kill_all(run: VirtualRun) -> None:
    for process in run.processes.by_name.values():
        process.kill()
    run.kill_loop()
    run.host.sleep(0.2)  # no process is left to wait for
