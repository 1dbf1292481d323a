"""An identification whose runs and starts are spread: the same numbers to the last bit, wherever they come from."""

from __future__ import annotations

import json
import os
from concurrent.futures import BrokenExecutor
from functools import partial
from pathlib import Path

import pytest

import hil.campaign.workers as spread_module
from hil.analysis.identification.forward import IdentificationError
from hil.analysis.identification.recorded import windows_of
from hil.campaign.trial import OtherVersionError
from hil.campaign.workers import LOSSES, WorkersError, with_workers
from hil.cli import run
from hil.config import load_config

# Depths that no soil gives, so that each further start is tried.
ODD = """radius_m,width_m,load_N,sinkage_m,sinkage_m_sd
0.175,0.15,50,0.004,0.00002
0.175,0.15,200,0.0036,0.00002
0.175,0.15,800,0.0119,0.00005
"""


def identified(folder: Path, capsys, *options: str) -> dict:
    table = folder / "odd.csv"
    table.write_text(ODD)
    names = ["--find", "stiffness", "--find", "exponent"]
    out = folder / "-".join(("soil", *options)).replace("/", "_")
    assert run(["identify", "--tests", str(table), *names, "--out", str(out), "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def here(spread, sees_folders):
    assert sees_folders
    return spread is None, os.getpid()


def elsewhere(function, spread, _):
    return spread.submit(function).result()


def refuse():
    raise IdentificationError("too few")


@pytest.mark.slow
def test_two_processes_give_the_soil_of_one_to_the_last_bit(tmp_path, capsys):
    one = identified(tmp_path, capsys)
    assert one["reduced_chi_squared"] > 10.0
    assert identified(tmp_path, capsys, "--workers", "2") == one
    pytest.importorskip("distributed")
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", dashboard_address=":0") as at:
        assert identified(tmp_path, capsys, "--cluster", at.scheduler_address) == one


def test_one_worker_is_this_process():
    assert with_workers(here, 1, None, lambda _: None) == (True, os.getpid())


@pytest.mark.slow
def test_a_mistake_that_a_worker_finds_comes_back_as_it_is(tmp_path):
    with pytest.raises(IdentificationError, match="too few"):
        with_workers(partial(elsewhere, refuse), 2, None, lambda _: None)
    assert with_workers(partial(elsewhere, os.getpid), 2, None, lambda _: None) != os.getpid()
    # what a run is wrong in is found where it is read
    from hil.recording.run_folder import FolderError

    with pytest.raises((IdentificationError, FolderError)) as caught:
        with_workers(lambda spread, _: windows_of([tmp_path], spread=spread), 2, None, lambda _: None)
    assert str(tmp_path) in str(caught.value)


def test_a_lost_place_is_opened_again_and_given_up_after_a_while(monkeypatch):
    opened = []

    def lost(_spread, _):
        opened.append(1)
        raise BrokenExecutor("killed")

    with pytest.raises(WorkersError, match=r"killed 4 times"):
        with_workers(lost, 1, None, lambda _: None)
    assert len(opened) == LOSSES + 1


def test_a_worker_of_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(spread_module, "same_commit", lambda *_: False)
    with pytest.raises(OtherVersionError, match="install the same everywhere"):
        spread_module._checked("1.0", os.getpid)


def test_a_config_comes_back_from_a_worker_as_it_was():
    import pickle

    config = load_config("sim_drawbar")
    again = pickle.loads(pickle.dumps(config))
    assert again == config
    assert again.sha256() == config.sha256()
