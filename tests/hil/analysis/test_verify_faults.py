"""`hil verify` follows faults that an operator clears, and those of an earlier run on the same rig."""

from __future__ import annotations

import numpy as np

from hil.analysis.verify import verify
from hil.messages.fault import Fault
from hil.messages.operator_input import ClearFault, command_event
from hil.messages.schema import event_row
from hil.recording.tick_logger import LATCHED_BEFORE


def failed(folder):
    """What failed, by item, the summary left out: what it says is no longer what the changed rows give."""
    return {check.item for check in verify(folder) if not check.ok} - {"summary"}


def with_events(*rows):
    """The same events, and these among them."""
    return lambda edit: edit.rows("events", np.concatenate([edit["events"][()], *rows]))


def test_safe_ends_where_the_operator_clears_the_last_fault(edited):
    clear = command_event(ClearFault(int(Fault.STOP_BY_OPERATOR)), 700, 700_000_000)

    def cleared(edit):
        with_events(clear)(edit)
        edit.cells("tick", "safe", slice(700, None), lambda _: 0)

    assert failed(edited("stopped", cleared)) == set()


def test_a_fault_of_the_run_before_is_a_reason_for_safe_from_the_first_tick_on(edited):
    carried = event_row(0, LATCHED_BEFORE, 0, 0, Fault.VALVE_STUCK, detail="a valve")
    assert failed(edited("good", with_events(carried))) == {"Safe after a fault"}
