"""What models return has names, and prints in a line."""

from __future__ import annotations

import numpy as np
import pytest

from models.impact import projectors
from models.rover import PRESETS, ROVERS, Body, Joint, Rover, Tree, WheelMount, box, cylinder
from models.wheel import RigidWheel, Soil

SOIL = Soil(1.783e6, 0.75, friction_angle=0.52, rebound=0.07, slip_modulus=0.185)
WHEEL = RigidWheel(0.175, 0.15, SOIL)


@pytest.mark.parametrize("sinkage", [0.006, np.array([0.002, 0.006])])
def test_forces_of_a_wheel_have_names_of_numbers_and_of_arrays(sinkage):
    forces, normal = WHEEL.forces(sinkage, 0.2), WHEEL.normal_force(sinkage)
    assert np.all(forces.longitudinal == forces[0])
    assert np.all(forces.torque == forces[2])
    assert np.all(normal.vertical == WHEEL.normal_force_in_rut(sinkage, 0.0).vertical)
    assert np.all(normal.resistance > 0.0)
    drifting = WHEEL.forces_at_angle(sinkage, 0.2, 0.1)
    assert drifting._fields == ("longitudinal", "lateral", "vertical", "torque")
    assert WHEEL.moving_forces(sinkage, 0.05, 0.06)._fields == drifting._fields


def test_a_soil_and_a_wheel_print_what_makes_them_again():
    assert repr(SOIL) == "Soil(1783000.0, 0.75, friction_angle=0.52, rebound=0.07, slip_modulus=0.185)"
    assert eval(repr(WHEEL)) == WHEEL
    other = RigidWheel(0.1, 0.1, Soil(1e6, 1, cohesion=3, friction_angle=0.5, rebound=0.1, slip_modulus=0.2), "tire_1")
    assert eval(repr(other)) == other
    assert len(repr(WHEEL)) < 120


@pytest.mark.parametrize("name", ROVERS)
def test_every_rover_is_a_preset_and_prints_in_a_line(name):
    rover = PRESETS[name].build()
    assert (
        repr(rover)
        == f"<Rover {rover.tree.name}: {rover.mass:.1f} kg, {len(rover.wheel_names)} wheels, {rover.nv} speeds>"
    )
    assert rover.mass == pytest.approx(rover.mass_matrix(rover.neutral())[0, 0])


def test_a_rover_of_bodies_and_joints_is_a_rover():
    wheel = Body("wheel", 2.0, (0.0, 0.0, 0.0), cylinder(2.0, 0.12, 0.1))
    base = Body("body", 30.0, (0.0, 0.0, 0.3), box(30.0, (0.6, 0.5, 0.2)))
    axle = Joint("drive", "body", "wheel", (0.3, 0.0, 0.12), (0.0, 1.0, 0.0))
    rover = Rover(Tree("one", (base, wheel), (axle,), (WheelMount("front", "wheel", 0.12, 0.1),)))
    assert (rover.mass, rover.nv, rover.wheel_names) == (32.0, 7, ("front",))
    constrained = projectors(
        rover.mass_matrix(rover.neutral()), rover.impact_jacobian(rover.neutral(), 1.0, ("front",))
    )
    assert constrained.constrained + constrained.admissible == pytest.approx(np.eye(7))
