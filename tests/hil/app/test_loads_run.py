"""A rig with leg sensors and a load cell in process: its record, verify, replay, and what happens when they fail."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app import run as app
from hil.config import load_config
from hil.messages.fault import Fault
from hil.recording import read_trial

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

MS = 1_000_000
QUICK = (
    "drive.steps=[{for_s: 0.4, speed_mps: 0.05}]",
    "loads={leg_sensors: {axes: [fx, fz]}, load_cell: {}}",
    "rover.drawbar.pull_N=100",
    "telemetry.endpoint=''",
)
AT_NS = 500 * MS


def run(folder, monkeypatch, tamper=lambda _: None, *overrides: str):
    """The outcome and the record of a short drive, with a tampered source of load blocks."""
    folder.mkdir()
    open_backend = app.open_backend

    def open_and_tamper(*args):
        rig = open_backend(*args)
        source = rig.simulated_rig.devices["loads"]
        read = source.read
        source.read = lambda t_ns: tamper(t_ns, read(t_ns))
        return rig

    if tamper.__code__.co_argcount == 2:
        monkeypatch.setattr(app, "open_backend", open_and_tamper)
    done = app.run_experiment(
        load_config("sim_juno", [*QUICK, *overrides]), folder, progress=lambda _: None, figure=False
    )
    return done, read_trial(folder, trusted=True)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loads") / "run"
    with pytest.MonkeyPatch.context() as patch:
        return (folder, *run(folder, patch))


def test_the_record_holds_all_load_samples_and_what_was_made_of_them(good):
    _, done, record = good
    assert done.exit_code == 0
    assert record.loads.raw.shape[1] == 9
    assert len(record.loads.raw) == 5 * len(record.loads.blocks)
    np.testing.assert_array_equal(record.loads.t_ns, np.arange(len(record.loads.raw)) * MS)
    assert record.tick["load_sequence"][-1] == len(record.loads.blocks)
    assert record.tick["load_age_ns"].max() <= 5 * MS


def test_measured_loads_are_the_weight_within_the_sensors_errors_and_the_pull_is_the_drawbar(good):
    _, _, record = good
    late = record.tick[record.tick["t_ns"] > 300 * MS]
    weight = late["normal_force_N"].sum(axis=1).mean()
    assert late["wheel_load_N"].sum(axis=1).mean() == pytest.approx(weight, rel=0.05)
    assert late["pull_N"].mean() == pytest.approx(100.0, abs=10.0)
    assert late["pull_N"].std() > 0.0


def test_the_record_proves_itself_and_replays_bit_for_bit(good):
    folder, _, _ = good
    checks = verify(folder)
    assert [check for check in checks if not check.ok] == []
    assert {"load blocks missing", "load block length", "load sample times"} <= {check.item for check in checks}
    assert replay(folder).differences == []


def silent(t_ns, block):
    return block if t_ns < AT_NS else None


def spoilt(t_ns, block):
    return block if block is None or t_ns < AT_NS else msgspec.structs.replace(block, values=block.values * np.nan)


def frozen(t_ns, block):
    if block is not None and t_ns >= AT_NS:
        return msgspec.structs.replace(block, values=block.values * 0.0 + np.arange(1.0, 10.0))
    return block


def skipping(t_ns, block):
    late = block is not None and t_ns >= AT_NS
    return msgspec.structs.replace(block, sequence=block.sequence + 4) if late else block


@pytest.mark.parametrize(
    ("tamper", "fault", "within_ms"),
    [
        (silent, Fault.SENSOR_DROPOUT, 51),
        (spoilt, Fault.SAMPLE_NOT_FINITE, 15),
        (frozen, Fault.SENSOR_STALE, 41),
        (skipping, Fault.SEQUENCE_GAP, 5),
    ],
)
def test_load_channels_that_fail_cut_the_drives(tmp_path, monkeypatch, tamper, fault, within_ms):
    override = "limits.loads_frozen_samples=40"
    done, record = run(tmp_path / "run", monkeypatch, tamper, override)
    (event,) = record.events[record.events["id"] > 0]
    assert event["id"] == fault
    assert b"load channels" in event["detail"]
    assert AT_NS <= event["t_ns"] <= AT_NS + within_ms * MS
    assert record.tick["cut"][record.tick["t_ns"] >= event["t_ns"]].all()
    assert done.exit_code == 1


def test_a_rover_that_is_lifted_first_is_zeroed_then(tmp_path, monkeypatch):
    lifted = "loads.lifted_s=0.2", "loads.errors.zero=0.3"
    done, record = run(tmp_path / "run", monkeypatch, lambda _: None, *lifted)
    assert done.exit_code == 0
    late = record.tick[-200:]
    weight = late["normal_force_N"].sum(axis=1).mean()
    assert late["wheel_load_N"].sum(axis=1).mean() == pytest.approx(weight, rel=0.05)


def test_sensors_that_were_not_zeroed_refuse_to_arm(tmp_path, monkeypatch):
    done, record = run(
        tmp_path / "run", monkeypatch, lambda _: None, "loads.errors.zero=0.1", "limits.loads_weight=0.01"
    )
    assert done.exit_code == 3
    assert any("sum of the wheel loads" in reason for reason in done.summary["reasons"])
    assert record.tick["cut"].all()
