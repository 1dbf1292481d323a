"""The wheel loads of the twin against those of the rig, with each valve powered, on level ground and on a slope."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

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


def predicted(twin, t_ns: int, speeds: tuple[float, ...], pressure_Pa):
    """What the twin predicts from measured wheel speeds [rad/s] and pressures [Pa]."""
    estimate = Estimate(
        zeroed=True, bias_V=(0.0,) * 3, noise_V=(0.0,) * 3, finite=True, saturated=False, impact_ns=None,
        force_N=(0.0,) * 3, load_point_m=(math.nan, math.nan), wheel_speed_radps=speeds,
    )  # fmt: skip
    valves = ValveSample(1, t_ns, tuple(map(tuple, pressure_Pa)), -1)
    return twin.predict(Samples(t_ns, (), 0, 0, DriveSample(1, t_ns, speeds, -1), valves), estimate)


def loads_after(rig, powered, seconds: float = 0.6):
    """Wheel loads [N] of rig and twin, of equal parameters, driven at 0.4 rad/s, averaged over the last 0.2 s."""
    plant, twin, loads = Plant(rig, np.random.default_rng(1)), RoverTwin(rig), []
    for tick in range(round(seconds * 1000)):
        plant.set_drives((0.4 * min(tick / 100, 1.0),) * 6, False)
        plant.set_valves(powered)
        plant.advance(tick * MS)
        prediction = predicted(twin, tick * MS, tuple(plant.wheel_speed.tolist()), plant.pressure.tolist())
        assert prediction.finite
        loads.append((plant._state.ground.vertical.copy(), np.array(prediction.normal_force_N)))
    assert math.isnan(prediction.effective_kinetic_energy_J)  # there is no obstacle
    assert prediction.time_to_impact_s == math.inf
    ours, theirs = np.array(loads[-200:]).mean(axis=0)
    return ours, theirs


@pytest.mark.slow
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


@pytest.mark.parametrize("slope", SLOPES)
def test_where_loads_are_controlled_the_twin_states_gravity_and_each_cylinders_torque_and_angle(slope):
    joints = ("rear_bogie", "left_bogie", "right_bogie")
    rig = replace(rig_on(slope), cylinder_joints=joints)
    twin = RoverTwin(rig, controls_loads=True)
    pressure = ((5e4, 0.0), (0.0, 1e5), (math.nan, 3e4))
    for tick in range(40):
        prediction = predicted(twin, tick * MS, (0.0,) * 6, pressure)
    area_lever = math.pi / 4 * 38.1e-3**2 * 0.25
    assert prediction.cylinder_torque_Nm == pytest.approx([area_lever * p for p in (5e4, -1e5, -3e4)], rel=1e-12)
    angles = twin._rover.own_configuration(twin._state.q)[7:]
    names = twin._rover.joint_names
    assert prediction.cylinder_angle_rad == pytest.approx([angles[names.index(joint)] for joint in joints])
    assert max(map(abs, prediction.cylinder_angle_rad)) > 1e-4  # the pressures have turned them
    x, y, z, w = twin._state.q[3:7]
    base = Rotation.from_quat((x, y, z, w))
    assert prediction.gravity == pytest.approx(base.inv().apply((0.0, 0.0, -1.0)), abs=1e-12)
    tilt = math.acos(-prediction.gravity[2])
    assert tilt == pytest.approx(math.radians(max(SLOPES[slope])), abs=0.01)


def test_where_they_are_not_it_states_none_of_these():
    prediction = predicted(RoverTwin(rig_on("level")), MS, (0.0,) * 6, ((0.0, 0.0),) * 2)
    assert (prediction.gravity, prediction.cylinder_torque_Nm, prediction.cylinder_angle_rad) == ((), (), ())
