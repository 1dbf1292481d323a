"""Cases of devices that are not as they should be before a run begins (row 42); and their runners.

What can be set back is set back, and the run is one like any other. Otherwise the devices are not opened.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from drivers.interfaces import DeviceError
from drivers.sim.protocol.line import Pty
from hil.app.backends import RigLock
from hil.app.faults import command_cases
from hil.app.faults.case import LOCKSTEP, PROCESSES, VIRTUAL_TIME, Case, ExpectedOutcome, InjectionOutcome, preparation
from hil.app.faults.instrument_cases import MEASURED, endpoints_of, wire_config
from hil.app.faults.judge import judge, judge_refusal
from hil.app.faults.lockstep import LockstepRun
from hil.app.faults.process_cases import UnattendedTrial
from hil.app.faults.protocol_cases import CAN_DRIVES, DRIVES, fault, observed, on_can, protocol_config
from hil.app.faults.status_cases import OTHER_DRIVES
from hil.app.faults.virtual_run import temporary_run
from hil.config import Config, load_config
from hil.config.rig import Rig

WRONG_DEVICE, STATE = 42, "opening"
# The mark that the config names of one controller, and that of the one which is there.
NEEDED, FOUND = 11, 12
# The instruments are those of this rig. An encoder with 3600 counts, which do not divide the range of its register,
# reads about -20 degrees at rest.
UNEVEN = (
    "joints.encoders=[{joint: left_bogie, zero_deg: -20}, {joint: right_bogie}, {joint: rear_bogie}]",
    "devices.joints.encoders=[{joint: left_bogie, address: 1, register_number: 0, counts_per_turn: 3600, bits: 16}, "
    "{joint: right_bogie, address: 2, register_number: 0}, {joint: rear_bogie, address: 3, register_number: 0}]",
)
# A real rig, of which only the port of the drives is there; and a program that has that port open.
REAL, HOLDS = "mars_dome", (sys.executable, "-c", "print(flush=True); import time; time.sleep(600)")
TURNED = "0,1,0,-1,0,0,0,0,1"
REFUSAL = "its identity is another"


def opening_cases() -> Iterator[Case]:
    """Every case."""
    config = protocol_config(("rig=simulated", "clock=lockstep"))
    for name in config.layout.links:
        expected = ExpectedOutcome(refused_with=REFUSAL)
        yield Case(WRONG_DEVICE, "another device", name, STATE, LOCKSTEP, config, run_in_lockstep, expected=expected)
    for kind, device, found, refused_with, *steps in _found():
        expected = ExpectedOutcome(refused_with=refused_with)
        for level, runner in ((VIRTUAL_TIME, run_case), (PROCESSES, run_in_real_time)):
            yield Case(WRONG_DEVICE, kind, device, STATE, level, found, runner, tuple(steps), expected=expected)
    runner = command_cases.run_case
    yield Case(WRONG_DEVICE, "second program", "port", STATE, PROCESSES, config, runner, second_program)


def run_in_lockstep(case: Case) -> InjectionOutcome:
    """Make a run in lockstep whose device of the case is not opened, and judge it."""
    run = LockstepRun(Rig(case.config))
    run.devices[case.device].refusal = f"{case.device}: {REFUSAL}"
    try:
        run.run()
    except DeviceError as error:
        driven = [f"{role} have power" for role in run.simulated_rig.active()]
        return judge_refusal(str(error), driven, case.expected)
    return InjectionOutcome(wrong=("its devices were opened",))


def run_case(case: Case) -> InjectionOutcome:
    """Make a run in virtual time after the steps of a case, and judge it."""
    with temporary_run(case) as (run, folder):
        for step in case.act:
            step(run)
        acted_ns = run.time.now_ns
        try:
            run.finish()
        except DeviceError as error:
            driven = ["a wheel was driven"] * any(run.simulated_rig.driven_radps())
            return judge_refusal(str(error), driven, case.expected)
        return judge(observed(run, case, folder, acted_ns), case.expected)


def run_in_real_time(case: Case) -> InjectionOutcome:
    """Make a trial by `hil trial` after the steps of a case. One whose devices are opened has to drive."""
    with ExitStack() as stack:
        trial = UnattendedTrial(stack, case.config)
        with preparation():
            for step in case.act:
                step(trial)
        said = trial.run_to_end()
        if said:
            return judge_refusal(said, ["a wheel was driven"] * trial.driven(), case.expected)
    wrong = f"its devices were opened, expected: {case.expected.refused_with}" if case.expected.refused_with else ""
    return InjectionOutcome(wrong=(wrong,) if wrong else (), remark="opened")


def second_program() -> tuple[str, str]:
    """A rig on a port that another program has open; what is wrong, in words, and a remark."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hil-faults-")))
        port = Pty(place / "port")
        port.reconnect()
        stack.callback(port.disconnect)
        with port.path.open("rb", buffering=0) as opened:
            other = stack.enter_context(subprocess.Popen(HOLDS, stdin=opened, stdout=subprocess.PIPE))
        stack.callback(other.kill)
        assert other.stdout is not None
        other.stdout.readline()  # it runs
        config = load_config(REAL, [f"devices.drives.ports=['{port.path}']"])
        try:
            RigLock(config.rig, config.devices).close()
        except DeviceError as error:
            named = f"process {other.pid} (" in str(error)
            return "" if named else f"refused without its name: {error}", f"refused with: {error}"
    return "the rig was locked while another program had its port open", ""


