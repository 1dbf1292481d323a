"""A command of an operator is an input of the tick: read, executed, recorded and replayed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.app.run import run
from hil.config import load_config
from hil.messages.operator_input import (
    LONGEST_WORDS,
    PREFIX,
    Arm,
    ClearFault,
    Custom,
    EStop,
    Mode,
    OperatorQueue,
    SetLoads,
    SetPoint,
    Start,
    Stop,
    command_event,
    command_of,
    is_command,
    shortened,
)

COMMANDS = (
    Arm(), Start(), Stop("enough"), EStop("hand on the button"), ClearFault(18), SetPoint("speed_mps", 0.1),
    Mode("hold"), Custom("gait", "walk"), SetLoads("share", (0.1667, 0.1667, 0.1667, 0.1667, 0.1667, 0.1665)),
    SetLoads("unload", wheel="front_right"),
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_recorded_so_that_it_can_be_read_back(command):
    (row,) = command_event(command, 7, 7_000_000)
    assert is_command(row)
    assert row["name"].decode().startswith(PREFIX)
    assert (row["tick"], row["t_ns"]) == (7, 7_000_000)
    assert command_of(row) == command


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='"\\')))
def test_words_of_any_length_and_script_can_be_recorded_once_shortened(words):
    (row,) = command_event(EStop(shortened(words)), 1, 0)
    assert command_of(row).reason == shortened(words)
    assert len(shortened(words).encode()) <= LONGEST_WORDS


def test_a_command_too_long_to_be_recorded_is_refused_when_it_is_given():
    with pytest.raises(ValueError, match=r"operator command of .* bytes, allowed: 128"):
        OperatorQueue().put(Custom("x", "y" * 200))


def test_an_event_that_is_no_command_is_refused():
    (row,) = command_event(Arm(), 1, 0)
    row["detail"] = b"{}"
    with pytest.raises(ValueError, match="records no operator command"):
        command_of(row)


def test_commands_are_taken_in_once_and_in_order():
    queue = OperatorQueue()
    for command in COMMANDS:
        queue.put(command)
    assert queue.read() == COMMANDS
    assert queue.read() == ()


@pytest.mark.slow
def test_nothing_asked_leaves_no_event():
    short = ["trial.start_distance_m=0.03", "trial.ramp_s=0.2", "trial.settle_s=0.5", "record.after_s=0.5"]
    events = run(load_config("sim_impact", short)).events
    assert not any(map(is_command, events))
