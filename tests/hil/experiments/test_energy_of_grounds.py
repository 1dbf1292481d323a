"""Which T_c belongs to a ground, by simulation (docs/explanation/contact.md)."""

import numpy as np
import pytest

from hil.app.run import run
from hil.config import load_config

SHORT = ("trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=1.0", "record.after_s=1.0")
STEEP_DEG = (60.0, 75.0, 90.0)


def spread_of_ratios(ground: str, *more: str) -> dict[str, float]:
    """Of force over sqrt(T_c) over steep angles: largest over smallest, for T_c without ground and with it."""
    forces, energies = [], {"effective_kinetic_energy_plant_J": [], "effective_kinetic_energy_plant_on_ground_J": []}
    for angle in STEEP_DEG:
        summary = run(
            load_config("sim_impact", [*SHORT, *more, f"ground.kind={ground}", f"trial.angle_deg={angle}"])
        ).summary
        forces.append(summary["contact_force_peak_N"])
        for key, values in energies.items():
            values.append(summary[key])
    ratios = {key: np.array(forces) / np.sqrt(values) for key, values in energies.items()}
    return {key.removeprefix("effective_kinetic_energy_"): max(one) / min(one) for key, one in ratios.items()}


@pytest.mark.parametrize("ground", ["none", "soil"])
def test_on_ground_that_gives_way_the_force_goes_with_the_energy_without_ground(ground):
    found = spread_of_ratios(ground)
    assert found["plant_J"] < 1.08
    assert found["plant_on_ground_J"] > 1.25


@pytest.mark.parametrize("ground", ["firm", "rigid"])
def test_on_firm_ground_the_force_goes_with_the_energy_with_the_grounds_constraints(ground):
    found = spread_of_ratios(ground)
    assert found["plant_on_ground_J"] < 1.08
    assert found["plant_J"] > 1.25
