"""A rehearsal of one's own rig: the simulated rig has the names of the config, whatever they are."""

from __future__ import annotations

import pytest

from hil.app.run import run_experiment
from hil.config import load_config
from hil.recording.run_folder import run_folder

SHORT = (
    "clock=lockstep", "trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5",
    "telemetry.endpoint=''",
)  # fmt: skip
OTHER = (
    "devices.daq.server=daq-pc:31763",
    "devices.daq.inputs=[{sensor: top, channel: Dev1/ai4}, {sensor: lower_left, channel: Dev1/ai2},"
    " {sensor: lower_right, channel: Dev3/ai0}]",
    "devices.daq.e_stop=Dev1/port0/line7",
    "devices.drives.ports=[/dev/ttyS7]",
    "devices.valves.port=/dev/ttyS9",
)


@pytest.mark.ci_cases("shipped-simulated_wire", "others-simulated")
@pytest.mark.slow
@pytest.mark.parametrize("rig", ["simulated", "simulated_wire"])
@pytest.mark.parametrize("names", [(), OTHER], ids=["shipped", "others"])
def test_the_config_of_a_real_rig_runs_without_its_hardware(rig, names, tmp_path):
    config = load_config("mars_dome", [*SHORT, *names, f"rig={rig}"])
    folder = run_folder(tmp_path / "run", config.name, "60")
    outcome = run_experiment(config, folder, lambda _: None, None, figure=False)
    assert outcome.exit_code == 0
    assert outcome.summary["accepted"], outcome.summary["reasons"]
