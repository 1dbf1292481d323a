"""What the peak force of an impact depends on: the law, the mass, and the drag of the soil."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.contact.laws import make_law
from models.impact import effective_kinetic_energy
from models.plant import Plant
from models.wheel import RigidWheel
from references.drop import drop
from references.reduced_impact import compaction_drag, peak_over_elastic, reduced_peak_force

STIFFNESSES = (5.5e4, 4e5)
SPEEDS = (0.02, 0.07, 0.2)


def rig(*overrides, gear=True):
    config = load_config("sim_impact", ["trial.start_distance_m=0.08", "limits.wheel_speed_radps=2", *overrides])
    parameters = replace(nominal_rig(config), piezo=None)
    drive = parameters.drive._replace(gear_friction=0.0, coast_damping=0.0)
    return parameters if gear else replace(parameters, drive=drive)


def peak(parameters, speed=0.07, **obstacle):
    """Peak force over both wheels [N] and speed at touch [m/s]; all drives are cut at the touch."""
    parameters = replace(parameters, obstacle=parameters.obstacle._replace(**obstacle))
    if parameters.launch_speed:
        parameters = replace(parameters, launch_speed=speed)
    plant, t_ns = Plant(parameters, np.random.default_rng(0)), 0
    wheels, rate = len(plant.rover.wheel_names), speed / plant.rover.tree.wheels[0].radius
    while plant.hit_ns is None or t_ns < plant.hit_ns + 300_000_000:
        t_ns += 200_000
        plant.advance(t_ns)
        touched = plant.hit_ns is not None
        plant.set_drives((0.0 if touched else rate * min(t_ns * 2e-9, 1.0),) * wheels, touched)
    return plant.contact_force_peak, plant.hit_speed


def exponent(parameters):
    forces = [peak(parameters, stiffness=k)[0] for k in STIFFNESSES]
    return math.log(forces[1] / forces[0]) / math.log(STIFFNESSES[1] / STIFFNESSES[0])


def force_over_speed(parameters):
    return [force / speed for force, speed in (peak(parameters, v) for v in SPEEDS)]


def masses(parameters):
    """Of the reduced model at 60 degrees: no ground, and all wheels held [kg]; of the rover [kg]."""
    rover, _, _ = parameters.assemble()
    q, v, angle = rover.neutral(), np.zeros(rover.nv), parameters.obstacle.angle
    v[0] = 1.0
    for i, name in enumerate(rover.joint_names):
        if name.endswith("_drive"):
            v[6 + i] = 1.0 / rover.tree.wheels[0].radius
    M, J = rover.mass_matrix(q), rover.impact_jacobian(q, angle)
    held = np.vstack([J, rover.impact_jacobian(q, 0.0, rover.wheel_names)])
    return *(2.0 * effective_kinetic_energy(M, rows, v) / math.sin(angle) ** 2 for rows in (J, held)), M[0, 0]


@pytest.mark.slow
def test_without_ground_the_peak_goes_with_the_root_of_the_stiffness_and_with_the_speed():
    parameters = rig("ground.kind=none")
    assert exponent(parameters) == pytest.approx(0.5, abs=0.003)
    assert force_over_speed(parameters) == pytest.approx([3032.0] * 3, rel=0.002)


@pytest.mark.slow
def test_the_soils_drag_is_what_raises_the_exponent_and_lowers_the_peak():
    soil, little_drag = rig(), rig("soil.rebound=1.0")
    assert exponent(soil) > 0.55
    assert exponent(little_drag) == pytest.approx(0.49, abs=0.02)
    without_ground = peak(rig("ground.kind=none"))[0]
    assert peak(soil)[0] < 0.8 * without_ground
    assert peak(little_drag)[0] > without_ground


def test_without_an_obstacle_the_soil_takes_a_third_of_the_speed_in_20_ms_after_the_cut():
    parameters = rig("trial.start_distance_m=1.5")
    plant, speeds = Plant(parameters, np.random.default_rng(0)), []
    rate = 0.07 / plant.rover.tree.wheels[0].radius
    for t_ms in range(1, 2051):
        plant.advance(t_ms * 1_000_000)
        if t_ms in (2000, 2020, 2050):
            speeds.append(plant._state.v[0])
        plant.set_drives((rate * min(t_ms / 500.0, 1.0),) * 6, t_ms >= 2000)
    assert plant.hit_ns is None
    assert speeds == pytest.approx([0.068, 0.043, 0.021], abs=5e-4)


@pytest.mark.slow
def test_the_drags_of_soil_and_gears_are_what_bends_force_over_speed():
    bent = force_over_speed(rig())
    assert bent[2] / bent[0] > 1.3
    straight = force_over_speed(rig("soil.rebound=1.0", gear=False))
    assert straight[2] / straight[0] == pytest.approx(1.0, abs=0.04)


@pytest.mark.slow
def test_one_mass_gives_the_peak_without_ground_and_on_smooth_firm_ground():
    """There is no drag; weight keeps all wheels on firm ground, which no impact of this size lifts."""
    free, held, _ = masses(rig())
    for ground, mass in ((("none",), free), (("firm", "ground.friction=0"), held)):
        parameters = rig(f"ground.kind={ground[0]}", *ground[1:])
        parameters = replace(parameters, obstacle=parameters.obstacle._replace(friction=0.0))
        law = make_law("hunt_crossley", parameters.obstacle.stiffness, restitution=0.9)
        expected = reduced_peak_force(law, 2, mass, 0.07 * math.sin(parameters.obstacle.angle))
        assert peak(parameters)[0] == pytest.approx(expected, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("stiffness", [2e4, 5.5e4, 4e5])
def test_one_mass_with_the_compaction_resistance_bounds_the_peak_on_soil(stiffness):
    """Nothing is fitted: the drag is Bekker's closed form, the masses those of T_c."""
    parameters = rig()
    free, held, mass = masses(parameters)
    tire = parameters.assemble()[0].tree.wheels[0]
    drag = compaction_drag(RigidWheel(tire.radius, tire.width, parameters.ground.soil), 6, mass)
    drag += 6 * parameters.drive.gear_friction / tire.radius
    force, speed = peak(parameters, stiffness=stiffness)
    law, sine = make_law("hunt_crossley", stiffness, restitution=0.9), math.sin(parameters.obstacle.angle)
    low, high = (reduced_peak_force(law, 2, m, speed * sine, drag / mass * sine, 0.02 * sine) for m in (free, held))
    assert 0.97 * low < force < 1.03 * high


