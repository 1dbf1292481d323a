"""Messages for a record whose rows have another layout than in this version."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.recording_checks import schema_mismatch
from hil.messages.layout import SENSORS, layout_of
from hil.messages.link_messages import EVENT, TIMING
from hil.messages.signals import block_dtype, tick_dtype
from hil.recording import TrialRecord
from models.rover import JunoParameters
from models.rover.assembly import WHEELS

BUMPER_RIG, TRIANGLE_RIG = layout_of(WHEELS, SENSORS["bumper"]), layout_of(WHEELS, SENSORS["triangle"])


def record(tick: np.dtype, layout) -> TrialRecord:
    rows = (np.zeros(1, dtype) for dtype in (tick, EVENT, TIMING, block_dtype(layout)))
    return TrialRecord(*rows, np.zeros((0, 2)), np.zeros(0, np.int64), {"version": "0.0.9"})


@pytest.mark.parametrize("layout", [BUMPER_RIG, TRIANGLE_RIG, layout_of(JunoParameters.wheels(), ())])
def test_rows_of_the_rig_s_own_layout_are_known(layout):
    assert schema_mismatch(record(tick_dtype(layout), layout), layout) == ""


def test_rows_of_as_many_channels_as_older_versions_wrote_are_named_field_by_field():
    said = schema_mismatch(record(tick_dtype(TRIANGLE_RIG), TRIANGLE_RIG), BUMPER_RIG)
    assert said == (
        "rows of /tick with 3 numbers in force_N instead of 2; rows of /daq/blocks with 3 numbers in overload instead "
        "of 2 (recorded by version 0.0.9)"
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda fields: fields[:-1], "no time_to_impact_s"),
        (lambda fields: [*fields, ("mood", "<f8")], "mood, which is not known"),
        (lambda fields: [fields[0], ("t_ns", "<f8"), *fields[2:]], "t_ns of type <f8 instead of <i8"),
        (lambda fields: [fields[1], fields[0], *fields[2:]], "its fields in another order"),
    ],
)
def test_every_other_change_of_a_row_is_put_in_words(change, words):
    known = tick_dtype(BUMPER_RIG)
    other = np.dtype(change([(name, known[name].base.str, known[name].shape) for name in known.names]))
    assert f"rows of /tick with {words} (" in schema_mismatch(record(other, BUMPER_RIG), BUMPER_RIG)
