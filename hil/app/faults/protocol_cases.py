"""Cases of lines, devices and processes at the protocol level, in virtual time; and their runner.

What the simulated controllers saw is the proof that everything stopped.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from operator import methodcaller
from pathlib import Path
from typing import Any

from drivers.registry import drives_driver
from hil.analysis.verify import verify
from hil.app.faults.case import STOP_MS, VIRTUAL_TIME, Case, InjectionOutcome, expect, within
from hil.app.faults.judge import OF_THE_LOOP, Observation, judge, latched, lost_ticks, started_again, stopped_ms
from hil.app.faults.virtual_run import VirtualRun, temporary_run
from hil.config import Config, load_config
from hil.config.rig import Rig
from hil.config.schema.devices import DevicesConfig
from hil.messages.fault import (
    LATE_LIMIT_NS,
    LINK_LOST_NS,
    LOOP_SILENT_NS,
    RECORD_LOST_NS,
    RECORDER_SILENT_NS,
    SKIPPED_LIMIT,
    WATCHDOG_SILENT_NS,
    WORKER_SILENT_NS,
    Fault,
)
from hil.messages.layout import CONFIRMING
from hil.recording import read_trial
from hil.recording.recorder import PERIOD_S
from hil.safety.fault_table import ReactionTimes, bound_ms

# The rig of all these runs, and its trial made short: the wheels run from 0.3 s on and touch at 1.2 s.
RIG, DRIVES, SERVOS = "sim_wire", "roboclaw", "roboclaw_servos"
# The same rig with its drives on a CAN bus.
CAN_RIG, CAN_DRIVES, CAN_PROCESSES = "sim_cia402_wire", "cia402", ("drives process on CAN", "all processes on CAN")
WORKERS = ("drives", "valves", "daq", "watchdog", "recorder")
SETTINGS = (
    "telemetry.endpoint=''", "trial.start_distance_m=0.06", "trial.ramp_s=0.1", "trial.settle_s=0.5",
    "record.after_s=0.5", "devices.daq.e_stop=cDAQ1Mod4/port0/line0",
)  # fmt: skip
# A trial whose wheels run for longer than a silent recorder is waited for, or its ring is full.
LONGER = ("trial.start_distance_m=0.3",)
# A loop at such a rate is not late after a stall from the middle of its period on, in which each dead-man acts [s].
SLOW_LOOP, SLOW_RATE, MIDDLE_S, STALLED_S = "loop at 100 Hz", ("loop.rate_hz=100",), 0.005, 0.022
# When the trial is in each state [s].
MOMENTS_S = {"idle": 0.1, "run_up": 0.5, "settle": 1.4}
RUN_UP, EVERY_STATE = ("run_up",), tuple(MOMENTS_S)
# Checks of a record that fail where a link was dead: its last commands are never confirmed.
OF_DEAD_LINKS = tuple(f"{link}: confirmed" for link in CONFIRMING)
# A disk on which a flush of the record takes so long, and for how long it is so slow [s]. The recorder has a heartbeat
# between two of them, so it is not taken for a lost process.
SLOW_FLUSH_S, SLOW_FOR_S = 1.5, 3.0
# Valves with pressures of up to 1000 kPa in registers with a sign; and numbers of a register that no chamber can have:
# of one that has no sign, which is taken for a negative one, and of one with another scale.
REGISTER, UNSIGNED, UNSCALED = "pressure register", 32834, 20000
PRESSURES = (
    "devices.valves.baud=19200",
    "devices.valves.pressure_registers={left_extend: 0, left_retract: 1, right_extend: 2, right_retract: 3, "
    "kPa_per_count: 0.1, highest_kPa: 1000}",
)
# Simulated controllers look at their time-outs so often [ms].
WAKE_MS = 2.0
# Rows of the fault table that are no faults of a record.
TICK_LATE, ANSWER_LATE, DRIVE_RESUMES, CUT_SHORT, WORKER_LOST = 10, 15, 16, 23, 29
# A valve board is waited for so long, once and once more [ms].
BOARD_ANSWERS_MS = 60.0

# What is done to a run at the protocol level, in virtual time or in real time: a call of its `ask` (a command to the
# simulated rig), `sleep`, `signal` (to a process by its name), `suspend` (the computer) or `slow_disk`.
Step = Callable[[Any], Any]


def fault(device: str, kind: str, **how: Any) -> Step:
    """Injects a fault of a device or of its line."""
    return methodcaller("ask", "inject_fault", device=device, kind=kind, **how)


def press(device: str, *, pressed: bool = True) -> Step:
    """Presses or releases an emergency stop."""
    return methodcaller("ask", "e_stop", device=device, pressed=pressed)


def send(process: str, number: signal.Signals) -> Step:
    """Sends a signal to a process."""
    return methodcaller("signal", process, number)


def wait(seconds: float) -> Step:
    """Lets time pass."""
    return methodcaller("sleep", seconds)


def protocol_config(settings: Sequence[str] = ()) -> Config:
    """The rig of these runs."""
    return load_config(RIG, [*SETTINGS, *settings])


def on_can(settings: Sequence[str] = ()) -> Config:
    """The same rig with its drives on a CAN bus."""
    return load_config(CAN_RIG, [*SETTINGS, *settings])


def run_case(case: Case) -> InjectionOutcome:
    """Make the run of a case in virtual time, whose `act` is a sequence of `Step`, and judge it."""
    with temporary_run(case) as (run, folder):
        if not run.until(case.at_s):
            return InjectionOutcome(wrong=("the run ended before the fault could be injected",))
        acted_ns = run.time.now_ns
        for step in case.act:
            step(run)
        run.finish()
        return judge(observed(run, case, folder, acted_ns), case.expected)


def observed(run: VirtualRun, case: Case, folder: Path, acted_ns: int) -> Observation:
    """What is left of a run in virtual time. `acted_ns`: when [ns of its host]."""
    assert run.start_ns is not None
    record, seen = read_trial(folder, trusted=True), _seen(run)
    injected_ns, wrong = acted_ns - run.start_ns, list[str]()
    if case.expected.ends:  # of a loop that was killed, only how much of the record is missing
        wrong += lost_ticks(record.tick, injected_ns)
    else:
        failed = [check for check in verify(folder) if not check.ok and check.item not in OF_DEAD_LINKS]
        wrong += [f"record: {check.item}: {check.found}" for check in failed]
    if any(run.simulated_rig.driven_radps()):
        wrong.append("a wheel is driven at the end")
    if any(run.simulated_rig.powered()):
        wrong.append("a valve has power at the end")
    if any(run.simulated_rig.held()):
        wrong.append("a servo holds a joint at the end")
    faults = latched(Rig(case.config), record.events)
    own = [found for found in faults if not bytes(found["name"]).startswith(OF_THE_LOOP)]
    later = record.tick[record.tick["tick"] > own[0]["reaction_tick"]] if own else record.tick[:0]
    if not ((later["safe"] == 1) & (later["cut"] == 1)).all():
        wrong.append("Safe was not latched")
    if len(faults):
        wrong += started_again(seen, run.start_ns + int(faults["t_ns"][0]) + RECORD_LOST_NS)
    return Observation(record.events, injected_ns, stopped_ms(seen, acted_ns), tuple(wrong))


def _seen(run: VirtualRun) -> dict[str, Any]:
    """Starts, stops and time-outs that the controllers of all buses have recorded; those of each bus are its own."""
    seen: dict[str, list[tuple[tuple[str, int], int]]] = {}
    for bus in {DRIVES, SERVOS, CAN_DRIVES} & run.simulated_rig.endpoints.keys():
        for what, found in run.ask("stops", device=bus).items():
            seen.setdefault(what, []).extend(((bus, address), at_ns) for address, at_ns in found)
    return seen


def protocol_cases() -> Iterator[Case]:
    """Every case of a line, a device or a process, in the states of a trial in which it matters."""
    short, longer, slow = protocol_config(), protocol_config(LONGER), protocol_config(SLOW_RATE)
    others = {"recorder process": longer, "disk": longer, SLOW_LOOP: slow, REGISTER: protocol_config(PRESSURES)}
    others |= dict.fromkeys((CAN_DRIVES, *CAN_PROCESSES), can := on_can())
    times, devices, daq = ReactionTimes(short), short.devices, short.daq
    assert devices is not None
    assert daq is not None
    assert can.devices is not None
    on_bus = (*_drives(CAN_DRIVES, can.devices, RUN_UP), *_can(can.devices, ReactionTimes(can)))
    cases = (*_lines(devices, daq.block_ms, times), *_processes(devices, times), *on_bus)
    for row, kind, device, act, expected, *states in cases:
        steps = act if isinstance(act, tuple) else (act,)
        config = others.get(device, short)
        for state in states or RUN_UP:
            at_s = MOMENTS_S[state]
            yield Case(row, kind, device, state, VIRTUAL_TIME, config, run_case, steps, at_s, expected)


def _lines(devices: DevicesConfig, block_ms: float, times: ReactionTimes) -> Iterator[tuple[Any, ...]]:
    """Faults of a line or of the device at its end (rows 1, 6, 13 to 16, 18).

    Each is the row, kind, device, act, what must come of it, and the states, if they are others than the run-up.
    """
    assert devices.valves is not None
    lost, gone, e_stop = Fault.LINK_LOST, Fault.SENSOR_DROPOUT, Fault.STOP_BY_OPERATOR
    yield from _drives(DRIVES, devices, EVERY_STATE)
    # a valve board is found dead when it is next asked, and then asked once more
    asked_ms = 1e3 / devices.valves.rate_hz + 2.0 * BOARD_ANSWERS_MS + times.tick_ms
    dead = expect(lost, detect_ms=asked_ms, react_ms=asked_ms + STOP_MS, says="Modbus")
    yield lost, "off", "modbus", fault("modbus", "off"), dead, *EVERY_STATE
    yield lost, "unplugged", "modbus", fault("modbus", "disconnect"), dead, *EVERY_STATE
    beyond = expect(lost, detect_ms=asked_ms, react_ms=asked_ms + STOP_MS, says="allowed: -101.5 to 1000")
    for kind, counts in (("of no sign", UNSIGNED), ("of another scale", UNSCALED)):
        yield lost, kind, REGISTER, fault("modbus", "register", register=0, value=counts), beyond
    for row, kind, device, act, faults, says in (
        (Fault.SAMPLES_LOST, "error -200279", "daq", fault("daq", "error", code=-200279), (), "-200279"),
        (gone, "delayed", "daq", fault("daq", "delayed", count=3, ms=80.0), (), ""),
        (gone, "off", "daq", fault("daq", "off"), (lost,), ""),
        (e_stop, "emergency stop line", "daq", press("daq"), (), ""),
        (e_stop, "emergency stop", DRIVES, press(DRIVES), (), ""),
    ):
        # a fault of the device server begins with its next read, a block later
        after_ms = STOP_MS if device == "daq" else None  # at its button a controller stops by itself
        expected = within(times, row, *faults, late_ms=block_ms, stop_ms=after_ms, says=says)
        yield row, kind, device, act, expected, *EVERY_STATE


def _drives(line: str, devices: DevicesConfig, states: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Faults of a line of the wheel drives (rows 13 to 16), the worst of them in some states: as `_lines`."""
    lost, damaged = Fault.LINK_LOST, Fault.FRAMES_DAMAGED
    silent = expect(lost, detect_ms=LINK_LOST_NS * 1e-6, react_ms=_timeout_ms(devices))
    back = fault(line, "reconnect")
    yield lost, "off", line, fault(line, "off"), silent, *states
    unplugged = (fault(line, "disconnect"), wait(0.3), back)
    yield lost, "unplugged and plugged in", line, unplugged, silent, *states
    yield lost, "intermittent", line, fault(line, "intermittent", count=4), silent
    yield DRIVE_RESUMES, "off and on again", line, (fault(line, "off"), wait(0.3), back), silent
    yield damaged, "garbage", line, fault(line, "garbage", count=3, every=3), expect(damaged), *states
    yield ANSWER_LATE, "delayed", line, fault(line, "delayed", ms=25.0), expect()
    yield ANSWER_LATE, "duplicate", line, fault(line, "duplicate", count=5, every=7), expect()
    # the late half of an answer may come in the middle of the repeated one: then both are damaged, which is row 14
    yield ANSWER_LATE, "slow", line, fault(line, "slow", ms=25.0), expect(damaged, optional=True)


