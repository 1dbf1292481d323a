"""The wheel loads of the twin against those of the rig, with each valve powered, on level ground and on a slope."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from drivers.messages import DriveSample, ValveSample
from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from hil.estimation.twin import RoverTwin
from hil.messages.stages import Estimate, Samples
from models.plant import Plant

MS = 1_000_000
VALVES = [(side, chamber) for side in range(2) for chamber in range(2)]
SLOPES = {"level": (0.0, 0.0), "uphill": (10.0, 0.0), "across": (0.0, 10.0)}


def rig_on(slope: str):
    pitch, roll = np.radians(SLOPES[slope])
    rig = nominal_rig(load_config("sim_impact"))
    return replace(rig, obstacle=None, ground=replace(rig.ground, pitch=float(pitch), roll=float(roll)))


def loads_after(rig, powered, seconds: float = 0.6):
    """Wheel loads [N] of rig and twin, of equal parameters, driven at 0.4 rad/s, averaged over the last 0.2 s."""
    plant, twin, loads = Plant(rig, np.random.default_rng(1)), RoverTwin(rig), []
    for tick in range(round(seconds * 1000)):
        t_ns = tick * MS
        plant.set_drives((0.4 * min(tick / 100, 1.0),) * 6, False)
        plant.set_valves(powered)
        plant.advance(t_ns)
        speeds = tuple(plant.wheel_speed.tolist())
        estimate = Estimate(
            zeroed=True, bias_V=(0.0,) * 3, noise_V=(0.0,) * 3, finite=True, saturated=False, impact_ns=None,
            force_N=(0.0,) * 3, load_point_m=(math.nan, math.nan), wheel_speed_radps=speeds,
        )  # fmt: skip
        pressure = tuple(map(tuple, plant.pressure.tolist()))
        samples = Samples(t_ns, (), 0, 0, DriveSample(tick, t_ns, speeds, -1), ValveSample(tick, t_ns, pressure, -1))
        prediction = twin.predict(samples, estimate)
        assert prediction.finite
        loads.append((plant._state.ground.vertical.copy(), np.array(prediction.normal_force_N)))
    assert math.isnan(prediction.effective_kinetic_energy_J)  # there is no obstacle
    assert prediction.time_to_impact_s == math.inf
    ours, theirs = np.array(loads[-200:]).mean(axis=0)
    return ours, theirs


@pytest.mark.parametrize("slope", SLOPES)
def test_wheel_loads_of_the_twin_are_those_of_the_rig_whichever_valve_is_powered(slope):
    rig = rig_on(slope)
    passive, _ = loads_after(rig, ((False, False), (False, False)))
    for valve in VALVES:
        powered = tuple(tuple((side, chamber) == valve for chamber in range(2)) for side in range(2))
        ours, theirs = loads_after(rig, powered)
        assert np.abs(ours - passive).max() > 50.0, valve  # the error of a twin without cylinders
        assert theirs == pytest.approx(ours, rel=0.02), valve


def test_a_pressure_that_is_not_measured_counts_as_vented():
    rig = rig_on("level")
    twin = RoverTwin(rig)
    twin._take_pressures(((math.nan, math.nan), (1e5, 0.0)))
    assert twin._state.cylinders.pressure.tolist() == [[0.0, 0.0], [1e5, 0.0]]
