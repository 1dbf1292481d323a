"""Which T_c belongs to a ground, by simulation (docs/explanation/contact.md)."""

import numpy as np
import pytest

from hil.app.run import run
from hil.config import load_config

pytestmark = pytest.mark.slow

SHORT = ("trial.start_distance_m=0.05", "trial.ramp_s=0.2", "trial.settle_s=1.0", "record.after_s=1.0")
STEEP_DEG = (60.0, 75.0, 90.0)
# A contact of some milliseconds, in which the weight can hold no wheel down.
STIFF = ("obstacle.leg_stiffness_Npm=5.5e7", "plant.substep_us=20", "obstacle.friction=0", "daq.range_V=50",
         "limits.sensor_force_N=null")  # fmt: skip


def spread_of_ratios(ground: str, *more: str, angles_deg=STEEP_DEG) -> dict[str, float]:
    """Of force over sqrt(T_c) over steep angles: largest over smallest, for T_c without ground and with it."""
    forces, energies = [], {"effective_kinetic_energy_plant_J": [], "effective_kinetic_energy_plant_on_ground_J": []}
    for angle in angles_deg:
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


@pytest.mark.soak
def test_where_the_weight_has_no_time_to_act_that_holds_of_every_angle():
    found = spread_of_ratios("rigid", *STIFF, angles_deg=(40.0, 65.0, 90.0))
    assert found["plant_on_ground_J"] < 1.06
    assert found["plant_J"] > 1.25


def test_legs_that_give_leave_the_weight_time_to_hold_the_wheels_of_a_shallow_impact():
    found = spread_of_ratios("firm", angles_deg=(40.0, 60.0))
    assert found["plant_on_ground_J"] > 1.25
