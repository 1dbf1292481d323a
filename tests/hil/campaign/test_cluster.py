"""A campaign on a real Dask scheduler with two workers, all on loopback; one worker is killed on the way."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hil.campaign.run import run_campaign
from hil.campaign.workers import WorkersError, check_cluster, cluster
from hil.cli import run
from hil.config.rig import one_of_each_kind

from .conftest import QUICK, Lines, NeverStop
from .test_run import bytes_of, folder_of

pytestmark = pytest.mark.slow

pytest.importorskip("distributed")


def start(stack: ExitStack, program: str, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"distributed.cli.{program}", *options, "--host", "127.0.0.1", "--no-dashboard"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Its address, and the processes of its two workers, which are there."""
    from distributed import Client

    file = tmp_path / "scheduler.json"
    with ExitStack() as stack:
        start(stack, "dask_scheduler", "--port", "0", "--scheduler-file", str(file))
        options = ("--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path), "--scheduler-file", str(file))
        processes = [start(stack, "dask_worker", *options) for _ in range(2)]
        while not file.is_file():
            time.sleep(0.05)
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            client.wait_for_workers(2)
            address = client.scheduler.address
        yield address, processes


def test_a_cluster_gives_the_same_bytes_though_a_worker_is_lost(wanted, here, scheduler, tmp_path) -> None:
    address, processes = scheduler
    assert address.startswith("tcp://127.0.0.1:")
    check_cluster(address)
    campaign = wanted(f"name: four\nangles_deg: [50, 90]\nrepeats: 3\n{QUICK}")
    local, far = folder_of(tmp_path / "local"), folder_of(tmp_path / "far")
    run_campaign(campaign, local, here, Lines(), NeverStop())

    class KillOne(Lines):
        def done(self, count: int, total: int) -> None:
            super().done(count, total)
            if count == 1:
                processes[0].kill()

    kinds = one_of_each_kind([trial.config for trial in campaign.trials])
    report = KillOne()
    run_campaign(campaign, far, lambda: cluster(address, kinds, report.text), report, NeverStop())
    assert report.counts[-1] == (6, 6)
    assert bytes_of(far) == bytes_of(local)
    for place in local.glob("trial_*"):
        assert {file.name for file in (far / place.name).iterdir()} == {"trial.h5", "summary.json"}


@pytest.mark.ci_cases("tcp://127.0.0.1:1", "gibberish")
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "gibberish", "tls://127.0.0.1:1"])
def test_a_cluster_that_is_not_there_is_a_sentence_and_nothing_is_written(address, tmp_path, capfd) -> None:
    options = ["--plan", "thesis", "--cluster", address, "--out", str(tmp_path / "c")]
    assert run(["campaign", "sim_impact", *options]) == 2
    assert f"--cluster {address}: found no Dask scheduler" in capfd.readouterr().err
    assert not (tmp_path / "c").exists()


def test_a_program_without_dask_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(WorkersError, match=r"\[cluster\]"):
        check_cluster("tcp://127.0.0.1:1")
