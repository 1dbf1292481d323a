"""Faults of the driven joints with simulated controllers: noticed as what they are, and everything stops."""

import pytest

from hil.app.faults.joint_cases import servo_wire_cases

CASES = {(case.row, case.kind): case for case in servo_wire_cases()}


def test_every_fault_of_a_line_a_joint_and_the_process_is_a_case():
    assert {row for row, _ in CASES} == {2, 13, 14, 15, 18, 29, 35, 36}
    assert {kind for row, kind in CASES if row in (35, 36)} == {"blocked", "frozen", "slipped"}


@pytest.mark.ci_cases("frozen")
@pytest.mark.slow
@pytest.mark.parametrize("which", [(2, "always late"), (35, "frozen"), (36, "slipped")], ids=lambda one: one[1])
def test_a_stale_angle_one_that_stands_still_and_one_that_jumps_end_in_safe_within_their_bounds(which):
    result = CASES[which].result()
    assert result.ok, result.outcome
    assert result.outcome.detected_ms <= result.case.expected.detect_ms
    assert result.outcome.reacted_ms <= result.bound_ms
