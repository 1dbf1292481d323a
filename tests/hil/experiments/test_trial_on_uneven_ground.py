"""A whole impact trial whose obstacle stands on a slope, and on the flank of a scan: armed, run, verified and drawn."""

from __future__ import annotations

import pytest

from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import load_config

SHORT = (
    "telemetry.endpoint=''", "trial.start_distance_m=0.03",
    "drives={torque_limit_Nm: 150, gear_friction_Nm: 100, friction_speed_radps: 0.004}",
)  # fmt: skip
SLOPE = ("ground.pitch_deg=5",)
SCAN = ("ground.kind=scan", "ground.scan={file: scans/mound.csv, units: m, up: z, start_m: [0.8, 0.1]}")


@pytest.mark.ci_cases("slope")
@pytest.mark.slow
@pytest.mark.parametrize("ground", [SLOPE, SCAN], ids=["slope", "scan"])
def test_a_trial_on_ground_that_is_not_level_comes_to_its_impact_and_proves_itself(tmp_path, ground):
    summary = run_experiment(load_config("sim_impact", [*SHORT, *ground]), tmp_path, progress=lambda _: None).summary
    assert not summary["aborted"]
    assert summary["effective_kinetic_energy_J"] > 0.15
    assert summary["effective_kinetic_energy_J"] == pytest.approx(summary["effective_kinetic_energy_plant_J"], rel=0.05)
    assert summary["peak_force_N"] > 40.0
    # such drives hold a wheel that leans on the plate, so that its force does not fall to nothing
    assert all("left after the contact" in reason for reason in summary["reasons"])
    assert [check for check in verify(tmp_path) if not check.ok] == []
    assert (tmp_path / "trial.png").stat().st_size > 10_000
