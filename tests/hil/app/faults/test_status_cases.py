"""What devices report about themselves, as cases of the fault table: each row of each driver that can be simulated."""

from dataclasses import replace

import pytest

from drivers.registry import BUILT_IN
from drivers.reported import Reaction
from hil.app.faults.status_cases import JPEG, status_cases

CASES = {(case.device, case.kind): case for case in status_cases()}


def test_each_row_of_each_status_is_a_case():
    needed = {
        (kind.role, f"{status.name}: {row.words}")
        for kind in BUILT_IN
        for status in kind.statuses
        for row in status.rows
        if status.simulated and row.reaction in (Reaction.SAFE, Reaction.MARK)
    }
    roles = {"roboclaw": "drives", "roboteq": "drives", "cia402": "drives"}
    roles |= {"roboclaw_servos": "servos", "roboteq_servos": "servos"}
    assert {(roles[device], kind) for device, kind in CASES if device in roles} >= needed


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["frames flagged as damaged", "frames of 0 bytes"])
def test_a_run_that_is_filmed_by_a_camera_whose_frames_are_none_is_marked_as_one_without_frames(kind):
    result = CASES["camera", kind].result()
    assert result.ok, result.outcome
    assert "0 frames in all" in result.outcome.remark


@pytest.mark.slow
def test_a_camera_whose_frames_are_kept_is_a_wrong_result():
    case = replace(CASES["camera", "frames of 0 bytes"], act=(0, JPEG))
    assert case.result().outcome.wrong == ("20 frames were kept", "the run is not marked")


@pytest.mark.ci_cases("roboclaw status: M2 driver fault", "roboteq FF: short circuit", "cia402 F: error passive")
@pytest.mark.slow
@pytest.mark.parametrize(
    "which",
    [
        ("roboclaw", "status: M2 driver fault"),
        ("roboclaw", "status: all that is ignored"),
        ("roboteq", "FF: short circuit"),
        ("roboteq", "FM: amps limit"),
        ("roboteq", "FS: script running"),
        ("cia402", "state: fault reaction active"),
        ("cia402", "statusword: all that is ignored"),
        ("cia402", "error register: temperature"),
        ("cia402", "error code: DC link voltage"),
        ("cia402", "F: error passive"),
        ("roboclaw_servos", "status: temperature 2 error"),
        ("roboteq_servos", "FF: MOSFET"),
    ],
    ids=" ".join,
)
def test_what_a_device_reports_comes_to_what_its_row_says(which):
    result = CASES[which].result()
    assert result.ok, result.outcome