def _can(devices: DevicesConfig, times: ReactionTimes) -> Iterator[tuple[Any, ...]]:
    """Faults of drives on a CAN bus, and of the processes that stop them (rows 12, 13, 23, 29): as `_lines`."""
    lost, own_ms = Fault.LINK_LOST, _timeout_ms(devices)
    restarted = expect(lost, detect_ms=LINK_LOST_NS * 1e-6, react_ms=own_ms, says="it has started anew")
    yield lost, "restarted drive", CAN_DRIVES, fault(CAN_DRIVES, "restart", node=3), restarted
    worker, everything = CAN_PROCESSES
    detect_ms = WORKER_SILENT_NS * 1e-6 + times.tick_ms
    expected = expect(Fault.PROCESS_LOST, detect_ms=detect_ms, react_ms=bound_ms(WORKER_LOST, times))
    yield WORKER_LOST, "killed", worker, send("drives", signal.SIGKILL), expected
    kill_all = tuple(send(name, signal.SIGKILL) for name in (*WORKERS, "loop"))
    yield CUT_SHORT, "killed", everything, (*kill_all, wait(0.2)), expect(react_ms=own_ms, ends=True)


def _processes(devices: DevicesConfig, times: ReactionTimes) -> Iterator[tuple[Any, ...]]:
    """Processes that are late, stopped or killed (rows 10 to 12, 23, 24, 29, 37, 43): as `_lines`."""
    late, lost, full, slept = Fault.LOOP_LATE, Fault.PROCESS_LOST, Fault.RECORD_RING_FULL, Fault.COMPUTER_SUSPENDED
    tick_ms = times.tick_ms
    late_ms = SKIPPED_LIMIT * tick_ms + LATE_LIMIT_NS * 1e-6
    overdue = expect(late, detect_ms=late_ms, react_ms=late_ms + STOP_MS)
    logged_ms, dead_man_ms = LOOP_SILENT_NS * 1e-6 + tick_ms, bound_ms(lost, times)
    silent = expect(lost, detect_ms=logged_ms, react_ms=dead_man_ms)
    ended = expect(lost, detect_ms=logged_ms, react_ms=dead_man_ms, ends=True)
    woken = expect(slept, detect_ms=tick_ms, react_ms=tick_ms + STOP_MS)
    yield slept, "suspended for 3 s", "computer", methodcaller("suspend", 3.0), woken, *EVERY_STATE
    yield TICK_LATE, "stopped for 3 ms", "loop", _stopped("loop", 0.003), expect()
    yield late, "stopped for 19 ms", "loop", _stopped("loop", 0.019), overdue
    yield lost, "stopped for 0.3 s", "loop", _stopped("loop", 0.3), silent, *EVERY_STATE
    acted, stalled = Fault.DEAD_MAN_ACTED, (wait(MIDDLE_S), *_stopped("loop", STALLED_S))
    noticed = expect(acted, detect_ms=(MIDDLE_S + STALLED_S) * 1e3 + tick_ms, react_ms=dead_man_ms)
    yield acted, f"stopped for {STALLED_S * 1e3:g} ms", SLOW_LOOP, stalled, noticed
    yield lost, "hangs for ever", "loop", (send("loop", signal.SIGSTOP), wait(1.5)), ended
    yield lost, "killed", "loop", send("loop", signal.SIGKILL), ended, *EVERY_STATE
    kill_all = tuple(send(name, signal.SIGKILL) for name in (*WORKERS, "loop"))
    by_itself = expect(react_ms=_timeout_ms(devices), ends=True)
    # no process is left to wait for
    yield CUT_SHORT, "killed", "all processes", (*kill_all, wait(0.2)), by_itself, *EVERY_STATE
    silent_ns = {"watchdog": WATCHDOG_SILENT_NS, "recorder": RECORDER_SILENT_NS}
    for name in WORKERS:
        row = lost if name in silent_ns else WORKER_LOST
        detect_ms = silent_ns.get(name, WORKER_SILENT_NS) * 1e-6 + tick_ms
        react_ms = bound_ms(row, times) if row == WORKER_LOST else detect_ms + STOP_MS
        faults = (lost, Fault.SENSOR_DROPOUT) if name == "daq" else (lost,)
        expected = expect(*faults, detect_ms=detect_ms, react_ms=react_ms)
        for kind, number in (("killed", signal.SIGKILL), ("stopped", signal.SIGSTOP)):
            states = RUN_UP if name == "recorder" else EVERY_STATE
            yield row, kind, f"{name} process", send(name, number), expected, *states
    slow = (methodcaller("slow_disk", SLOW_FLUSH_S), wait(SLOW_FOR_S), methodcaller("slow_disk", 0.0))
    # slow from the recorder's next round on
    yield full, "slow", "disk", slow, within(times, full, late_ms=PERIOD_S * 1e3)


def _stopped(process: str, seconds: float) -> tuple[Step, ...]:
    """Stops a process for so long [s]."""
    return send(process, signal.SIGSTOP), wait(seconds), send(process, signal.SIGCONT)


def _timeout_ms(devices: DevicesConfig) -> float:
    """Longest time until a controller that receives nothing has stopped by itself [ms]."""
    assert devices.drives is not None
    _, timeout_ms = drives_driver(devices.drives).timeout(devices.drives)
    return timeout_ms + WAKE_MS
