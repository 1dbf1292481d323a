"""A disk that is full before or during a trial (fault 22)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import suppress

import h5py
import numpy as np
import pytest

import hil.safety.arming
from hil.app import run as app
from hil.config import load_config
from hil.recording import read_trial
from hil.runtime.loop import TICKS_AFTER_FAULT

pytestmark = pytest.mark.slow

QUICK = ("trial.start_distance_m=0.03", "trial.ramp_s=0.1", "telemetry.endpoint=''")
FULL_FROM_NS = 400_000_000  # during the run-up


@pytest.fixture
def small_disk(tmp_path, request):
    """A file system of a given size [bytes]."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={request.param}", "none", place]
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a small tmpfs needs root")
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"no small tmpfs can be mounted: {done.stderr.decode().strip()}")
    yield place / "run"
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.parametrize("small_disk", ["1m"], indirect=True)
def test_a_disk_with_too_little_room_is_refused_before_anything_moves(small_disk):
    small_disk.mkdir()
    done = app.run_experiment(load_config("sim_impact", QUICK), small_disk, progress=lambda _: None)
    assert done.exit_code == 3
    (reason,) = done.summary["reasons"]
    assert reason.startswith("not armed: disk space is")
    assert (read_trial(small_disk, trusted=True).tick["cut"] == 1).all()


@pytest.mark.parametrize("small_disk", ["12m"], indirect=True)
def test_a_disk_that_fills_up_ends_in_safe_and_the_reserve_holds_the_rest(small_disk, monkeypatch):
    small_disk.mkdir()
    monkeypatch.setattr(hil.safety.arming, "DISK_NEEDED", 0)
    ballast, build = small_disk.parent / "ballast", app.open_backend

    def on_a_disk_that_fills_up(*args):
        rig = build(*args)
        advance = rig.simulated_rig.advance

        def fill_up_first(t_ns):
            if t_ns == FULL_FROM_NS:
                with suppress(OSError), ballast.open("wb", buffering=0) as file:
                    while True:
                        file.write(bytes(4096))
            advance(t_ns)

        rig.simulated_rig.advance = fill_up_first
        return rig

    monkeypatch.setattr(app, "open_backend", on_a_disk_that_fills_up)
    done = app.run_experiment(load_config("sim_impact", QUICK), small_disk, progress=lambda _: None)
    assert ballast.stat().st_size > 1_000_000
    assert done.exit_code == 1
    assert done.summary["aborted"] is True
    assert json.loads((small_disk / "summary.json").read_text()) == done.summary
    assert (small_disk / "trial.png").read_bytes()[:4] == b"\x89PNG"
    with h5py.File(small_disk / "trial.h5", "r"):  # refused if it was left open for writing
        pass
    record = read_trial(small_disk, trusted=True)
    (event,) = record.events[record.events["id"] > 0]
    assert event["id"] == 22
    assert event["detail"] == b"OSError: [Errno 28] No space left on device"
    assert 0 <= event["t_ns"] - FULL_FROM_NS <= 50_000_000  # the next flush
    np.testing.assert_array_equal(record.tick["tick"], np.arange(1, len(record.tick) + 1))  # none is lost
    later = record.tick["tick"] > event["tick"]
    assert later.sum() >= TICKS_AFTER_FAULT
    assert (record.tick["cut"][later] == 1).all()
    assert set(np.diff(record.daq_t_ns).tolist()) <= {33_333, 33_334}
