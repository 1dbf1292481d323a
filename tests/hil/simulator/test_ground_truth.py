"""What a simulated rig tells comes whole through its mailbox, its control socket and a record."""

from __future__ import annotations

import json
import math
from dataclasses import fields

import numpy as np
import pytest

from hil.ipc.shared_types import GROUND_TRUTH
from hil.simulator.ground_truth import GroundTruth, packed, truth_answer
from models.plant.grapple import CaptureTruth
from models.plant.plate_truth import PlateTruth
from models.plant.towing import Traction
from models.plant.validity_watch import RangeExit

START_NS = 7_000_000_000
ALL = GroundTruth(
    321.125, 0.0625, 1_500_000_000, 12.5, math.nan, 0.03125, -0.0078125, 1_700_000_000, 44.5, 1_800_000_000,
    PlateTruth(1.5, 300.0, 310.0, 2.5, 1.75), Traction(350.0, 0.2, 0.05, math.nan),
    RangeExit(900_000_000, 0.5, 0.25, "sinkage over wheel radius 0.5"),
    CaptureTruth(True, 10, 0.1, 0.2, 20, 30, 0.3, 0.4, -0.5),
)  # fmt: skip
SPARSE = GroundTruth(contact_force_peak=0.0, capture=CaptureTruth())


def by_mailbox(ground_truth, shared, by_ns=0):
    row = np.zeros(1, GROUND_TRUTH)
    row["content"] = packed(ground_truth, by_ns)
    shared.ground_truth.write(row)
    answer = json.loads(json.dumps(truth_answer(shared.ground_truth, {}), allow_nan=False))
    return GroundTruth.received(answer, by_ns)


def by_record(ground_truth):
    return GroundTruth.recorded(np.concatenate(list(ground_truth.events(1000))))


def numbers(ground_truth):
    """As text, in which what is no number equals itself."""
    return {name: str(value) for name, value in ground_truth.columns().items() if name != "plant_loop"}


@pytest.mark.parametrize("ground_truth", [ALL, SPARSE, GroundTruth()])
def test_all_numbers_pass_mailbox_and_control_socket(ground_truth, shared):
    assert numbers(by_mailbox(ground_truth, shared)) == numbers(ground_truth)
    assert numbers(by_mailbox(ground_truth, shared, START_NS)) == numbers(ground_truth)


def test_all_numbers_pass_the_record():
    assert numbers(by_record(ALL)) == numbers(ALL) | {"capture.missed": "1.0"}
    assert by_record(SPARSE).capture == SPARSE.capture
    assert not list(GroundTruth().events(1000))


def test_the_mailbox_has_room_for_the_longest_numbers():
    """Text that is cut off would be no JSON: every number as long as one can be, and the longest words."""
    longest = json.dumps(dict.fromkeys(ALL.columns(), -1.2345678901234567e-100) | {"outside.words": "w" * 128})
    assert {field.name for field in fields(ALL) if getattr(ALL, field.name) is None} == {
        "loads", "motion", "plant_loop",
    }  # fmt: skip
    assert len(longest) < GROUND_TRUTH["content"].itemsize
