"""What the simulated devices read has the configured noise; the plant itself has none."""

from __future__ import annotations

import numpy as np
import pytest

from hil.config import load_config
from hil.config.rig import Rig
from hil.simulator.simulated_rig import build_simulated_rig

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

PRESSURE_PA, SPEED_RADPS = 800.0, 0.004


def readings(*overrides: str):
    """Pressures (n, chambers) and speeds (n, wheels) that the devices of a rig at rest read, and its plant."""
    rig = build_simulated_rig(Rig(load_config("sim_normal_force", overrides)))
    rig.devices["valves"].open()
    rig.drives.open()
    pressures, speeds = [], []
    for t_ns in range(0, 400_000, 1000):
        rig.plant.t_ns = t_ns  # no step: it stays as it is
        pressures.append([value for pair in rig.devices["valves"].read(t_ns).pressure_Pa for value in pair])
        speeds.append(rig.drives.read(t_ns).speed_radps)
    return np.array(pressures), np.array(speeds), rig.plant


def test_pressures_and_speeds_are_read_with_the_configured_noise():
    noise = [f"plant.noise.pressure_kPa={PRESSURE_PA * 1e-3}", f"plant.noise.speed_radps={SPEED_RADPS}"]
    pressures, speeds, plant = readings(*noise)
    assert (plant.pressure == 0.0).all()
    assert pressures.std() == pytest.approx(PRESSURE_PA, rel=0.05)
    assert (speeds - plant.wheel_speed).std() == pytest.approx(SPEED_RADPS, rel=0.05)
    assert np.abs(np.corrcoef(pressures.T) - np.eye(6)).max() < 0.25  # each sensor has its own


def test_without_noise_the_readings_are_the_state_of_the_plant():
    pressures, speeds, plant = readings("plant.noise={}")
    assert (pressures == plant.pressure.ravel()).all()
    assert (speeds == plant.wheel_speed).all()