def test_compaction_drag_is_bekkers_closed_form():
    parameters = rig()
    soil, tire = parameters.ground.soil, parameters.assemble()[0].tree.wheels[0]
    wheel = RigidWheel(tire.radius, tire.width, soil)
    drag = compaction_drag(wheel, 6, 142.7)
    n, k = soil.exponent, soil.stiffness
    sinkage = (drag / 6 / (k * tire.width * (1 / (n + 1) - soil.rebound / 2))) ** (1 / (n + 1))
    assert wheel.normal_force(sinkage)[0] == pytest.approx(142.7 * 9.81 / 6, rel=1e-9)


@pytest.mark.parametrize("restitution", [0.05, 0.3, 0.6, 0.75, 0.9, 1.0])
def test_the_laws_own_peak_is_that_of_a_drop_test(restitution):
    law = make_law("hunt_crossley", 5.5e4, restitution=restitution)
    dropped = drop(law, 20.0, 0.07, dt=1e-6).force.max()
    expected = peak_over_elastic(1.5 * (1.0 - restitution)) * 0.07 * math.sqrt(5.5e4 * 20.0)
    assert dropped == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_the_laws_own_peak_has_its_least_between_the_restitutions_and_a_trial_follows_it():
    """159, 156, 160 N on soil: the law alone gives the same fall and rise."""
    alone = [peak_over_elastic(1.5 * (1.0 - e)) for e in (0.3, 0.6, 0.9)]
    assert alone[1] < min(alone[0], alone[2]) - 0.01
    for parameters in (rig(), rig("ground.kind=none")):
        forces = [peak(parameters, restitution=e)[0] for e in (0.3, 0.6, 0.9)]
        assert np.array(forces) / forces[1] == pytest.approx(np.array(alone) / alone[1], rel=0.025)


def test_what_is_out_of_range_is_refused_at_once():
    law = make_law("hertz", 1e4, exponent=1.5)
    with pytest.raises(ValueError, match=r"exponent is 1.5.*mass.*speed"):
        reduced_peak_force(law, 2, 0.0, -1.0)
    with pytest.raises(ValueError, match="factor"):
        peak_over_elastic(-0.1)
