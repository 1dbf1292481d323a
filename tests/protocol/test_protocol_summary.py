"""A run whose simulated rig, or whose loop, is gone before its end still comes to a record and a summary."""

from __future__ import annotations

import json

import numpy as np
import pytest

from drivers.interfaces import DeviceError
from hil.analysis.recompute import recover
from hil.analysis.verify import verify
from hil.processes.disturbances import INTERRUPTED, LONG
from hil.recording import read_trial
from hil.simulator.ground_truth import GroundTruth

BEFORE_ARMING_S = 0.1


@pytest.mark.slow
def test_a_simulated_rig_that_is_gone_at_the_end_takes_only_its_truth_with_it(trial):
    def hang_up(run):
        def gone(do, **_):
            raise DeviceError(f"simulated rig: no answer to {do}")

        run.simulated_rig.ask = gone

    done = trial(hang_up, at_s=BEFORE_ARMING_S)
    assert done.error is None
    record = read_trial(done.folder, trusted=True)
    assert record.tick["impact"].any()
    assert GroundTruth.recorded(record.events).hit_ns is None


@pytest.mark.slow
def test_what_a_simulated_rig_knows_is_in_the_record(trial):
    done = trial()
    ground_truth = GroundTruth.recorded(read_trial(done.folder, trusted=True).events)
    row = done.run.simulated_rig.ask("truth")
    assert ground_truth.hit_ns == row["hit_ns"] - done.start_ns
    assert ground_truth.cut_ns == row["cut_ns"] - done.start_ns
    assert ground_truth.contact_force_peak == row["contact_force_peak"]
    assert ground_truth.hit_energy == row["hit_energy"]


@pytest.mark.slow
def test_a_run_whose_loop_was_killed_has_a_summary_once_it_is_recovered(trial):
    done = trial(lambda run: run.kill_loop(), at_s=BEFORE_ARMING_S)
    done.run.close()
    _, what = recover(done.folder)
    assert what == "made from the record"
    summary = json.loads((done.folder / "summary.json").read_text())
    assert summary["reasons"][0] == "recovered: killed before its end"
    assert (summary["accepted"], summary["aborted"], summary["peak_force_N"]) == (False, True, None)
    assert [check.item for check in verify(done.folder) if check.item == "summary"] == ["summary"]
    assert all(check.ok for check in verify(done.folder) if "digest" in check.item or check.item == "summary")


@pytest.mark.slow
def test_a_tick_that_takes_longer_than_a_period_is_in_record_and_summary(trial):
    def take_long_once(run):
        rig_io = run.rig.rig_io
        sample = rig_io.sample

        def slow(t_ns):
            rig_io.sample = sample
            run.host.sleep(0.0024)
            return sample(t_ns)

        rig_io.sample = slow

    done = trial(take_long_once, at_s=BEFORE_ARMING_S)
    record = read_trial(done.folder, trusted=True)
    [event] = record.events[np.isin(record.events["name"], (INTERRUPTED.encode(), LONG.encode()))]
    assert (event["id"], event["value"], event["limit"]) == (0, 2.4, 1.0)
    assert set(record.tick["tick"][:1000]) >= {event["tick"], event["tick"] + 2}  # one period was skipped in between
    assert event["tick"] + 1 not in record.tick["tick"]
    loop = json.loads((done.folder / "summary.json").read_text())["loop"]
    assert (loop["skipped"], loop["long_ticks"]["count"], loop["long_ticks"]["longest_ms"]) == (1, 1, 2.4)
    assert all(check.ok for check in verify(done.folder) if check.item == "summary")
