"""Commands of an operator in another process reach the loop in order and once; the loop never waits for them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.app.run_loop import record_meta, simulated_rig_io
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.impact.experiment import ImpactState
from hil.experiments.registry import build_cycle
from hil.ipc.shared_types import (
    MOST_COMMANDS,
    OPERATOR_COMMAND,
    OPERATOR_COMMANDS,
    CommandMemory,
    OperatorWriter,
    SharedOperator,
)
from hil.messages.fault import Fault
from hil.messages.operator_input import (
    Arm,
    Campaign,
    ClearFault,
    Custom,
    EStop,
    Jog,
    JogJoint,
    LeaseChange,
    Mode,
    RefusedCommands,
    SetPoint,
    Start,
    Stop,
    Valve,
    Verdict,
)
from hil.operator.telemetry import open_publisher
from hil.recording import open_writer, read_trial
from hil.recording.sinks import FileAndTelemetrySink
from hil.runtime.loop import LockstepClock
from hil.simulator.simulated_rig import build_simulated_rig

COMMANDS = (
    Arm(), Start(), Stop("enough"), EStop("hand on the button"), ClearFault(18), SetPoint("speed_mps", 0.1),
    Mode("hold"), Custom("gait", "walk"), Jog(("front_left", "rear_right"), -0.05, 2.0), Valve("left", "extend", 1.0),
    JogJoint("middle_right_walking", -12.345, 2.5, 10.0), Campaign("start", "Ada"),
    Verdict("repeat", "the rover stood askew"),
)  # fmt: skip
WRITER = """
import sys
from pathlib import Path
from hil.ipc.shared_types import CommandMemory
from hil.ipc.shared_types import OperatorWriter
from hil.messages.operator_input import Arm, SetPoint
writer = OperatorWriter(CommandMemory(Path(sys.argv[1]), create=False).commands)
assert writer.put(Arm()) and writer.put(SetPoint("speed_mps", 0.25))
"""


@pytest.fixture
def memory(tmp_path):
    """That the command server and the loop share."""
    memory = CommandMemory(tmp_path / "commands", create=True)
    yield memory
    memory.close()


def test_commands_are_read_once_and_in_order(memory):
    writer, loop = OperatorWriter(memory.commands), SharedOperator(memory.commands)
    assert all(writer.put(command) for command in COMMANDS)
    assert loop.read() == COMMANDS
    assert loop.read() == ()


def test_another_process_writes_them(memory):
    loop = SharedOperator(memory.commands)
    subprocess.run([sys.executable, "-c", WRITER, str(memory.folder)], check=True, timeout=120)
    assert loop.read() == (Arm(), SetPoint("speed_mps", 0.25))


def test_a_tick_takes_no_more_than_its_share_and_the_next_goes_on_there(memory):
    writer, loop = OperatorWriter(memory.commands), SharedOperator(memory.commands)
    for number in range(MOST_COMMANDS + 3):
        writer.put(ClearFault(number))
    assert [command.fault for command in loop.read()] == list(range(MOST_COMMANDS))
    assert [command.fault for command in loop.read()] == [MOST_COMMANDS, MOST_COMMANDS + 1, MOST_COMMANDS + 2]


def test_whoever_writes_to_a_loop_that_does_not_read_is_refused_and_nothing_is_overwritten(memory):
    writer, loop = OperatorWriter(memory.commands), SharedOperator(memory.commands)
    assert all(writer.put(ClearFault(number)) for number in range(OPERATOR_COMMANDS))
    assert not writer.put(Stop())
    assert loop.read()[0] == ClearFault(0)
    assert writer.put(Stop())


def test_a_command_too_long_to_be_recorded_is_refused_before_it_is_written(memory):
    with pytest.raises(ValueError, match=r"operator command of .* bytes, allowed: 128"):
        OperatorWriter(memory.commands).put(Custom("x", "y" * 200))
    assert memory.commands.written == 0


@pytest.mark.parametrize("content", [b"", b"{}", b"not JSON", b'{"type": "open the door"}', b"\xff" * 128])
def test_a_row_that_holds_no_command_is_an_error_and_what_follows_is_read(memory, content):
    row = np.zeros(1, OPERATOR_COMMAND)
    row["content"] = content
    memory.commands.append(row)
    OperatorWriter(memory.commands).put(Stop())
    loop = SharedOperator(memory.commands)
    with pytest.raises(ValueError, match="is no operator command"):
        loop.read()
    assert loop.read() == (Stop(),)


def test_what_was_asked_before_the_loop_read_waits_for_it(memory):
    """Like a command sent between two runs: the cursor is stored in the file."""
    OperatorWriter(memory.commands).put(ClearFault(18))
    assert SharedOperator(memory.commands).read() == (ClearFault(18),)
    assert SharedOperator(memory.commands).read() == ()


@pytest.mark.slow
def test_commands_through_the_ring_are_recorded_and_replayed_bit_for_bit(memory, tmp_path):
    short = (
        "trial.start_distance_m=0.03",
        "trial.ramp_s=0.2",
        "trial.settle_s=0.5",
        "record.after_s=0.5",
        "telemetry.endpoint=''",
    )
    config = load_config("sim_impact", short)
    folder = tmp_path / "run"
    folder.mkdir()
    simulated_rig, writer = build_simulated_rig(Rig(config)), OperatorWriter(memory.commands)
    devices = simulated_rig_io(config.layout, simulated_rig, SharedOperator(memory.commands))
    refused = RefusedCommands(3, "no lease")
    asked = {
        300: refused,
        350: LeaseChange("Ada", "taken"),
        400: Arm(),
        450: refused,
        500: EStop("button"),
        600: ClearFault(18),
    }
    with (
        open_writer(folder, config, record_meta(Rig(config), attended=True)) as recorder,
        open_publisher(config.telemetry, config.loop.rate_hz, config.layout, print) as publisher,
    ):
        cycle = build_cycle(Rig(config), devices, FileAndTelemetrySink(recorder, publisher), None, attended=True)
        clock = LockstepClock(simulated_rig, config.loop.rate_hz)
        devices.open()
        for number in range(1, 1001):
            if number in asked:
                writer.put(asked[number])
            cycle.run(clock.next())
    events = read_trial(folder, trusted=True).events
    recorded = {int(event["tick"]): event["name"].decode() for event in events if event["name"].startswith(b"operator")}
    assert recorded == {tick: f"operator {command.__struct_config__.tag}" for tick, command in asked.items()}
    # what was refused is a warning, recorded once, that changes nothing
    warned = [event for event in events if event["id"] == Fault.COMMAND_REFUSED]
    assert [(event["name"], event["tick"], event["value"]) for event in warned] == [(b"command_refused", 300, 3.0)]
    states, safe = read_trial(folder, trusted=True).tick["state"], read_trial(folder, trusted=True).tick["safe"]
    assert not safe[:499].any()
    assert (states[398], states[399], states[-1]) == (ImpactState.IDLE, ImpactState.ARMED, ImpactState.ABORTED)
    outcome = replay(folder)
    assert outcome.differences == []
    assert outcome.ticks == 1000


def test_memory_that_another_process_opened_holds_the_same_ring(memory):
    OperatorWriter(CommandMemory(memory.folder, create=False).commands).put(Start())
    assert SharedOperator(memory.commands).read() == (Start(),)
