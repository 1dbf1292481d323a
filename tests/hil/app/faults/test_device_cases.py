"""Each kind of fault of the case table, injected into a device at rest, is noticed as the fault that it is."""

from __future__ import annotations

import pytest

from hil.app.faults.faulty_device import KINDS
from hil.app.faults.lockstep import LockstepRun
from hil.app.faults.lockstep_cases import LockstepCases
from hil.config import load_config
from hil.config.rig import Rig
from hil.safety.fault_table import FAULT_TABLE, ReactionTimes

# The sensors are zeroed and all devices have answered; the rover stands.
AT_REST = {"idle": 51}
CONFIG = load_config("sim_impact", ["telemetry.endpoint=''", "limits.frozen_samples=3000"])
# Those that are one fault only. A wrong factor becomes it once the wheels turn, or a force is there.
CASES = [
    case
    for case in LockstepCases(CONFIG, AT_REST).devices()
    if case.expected.rows == {case.row} or case.kind == "wrong"
]


def test_every_kind_is_among_the_cases():
    assert {case.kind for case in CASES} == set(KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.device}_{case.kind}")
def test_a_fault_is_noticed_as_what_it_is_within_its_bound_and_nothing_before_it(case):
    run = LockstepRun(Rig(CONFIG))
    run.at(AT_REST["idle"], case.act)
    result = run.run()
    first = result.faults[0]
    assert first["id"] == case.row
    assert first["t_ns"] > result.injected_ns
    if case.kind != "wrong":  # its cause is the first force that a wrong factor takes to full scale
        assert (first["t_ns"] - result.injected_ns) * 1e-6 <= FAULT_TABLE[case.row].bound_for(
            ReactionTimes(CONFIG), case.device
        )
