"""Leg sensors, load cell and strain gauges at the protocol level: worker, ring and NI task of their own."""

import numpy as np
import pytest

from hil.analysis.recompute import recompute
from hil.analysis.recorded_inputs import replayable_config
from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.config.rig import Rig
from hil.experiments.drive import DrivingState
from hil.ipc.run_memory import LINKS
from hil.messages.fault import Fault
from hil.recording import read_trial
from hil.simulator.ground_truth import PLATE_PEAK

pytestmark = pytest.mark.timeout(900)  # wall-clock seconds, of which a busy machine may need many
INPUTS = [
    {"channel": name, "input": f"cDAQ1Mod6/ai{number}"}
    for number, name in enumerate(("front_left_fz", "front_right_fz", "rear_left_fz", "rear_right_fz", "pull"))
]
NI = (
    "drive.steps=[{for_s: 0.8, speed_mps: 0.05}]",
    "loads={leg_sensors: {}, load_cell: {}}",
    "rover.drawbar.pull_N=100",
    f"devices.loads={{driver: ni, inputs: {INPUTS}}}",
)
AMPLIFIER = (
    "drive.steps=[{for_s: 0.8, speed_mps: 0.05}]",
    "loads={leg_sensors: {}, load_cell: {}, rate_hz: 100, block_ms: 10, filter_hz: 5}",
    "rover.drawbar.pull_N=100",
    "devices.loads={driver: modbus, inputs: "
    f"{[{'channel': item['channel'], 'register_number': 100 + 2 * place} for place, item in enumerate(INPUTS)]}}}",
)
NO_SUMMARY = ("ticks missing",)  # skipped ticks would be in a summary, which is not written here


@pytest.mark.slow
@pytest.mark.parametrize("settings", [NI, AMPLIFIER], ids=["ni", "amplifier"])
def test_loads_come_over_a_link_of_their_own_and_the_record_replays(trial, settings):
    done = trial(None, *settings, config="sim_juno_wire")
    assert done.error is None
    assert done.faults == []
    assert done.run.rig.cycle.experiment.state == DrivingState.DONE
    assert set(done.run.processes.by_name) & set(LINKS) == {"drives", "loads"}
    assert [check for check in verify(done.folder) if not check.ok and check.item not in NO_SUMMARY] == []
    assert replay(done.folder).differences == []
    record = read_trial(done.folder, trusted=True)
    assert record.raw.size == 0
    assert record.loads.blocks["sequence"].tolist() == list(range(1, len(record.loads.blocks) + 1))
    late = record.tick[-300:]
    weight = late["normal_force_N"].sum(axis=1).mean()
    assert late["wheel_load_N"].sum(axis=1).mean() == pytest.approx(weight, rel=0.05)
    assert late["pull_N"].mean() == pytest.approx(100.0, abs=10.0)


@pytest.mark.slow
def test_a_bridge_of_strain_gauges_beside_the_force_sensors_gives_the_peak_and_replays(trial):
    inputs = "inputs: [{channel: frame, input: cDAQ1Mod6/ai0, kind: bridge}]"
    gauges = "loads={strain_gauges: {noise_V: 0.002}}", "ground.kind=firm", f"devices.loads={{driver: ni, {inputs}}}"
    done = trial(None, *gauges)
    assert done.error is None
    assert done.faults == []
    assert [check for check in verify(done.folder) if not check.ok and check.item not in NO_SUMMARY] == []
    assert replay(done.folder).differences == []
    record = read_trial(done.folder, trusted=True)
    assert record.loads.raw.shape == (len(record.loads.t_ns), 1)
    summary = recompute(record, Rig(replayable_config(record)), None).summary
    true_N = float(record.events["value"][record.events["name"] == PLATE_PEAK.encode()][0])
    assert abs(summary["strain_peak_N"] - true_N) <= summary["strain_peak_u95_N"] < 0.12 * true_N


@pytest.mark.slow
def test_the_loss_of_the_loads_worker_cuts_the_drives(trial):
    done = trial(lambda run: run.kill("loads"), *NI, config="sim_juno_wire")
    assert Fault.PROCESS_LOST in done.faults or Fault.SENSOR_DROPOUT in done.faults
    assert set(done.seen_ms("stops")) == {0x80, 0x81}
    assert done.runs_at_the_end() == set()
    assert np.isfinite(read_trial(done.folder, trusted=True).loads.raw).all()
