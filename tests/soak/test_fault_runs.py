"""A hundred of the randomised fault runs; `make soak PART=faults` makes 2,000."""

import importlib
from pathlib import Path

import pytest

# One of these is at the protocol level: it takes as long as ten in lockstep.
SEEDS = [seed for seed in range(1, 105) if seed % 20 or seed == 20]


@pytest.fixture(scope="session")
def fault_runs():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent)
        return importlib.import_module("fault_runs")


@pytest.mark.slow
@pytest.mark.ci_cases("0", "10")
@pytest.mark.parametrize(
    "first", [0, 10, *(pytest.param(first, marks=pytest.mark.slow) for first in range(20, 100, 10))]
)
def test_no_outcome_of_random_faults_is_unsafe(fault_runs, first):
    runs = [fault_runs.make(seed) for seed in SEEDS[first : first + 10]]
    assert [run for run in runs if run.wrong] == []
    assert any(run.noticed != "not noticed" for run in runs)


def test_the_same_seed_draws_the_same_faults(fault_runs):
    drawn = [[(fault.what, fault.device, fault.tick, fault.expected) for fault in fault_runs.draw(7)] for _ in range(2)]
    assert drawn[0] == drawn[1]


def test_an_unsafe_outcome_is_listed_with_its_seed(fault_runs):
    good = fault_runs.Run(8, "lockstep", ("daq: off",), (), "fault 1")
    bad = fault_runs.Run(9, "lockstep", ("daq: off",), ("the drives have power at the end",), "fault 1")
    lines = fault_runs.table([good, bad]).splitlines()
    assert "seed 9 (lockstep; daq: off): the drives have power at the end" in lines
    assert lines[-1].endswith("2 noticed: 1 unsafe")
