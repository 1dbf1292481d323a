"""The long sweep of `make soak PART=cluster`, short: a worker and the scheduler are killed on the way."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def cluster_runs():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent)
        yield importlib.import_module("cluster_runs")


def part(runs: int, MB: float = 300.0, client_ms: float = 3.0, *, undisturbed: bool = True) -> dict:
    return {
        "runs": runs, "client_ms": client_ms, "workers_ms": 200.0, "undisturbed": undisturbed, "MB": {"client": MB},
    }  # fmt: skip


def test_what_grows_is_found_and_what_a_kill_costs_is_not(cluster_runs):
    even = [part(runs, client_ms=30.0 if runs == 6 else 3.0, undisturbed=runs != 6) for runs in range(1, 11)]
    assert cluster_runs.grown(even) == []
    (memory,) = cluster_runs.grown([part(runs, MB=300.0 + 20.0 * runs) for runs in range(1, 11)])
    assert memory == "memory of client: 340 MB after 2 runs, 500 MB now"
    (time,) = cluster_runs.grown([part(runs, client_ms=float(runs)) for runs in range(1, 11)])
    assert time.startswith("processor time for a run, client_ms: 3.0 first, 9.0 at the end")


@pytest.mark.soak
def test_a_sweep_on_a_cluster_that_loses_a_worker_and_its_scheduler_has_the_table_of_one_process(cluster_runs):
    pytest.importorskip("distributed")
    wrong, watch = cluster_runs.check(8, 2, lambda _: None)
    assert wrong == []
    assert [one["runs"] for one in watch.parts] == list(range(1, 9))
