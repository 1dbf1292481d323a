"""`hil verify` follows faults that an operator clears, and those of an earlier run on the same rig."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.verify import verify
from hil.experiments.impact.experiment import ImpactState
from hil.messages.fault import Fault
from hil.messages.link_messages import event_row
from hil.messages.operator_input import ClearFault, command_event
from hil.messages.stages import IDLE_STATE
from hil.recording.sinks import LATCHED_BEFORE

pytestmark = pytest.mark.slow


def failed(folder):
    """What failed, by item, without summary and replay: they are no longer what the changed rows give."""
    return {check.item for check in verify(folder) if not check.ok} - {"summary", "replay"}


def with_events(*rows):
    """The same events, and these among them."""
    return lambda edit: edit.rows("events", np.concatenate([edit["events"][()], *rows]))


@pytest.mark.parametrize(("state", "wrong"), [(IDLE_STATE, set()), (ImpactState.ABORTED, {"Safe after a fault"})])
def test_safe_ends_where_the_operator_clears_the_last_fault_while_nothing_is_armed(edited, state, wrong):
    clear = command_event(ClearFault(int(Fault.STOP_BY_OPERATOR)), 700, 700_000_000)

    def cleared(edit):
        with_events(clear)(edit)
        edit.cells("tick", "safe", slice(700, None), lambda _: 0)
        edit.cells("tick", "state", slice(690, None), lambda _: state)

    assert failed(edited("stopped", cleared)) == wrong


def test_a_fault_of_the_run_before_is_a_reason_for_safe_from_the_first_tick_on(edited):
    carried = event_row(0, LATCHED_BEFORE, 0, 0, Fault.VALVE_STUCK, detail="a valve")
    assert failed(edited("good", with_events(carried))) == {"Safe after a fault"}


def lost_link(fault, tick, *changes):
    """The drives' link is lost in that tick; each change is the command that is confirmed from a tick on."""

    def change(edit):
        with_events(event_row(fault, fault.name.lower(), tick, tick * 1_000_000, detail="drives: no answer"))(edit)
        for since, confirmed_ns in changes:
            edit.cells("tick", "drives_acknowledged_ns", slice(edit.tick(since), None), lambda _, ns=confirmed_ns: ns)

    return change


@pytest.mark.parametrize("fault", [Fault.LINK_LOST, Fault.FRAMES_DAMAGED])
def test_a_link_that_was_lost_and_opened_again_has_confirmed_nothing_yet(edited, fault):
    opened_again = lost_link(fault, 450, (600, -1), (700, 650_000_000))
    assert "drives: order" not in failed(edited("good", opened_again))


@pytest.mark.parametrize(("fault", "tick"), [(Fault.LINK_LOST, 650), (Fault.PROCESS_LOST, 450)])
def test_a_link_that_was_not_lost_takes_no_confirmation_back(edited, fault, tick):
    """One that is lost later; and one beside a process that is lost, for a link reports its own fault then too."""
    assert "drives: order" in failed(edited("good", lost_link(fault, tick, (600, -1))))


def test_a_link_that_was_opened_again_does_not_confirm_a_command_of_before(edited):
    older = lost_link(Fault.LINK_LOST, 450, (600, -1), (700, 100_000_000))
    assert "drives: order" in failed(edited("stopped", older))


@pytest.mark.parametrize(("fault", "wrong"), [(Fault.DEAD_MAN_ACTED, False), (Fault.LOOP_LATE, True)])
def test_the_stop_of_a_dead_man_was_given_by_no_tick(edited, fault, wrong):
    """Its time is that of the process of the link, which a tick that begins late has not reached."""
    own_stop = lost_link(fault, 600, (600, 10_000_000_000))
    assert ("drives: order" in failed(edited("good", own_stop))) is wrong