def _found() -> Iterator[tuple[Any, ...]]:
    """Kind, device, config, the words of the refusal (empty: there is none), and what is done before."""
    first = protocol_config().model_dump(mode="json")["devices"]["drives"]
    first["controllers"][0]["identity"] = str(NEEDED)
    other = fault(DRIVES, "identity", value=FOUND)
    marked = protocol_config((f"devices.drives={first}",))
    yield "another device", DRIVES, marked, f"its identity is {FOUND}", other
    yield "settings of one byte unanswered", DRIVES, protocol_config(), "", fault(DRIVES, "unacknowledged")
    scripted = protocol_config((OTHER_DRIVES,))
    streams = "check cable, power, address and baud rate"
    for line, config in ((DRIVES, protocol_config()), ("modbus", protocol_config()), ("roboteq", scripted)):
        yield "another device that streams", line, config, streams, fault(line, "streaming")
    yield "script running", "roboteq", scripted, "", fault("roboteq", "script")
    yield from _on_can()
    at_power_up = fault("roboteq", "setting", name="BRUN", value=1)
    yield "script at power-up", "roboteq", scripted, "script at power-up (BRUN)", at_power_up
    imu, (line,) = _measured("imu")
    yield "binary output on", line, imu, "", fault(line, "register", register=75, value="1,4,1")
    yield "other check sum", line, imu, "", fault(line, "register", register=30, value="0,0,0,0,3,0,1")
    turned = fault(line, "register", register=26, value=TURNED)
    yield "frame turned", line, imu, "reference frame rotation (register 26)", turned
    joints, (line,) = _measured("joints", UNEVEN)
    below = fault(line, "unwrapped", address=1)
    yield "counts below 0", line, joints, "", below


def _on_can() -> Iterator[tuple[Any, ...]]:
    """Of drives on a CAN bus, as `_found`."""
    first = on_can().model_dump(mode="json")["devices"]["drives"]
    first["controllers"][0]["identity"] = f"1-402-1-{NEEDED}"
    marked, config = on_can((f"devices.drives={first}",)), on_can()
    other, twins = fault(CAN_DRIVES, "identity", value=FOUND), fault(CAN_DRIVES, "twin", node=2)
    without = fault(CAN_DRIVES, "object", index=0x1016, sub=1)
    yield "another device", CAN_DRIVES, marked, f"its identity is 1-402-1-{FOUND}", other
    yield "another device that streams", CAN_DRIVES, config, "check cable", fault(CAN_DRIVES, "streaming")
    yield "two drives of one node-ID", CAN_DRIVES, config, "2 drives have this node-ID", twins
    yield "drive without a dead-man", CAN_DRIVES, config, "(0x1016:01) cannot be set", without


def _measured(role: str, settings: Sequence[str] = ()) -> tuple[Config, list[str]]:
    """The rig of the protocol level with an instrument, and the endpoints of that."""
    config = wire_config(load_config(MEASURED, settings), [role])
    return config, endpoints_of(config.devices, role)
